"""Entities, and what agents have besides: configurations, minds, goals, memories, sessions."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_handlers import build_changes, build_spec
from gatepost.guests import session_actions as sessions
from gatepost.operations.access import Caller
from gatepost.operations.pagination import parse_cursor_number, read_page
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config, memory_actions as memories
from gatepost.residents.agent_api import (
    AgentPage,
    AgentView,
    ChangeAgent,
    ConfiguringRequest,
    GoalPage,
    GoalView,
    ListAgents,
    ListGoals,
    ListMemories,
    MemoryPage,
    MemoryView,
    MindView,
    PauseAgent,
    RegisterAgent,
    ResumeAgent,
    RetireAgent,
    SessionView,
    ShowAgent,
    ShowMind,
    ShowSession,
    WakeAgent,
    WokenView,
)
from gatepost.residents.agent_config import Resident
from gatepost.residents.runs import actions as runs


@RegisterAgent.handler
def register_agent(tx: Transaction, request: RegisterAgent, caller: Caller) -> AgentView:
    spec = build_spec(request, EntityKind.AGENT)
    config = {name: value for name, value in _build_config(request).items() if value is not None}
    if config:
        agents.make_resident(tx, spec, agent_config.parse_new(config))
    else:
        directory.register(tx, spec)
    return _read_agent(tx, request.name)


@ListAgents.handler
def list_agents(tx: Reader, request: ListAgents, caller: Caller) -> AgentPage:
    return read_page(
        tx,
        AgentPage,
        agents.page,
        view=lambda row: _view_agent(*row, include_config=False),
        cursor=lambda row: row[0].number,
        **asdict(request),
    )


@ShowAgent.handler
def show_agent(tx: Reader, request: ShowAgent, caller: Caller) -> AgentView:
    agent = agents.require_agent(directory.show(tx, request.name))
    include_config = caller.entity in (None, agent.name)
    return _view_agent(agent, agents.show(tx, agent.name), include_config=include_config)


@ChangeAgent.handler
def change_agent(tx: Transaction, request: ChangeAgent, caller: Caller) -> AgentView:
    agents.update(tx, request.name, build_changes(request), _build_config(request))
    return _read_agent(tx, request.name)


@RetireAgent.handler
def retire_agent(tx: Transaction, request: RetireAgent, caller: Caller) -> AgentView:
    directory.retire(tx, find_agent(tx, request.name).name)
    return _read_agent(tx, request.name)


@PauseAgent.handler
def pause_agent(tx: Transaction, request: PauseAgent, caller: Caller) -> AgentView:
    agents.pause(tx, request.name)
    return _read_agent(tx, request.name)


@ResumeAgent.handler
def resume_agent(tx: Transaction, request: ResumeAgent, caller: Caller) -> AgentView:
    agents.resume(tx, request.name)
    return _read_agent(tx, request.name)


@WakeAgent.handler
def wake_agent(tx: Transaction, request: WakeAgent, caller: Caller) -> WokenView:
    agent = find_agent(tx, request.name)
    tx.after_commit(Signal(agent.name, "wake"))
    return WokenView(name=agent.name, woken=True)


@ShowMind.handler
def show_mind(tx: Reader, request: ShowMind, caller: Caller) -> MindView:
    agent = find_agent(tx, request.name)
    mind = runs.read_mind(tx, agent.name)
    return MindView.of(mind.past_cycles, agent=agent.name, tokens=mind.tokens, turns=mind.turns)


@ListGoals.handler
def list_goals(tx: Reader, request: ListGoals, caller: Caller) -> GoalPage:
    rows = memories.page_goals(tx, find_agent(tx, request.name).name, status=request.status)
    return GoalPage(items=[GoalView.of(goal) for goal in rows], next=None)


@ListMemories.handler
def list_memories(tx: Reader, request: ListMemories, caller: Caller) -> MemoryPage:
    after = None
    if request.after is not None:
        updated_at, dash, key = request.after.partition("-")
        after = (parse_cursor_number(updated_at if dash else "", request.after), key)
    return read_page(
        tx,
        MemoryPage,
        memories.page_memories,
        find_agent(tx, request.name).name,
        view=MemoryView.of,
        cursor=lambda memory: f"{memory.updated_at}-{memory.key}",
        after=after,
        limit=request.limit,
    )


@ShowSession.handler
def show_session(tx: Reader, request: ShowSession, caller: Caller) -> SessionView:
    return SessionView.of(sessions.find(tx, request.id, agent=caller.entity))


def find_agent(tx: Reader, name: str) -> Entity:
    """Return the agent with a name or an alias; raise `UnknownAddress` for any other kind of entity."""
    return agents.require_agent(directory.find(tx, name))


def _read_agent(tx: Reader, name: str) -> AgentView:
    agent = agents.require_agent(directory.show(tx, name))
    return _view_agent(agent, agents.show(tx, agent.name))


def _view_agent(agent: Entity, resident: Resident | None, *, include_config: bool = True) -> AgentView:
    """Return the view of a guest, or of a resident with its configuration."""
    return AgentView.of(
        agent,
        version=resident.version if resident else 0,
        paused_at=resident.paused_at if resident else None,
        cycles=resident.cycles if resident else 0,
        mind_tokens=resident.tokens if resident else 0,
        failures=resident.failures if resident else 0,
        rest_until=resident.rest_until if resident else None,
        resident=resident is not None,
        paused=resident is not None and resident.paused_at is not None,
        config=resident.config if resident and include_config else None,
    )


def _build_config(request: ConfiguringRequest[Any]) -> dict[str, Any]:
    """Return the fields of a configuration that a request names; None is one that gets its default."""
    fields = {name: getattr(request, name) for name in agent_config.FIELDS}
    return {name: value for name, value in fields.items() if value is not UNSET}
