"""Agents: `/api/agents`, guests and residents, and what a resident knows."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query

from gatepost.actions import agents, directory, goals, memories, runs
from gatepost.actions.pages import limit_page
from gatepost.core import agent_config as rules
from gatepost.core import wire
from gatepost.core.agent import Resident
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.goal import GoalStatus
from gatepost.core.run import RunStatus
from gatepost.core.signals import Signal
from gatepost.errors import Invalid
from gatepost.gateway import shapes, thoughts
from gatepost.gateway.auth import Principal, administrator, find_own, somebody
from gatepost.gateway.office import Office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import AgentChange, NewAgent
from gatepost.ports import Reader, Transaction

router = APIRouter(prefix="/api/agents", tags=["agents"], responses=documented(401, 403, 422, 503))


@router.post("", status_code=201, responses=shaped(thoughts.Agent, 201) | documented(404, 409))
async def add_agent(body: NewAgent, who: Who, write: Write) -> Any:
    """Register an agent: a resident if anything of a configuration is given, else a guest."""
    administrator(who)
    newcomer = body.newcomer(EntityKind.AGENT)
    wish = {field: value for field, value in body.configuration().items() if value is not None}

    def verb(tx: Transaction) -> wire.Document:
        if wish:
            agents.make_resident(tx, newcomer, rules.parse(wish))
        else:
            directory.register(tx, newcomer)
        return wire.write_agent(*_agent(tx, newcomer.name))

    return await write(verb, lane="directory")


@router.get("", responses=shaped(thoughts.AgentPage))
async def list_agents(
    who: Who, house: House, team: str | None = None, retired: bool = False, after: After = 0, limit: Limit = 100
) -> Any:
    """The agents there are, in order of registration; what one is told to be is shown where it is asked for alone."""
    somebody(who)
    found = await house.store.read(limit_page(agents.page), team=team, retired=retired, after=after, limit=limit)
    return page(found, limit, lambda one: wire.write_agent(*one, include_private=False), lambda one: one[0].number)


@router.get("/{name}", responses=shaped(thoughts.Agent) | documented(404))
async def show_agent(name: str, who: Who, house: House) -> Any:
    """An agent, by its name or an alias; its configuration only to itself and the administrator."""
    me = who.as_(None)
    entity, resident = await house.store.read(_agent, name)
    return wire.write_agent(entity, resident, include_private=me in (None, entity.name))


@router.patch("/{name}", responses=shaped(thoughts.Agent) | documented(404, 409))
async def change_agent(name: str, body: AgentChange, who: Who, write: Write) -> Any:
    """Change what is named in the body; the rest stays. A guest that is given a configuration becomes a resident."""
    administrator(who)
    wish, changes = body.configuration(), body.changes()
    return await _changed(write, name, lambda tx: agents.update(tx, name, changes, wish))


@router.delete("/{name}", responses=shaped(thoughts.Agent) | documented(404, 409))
async def retire_agent(name: str, who: Who, write: Write) -> Any:
    """Retire an agent: it keeps its history and receives nothing more."""
    administrator(who)
    return await _changed(
        write, name, lambda tx: directory.retire(tx, agents.require_agent(directory.find(tx, name)).name)
    )


@router.post("/{name}/wake", status_code=202, responses=shaped(shapes.Woken, 202) | documented(404))
async def wake(name: str, who: Who, house: House) -> Any:
    """Let an agent look at its inbox; if it is empty, nothing else happens."""
    agent = await _own(house, who, name)
    house.exchange.send([Signal(agent.name, "wake")])
    return {"name": agent.name, "woken": True}


@router.post("/{name}/pause", responses=shaped(thoughts.Agent) | documented(404))
async def pause(name: str, who: Who, write: Write) -> Any:
    """Let a resident begin nothing from now on; its inbox fills meanwhile."""
    administrator(who)
    return await _changed(write, name, lambda tx: agents.pause(tx, name))


@router.post("/{name}/resume", responses=shaped(thoughts.Agent) | documented(404))
async def resume(name: str, who: Who, write: Write) -> Any:
    """Let a resident go on with whatever waits."""
    administrator(who)
    return await _changed(write, name, lambda tx: agents.resume(tx, name))


@router.get("/{name}/runs", responses=shaped(thoughts.RunPage) | documented(404))
async def list_runs(
    name: str, who: Who, house: House, status: thoughts.RunStatus | None = None, after: After = 0, limit: Limit = 100
) -> Any:
    """What an agent did, the newest run first."""
    agent = await _own(house, who, name)
    wanted = RunStatus(status) if status else None
    found = await house.store.read(
        limit_page(runs.page), agent=agent.name, status=wanted, before=after or None, limit=limit
    )
    return page(found, limit, wire.write_run, lambda one: one.number)


@router.get("/{name}/mind", responses=shaped(thoughts.Mind) | documented(404))
async def show_mind(name: str, who: Who, house: House) -> Any:
    """What a resident would begin its next cycle with."""
    agent = await _own(house, who, name)
    mind = await house.store.read(runs.read_mind, agent.name)
    return wire.write_mind(agent.name, mind.past_cycles, mind.turns, mind.tokens)


@router.get("/{name}/memories", responses=shaped(thoughts.MemoryPage) | documented(404))
async def list_memories(
    name: str, who: Who, house: House, after: Annotated[str | None, Query(max_length=300)] = None, limit: Limit = 1000
) -> Any:
    """What an agent has told itself to remember, the newest first."""
    agent = await _own(house, who, name)
    found = await house.store.read(limit_page(memories.page), agent.name, after=_memory(after), limit=limit)
    return page(found, limit, wire.write_memory, lambda one: f"{one.updated_at}-{one.key}")


@router.get("/{name}/goals", responses=shaped(thoughts.GoalPage) | documented(404))
async def list_goals(name: str, who: Who, house: House, status: GoalStatus | None = None) -> Any:
    """What an agent works towards, the most important first."""
    agent = await _own(house, who, name)
    found = await house.store.read(goals.page, agent.name, status=status)
    return {"items": [wire.write_goal(one) for one in found], "next": None}


def _memory(after: str | None) -> tuple[int, str] | None:
    """When the last memory of the page before was set, and its key."""
    at, dash, key = (after or "").partition("-")
    if after is None or (dash and at.isascii() and at.isdigit() and len(at) <= 18 and "\x00" not in key):
        return (int(at), key) if after is not None else None
    raise Invalid(f"{after!r:.60} is not the end of a page", hint="send `next` back as it was")


async def _changed(write: Write, name: str, change: Callable[[Transaction], object]) -> Any:
    """Do something to an agent, and show what it is then."""

    def verb(tx: Transaction) -> wire.Document:
        change(tx)
        return wire.write_agent(*_agent(tx, name))

    return await write(verb, lane="directory")


async def _own(house: Office, who: Principal, name: str) -> Entity:
    """An agent, for itself and the administrator."""
    return agents.require_agent(await find_own(house.store, who, name))


def _agent(tx: Reader, name: str) -> tuple[Entity, Resident | None]:
    found = agents.require_agent(directory.show(tx, name))
    return found, agents.show(tx, found.name)
