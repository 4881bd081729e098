"""
Routing rules: which address gets what comes through a channel.

A rule has a channel (or `*`), filters, targets and a rank. A filter is a dotted path into the envelope (`channel`,
`session`, `content`, `metadata.chat_id`, `trigger`) or the payload (`payload.repository.name`), and the value
that must be there. Of the active rules that match, the one with the highest rank decides, and of those with the same
rank the oldest. Rules never apply to spaces.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels.envelope import Envelope
from gatepost.channels.wording import dotted_path
from gatepost.channels.wording.dotted_path import MISSING
from gatepost.core import address
from gatepost.core.json_limits import Json
from gatepost.core.text import check_label, parse_field
from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value

ANY_CHANNEL: Final = "*"
MAX_TARGETS: Final = 20
MAX_FILTERS: Final = 20
MAX_RANK: Final = 1_000_000
#: what a message has, as filters see it (`build_document`)
DOCUMENT_FIELDS: Final = ("trigger", "channel", "session", "kind", "content", "metadata", "payload")
_MAX_NAME_LENGTH: Final = 100


class RouteRule(Struct, frozen=True, kw_only=True):
    number: int
    id: str
    name: str
    channel: str
    filters: Mapping[str, Json]
    targets: tuple[str, ...]
    rank: int
    active: bool
    made_by: str
    created_at: Instant
    updated_at: Instant

    def matches(self, document: Mapping[str, Json]) -> bool:
        """Return True if it decides about a message, as `build_document` describes it."""
        if self.channel not in (ANY_CHANNEL, document["channel"]):
            return False
        return all(
            _is_equal(dotted_path.read_path(document, dotted_path.parse_path(path)), value)
            for path, value in self.filters.items()
        )


class RouteSpec(Struct, frozen=True, kw_only=True):
    """A rule as it is asked for."""

    name: str
    channel: str = ANY_CHANNEL
    filters: Mapping[str, Json] = {}
    targets: tuple[str, ...]
    rank: int = 0
    active: bool = True


def build_document(envelope: Envelope, trigger: str | None) -> dict[str, Json]:
    """Return a message as the filters of rules see it."""
    return {
        "trigger": trigger,
        "channel": envelope.channel,
        "session": envelope.session,
        "kind": envelope.kind.value,
        "content": envelope.content,
        "metadata": dict(envelope.metadata),
        "payload": envelope.payload,
    }


def find_rule(rules: Iterable[RouteRule], document: Mapping[str, Json]) -> RouteRule | None:
    """Return the rule that decides: of those that match, the one with the highest rank, and of those the oldest."""
    matching_rules = [rule for rule in rules if rule.active and rule.matches(document)]
    return min(matching_rules, key=lambda rule: (-rule.rank, rule.number), default=None)


def check_rule(spec: RouteSpec) -> RouteSpec:
    """
    Return a rule that is valid; its targets and its channel are checked by whoever knows the entities and the triggers.
    A number or a truth value that is compared with a text becomes that text: ids in metadata are texts.
    """
    check_label("a name of a rule", spec.name, _MAX_NAME_LENGTH)
    if spec.channel != ANY_CHANNEL:
        address.check_name(spec.channel, "name of a channel")
    if not 1 <= len(spec.targets) <= MAX_TARGETS:
        raise Invalid(f"a rule has 1 to {MAX_TARGETS} targets, not {len(spec.targets)}", hint="name who gets it")
    if len(spec.filters) > MAX_FILTERS:
        raise Invalid(f"a rule has at most {MAX_FILTERS} filters, not {len(spec.filters)}")
    filters: dict[str, Json] = {}
    for path, value in spec.filters.items():
        [first, *_] = parse_field("filters", path, dotted_path.parse_path)
        if first not in DOCUMENT_FIELDS:
            raise Invalid(
                f"the filter {quote_value(path)} never matches: no message has {quote_value(first)}",
                hint=f"begin it with one of {', '.join(DOCUMENT_FIELDS)}, such as payload.repository.name",
            )
        if isinstance(value, dict | list):
            raise Invalid(
                f"the filter {quote_value(path)} has {quote_value(value)}", hint="compare with a text, a number or true"
            )
        is_kept = first == "payload" or value is None or isinstance(value, str)
        filters[path] = value if is_kept else json.dumps(value)  # everything else in a message is text
    if not -MAX_RANK <= spec.rank <= MAX_RANK:
        raise Invalid(f"{spec.rank} is not a rank", hint=f"use {-MAX_RANK} to {MAX_RANK}; the highest decides")
    return replace(spec, filters=filters)


def _is_equal(value: object, expected: Json) -> bool:
    """Compare exactly; True is not 1."""
    return value is not MISSING and value == expected and isinstance(value, bool) == isinstance(expected, bool)
