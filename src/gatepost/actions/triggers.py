"""
Named ways in from outside: adding, finding and removing them.

`owner=None` asks as the administrator; with a name, only that entity's own triggers are there. A secret goes in and is
never told again: `opened` hands what is kept of it to whoever verifies a request, and nothing else reads it.
"""

from dataclasses import dataclass, field
from typing import Final

from gatepost.actions import directory
from gatepost.core import address, trigger, webhook
from gatepost.core.address import Everyone, Named, Team
from gatepost.core.instants import Instant
from gatepost.core.trigger import Trigger
from gatepost.core.webhook import Scheme
from gatepost.errors import Conflict, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.ports import Reader, Transaction
from gatepost.tables import triggers

LONGEST_PROMPT: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTrigger:
    name: str
    scheme: Scheme
    secret: str = field(repr=False)
    target: str
    prompt: str | None = None
    #: the administrator, if it is nobody else
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a request that comes in by a trigger is held against."""

    trigger: Trigger
    kept: str = field(repr=False)
    #: bytes of a body
    most: int
    now: Instant


def add(tx: Transaction, wish: NewTrigger) -> Trigger:
    """Add a trigger; its name must be free, and somebody must live at its target."""
    name = trigger.named(wish.name)
    kept = webhook.kept(wish.scheme, wish.secret)
    prompt = checked_prompt(wish.prompt)
    target = _target(tx, wish.target)
    owner = directory.find_live(tx, wish.owner or directory.ADMINISTRATOR)
    added = triggers.insert(
        tx, name=name, scheme=wish.scheme, secret=kept, target=target, prompt=prompt, owner=owner.number
    )
    if not added:
        raise Conflict(f"there is a trigger {name!r} already", hint="delete it first, or take another name")
    return show(tx, name)


def show(tx: Reader, name: str, *, owner: str | None = None) -> Trigger:
    found = triggers.find(tx, trigger.named(name))
    if found is None or owner not in (None, found.owner):
        raise NotFound(f"there is no trigger {name!r}")
    return found


def page(tx: Reader, *, owner: str | None = None, after: int = 0, limit: int = 100) -> list[Trigger]:
    """Triggers in the order they were added; `after` is the number of the last one seen."""
    return triggers.page(tx, owner=owner, after=after, most=limit)


def set_active(tx: Transaction, name: str, active: bool, *, owner: str | None = None) -> Trigger:
    """Open or close a trigger; closed, it answers as if it were not there."""
    found = show(tx, name, owner=owner)
    if active and triggers.secret(tx, found.number) is None:
        raise Conflict(
            f"the trigger {name!r} was imported without its secret", hint="delete it, and add it with its secret"
        )
    triggers.activate(tx, found.number, active=active)
    return show(tx, name)


def delete(tx: Transaction, name: str, *, owner: str | None = None) -> None:
    triggers.delete(tx, show(tx, name, owner=owner).number)


def opened(tx: Reader, name: str) -> Opened:
    """A trigger that is open, and what its requests are held against."""
    found = _found(tx, name)
    kept = triggers.secret(tx, found.number) if found is not None and found.active else None
    if found is None or kept is None:
        raise NotFound("there is no such webhook")
    return Opened(found, kept, tx.limits.data, tx.now)


def _found(tx: Reader, name: str) -> Trigger | None:
    """Look it up, unless no trigger can be called that: a database would choke on some of what comes in a URL."""
    try:
        return triggers.find(tx, trigger.named(name))
    except Invalid:
        return None


def _target(tx: Reader, text: str) -> str:
    """Return the address if somebody lives there now."""
    where = address.parse(text)
    found = directory.resolve(tx, [where]).get(where)
    match where:
        case Named(name) if not found:
            raise directory.unknown(tx, name)
        case Team() if not found:
            raise UnknownAddress(f"nobody is in {text!r}", hint="`gatepost agent list` shows who is in which team")
        case Named() | Team() if not any(one.live for one in found or ()):
            raise Refused(f"{text!r} is retired and receives nothing")
        case Named() | Team() | Everyone():
            return str(where)


def checked_prompt(text: str | None) -> str | None:
    """Return the prompt if it can be stored."""
    if not text:
        return None
    if len(text) > LONGEST_PROMPT:
        raise TooLarge(f"the prompt has {len(text)} characters, over the limit of {LONGEST_PROMPT}")
    if "\x00" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise Invalid("the prompt has a character in it that cannot be stored", hint="remove it")
    return text
