"""Agents, with their configurations and skills, and guest sessions."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.directory import entity_actions as directory
from gatepost.directory.attention import FindPresences, Presence
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_handlers import Attendance, build_changes, build_spec, read_attendances
from gatepost.guests import reachability, session_actions as sessions
from gatepost.guests.hooks import host_process
from gatepost.guests.reachability import Reachability
from gatepost.guests.session import ENDED, WORKING, GuestSession
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.residents import agent_actions as agents, agent_api as api, agent_config_json as agent_config
from gatepost.residents.agent_config import Resident


@api.RegisterAgent.handler
def register_agent(tx: Transaction, request: api.RegisterAgent, caller: Caller) -> api.AgentView:
    spec = build_spec(request, EntityKind.AGENT)
    config = {name: value for name, value in _build_config(request).items() if value is not None}
    if config:
        agents.make_resident(tx, spec, agent_config.parse_new(config))
    else:
        directory.register(tx, spec)
    if request.skills:
        agents.set_skills(tx, request.name, request.skills)
    return _read_agent(tx, request.name)


@api.ListAgents.handler
def list_agents(tx: Reader, request: api.ListAgents, caller: Caller) -> Page[api.AgentView]:
    reachabilities: dict[str, Reachability] = {}
    attendances: dict[str, Attendance] = {}

    def list_page(tx: Reader, **filters: Any) -> Sequence[tuple[Entity, Resident | None, Sequence[str]]]:
        rows = agents.list_page(tx, **filters)
        entities = [row[0] for row in rows]
        reachabilities.update(_find_reachabilities(tx, [entity.number for entity in entities]))
        names = [entity.name for entity in entities]
        attendances.update(zip(names, read_attendances(tx, entities), strict=True))
        return rows

    return read_page(
        tx,
        request,
        list_page,
        view=lambda row: _view_agent(
            *row, reachabilities.get(row[0].name), attendances[row[0].name], include_config=False
        ),
        cursor=lambda row: row[0].number,
        **asdict(request),
    )


@api.ShowAgent.handler
def show_agent(tx: Reader, request: api.ShowAgent, caller: Caller) -> api.AgentView:
    agent = directory.require_agent(directory.show(tx, request.name))
    return _read_view(tx, agent, include_config=caller.entity in (None, agent.name))


@api.ChangeAgent.handler
def change_agent(tx: Transaction, request: api.ChangeAgent, caller: Caller) -> api.AgentView:
    agents.update(tx, request.name, build_changes(request), _build_config(request))
    if request.skills is not UNSET:
        agents.set_skills(tx, request.name, request.skills or ())
    return _read_agent(tx, request.name)


@api.RetireAgent.handler
def retire_agent(tx: Transaction, request: api.RetireAgent, caller: Caller) -> api.AgentView:
    directory.retire(tx, find_agent(tx, request.name).name)
    return _read_agent(tx, request.name)


@api.PauseAgent.handler
def pause_agent(tx: Transaction, request: api.PauseAgent, caller: Caller) -> api.AgentView:
    agents.pause(tx, request.name)
    return _read_agent(tx, request.name)


@api.ResumeAgent.handler
def resume_agent(tx: Transaction, request: api.ResumeAgent, caller: Caller) -> api.AgentView:
    agents.resume(tx, request.name)
    return _read_agent(tx, request.name)


@api.WakeAgent.handler
def wake_agent(tx: Transaction, request: api.WakeAgent, caller: Caller) -> api.WokenView:
    agent = find_agent(tx, request.name)
    tx.after_commit(Signal(Topic("inbox", agent.name), "wake"))
    return api.WokenView(name=agent.name, woken=True)


@api.ShowSession.handler
def show_session(tx: Reader, request: api.ShowSession, caller: Caller) -> api.SessionView:
    return _view_session(tx, sessions.find(tx, request.id, agent=caller.entity))


@api.ListSessions.handler
def list_sessions(tx: Reader, request: api.ListSessions, caller: Caller) -> Page[api.SessionView]:
    agent = directory.find(tx, request.agent).name if request.agent is not None else None
    rows = sessions.list_recent(tx, agent=agent, include_ended=request.ended, limit=request.limit)
    return Page[api.SessionView](items=[_view_session(tx, row) for row in rows], next=None)


def find_agent(tx: Reader, name: str) -> Entity:
    """Return the agent with a name or an alias; raise `UnknownAddress` for any other kind of entity."""
    return directory.require_agent(directory.find(tx, name))


def _read_agent(tx: Reader, name: str) -> api.AgentView:
    return _read_view(tx, directory.require_agent(directory.show(tx, name)))


def _read_view(tx: Reader, agent: Entity, *, include_config: bool = True) -> api.AgentView:
    reachability = _find_reachabilities(tx, [agent.number]).get(agent.name)
    [attendance] = read_attendances(tx, [agent])
    return _view_agent(*agents.read_with_skills(tx, agent), reachability, attendance, include_config=include_config)


def _find_reachabilities(tx: Reader, numbers: Sequence[int]) -> dict[str, Reachability]:
    """Return the reachability of those of these agents that have sessions."""
    by_agent: dict[str, list[Reachability]] = {}
    for session in sessions.list_of_entities(tx, numbers):
        by_agent.setdefault(session.agent, []).append(_judge(tx, session))
    return {name: best for name, entries in by_agent.items() if (best := reachability.choose_best(entries))}


def find_presences(tx: Reader, question: FindPresences) -> dict[int, Presence]:
    """Return what these agents are doing: residents by their runs, guests by their most active session."""
    numbers = {agent.name: agent.number for agent in question.agents}
    presences: dict[int, Presence] = {}
    for session in sessions.list_of_entities(tx, [*numbers.values()]):
        number, presence = numbers[session.agent], _judge_presence(session)
        presences[number] = min(presences.get(number, presence), presence, key=list(Presence).index)
    rows = agents.list_presences(tx, [*numbers.values()])
    return presences | {row.entity: Presence(row.presence) for row in rows}


def _judge_presence(session: GuestSession) -> Presence:
    if session.state == ENDED or (session.program is not None and host_process.is_gone(session.program)):
        return Presence.AWAY
    return Presence.WORKING if session.state == WORKING else Presence.IDLE


def _judge(tx: Reader, session: GuestSession) -> Reachability:
    return reachability.judge(session, now=tx.now, is_running=host_process.is_running)


def _view_session(tx: Reader, session: GuestSession) -> api.SessionView:
    return api.SessionView.of(session, reachability=_judge(tx, session))


def _view_agent(
    agent: Entity,
    resident: Resident | None,
    skills: Sequence[str],
    reachability: Reachability | None,
    attendance: Attendance,
    *,
    include_config: bool = True,
) -> api.AgentView:
    """Return the view of a guest, or of a resident with its configuration and what its model lacks here."""
    config = resident.config if resident and include_config else None
    model_problem = None
    if config is not None:
        from gatepost.residents.model_handlers import view_model_problem  # a list has no configurations

        model_problem = view_model_problem(config.model)
    return api.AgentView.of(
        agent,
        **attendance._asdict(),
        version=resident.version if resident else 0,
        paused_at=resident.paused_at if resident else None,
        cycles=resident.cycles if resident else 0,
        mind_tokens=resident.tokens if resident else 0,
        failures=resident.failures if resident else 0,
        rest_until=resident.rest_until if resident else None,
        resident=resident is not None,
        paused=resident is not None and resident.paused_at is not None,
        skills=skills,
        reachability=reachability if resident is None else None,
        config=config,
        model_problem=model_problem,
    )


def _build_config(request: api.ConfiguringRequest[Any]) -> dict[str, Any]:
    """Return the fields of a configuration that a request names; None is one that gets its default."""
    fields = {name: getattr(request, name) for name in agent_config.FIELDS}
    return {name: value for name, value in fields.items() if value is not UNSET}
