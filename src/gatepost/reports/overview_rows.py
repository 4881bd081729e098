"""What waits for an entity, who is thinking, and what happened lately: each at a cost that is bounded."""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.gates.decision import Decision
from gatepost.gates.decision_rows import build_decisions
from gatepost.inbox.event import Item
from gatepost.inbox.item_rows import build_item
from gatepost.reports.overview_api import ThinkingAgent, UnreadSpace
from gatepost.spaces.space import Message
from gatepost.stores.row_mapping import Mapper, fetch_number, load_json

_THINKING: Final = Mapper(ThinkingAgent)
_UNREAD: Final = Mapper(UnreadSpace)
_MESSAGE: Final = Mapper(Message, data=load_json)
#: decisions, urgent items, and messages of a space that are looked at
_DEPTH: Final = 1_000


def list_open_decisions(tx: Reader, entity: int, limit: int) -> list[Decision]:
    """Return the open decisions that an entity may answer, the most urgent first."""
    return build_decisions(tx, tx.fetch_page("reports/overview/list_open_decisions", entity=entity, limit=limit))


def count_open_decisions(tx: Reader, entity: int, limit: int) -> int:
    return fetch_number(tx, "reports/overview/count_open_decisions", entity=entity, limit=limit)


def list_recent_decisions(tx: Reader, participant: int | None, since: Instant, limit: int) -> list[Decision]:
    """Return the decisions that were asked or answered since then, the newest first."""
    rows = tx.fetch_page(
        "reports/overview/list_recent_decisions", participant=participant, since=since, depth=_DEPTH, limit=limit
    )
    return build_decisions(tx, rows)


def list_alerts(tx: Reader, recipient: int, limit: int) -> list[Item]:
    """Return the pending alerts of an entity, the newest first."""
    rows = tx.fetch_page("reports/overview/list_alerts", recipient=recipient, now=tx.now, depth=_DEPTH, limit=limit)
    return [build_item(row) for row in rows]


def count_alerts(tx: Reader, recipient: int) -> int:
    """Count the pending alerts of an entity, up to a limit."""
    return fetch_number(tx, "reports/overview/count_alerts", recipient=recipient, now=tx.now, depth=_DEPTH)


def list_thinking(tx: Reader, viewer: int | None, limit: int) -> list[ThinkingAgent]:
    """Return the agents with an open run that a viewer is, owns or shares a space with; all for None."""
    return _THINKING.fetch_all(tx, "reports/overview/list_thinking", viewer=viewer, limit=limit)


def list_unread(tx: Reader, entity: int, limit: int) -> list[UnreadSpace]:
    """Return the spaces of an entity that have unread messages."""
    return _UNREAD.fetch_all(tx, "reports/overview/list_unread", entity=entity, limit=limit)


def list_recent_messages(tx: Reader, entity: int | None, since: Instant, limit: int) -> list[Message]:
    """Return the last messages in the spaces of an entity, or in all, the newest first."""
    return _MESSAGE.fetch_page(tx, "reports/overview/list_recent_messages", entity=entity, since=since, limit=limit)


def count_recent_messages(tx: Reader, entity: int | None, since: Instant) -> int:
    """Count the messages in the spaces of an entity, or in all, up to a limit in each space."""
    return fetch_number(tx, "reports/overview/count_recent_messages", entity=entity, since=since, depth=_DEPTH)
