"""Agents, guests and residents."""

from typing import Any

from msgspec import UNSET

from gatepost.actions import agents, directory, runs
from gatepost.actions.directory import EntitySpec
from gatepost.api.access import Caller
from gatepost.api.agent_config import ConfiguringRequest, ConfigView
from gatepost.api.agents import (
    AgentPage,
    AgentView,
    ChangeAgent,
    ListAgents,
    MindView,
    PauseAgent,
    RegisterAgent,
    ResumeAgent,
    RetireAgent,
    ShowAgent,
    ShowMind,
    WakeAgent,
    WokenView,
)
from gatepost.api.turns import TurnView
from gatepost.core import agent_config
from gatepost.core.agent import Resident
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.signals import Signal
from gatepost.core.times import format_rfc3339
from gatepost.handlers.entities import build_changes
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@RegisterAgent.handler
def register_agent(tx: Transaction, request: RegisterAgent, caller: Caller) -> AgentView:
    spec = EntitySpec(
        name=request.name,
        kind=EntityKind.AGENT,
        display=request.display_name,
        team=request.team,
        role=request.role,
        owner=request.owner,
        aliases=request.aliases,
    )
    config = {name: value for name, value in _build_config(request).items() if value is not None}
    if config:
        agents.make_resident(tx, spec, agent_config.parse(config))
    else:
        directory.register(tx, spec)
    return _read_agent(tx, request.name)


@ListAgents.handler
def list_agents(tx: Reader, request: ListAgents, caller: Caller) -> AgentPage:
    return read_page(
        tx,
        AgentPage,
        agents.page,
        team=request.team,
        retired=request.retired,
        after=request.after,
        limit=request.limit,
        view=lambda row: _view_agent(*row, include_config=False),
        cursor=lambda row: row[0].number,
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
    turns = [TurnView.of(turn) for turn in mind.turns]
    return MindView.of(mind.past_cycles, agent=agent.name, tokens=mind.tokens, turns=turns)


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
        paused_at=format_rfc3339(resident.paused_at) if resident and resident.paused_at is not None else None,
        cycles=resident.cycles if resident else 0,
        mind_tokens=resident.tokens if resident else 0,
        failures=resident.failures if resident else 0,
        rest_until=format_rfc3339(resident.rest_until) if resident and resident.rest_until is not None else None,
        resident=resident is not None,
        paused=resident is not None and resident.paused_at is not None,
        config=ConfigView.of(resident.config) if resident and include_config else None,
    )


def _build_config(request: ConfiguringRequest[Any]) -> dict[str, Any]:
    """Return the fields of a configuration that a request names; None is one that gets its default."""
    fields = {name: getattr(request, name) for name in agent_config.FIELDS}
    return {name: value for name, value in fields.items() if value is not UNSET}
