"""
Make, configure, pause and resume residents, and keep what their cycles say of them.

An agent becomes a resident when it gets a configuration, and stays one. Every change sends a signal to it, because the
change may remove what kept it from thinking (a wrong key, a model that failed).
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from gatepost.channels.skills import FindSkills
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_actions import EntityChanges, EntitySpec
from gatepost.errors import Conflict, NotFound
from gatepost.residents import agent_config_json as rules
from gatepost.residents.agent_config import AgentConfig, Resident
from gatepost.stores.row_mapping import Mapper, get_columns


def _decode_skills(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text))


RESIDENT: Final = Mapper(Resident, config=rules.decode, skills=_decode_skills)


def make_resident(tx: Transaction, spec_or_name: EntitySpec | str, config: AgentConfig) -> Resident:
    """Make an agent a resident: register a new one, or take one that was a guest so far."""
    agent = (
        directory.register(tx, spec_or_name) if isinstance(spec_or_name, EntitySpec) else _lock_agent(tx, spec_or_name)
    )
    if not _insert(tx, directory.require_agent(agent), config):
        raise Conflict(f"{agent.name!r} is a resident already", hint="change its configuration instead")
    return _signal_and_read(tx, agent, "settle")


def configure(tx: Transaction, name: str, changes: dict[str, Any]) -> Resident:
    """
    Replace the fields of a configuration that are in `changes`, each as a whole; None sets a field to its default. A
    guest becomes a resident. A call that changes nothing makes no new version.
    """
    agent = _lock_agent(tx, name)
    resident = read(tx, agent.number)
    if resident is None:
        _insert(tx, agent, rules.parse_new(changes))
        return _signal_and_read(tx, agent, "settle")
    config = rules.parse(rules.build_document(resident.config) | changes, stored_config=resident.config)
    if config != resident.config or resident.rest_until is not None:
        tx.execute_later("residents/agents/update", entity=agent.number, config=rules.encode(config), now=tx.now)
    return _signal_and_read(tx, agent, "configure")


def update(tx: Transaction, name: str, changes: EntityChanges, config: dict[str, Any]) -> None:
    """Change an agent as an entity and as a resident, in one transaction."""
    agent = _lock_agent(tx, name)
    if changes:
        directory.update(tx, agent.name, **changes)
    if config:
        configure(tx, agent.name, config)


def pause(tx: Transaction, name: str) -> Resident:
    """
    Keep a resident from beginning cycles; its inbox fills meanwhile. A cycle that runs ends after the step it is in.
    Pausing it again changes nothing.
    """
    agent = _lock_agent(tx, name)
    resident = _require_resident(tx, agent)
    if resident.paused_at is None:
        tx.execute_later("residents/agents/pause", entity=agent.number, at=tx.now)
    return _signal_and_read(tx, agent, "pause")


def is_paused(tx: Reader, number: int) -> bool:
    return tx.fetch_one("residents/agents/is_paused", entity=number) is not None


def resume(tx: Transaction, name: str) -> Resident:
    """Let a paused resident think again."""
    agent = _lock_agent(tx, name)
    _require_resident(tx, agent)
    tx.execute_later("residents/agents/pause", entity=agent.number, at=None)
    return _signal_and_read(tx, agent, "resume")


def show(tx: Reader, name: str) -> Resident | None:
    """Return an agent as a resident; None if it is a guest."""
    return read(tx, directory.require_agent(directory.find(tx, name)).number)


def measure_rest(tx: Reader, name: str) -> float | None:
    """Return for how many seconds a resident still rests; None if it does not rest."""
    resident = show(tx, name)
    if resident is None or resident.rest_until is None or resident.rest_until <= tx.now:
        return None
    return (resident.rest_until - tx.now) / SECOND


def list_page(
    tx: Reader, *, team: str | None = None, retired: bool = False, after: int = 0, limit: int = 1_000
) -> list[tuple[Entity, Resident | None, Sequence[str]]]:
    """Return agents in order of registration, each with its resident, None for a guest, and its skills."""
    agent_entities = directory.list_page(
        tx, kind=EntityKind.AGENT, team=team, retired=retired, after=after, limit=limit
    )
    numbers = [agent.number for agent in agent_entities]
    residents = RESIDENT.fetch_all(tx, "residents/agents/read_many", entities=numbers)
    by_number = {resident.number: resident for resident in residents}
    skills = read_skills(tx, numbers)
    return [(agent, by_number.get(agent.number), skills.get(agent.number, ())) for agent in agent_entities]


def list_presences(tx: Reader, entities: Sequence[int]) -> Sequence[Row]:
    """Return what those of these agents are doing that are residents; a paused one is away."""
    return tx.fetch_all("residents/agents/list_presences", entities=list(entities))


def list_live(tx: Reader) -> list[Resident]:
    """Return all residents that are not retired."""
    return RESIDENT.fetch_all(tx, "residents/agents/list_live")


def read_with_skills(tx: Reader, agent: Entity) -> tuple[Entity, Resident | None, Sequence[str]]:
    """Return an agent with its resident, None for a guest, and its skills."""
    return agent, read(tx, agent.number), find_skills(tx, FindSkills(agent))


def _lock_agent(tx: Transaction, name: str) -> Entity:
    """Lock a live agent until the commit, and return it."""
    entities.lock(tx, directory.require_agent(directory.find(tx, name)).number)
    return directory.require_agent(directory.find_live(tx, name))


def _insert(tx: Transaction, agent: Entity, config: AgentConfig) -> bool:
    """Make an agent a resident; return False if it is one already."""
    return tx.execute("residents/agents/insert", entity=agent.number, config=rules.encode(config), now=tx.now) == 1


def _require_resident(tx: Reader, agent: Entity) -> Resident:
    resident = read(tx, agent.number)
    if resident is None:
        raise NotFound(
            f"{agent.name!r} is a guest, not a resident",
            hint=f"give it a model first: `gatepost agent set {agent.name} --model M`",
        )
    return resident


def _signal_and_read(tx: Transaction, agent: Entity, cause: str) -> Resident:
    tx.after_commit(Signal(Topic("inbox", agent.name), cause))
    return _require_resident(tx, agent)


def alert_owner(tx: Transaction, name: str, text: str, *, topic: str, hops: int = 0) -> None:
    """Alert the owner of an agent, once for each topic; `hops` are those of a run that has just ended."""
    from gatepost.inbox.event import Ref  # a list of agents pushes nothing
    from gatepost.inbox.push import actions as push

    owner = directory.find_responsible(tx, directory.find(tx, name))
    push.push_alerts(tx, [push.build_alert(owner, text, f"{name}:{topic}", hops=hops, cause=Ref("agent", name))])


def find_skills(tx: Reader, question: FindSkills) -> Sequence[str]:
    """Return the skills of an agent."""
    number = question.agent.number
    return read_skills(tx, [number]).get(number, ())


def read_skills(tx: Reader, entities: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the skills of the entities that have some."""
    rows = tx.fetch_all("residents/agents/list_skills", entities=list(entities))
    return {row.number: _decode_skills(row.skills) for row in rows}


def set_skills(tx: Transaction, name: str, skills: Sequence[str]) -> None:
    """Give an agent, a guest or a resident, these skills and no others."""
    agent = _lock_agent(tx, name)
    tx.execute_later("residents/agents/set_skills", entity=agent.number, skills=json.dumps(rules.check_skills(skills)))
    tx.after_commit(Signal(Topic("inbox", agent.name), "configure"))


def set_rest(tx: Transaction, resident: Resident) -> None:
    """Save the failures of the model, the rest time and the limit of the next batch."""
    tx.execute_later("residents/agents/set_rest", **get_columns(resident, "number failures rest_until batch_limit"))


def end_rests(tx: Transaction) -> None:
    """End the rest time of every resident now."""
    tx.execute_later("residents/agents/end_rests", now=tx.now)


def record_cycles(tx: Transaction, resident: Resident) -> None:
    """Save the number of completed cycles and the size of the mind; reset failures, rest time and batch limit."""
    tx.execute_later("residents/agents/record_cycles", **get_columns(resident, "number cycles tokens"))


def is_ready(tx: Reader, entity: int, *, include_quiet: bool) -> bool:
    """Return True if a resident has something to think about; with `include_quiet` also items that do not wake it."""
    limits = {"now": tx.now, "fyi_before": tx.now - tx.policy.fyi_wait}
    return bool(tx.fetch_one("residents/agents/is_ready", entity=entity, include_quiet=include_quiet, **limits))


def read(tx: Reader, entity: int) -> Resident | None:
    return RESIDENT.fetch_one(tx, "residents/agents/read", entity=entity)
