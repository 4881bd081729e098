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

from gatepost.actions import directory, push, triggers
from gatepost.actions import keys as doors
from gatepost.actions import plans as timetable
from gatepost.core import address, cron, memory
from gatepost.core import key as keys
from gatepost.core import plan as plans
from gatepost.core import space as spaces
from gatepost.core.entity import EntityKind
from gatepost.core.event import Push
from gatepost.core.mind import MindSummaries
from gatepost.core.plan import Plan
from gatepost.core.record import KeyRecord, MemberRecord, MessageRecord, TriggerRecord
from gatepost.core.settled import ResidentRecord
from gatepost.core.signals import Signal
from gatepost.core.space import Message, Space
from gatepost.core.trigger import check_name
from gatepost.errors import Invalid
from gatepost.ports import Transaction
from gatepost.tables import agents, entities, gates, goals, memories, messages, minds, records
from gatepost.tables import spaces as stored

_LONGEST_SECRET = 4_000


def take_space(tx: Transaction, record: Space) -> bool:
    """Say whether it is new."""
    made = stored.insert(tx, spaces.check_id(record.id), spaces.check_title(record.name))
    if made is not None:
        records.date_space(tx, made.number, record)
        tx.after_commit(Signal(f"space:{made.id}", "create"))
    return made is not None


def take_message(tx: Transaction, record: MessageRecord) -> bool:
    """Say whether it is new; it is the last of its space then."""
    sender = directory.find(tx, record.sender)
    wish = Push(to="", source="import", content=record.content, data=record.data)
    data = push.validate_push(wish, tx.limits)
    if records.numbers_of(tx, [record.id]):
        return False
    space = _space(tx, record.space, by=1)
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
    messages.insert(tx, message, space=space.number, sender=sender.number, data=data)
    tx.after_commit(Signal(f"space:{space.id}", "import"))
    return True


def take_member(tx: Transaction, record: MemberRecord) -> None:
    space, entity = _space(tx, record.space), directory.find(tx, record.name)
    read = records.numbers_of(tx, [record.read]).get(record.read) if record.read is not None else 0
    if read is None:
        raise Invalid(f"the message {record.read!r} does not stand before who has read it")
    records.join(tx, space.number, entity.number, record.joined_at, read)
    tx.after_commit(Signal(f"space:{space.id}", "join"))


def take_plan(tx: Transaction, plan: Plan) -> bool:
    """Say whether it is new."""
    owner = directory.find(tx, plan.owner)
    if plan.cron is not None:
        cron.parse(plan.cron, plan.zone if plan.zone is not None else "UTC")
    push.validate_push(Push(to="", source="plan", content=plan.instruction, hops=plan.hops), tx.limits)
    if plan.ended_at is not None and plan.ended_at <= tx.now - tx.limits.remember:
        return False
    gate = gates.read(tx, plan.gate) if plan.gate is not None else None
    if gate is None and plan.gate is not None and plan.next_at is None and plan.ended_at is None:
        raise Invalid(f"the gate {plan.gate!r} does not stand before the plan that waits for it")
    plan = replace(plan, name=plans.check_name(plan.name))
    if not records.restore_plan(tx, plan, owner.number, gate.number if gate is not None else None):
        return False
    if gate is not None and gate.resolution is not None:
        timetable.handle_gate_end(tx, gate, gate.resolution.ending)
    tx.after_commit(Signal(f"plan:{plan.id}", "set", wakes=False))
    return True


def take_trigger(tx: Transaction, record: TriggerRecord) -> bool:
    """Say whether it is new."""
    trigger = record.trigger
    check_name(trigger.name)
    address.parse(trigger.target)
    triggers.validate_prompt(trigger.prompt)
    if record.secret is not None and len(record.secret) > _LONGEST_SECRET:
        raise Invalid(f"the secret has {len(record.secret)} characters, over the limit of {_LONGEST_SECRET}")
    return records.restore_trigger(tx, record, directory.find_number(tx, trigger.owner))


def take_key(tx: Transaction, record: KeyRecord) -> bool:
    """Say whether it is new."""
    key = record.key
    keys.parse_prefix(key.prefix)
    for text in (key.name, key.trigger or ""):
        keys.check_name(text)
    doors.check_scope(key.kind, key.entity, key.trigger)
    if not records.restore_key(tx, record, directory.find_number(tx, key.entity)):
        return False
    tx.after_commit(Signal(keys.TOPIC, "key"))
    return True


def take_resident(tx: Transaction, record: ResidentRecord) -> bool:
    """Let a resident live here; say whether it did not yet."""
    entities.lock(tx, directory.find(tx, record.name).number)
    agent = directory.find(tx, record.name)
    if agent.kind is not EntityKind.AGENT:
        raise Invalid(f"{agent.name!r} is not an agent, but a {agent.kind}")
    if not agent.is_live or not agents.insert(tx, agent.number, record.config):
        return False
    if record.paused_at is not None:
        agents.pause(tx, agent.number, record.paused_at)
    room = memory.MAX_MEMORIES - memories.count(tx, agent.number)
    fresh = [key for key in record.memories if memories.read(tx, agent.number, key) is None]
    for key in fresh[: max(0, room)]:
        memories.set(tx, agent.number, key, record.memories[key])
    for goal in record.goals:
        if goals.read(tx, agent.number, goal.id) is None:
            goals.insert(tx, agent.number, goal)
    carried = MindSummaries(0, record.summaries, record.dropped)
    if record.summaries or record.dropped:
        minds.insert(tx, agent.number, carried)
        agents.completed(tx, agent.number, cycles=len(record.summaries) + record.dropped, tokens=carried.tokens)
    tx.after_commit(Signal(agent.name, "settle"))
    return True


def _space(tx: Transaction, id: str, *, by: int = 0) -> Space:
    found = stored.take(tx, spaces.check_id(id), by=by)
    if found is None:
        raise Invalid(f"the space {id!r} does not stand before what is in it")
    return found
