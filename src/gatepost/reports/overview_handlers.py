"""
The overview: what waits for an entity, who is thinking, and what happened lately.

An entity sees what the lists show it: its own inbox and runs, the decisions that it asked or was asked, and the
messages of its spaces. Of other agents it sees only that they think, and only of those that it owns or shares a space
with. An administrator (`viewer=None`) sees all.
"""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import HOUR, Instant, format_rfc3339, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.gates.decision_handlers import view_decision
from gatepost.gates.decision_rows import build_decisions
from gatepost.inbox import item_rows as items
from gatepost.inbox.event_api import ItemView
from gatepost.operations.access import Caller
from gatepost.operations.pagination import limit_page
from gatepost.reports import overview_api as api
from gatepost.residents import usage_actions as usage
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.api import RunView
from gatepost.residents.usage_api import UsageView
from gatepost.spaces.api import MessageView
from gatepost.spaces.space import Message
from gatepost.stores.row_mapping import Mapper, fetch_number, load_json

_THINKING: Final = Mapper(api.ThinkingAgent)
_UNREAD: Final = Mapper(api.UnreadSpace)
_MESSAGE: Final = Mapper(Message, data=load_json)
#: decisions, urgent items, and messages of a space that are looked at
_DEPTH: Final = 1_000
#: whatever waits is counted up to this number
COUNT_LIMIT: Final = 1_000
_MAX_SPACES: Final = 1_000
_MAX_THINKING: Final = 100
#: characters of each list: texts may be large, and there are several lists
_LIST_SIZE: Final = 256 * 1024


@api.ShowOverview.handler
def show_overview(tx: Reader, request: api.ShowOverview, caller: Caller) -> api.OverviewView:
    assert request.name is not None
    name = directory.find(tx, request.name).name
    since = parse_field("since", request.since, parse_instant)
    return api.OverviewView(
        name=name,
        at=format_rfc3339(tx.now),
        waiting=limit_page(view_waiting, _LIST_SIZE)(tx, name, limit=request.limit),
        thinking=[
            api.ThinkingView.of(agent)
            if caller.entity in (None, agent.agent)
            else api.ThinkingView.of(agent, run=None, cause=None)
            for agent in list_thinking(tx, viewer=caller.entity)
        ],
        recent=limit_page(view_recent, _LIST_SIZE)(
            tx,
            viewer=caller.entity,
            since=max(0, tx.now - HOUR) if since is None else since,
            limit=request.limit,
        ),
    )


def view_waiting(tx: Reader, name: str, *, limit: int) -> api.WaitingView:
    """Return what waits for an entity, with at most `limit` entries of each kind."""
    number = directory.find(tx, name).number
    decision_rows = tx.fetch_page("reports/overview/list_open_decisions", entity=number, limit=limit)
    candidates = items.list_candidates(tx, number, limit)
    alerts = tx.fetch_page("reports/overview/list_alerts", recipient=number, now=tx.now, depth=_DEPTH, limit=limit)
    spaces = _UNREAD.fetch_all(tx, "reports/overview/list_unread", entity=number, limit=_MAX_SPACES)
    return api.WaitingView(
        decision_count=fetch_number(tx, "reports/overview/count_open_decisions", entity=number, limit=COUNT_LIMIT),
        decisions=[view_decision(tx, decision) for decision in build_decisions(tx, decision_rows)],
        item_count=items.count_pending(tx, number, COUNT_LIMIT),
        items=[ItemView.of(item) for item in items.read(tx, number, [item.arrival for item in candidates])],
        alert_count=fetch_number(tx, "reports/overview/count_alerts", recipient=number, now=tx.now, depth=_DEPTH),
        alerts=[ItemView.of(items.build_item(row)) for row in alerts],
        spaces=[api.UnreadSpaceView.of(space) for space in spaces],
    )


def list_thinking(tx: Reader, *, viewer: str | None = None) -> list[api.ThinkingAgent]:
    """Return the agents that think now, those that began first at the beginning."""
    number = directory.find_number(tx, viewer)
    return _THINKING.fetch_all(tx, "reports/overview/list_thinking", viewer=number, limit=_MAX_THINKING)


def view_recent(tx: Reader, *, viewer: str | None = None, since: Instant, limit: int) -> api.RecentView:
    """Return what happened since a time, with the last `limit` entries of each kind."""
    number = directory.find_number(tx, viewer)
    decision_rows = tx.fetch_page(
        "reports/overview/list_recent_decisions", participant=number, since=since, depth=_DEPTH, limit=limit
    )
    count = fetch_number(tx, "reports/overview/count_recent_messages", entity=number, since=since, depth=_DEPTH)
    messages = _MESSAGE.fetch_page(tx, "reports/overview/list_recent_messages", entity=number, since=since, limit=limit)
    return api.RecentView(
        since=format_rfc3339(since),
        usage=UsageView.of(usage.sum_all(tx, agent=viewer, since=since, until=tx.now + 1)),
        runs=[RunView.of(run) for run in runs.list_page(tx, agent=viewer, since=since, limit=limit)],
        message_count=count,
        messages=[MessageView.of(message) for message in messages],
        decisions=[view_decision(tx, decision) for decision in build_decisions(tx, decision_rows)],
    )
