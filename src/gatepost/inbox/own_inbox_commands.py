"""`gatepost inbox` without a verb: what waits for the person at the terminal."""

from collections.abc import Sequence
from typing import Final

import msgspec

from gatepost.cli import output
from gatepost.cli.command import TableRow
from gatepost.cli.current_agent import choose_actor
from gatepost.cli.gateway_or_store import connect
from gatepost.core import times
from gatepost.core.address import check_entity_address
from gatepost.core.quoting import quote
from gatepost.core.times import Instant
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import ShowEntity
from gatepost.gates.decision import DecisionStatus
from gatepost.gates.decision_api import DecisionView, ListDecisions
from gatepost.inbox import event_rendering as render
from gatepost.inbox.event import EventType, Priority
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import PeekInbox
from gatepost.settings import Configuration

#: pending items that are read, the most urgent first and the oldest first among those, to be put in order
_MAX_ITEMS: Final = 10_000
_MAX_DECISIONS: Final = 1_000
#: events that `gatepost reply` answers
_REPLIABLE_TYPES: Final = (EventType.MAIL, EventType.SPACE_MESSAGE, EventType.NOTE, EventType.CHANNEL)


def show_own_inbox(configuration: Configuration, name: str | None, limit: int, *, json: bool) -> None:
    """Print the pending items of an entity, the decisions that it is asked, and what to type next."""
    with connect(configuration) as connection:
        entity = connection.send(ShowEntity(name=check_entity_address(choose_actor(name, configuration))))
        now = connection.read_clock()
        items = connection.list_all(PeekInbox(name=entity.name, limit=1_000), _MAX_ITEMS)
        to_answer = connection.list_all(ListDecisions(asked=entity.name, pending=True), _MAX_DECISIONS)
    items.reverse()
    items.sort(key=lambda item: item.priority)
    decisions = [
        decision for decision in to_answer if decision.status is DecisionStatus.PENDING and not decision.overdue
    ]
    if json:
        output.document(
            {
                "name": entity.name,
                "pending": len(items),
                "items": msgspec.to_builtins(items[:limit]),
                "decisions": msgspec.to_builtins(decisions),
            }
        )
        return
    rows = _leave_out_questions(items, decisions)
    if rows:
        _print_items(rows[:limit], now)
    if rows and decisions:
        output.line_out("")
    if decisions:
        output.table(["DECISION", "BY", "DEADLINE", "OPTIONS", "QUESTION"], map(_build_decision_row, decisions))
    if len(rows) > limit:
        least = "at least " if len(items) == _MAX_ITEMS else ""
        output.talk(f"{least}{output.count(len(rows) - limit, 'more item')} pending: raise --limit to see them")
    if not rows and not decisions:
        output.talk(f"nothing waits for {entity.name!r}")
        return
    is_default = entity.name == choose_actor(None, configuration)
    as_name = "" if is_default else f" --as {entity.name}"
    for command in _list_next_commands(entity.kind, entity.name, rows, decisions, as_name):
        output.talk(f"next: {command}")


def _leave_out_questions(items: Sequence[ItemView], decisions: Sequence[DecisionView]) -> list[ItemView]:
    """Return the items without the questions that are in the table of decisions."""
    ids = {decision.id for decision in decisions}

    def is_listed(item: ItemView) -> bool:
        is_decision = item.type is EventType.DECISION and isinstance(item.data, dict)
        return is_decision and item.data.get("outcome") == "asked" and item.data.get("decisionId") in ids

    return [item for item in items if not is_listed(item)]


def _print_items(items: Sequence[ItemView], now: Instant) -> None:
    rows = [
        [
            item.event_id,
            Priority(item.priority).name.lower(),
            output.age(times.parse_instant(item.created_at), now),
            render.render_event(item.to_event()),
        ]
        for item in items
    ]
    output.table(["EVENT", "PRIORITY", "AGE", "WHAT"], rows)


def _build_decision_row(decision: DecisionView) -> TableRow:
    options = [option.id for option in decision.options] + (["--text"] if decision.free_text else [])
    return [
        decision.id,
        decision.asker,
        output.format_seconds(decision.deadline),
        ", ".join(options),
        quote(decision.question),
    ]


def _list_next_commands(
    kind: EntityKind, name: str, items: Sequence[ItemView], decisions: Sequence[DecisionView], as_name: str
) -> list[str]:
    commands = []
    if items and kind is EntityKind.HUMAN:
        commands.append(f"gatepost inbox done EVENT{as_name}")
    elif items:
        commands.append(f"gatepost inbox drain --to {name}")
    if any(item.type in _REPLIABLE_TYPES for item in items):
        commands.append(f"gatepost reply EVENT TEXT{as_name}")
    if any(item.type is EventType.GATE for item in items):
        commands.append(f"gatepost gate resolve GATE{as_name}")
    if decisions:
        commands.append(f"gatepost decision answer DECISION OPTION{as_name}")
    return commands
