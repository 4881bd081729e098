"""
Ids: a prefix that names the kind, and a UUIDv7 that holds the time of creation.

Only the listed prefixes exist, so that an id in the wrong place is recognised.
"""

from typing import Final

from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value

PREFIXES: Final = {
    "evt": "event",
    "msg": "message",
    "spc": "space",
    "run": "run",
    "plan": "plan",
    "gate": "gate",
    "dec": "decision",
    "clm": "claim",
    "trg": "trigger",
    "key": "key",
    "err": "job",
    "call": "call",
    "goal": "goal",
    "mail": "mail",
    "note": "note",
    "work": "work event",
    "con": "connection",
    "rule": "routing rule",
    "dead": "unrouted message",
    "pair": "pairing",
    "entry": "shared entry",
    "out": "message on a channel",
    "voice": "voice message",
}
#: the ids of what was sent: each stands for the event that it became
_SENT_PREFIXES: Final = ("mail", "note", "work")
_HEX: Final = frozenset("0123456789abcdef")


def mint(prefix: str, now: Instant, entropy: int) -> str:
    """Return a new id from a time and 74 random bits (more bits are ignored)."""
    assert prefix in PREFIXES, prefix
    millis = (now // 1000) & 0xFFFF_FFFF_FFFF
    high, low = (entropy >> 62) & 0xFFF, entropy & 0x3FFF_FFFF_FFFF_FFFF
    number = millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    return f"{prefix}_{number:032x}"


def check(prefix: str, text: str) -> str:
    """Return the id if it has that prefix and the right form."""
    head, _, tail = text.partition("_")
    if head == prefix and len(tail) == 32 and _HEX.issuperset(tail):
        return text
    kind = PREFIXES.get(head)
    if kind and head != prefix:
        raise Invalid(
            f"{quote_value(text)} is the id of {_add_article(kind)}, not of {_add_article(PREFIXES[prefix])}",
            hint=f"give an id that begins with {prefix}_",
        )
    raise Invalid(
        f"{quote_value(text)} is not the id of {_add_article(PREFIXES[prefix])}",
        hint=f"such an id is {prefix}_ and 32 digits or letters from a to f",
    )


def check_event(text: str) -> str:
    """Return the id of an event, or of mail, a note or a work event, which stands for the event that it became."""
    head = text.partition("_")[0]
    return check(head if head in _SENT_PREFIXES else "evt", text)


def _add_article(word: str) -> str:
    return f"an {word}" if word.startswith(("e", "u")) else f"a {word}"
