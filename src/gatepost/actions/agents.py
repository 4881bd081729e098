"""
Residents: settling in, being told otherwise, pausing and going on.

An agent becomes a resident when it is given a configuration, and stays one. Every change rings it: what kept it from
thinking (a wrong key, a model that failed) may be over.
"""

from typing import Any

from gatepost.actions import directory
from gatepost.actions.directory import Changes, Newcomer
from gatepost.core import config as rules
from gatepost.core.agent import Config, Resident
from gatepost.core.entity import Entity, Kind
from gatepost.core.instants import SECOND
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, NotFound, UnknownAddress
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, entities


def settle(tx: Transaction, who: Newcomer | str, config: Config) -> Resident:
    """Make an agent a resident: one that is registered with it, or one that was a guest so far."""
    agent = directory.register(tx, who) if isinstance(who, Newcomer) else _locked(tx, who)
    if not agents.insert(tx, of_kind(agent).number, config):
        raise Conflict(f"{agent.name!r} is a resident already", hint="change its configuration instead")
    return _rung(tx, agent, "settle")


def configure(tx: Transaction, name: str, changes: dict[str, Any]) -> Resident:
    """
    Change the fields of a configuration that are given, each as a whole; null sets it back. A guest becomes a resident
    with them. What changes nothing does not count as a version.
    """
    agent = _locked(tx, name)
    found = agents.read(tx, agent.number)
    if found is None:
        agents.insert(tx, agent.number, rules.parse(changes))
        return _rung(tx, agent, "settle")
    wish = rules.parse(rules.document(found.config) | changes, stored=found.config)
    if wish != found.config or found.rest_until is not None:
        agents.change(tx, agent.number, wish)
    return _rung(tx, agent, "configure")


def change(tx: Transaction, name: str, changes: Changes, config: dict[str, Any]) -> None:
    """Change an agent as an entity and as a resident, or neither."""
    agent = _locked(tx, name)
    if changes:
        directory.update(tx, agent.name, **changes)
    if config:
        configure(tx, agent.name, config)


def pause(tx: Transaction, name: str) -> Resident:
    """Let a resident begin nothing from now on; its inbox fills meanwhile. Pausing it again changes nothing."""
    agent = _locked(tx, name)
    found = _resident(tx, agent)
    if found.paused_at is None:
        agents.pause(tx, agent.number, tx.now)
    return _rung(tx, agent, "pause")


def resume(tx: Transaction, name: str) -> Resident:
    """Let a resident go on with whatever waits."""
    agent = _locked(tx, name)
    _resident(tx, agent)
    agents.pause(tx, agent.number, None)
    return _rung(tx, agent, "resume")


def show(tx: Reader, name: str) -> Resident | None:
    """An agent as a resident; None if it is a guest."""
    return agents.read(tx, of_kind(directory.find(tx, name)).number)


def seconds_to_rest(tx: Reader, name: str) -> float | None:
    """Return for how long a resident still rests; None if it does not."""
    found = show(tx, name)
    if found is None or found.rest_until is None or found.rest_until <= tx.now:
        return None
    return (found.rest_until - tx.now) / SECOND


def page(
    tx: Reader, *, team: str | None = None, retired: bool = False, after: int = 0, limit: int = 1_000
) -> list[tuple[Entity, Resident | None]]:
    """Agents in order of registration, each as a resident too; None if it is a guest."""
    found = directory.page(tx, kind=Kind.AGENT, team=team, retired=retired, after=after, limit=limit)
    residents = agents.among(tx, [agent.number for agent in found])
    return [(agent, residents.get(agent.number)) for agent in found]


def of_kind(entity: Entity) -> Entity:
    """The same, if it is an agent."""
    if entity.kind is not Kind.AGENT:
        raise UnknownAddress(f"{entity.name!r} is not an agent, but a {entity.kind}")
    return entity


def _locked(tx: Transaction, name: str) -> Entity:
    """A live agent, of whom nobody else changes anything meanwhile."""
    entities.lock(tx, of_kind(directory.find(tx, name)).number)
    return of_kind(directory.find_live(tx, name))


def _resident(tx: Reader, agent: Entity) -> Resident:
    found = agents.read(tx, agent.number)
    if found is None:
        raise NotFound(f"{agent.name!r} is a guest: nobody thinks for it here", hint="give it a model first")
    return found


def _rung(tx: Transaction, agent: Entity, cause: str) -> Resident:
    tx.after_commit(Ring(agent.name, cause))
    return _resident(tx, agent)
