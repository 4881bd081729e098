"""A trigger: a named way in from outside, and where what comes that way goes."""

from enum import StrEnum

from msgspec import Struct

from gatepost.core import address
from gatepost.core.times import Instant
from gatepost.core.webhook import Scheme


class Provider(StrEnum):
    WEBHOOK = "webhook"


class Trigger(Struct, frozen=True, kw_only=True):
    """The secret is no part of it, so that nobody shows it by showing the trigger."""

    number: int
    id: str
    name: str
    provider: Provider
    scheme: Scheme
    #: the address of whoever gets the events
    target: str
    #: added to every event as context
    prompt: str | None = None
    #: the name of whoever manages it and is told when something is wrong with it
    owner: str | None = None
    active: bool = True
    created_at: Instant


def check_name(text: str) -> str:
    """Return the text if a trigger can be called that."""
    return address.check_name(text, "name of a trigger")
