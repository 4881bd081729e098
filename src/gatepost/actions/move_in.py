"""
Residents that come from another store. One that lives here already stays as it is; a guest of the same name becomes
what it was there. It goes on in its own words: its cycles are here as the summaries it ended them with.
"""

from gatepost.actions import directory
from gatepost.core import memory as memory_rules
from gatepost.core.entity import Kind
from gatepost.core.mind import Carried
from gatepost.core.ring import Ring
from gatepost.core.settled import ResidentRecord
from gatepost.errors import Invalid
from gatepost.ports.store import Work
from gatepost.tables import agents, entities, goals, memories, minds


def take_resident(work: Work, record: ResidentRecord) -> bool:
    """Let a resident live here; say whether it did not yet."""
    entities.lock(work, directory.find(work, record.name).number)
    agent = directory.find(work, record.name)
    if agent.kind is not Kind.AGENT:
        raise Invalid(f"{agent.name!r} is not an agent, but a {agent.kind}")
    if not agent.live or not agents.insert(work, agent.number, record.config):
        return False
    if record.paused_at is not None:
        agents.pause(work, agent.number, record.paused_at)
    room = memory_rules.MOST - memories.count(work, agent.number)
    fresh = [key for key in record.memories if memories.read(work, agent.number, key) is None]
    for key in fresh[: max(0, room)]:
        memories.set(work, agent.number, key, record.memories[key])
    for goal in record.goals:
        if goals.read(work, agent.number, goal.id) is None:
            goals.insert(work, agent.number, goal)
    carried = Carried(0, record.summaries, record.dropped)
    if record.summaries or record.dropped:
        minds.insert(work, agent.number, carried)
        agents.completed(work, agent.number, cycles=len(record.summaries) + record.dropped, tokens=carried.tokens)
    work.after_commit(Ring(agent.name, "settle"))
    return True
