"""
Storing the surroundings of inboxes that were exported elsewhere: spaces, plans, triggers, keys and residents.

As with entities and events, what is here stays as it is, and so importing twice is importing once:

- *A space* is known by its id, a message of it by its own. New messages come after those that are here and take the
  next numbers; where the space is new these are the numbers they had. Whoever is a member here stays one as they are;
  others join as of when they joined there, with what they had read. Nothing of it is told anybody: what agents had
  heard of a message is among the items.
- *A plan* is known by its id, and what was over longer ago than is remembered is not stored. A slot that passed
  meanwhile is caught up with as its plan says; if both installations go on, both fire. One that waits for a gate that
  has ended here is due, or cancelled.
- *A trigger* is known by its name. Exported without its secret it is closed here, and cannot be opened.
- *A key* is known by its hash, and opens here what it opened there.
- *A resident* that lives here already stays as it is; a guest of the same name becomes what it was there. It goes on in
  its own words: its cycles are here as the summaries it ended them with.
"""

from dataclasses import replace

from gatepost.actions import directory, intake, triggers
from gatepost.actions import keys as doors
from gatepost.actions import plans as timetable
from gatepost.core import address, cron, memory
from gatepost.core import key as keys
from gatepost.core import plan as plans
from gatepost.core import space as spaces
from gatepost.core.entity import Kind
from gatepost.core.event import Push
from gatepost.core.mind import Carried
from gatepost.core.plan import Plan
from gatepost.core.record import KeyRecord, MemberRecord, MessageRecord, TriggerRecord
from gatepost.core.ring import Ring
from gatepost.core.settled import ResidentRecord
from gatepost.core.space import Message, Space
from gatepost.core.trigger import named
from gatepost.errors import Invalid
from gatepost.ports.store import Work
from gatepost.tables import agents, entities, gates, goals, memories, messages, minds, records
from gatepost.tables import spaces as stored

_LONGEST_SECRET = 4_000


def take_space(work: Work, record: Space) -> bool:
    """Say whether it is new."""
    made = stored.insert(work, spaces.check(record.id), spaces.title(record.name))
    if made is not None:
        records.date_space(work, made.number, record)
        work.after_commit(Ring(f"space:{made.id}", "create"))
    return made is not None


def take_message(work: Work, record: MessageRecord) -> bool:
    """Say whether it is new; it is the last of its space then."""
    sender = directory.find(work, record.sender)
    wish = Push(to="", source="import", content=record.content, data=record.data)
    data = intake.checked(wish, work.limits)
    if records.numbers_of(work, [record.id]):
        return False
    space = _space(work, record.space, by=1)
    message = Message(
        id=record.id,
        space=space.id,
        seq=space.last_seq,
        sender=sender.name,
        sender_display=sender.display,
        sender_kind=sender.kind,
        content=record.content,
        data=record.data,
        created_at=record.created_at,
    )
    messages.insert(work, message, space=space.number, sender=sender.number, data=data)
    work.after_commit(Ring(f"space:{space.id}", "import"))
    return True


def take_member(work: Work, record: MemberRecord) -> None:
    space, entity = _space(work, record.space), directory.find(work, record.name)
    read = records.numbers_of(work, [record.read]).get(record.read) if record.read is not None else 0
    if read is None:
        raise Invalid(f"the message {record.read!r} does not stand before who has read it")
    records.join(work, space.number, entity.number, record.joined_at, read)
    work.after_commit(Ring(f"space:{space.id}", "join"))


def take_plan(work: Work, plan: Plan) -> bool:
    """Say whether it is new."""
    owner = directory.find(work, plan.owner)
    if plan.cron is not None:
        cron.parse(plan.cron, plan.zone if plan.zone is not None else "UTC")
    intake.checked(Push(to="", source="plan", content=plan.instruction, hops=plan.hops), work.limits)
    if plan.ended_at is not None and plan.ended_at <= work.now - work.limits.remember:
        return False
    gate = gates.read(work, plan.gate) if plan.gate is not None else None
    if gate is None and plan.gate is not None and plan.next_at is None and plan.ended_at is None:
        raise Invalid(f"the gate {plan.gate!r} does not stand before the plan that waits for it")
    plan = replace(plan, name=plans.named(plan.name))
    if not records.restore_plan(work, plan, owner.number, gate.number if gate is not None else None):
        return False
    if gate is not None and gate.resolution is not None:
        timetable.gate_ended(work, gate, gate.resolution.ending)
    work.after_commit(Ring(f"plan:{plan.id}", "set", wakes=False))
    return True


def take_trigger(work: Work, record: TriggerRecord) -> bool:
    """Say whether it is new."""
    trigger = record.trigger
    named(trigger.name)
    address.parse(trigger.target)
    triggers.checked_prompt(trigger.prompt)
    if record.secret is not None and len(record.secret) > _LONGEST_SECRET:
        raise Invalid(f"the secret has {len(record.secret)} characters, over the limit of {_LONGEST_SECRET}")
    return records.restore_trigger(work, record, directory.number(work, trigger.owner))


def take_key(work: Work, record: KeyRecord) -> bool:
    """Say whether it is new."""
    key = record.key
    keys.prefix(key.prefix)
    for text in (key.name, key.trigger or ""):
        keys.named(text)
    doors.check_scope(key.kind, key.entity, key.trigger)
    if not records.restore_key(work, record, directory.number(work, key.entity)):
        return False
    work.after_commit(Ring(keys.TOPIC, "key"))
    return True


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
    room = memory.MOST - memories.count(work, agent.number)
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


def _space(work: Work, id: str, *, by: int = 0) -> Space:
    found = stored.take(work, spaces.check(id), by=by)
    if found is None:
        raise Invalid(f"the space {id!r} does not stand before what is in it")
    return found
