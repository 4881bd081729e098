"""
Add, show, activate and delete triggers: named addresses to which services outside send webhooks.

A secret is stored and never shown again: `find_open` returns what is stored of it to verify a request, and nothing else
reads it.
"""

from dataclasses import dataclass, field

from gatepost.actions import directory
from gatepost.core import address, webhook
from gatepost.core.address import AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.text import find_unstorable
from gatepost.core.times import Instant
from gatepost.core.webhook import MAX_PROMPT_LENGTH, Scheme, Trigger
from gatepost.errors import Conflict, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.ports import Reader, Transaction
from gatepost.tables import keys


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    name: str
    scheme: Scheme
    secret: str = field(repr=False)
    target: str
    prompt: str | None = None
    #: None for the administrator
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class OpenTrigger:
    """A trigger that accepts requests, and what is needed to verify one."""

    trigger: Trigger
    stored_secret: str = field(repr=False)
    #: bytes
    body_limit: int
    now: Instant


def add(tx: Transaction, spec: TriggerSpec) -> Trigger:
    """Add a trigger, and return it; its name must be free, and its target must be the address of a live entity."""
    name = webhook.check_trigger_name(spec.name)
    stored_secret = webhook.prepare_secret(spec.scheme, spec.secret)
    prompt = validate_prompt(spec.prompt)
    target = _resolve_target(tx, spec.target)
    owner = directory.find_live(tx, spec.owner or directory.ADMINISTRATOR)
    is_added = keys.insert_trigger(
        tx, name=name, scheme=spec.scheme, secret=stored_secret, target=target, prompt=prompt, owner=owner.number
    )
    if not is_added:
        raise Conflict(f"there is a trigger {name!r} already", hint="delete it first, or take another name")
    return show(tx, name)


def show(tx: Reader, name: str) -> Trigger:
    stored_trigger = keys.find_trigger(tx, webhook.check_trigger_name(name))
    if stored_trigger is None:
        raise NotFound(f"there is no trigger {name!r}")
    return stored_trigger


def page(tx: Reader, *, after: int = 0, limit: int = 100) -> list[Trigger]:
    """Return triggers in the order in which they were added; `after` is the number of the last trigger seen."""
    return keys.list_triggers(tx, after=after, limit=limit)


def set_active(tx: Transaction, name: str, active: bool) -> Trigger:
    """Activate or deactivate a trigger; a request to an inactive trigger gets the same answer as to an unknown one."""
    stored_trigger = show(tx, name)
    if active and keys.read_trigger_secret(tx, stored_trigger.number) is None:
        raise Conflict(
            f"the trigger {name!r} was imported without its secret", hint="delete it, and add it with its secret"
        )
    keys.set_trigger_active(tx, stored_trigger.number, is_active=active)
    return show(tx, name)


def delete(tx: Transaction, name: str) -> None:
    keys.delete_trigger(tx, show(tx, name).number)


def find_open(tx: Reader, name: str) -> OpenTrigger:
    """Return an active trigger with what is needed to verify a request; raise `NotFound` for any other name."""
    try:
        stored_trigger = show(tx, name)
    except (Invalid, NotFound):  # invalid, because a database cannot take every text of a URL
        raise NotFound("there is no such webhook") from None
    stored_secret = keys.read_trigger_secret(tx, stored_trigger.number) if stored_trigger.active else None
    if stored_secret is None:
        raise NotFound("there is no such webhook")
    return OpenTrigger(stored_trigger, stored_secret, tx.limits.data, tx.now)


def _resolve_target(tx: Reader, text: str) -> str:
    """Return the address if a live entity has it; `*` is always valid."""
    target = address.parse(text)
    entities = directory.resolve(tx, [target]).get(target)
    match target:
        case EntityAddress(name) if not entities:
            raise directory.build_unknown_error(tx, name)
        case TeamAddress() if not entities:
            raise UnknownAddress(f"nobody is in {text!r}", hint="`gatepost agent list` shows who is in which team")
        case EntityAddress() | TeamAddress() if not any(entity.is_live for entity in entities or ()):
            raise Refused(f"{text!r} is retired and receives nothing")
        case EntityAddress() | TeamAddress() | AllAgentsAddress():
            return str(target)


def validate_prompt(text: str | None) -> str | None:
    """Return the prompt if it can be stored."""
    if not text:
        return None
    if len(text) > MAX_PROMPT_LENGTH:
        raise TooLarge(f"the prompt has {len(text)} characters, over the limit of {MAX_PROMPT_LENGTH}")
    if find_unstorable(text):
        raise Invalid("the prompt has a character in it that cannot be stored", hint="remove it")
    return text
