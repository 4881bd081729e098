"""A trigger: a named webhook, and the address that gets its events."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from gatepost.core import address
from gatepost.core.times import Instant
from gatepost.core.webhook import Scheme

#: characters
MAX_PROMPT_LENGTH: Final = 4_000


class Provider(StrEnum):
    WEBHOOK = "webhook"


class Trigger(Struct, frozen=True, kw_only=True):
    """The secret is not a field, so that showing a trigger never shows it."""

    number: int
    id: str
    name: str
    provider: Provider
    scheme: Scheme
    #: the address that gets the events
    target: str
    #: added to every event as context
    prompt: str | None = None
    #: the name of the entity that manages it and is alerted when something is wrong with it
    owner: str | None = None
    active: bool = True
    created_at: Instant


def check_name(text: str) -> str:
    """Return the text if it can be the name of a trigger."""
    return address.check_name(text, "name of a trigger")
