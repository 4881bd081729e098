"""
What an event may be: how long its texts, how large its content and its data, and which times, references and routes it
may have. Every push is validated once, before anything of it is stored.
"""

from collections.abc import Iterable
from typing import Final

from gatepost.core import json_limits
from gatepost.core.json_limits import Json
from gatepost.core.policy import Policy
from gatepost.core.text import check_storable, count_bytes
from gatepost.core.times import MAX_DURATION, MAX_INSTANT
from gatepost.errors import Invalid, TooLarge
from gatepost.inbox.event import MAX_REF_LENGTH, Push, Ref
from gatepost.inbox.push import dedup_keys as dedup

#: nested arrays and objects; readers call their parser from a deeper stack than ours, and must be able to parse it
_MAX_DATA_DEPTH: Final = 128
_MAX_LENGTHS: Final = {
    "source": 200,
    "subject": 1_000,
    "dedup key": dedup.MAX_LENGTH,
    "reference": MAX_REF_LENGTH,
    "route": 256,
}


def validate_push(push: Push, policy: Policy) -> str | None:
    """Refuse a push that is too large or cannot be stored; return its data as JSON."""
    check_push(push, policy)
    return encode_data(push.data, policy)


def check_push(push: Push, policy: Policy) -> None:
    """Refuse a push of which anything but the data is too large or cannot be stored."""
    if len(push.content) * 4 > policy.content and count_bytes(push.content) > policy.content:
        raise TooLarge(
            f"the content is {count_bytes(push.content)} bytes, over the limit of {policy.content}",
            hint="send a reference to it instead",
        )
    check_storable("content", push.content)
    if not push.source:
        raise Invalid("an event needs a source")
    for field_name, text in _iter_short_texts(push):
        _check_short_text(field_name, text)
    if push.dedup_key is not None and not push.dedup_key:
        raise Invalid("the dedup key is empty", hint="leave it out for something that is never a repeat")
    if push.dedup_key is not None and push.key_prefix not in (dedup.REDIS, dedup.NATS):
        dedup.check(push.dedup_key)
    if not 0 <= push.hops <= 10_000:
        raise Invalid(f"{push.hops} is not a number of hops")
    if push.ttl is not None and not 0 < push.ttl <= MAX_DURATION:
        raise Invalid(f"{push.ttl} is not a time to live", hint="it must be over zero and at most a hundred years")
    if push.source_time is not None and not 0 <= push.source_time <= MAX_INSTANT:
        raise Invalid(f"{push.source_time} is not a time", hint="it must be in the years 1970 to 9999")
    if push.ref is not None and not (push.ref.type and push.ref.id):
        raise Invalid(f"{str(push.ref)!r} is not a reference", hint="it needs a type and an id")
    if push.route is not None and not (push.route.channel and push.route.session):
        raise Invalid("a route needs a channel and a channel session")


def encode_data(data: Json, policy: Policy) -> str | None:
    """Return the data of an event as JSON; refuse what is too large or too deep."""
    return None if data is None else json_limits.encode_json(data, "data", policy.data, max_depth=_MAX_DATA_DEPTH)


def _iter_short_texts(push: Push) -> Iterable[tuple[str, str]]:
    yield "source", push.source
    if push.subject is not None:
        yield "subject", push.subject
    if push.dedup_key is not None:
        yield "dedup key", push.dedup_key
    if push.ref is not None:
        yield from (("reference", push.ref.type), ("reference", push.ref.id))
    if push.route is not None:
        yield from (("route", push.route.channel), ("route", push.route.session))


def parse_ref(text: str) -> Ref:
    """Parse a reference to search for; refuse one that no event can have."""
    ref = Ref.parse(text)
    for part in (ref.type, ref.id):
        _check_short_text("reference", part)
    return ref


def _check_short_text(field_name: str, text: str) -> None:
    check_storable(field_name, text)
    if len(text) > _MAX_LENGTHS[field_name]:
        raise TooLarge(f"the {field_name} has {len(text)} characters, over the limit of {_MAX_LENGTHS[field_name]}")
