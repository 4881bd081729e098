"""The overview."""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import HOUR, Instant, format_rfc3339, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.gates.decision_handlers import view_decision
from gatepost.inbox.event_api import ItemView
from gatepost.operations.access import Caller
from gatepost.operations.pagination import limit_page
from gatepost.reports import overview_actions as overview
from gatepost.reports.overview_api import (
    OverviewView,
    RecentView,
    ShowOverview,
    ThinkingView,
    UnreadSpaceView,
    WaitingView,
)
from gatepost.residents.runs.api import RunView
from gatepost.residents.usage.api import UsageView
from gatepost.spaces.api import MessageView

#: characters of each list: texts may be large, and there are several lists
_LIST_SIZE: Final = 256 * 1024


@ShowOverview.handler
def show_overview(tx: Reader, request: ShowOverview, caller: Caller) -> OverviewView:
    assert request.name is not None
    name = directory.find(tx, request.name).name
    since = parse_field("since", request.since, parse_instant)
    return OverviewView(
        name=name,
        at=format_rfc3339(tx.now),
        waiting=_view_waiting(tx, name, request.limit),
        thinking=_view_thinking(tx, caller),
        recent=_view_recent(tx, caller, max(0, tx.now - HOUR) if since is None else since, request.limit),
    )


def _view_waiting(tx: Reader, name: str, limit: int) -> WaitingView:
    waiting = limit_page(overview.list_waiting, _LIST_SIZE)(tx, name, limit=limit)
    return WaitingView(
        decision_count=waiting.decision_count,
        decisions=[view_decision(tx, decision) for decision in waiting.decisions],
        item_count=waiting.item_count,
        items=[ItemView.of(item) for item in waiting.items],
        alert_count=waiting.alert_count,
        alerts=[ItemView.of(item) for item in waiting.alerts],
        spaces=[UnreadSpaceView.of(space) for space in waiting.spaces],
    )


def _view_thinking(tx: Reader, caller: Caller) -> list[ThinkingView]:
    agents = overview.list_thinking(tx, viewer=caller.entity)
    return [
        ThinkingView.of(agent) if caller.entity in (None, agent.agent) else ThinkingView.of(agent, run=None, cause=None)
        for agent in agents
    ]


def _view_recent(tx: Reader, caller: Caller, since: Instant, limit: int) -> RecentView:
    recent = limit_page(overview.list_recent, _LIST_SIZE)(tx, viewer=caller.entity, since=since, limit=limit)
    return RecentView(
        since=format_rfc3339(recent.since),
        usage=UsageView.of(recent.usage),
        runs=[RunView.of(run) for run in recent.runs],
        message_count=recent.message_count,
        messages=[MessageView.of(message) for message in recent.messages],
        decisions=[view_decision(tx, decision) for decision in recent.decisions],
    )
