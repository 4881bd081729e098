"""
Who gets an event of a work item: the rules of the setting `work.notify`.

A rule has a pattern of two parts, such as `task.blocked`. A part may be `*`; of the rules that match, the one with the
fewest `*` counts, and of those the first. Beside addresses, a rule may name `@maker`: whoever added the work item.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import Priority
from gatepost.mail.work_item import EVENT_NAME, WorkType

#: in the place of an address, whoever added the work item; no name begins like this
MAKER: Final = "@maker"


class NotifyRule(Struct, frozen=True):
    """Who gets an event of a work item, and how urgent it is."""

    pattern: str
    to: tuple[str, ...]
    priority: Priority

    def matches(self, type: str) -> bool:
        parts, words = self.pattern.split("."), type.split(".")
        return len(parts) == len(words) and all(part in ("*", word) for part, word in zip(parts, words, strict=True))

    def list_addresses(self, maker: str) -> tuple[str, ...]:
        """Return the addresses of the rule for a work item that `maker` has added."""
        return tuple(dict.fromkeys(maker if target == MAKER else target for target in self.to))


def build_rules(entries: Iterable[tuple[str, Sequence[str], int]]) -> list[NotifyRule]:
    """Return the rules of `policy.work_notify`."""
    return [NotifyRule(pattern, tuple(to), Priority(priority)) for pattern, to, priority in entries]


def find_rule(rules: Iterable[NotifyRule], type: str) -> NotifyRule | None:
    """Return the rule for an event: of those that match, the first with the fewest `*`."""
    return min((rule for rule in rules if rule.matches(type)), key=lambda rule: rule.pattern.count("*"), default=None)


def check_pattern(text: str) -> str:
    """Return the text if it can be the pattern of a rule: `task.blocked`, `phase.*` or `*.complete`."""
    type, dot, event = text.partition(".")
    if not dot or type not in ("*", *WorkType) or not (event == "*" or EVENT_NAME.fullmatch(event)):
        raise Invalid(
            f"{quote_value(text)} is not an event of a work item",
            hint="write it as task.blocked, phase.* or *.complete",
        )
    if event == "note":
        raise Invalid(f"{quote_value(text)}: a note is not an event", hint="it goes to whoever its `notify` names")
    return text
