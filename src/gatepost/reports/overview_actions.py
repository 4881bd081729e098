"""
Show what waits for an entity, who is thinking, and what happened lately.

An entity sees what the lists show it: its own inbox and runs, the decisions that it asked or was asked, and the
messages of its spaces. Of other agents it sees only that they think, and only of those that it owns or shares a space
with. An administrator (`viewer=None`) sees all.
"""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.inbox import item_rows as items
from gatepost.reports import overview_rows as overview
from gatepost.reports.overview import Recent, ThinkingAgent, Waiting
from gatepost.residents.runs import actions as runs
from gatepost.residents.usage import actions as usage

#: whatever waits is counted up to this number
COUNT_LIMIT: Final = 1_000
_MAX_SPACES: Final = 1_000
_MAX_THINKING: Final = 100


def list_waiting(tx: Reader, name: str, *, limit: int) -> Waiting:
    """Return what waits for an entity, with at most `limit` entries of each kind."""
    number = directory.find(tx, name).number
    return Waiting(
        decision_count=overview.count_open_decisions(tx, number, COUNT_LIMIT),
        decisions=tuple(overview.list_open_decisions(tx, number, limit)),
        item_count=items.count_pending(tx, number, COUNT_LIMIT),
        items=tuple(items.read(tx, number, [item.arrival for item in items.list_candidates(tx, number, limit)])),
        alert_count=overview.count_alerts(tx, number),
        alerts=tuple(overview.list_alerts(tx, number, limit)),
        spaces=tuple(overview.list_unread(tx, number, _MAX_SPACES)),
    )


def list_thinking(tx: Reader, *, viewer: str | None = None) -> list[ThinkingAgent]:
    """Return the agents that think now, those that began first at the beginning."""
    return overview.list_thinking(tx, directory.find_number(tx, viewer), _MAX_THINKING)


def list_recent(tx: Reader, *, viewer: str | None = None, since: Instant, limit: int) -> Recent:
    """Return what happened since a time, with the last `limit` entries of each kind."""
    number = directory.find_number(tx, viewer)
    return Recent(
        since=since,
        usage=usage.sum_all(tx, agent=viewer, since=since, until=tx.now + 1),
        runs=tuple(runs.page(tx, agent=viewer, since=since, limit=limit)),
        message_count=overview.count_recent_messages(tx, number, since),
        messages=tuple(overview.list_recent_messages(tx, number, since, limit)),
        decisions=tuple(overview.list_recent_decisions(tx, number, since, limit)),
    )
