"""
Make, show and end gates.

A gate ends once. A verb that ends it locks its row first (`gates.lock`) and writes the resolution, whose key is the
gate: of two that would end it, the second finds how it ended, and its error says so. In the same transaction everyone
concerned gets an event (`gate:{id}`), and plans that wait for the gate become due or are cancelled. So no gate ends
without its events.

A gate holds its owner: the owner should not stop while it is pending. A gate concerns its owner and the owner's own
owner, its creator, the entity that should resolve it, and its waiters; only they see it. Who may do what:

    add         its owner, and the owner's owner; a gate that runs a command: only an administrator
    resolve     a human gate: the entity it awaits; any other: its creator, and the owner's owner
    withdraw    its creator, and the owner's owner

`by` is the acting entity. None is Gatepost itself, which may do everything, as the administrator may.

The event of a gate that ends by itself continues the chain of events in which the gate was made, if that is not longer
ago than `CHAIN_PAUSE`, or the chain of the event that it waited for, if that is longer; otherwise two agents
could wake each other for ever with timers. An entity that ends a gate continues its own chain.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core import address, ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.text import check_text
from gatepost.core.times import Duration, Instant, format_rfc3339
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Conflict, Invalid, Late, LimitReached, NotFound, Refused, quote_value
from gatepost.gates import condition_check, gate as gate_rules, gate_rows as gates
from gatepost.gates.condition_check import CheckFailed, CheckResult, ConditionGone, ConditionMet, ConditionPending
from gatepost.gates.gate import Ending, Gate, GateEnded, GateKind, GateSpec
from gatepost.inbox import event_rows as events, item_actions as inbox_items
from gatepost.inbox.event import EventType, Push, Ref
from gatepost.inbox.push import actions as push, hop_actions as chains
from gatepost.stores.row_mapping import fetch_number, get_columns

_MAX_REASON_LENGTH: Final = 1_000
#: waiters of one gate
_MAX_WAITERS: Final = 100


def add(tx: Transaction, spec: GateSpec, *, by: str | None) -> Gate:
    """Make a gate; if it is a human gate, push a notice to the entity that should resolve it."""
    spec = gate_rules.check_spec(spec)
    creator = directory.find_live(tx, by) if by is not None else None
    owner = directory.find(tx, spec.owner) if spec.owner is not None else creator
    if owner is None:
        raise Invalid("a gate needs an owner", hint="give `owner`: whom it keeps from stopping")
    if not is_allowed(creator, owner.name, owner.owner):
        raise Refused(f"{by!r} cannot keep {owner.name!r} from stopping", hint="only that one, and its owner, can")
    if spec.kind is GateKind.COMMAND:
        if not tx.policy.can_run_commands:
            raise Refused("gates that run commands are not allowed here", hint="set gates.commands to true")
        if not is_allowed(creator):
            raise Refused("only an administrator can make a gate that runs a command")
    if spec.kind is GateKind.CI:
        _check_repository(tx, spec)
    awaited_entity = _find_awaited(tx, spec, owner)
    waiters = [directory.find_live(tx, name) for name in dict.fromkeys(spec.waiters)]
    lock_live(tx, [owner, *([awaited_entity] if awaited_entity else ())])
    gate = create_gate(tx, spec, owner, creator, awaited_entity)
    for waiter in waiters:
        gates.insert_waiter(tx, gate.number, waiter.number)
    if gate.kind is GateKind.HUMAN and awaited_entity is not None:
        notice = _build_push(gate, "opened", gate.instruction or gate.name, creator)
        push.fan_out(tx, replace(notice, dedup_key=_build_notice_key(gate)), creator, [awaited_entity])
    return _read(tx, gate)


def show(tx: Reader, id: str, *, viewer: str | None = None) -> Gate:
    """Return a gate to a viewer whom it concerns, or to the administrator (None); raise `NotFound` for others."""
    gate = gates.read(tx, ids.check("gate", id))
    if gate is None or (viewer is not None and not _is_concerned(tx, gate, directory.find(tx, viewer))):
        raise _build_unknown_error(id)
    return gate


def list_page(
    tx: Reader,
    *,
    owner: str | None = None,
    waiter: str | None = None,
    concerning: str | None = None,
    kind: GateKind | None = None,
    pending: bool | None = None,
    newest_first: bool = False,
    after: int = 0,
    limit: int = 100,
) -> list[Gate]:
    """Return gates in the order in which they were made, or backwards; `after` is the number of the last gate seen."""
    filters = {
        "owner": directory.find_number(tx, owner),
        "waiter": directory.find_number(tx, waiter),
        "participant": directory.find_number(tx, concerning),
        "kind": kind,
        "is_pending": pending,
        "limit": limit,
    }
    if newest_first:
        return gates.build_gates(tx, tx.fetch_page("gates/gates/list_newest", before=after or gates.END, **filters))
    return gates.build_gates(tx, tx.fetch_page("gates/gates/list_page", after=after, **filters))


def list_blocking(tx: Reader, name: str | Entity) -> list[Gate]:
    """Return the gates that keep an entity from stopping now: no decisions whose answer its program waits for."""
    owner = directory.find(tx, name)
    holding_gates = [gate for gate in gates.list_pending(tx, owner.number) if gate.holds(tx.now)]
    numbers = [gate.number for gate in holding_gates if gate.kind is GateKind.DECISION]
    followed = (
        {row.gate for row in tx.fetch_all("gates/decisions/list_followed_gates", gates=numbers)} if numbers else ()
    )
    return [gate for gate in holding_gates if gate.number not in followed]


def list_instructing(tx: Reader, agent: int) -> list[Gate]:
    """
    Return the gates whose instruction a resident should get before it ends its cycle: those that it can resolve itself,
    and that have not given their instruction before. For all other gates the resident sleeps, and their end wakes it.
    """
    new_numbers = {row.number for row in tx.fetch_all("gates/gates/find_uninstructed", owner=agent)}
    if not new_numbers:
        return []
    return [gate for gate in gates.list_pending(tx, agent) if gate.number in new_numbers and gate.holds(tx.now)]


def resolve(tx: Transaction, id: str, *, by: str | None, reason: str = "") -> Gate:
    """End a gate, because what it waits for has come."""
    gate, actor = _lock_gate(tx, id, by)
    if gate.kind is GateKind.DECISION:
        raise Conflict(
            f"the gate {id!r} belongs to a decision", hint=f"answer that: gatepost decision answer {gate.awaits}"
        )
    owner = directory.find(tx, gate.owner)
    allowed_names = (gate.awaits,) if gate.kind is GateKind.HUMAN else (gate.made_by, owner.owner)
    if not is_allowed(actor, *allowed_names):
        names = " or ".join(repr(name) for name in dict.fromkeys(allowed_names) if name)
        raise Refused(f"{by!r} cannot resolve the gate {id!r}", hint=f"{names} can" if names else None)
    return end(tx, gate, Ending.RESOLVED, reason, actor)


def withdraw(tx: Transaction, id: str, *, by: str | None, reason: str = "") -> Gate:
    """End a gate that is not needed any more."""
    gate, actor = _lock_gate(tx, id, by)
    if gate.kind is GateKind.DECISION:
        raise Conflict(
            f"the gate {id!r} belongs to a decision", hint=f"withdraw that: gatepost decision withdraw {gate.awaits}"
        )
    if not is_allowed(actor, gate.made_by, directory.find(tx, gate.owner).owner):
        raise Refused(f"{by!r} cannot withdraw the gate {id!r}", hint="who made it can")
    return end(tx, gate, Ending.WITHDRAWN, reason, actor)


def add_waiter(tx: Transaction, id: str, name: str, *, by: str | None) -> Gate:
    """Add a waiter, which gets an event when the gate ends; adding it again changes nothing."""
    address.check_entity_address(name)
    gate, _ = _lock_gate(tx, id, by)
    if not gate.is_pending:
        raise build_late_error(gate)
    if len(gate.waiters) >= _MAX_WAITERS:
        raise Conflict(f"the gate {id!r} has {_MAX_WAITERS} waiters already")
    gates.insert_waiter(tx, gate.number, directory.find_live(tx, name).number)
    return _read(tx, gate)


def take_due_checks(tx: Transaction, *, timeout: Duration, limit: int, after: str = "") -> list[Gate]:
    """
    Take gates whose condition is to be checked; after `timeout`, another process may check a gate without a recorded
    result. Owners take turns, in the order of their names, beginning behind the owner `after`: one gate of each, then a
    second of each.
    """
    rows = tx.fetch_all("gates/gates/take_checks", until=tx.now + timeout, now=tx.now, after=after, limit=limit)
    return [gate for gate in (gates.read(tx, row.id) for row in rows) if gate is not None]


def find_next_check(tx: Reader) -> Instant | None:
    """Return when the next gate is to be checked."""
    row = tx.fetch_one("gates/gates/find_next_check")
    return row.check_at if row else None


def record_check(tx: Transaction, id: str, result: CheckResult, *, retry_in: Duration) -> Gate:
    """Record the result of a check. If the gate has ended meanwhile, nothing changes."""
    gate, _ = _lock_gate(tx, id, None)
    if not gate.is_pending:
        return gate
    match result:
        case ConditionMet(reason):
            return end(tx, gate, Ending.RESOLVED, reason[:_MAX_REASON_LENGTH], None)
        case ConditionGone(reason):
            return end(tx, gate, Ending.ORPHANED, reason[:_MAX_REASON_LENGTH], None)
        case ConditionPending():
            gates.record_check(tx, gate.number, trouble=None, check_at=tx.now + retry_in)
        case CheckFailed(reason):
            gates.record_check(tx, gate.number, trouble=reason[:_MAX_REASON_LENGTH], check_at=tx.now + retry_in)
            if gate.trouble is None:
                _push_alert(
                    tx, gate, gate.owner, f"no process can check the gate {gate.name!r} ({id}): {reason}", "trouble"
                )
    return _read(tx, gate)


def escalate(tx: Transaction, gate: Gate) -> None:
    """Alert the owner of the gate's owner, once, that the deadline of the gate has passed."""
    tx.execute_later("gates/gates/escalate", number=gate.number, now=tx.now)
    owner = directory.find(tx, gate.owner)
    assert gate.deadline is not None
    text = f"the gate {gate.name!r} ({gate.id}) has kept {owner.name!r} past {format_rfc3339(gate.deadline)}"
    _push_alert(tx, gate, owner.owner or directory.ADMINISTRATOR, text, "deadline")


def create_gate(
    tx: Transaction,
    spec: GateSpec,
    owner: Entity,
    creator: Entity | None,
    awaited_entity: Entity | None = None,
) -> Gate:
    """
    Store a new gate; the caller pushes the notices, and has locked the owner (`lock_live`), so two that make a gate at
    once cannot both pass the limit. A gate that Gatepost makes (without a `creator`) counts towards the limit of gates,
    but is never refused by it. A gate that waits for an event waits for events that arrive after it.
    """
    limit = tx.policy.gates
    if creator is not None and fetch_number(tx, "gates/gates/count_pending", owner=owner.number, limit=limit) >= limit:
        raise LimitReached(
            f"{owner.name!r} has {limit} pending gates and decisions already, the limit for one entity",
            hint="resolve or withdraw some, or raise limits.gates",
        )
    event_type, event_source = None, None
    if spec.kind is GateKind.MAIL:
        event_type = EventType.MAIL
    elif spec.kind is GateKind.EVENT and spec.awaits is not None:
        event_type, event_source = gate_rules.parse_awaited_event(spec.awaits)
    gate = Gate(
        **get_columns(spec, "name kind instruction at_deadline fail"),
        id=tx.new_id("gate"),
        owner=owner.name,
        made_by=creator.name if creator else None,
        awaits=awaited_entity.name if awaited_entity else spec.awaits,
        waiters=(),
        deadline=gate_rules.resolve_deadline(tx.now, spec.deadline, spec.within),
        trouble=None,
        escalated_at=None,
        created_at=tx.now,
        resolution=None,
        hops=chains.count_next_hops(tx, creator),
        hops_at=tx.now,
    )
    number = fetch_number(
        tx,
        "gates/gates/insert",
        **get_columns(gate, "id name kind awaits instruction deadline at_deadline fail hops hops_at"),
        owner=owner.number,
        made_by=creator.number if creator else None,
        awaited_entity=awaited_entity.number if awaited_entity else None,
        event_type=event_type,
        event_source=event_source,
        since=events.take_arrivals(tx, 1)[0] if event_type is not None else None,
        check_at=tx.now if gate.kind in (GateKind.COMMAND, GateKind.CI) else None,
        now=gate.created_at,
    )
    tx.after_commit(Signal(Topic("gate", gate.id), "opened", wakes=False))
    return replace(gate, number=number)


def end(
    tx: Transaction,
    gate: Gate,
    ending: Ending,
    reason: str,
    actor: Entity | None,
    *,
    hops: int = 0,
    notify: bool = True,
) -> Gate:
    """
    End a gate that the caller has locked, and push its end to everyone concerned but the `actor`, unless `notify` is
    False; raise `Late`, which says how the gate ended, if it has ended already.
    """
    check_text("reason", reason, _MAX_REASON_LENGTH)
    ended_by = actor.number if actor else None
    if not tx.execute(
        "gates/resolutions/insert", gate=gate.number, ending=ending, reason=reason, ended_by=ended_by, now=tx.now
    ):
        raise build_late_error(_read(tx, gate))
    tx.execute_later("gates/gates/end", number=gate.number, now=tx.now)
    hops = count_hops(tx, gate, actor, hops)
    if notify:
        entities_by_name = entities.find_by_names(tx, [gate.owner, *gate.waiters])
        text = (f"{gate.name}: {reason}" if reason else gate.name)[: tx.policy.content // 4]
        recipients = sorted(entities_by_name.values(), key=lambda entity: entity.number)
        push.fan_out(tx, _build_push(gate, ending, text, actor, hops), actor, recipients)
        if gate.kind is GateKind.HUMAN and gate.awaits is not None:
            inbox_items.close_items(tx, [directory.find(tx, gate.awaits)], _build_notice_key(gate), actor=actor)
    tx.react(GateEnded(gate, ending, actor, hops))
    tx.after_commit(Signal(Topic("gate", gate.id), "resolved", wakes=False))
    return _read(tx, gate)


def count_hops(tx: Reader, gate: Gate, actor: Entity | None, hops: int) -> int:
    """Return the hops of a gate's end; without an actor, it continues the chain in which the gate was made."""
    return hops if actor is not None else max(hops, gates.read_hops(tx, gate.number))


def lock_live(tx: Transaction, needed_entities: Sequence[Entity]) -> None:
    """Lock the entities that a gate needs, so that they cannot retire before the commit; raise if one is retired."""
    for entity in sorted(
        {entity.number: entity for entity in needed_entities}.values(), key=lambda entity: entity.number
    ):
        entities.lock(tx, entity.number)
        directory.find_live(tx, entity.name)


def build_late_error(gate: Gate) -> Late:
    """Return an error that says how a gate ended."""
    resolution = gate.resolution
    assert resolution is not None
    by = f" by {resolution.by!r}" if resolution.by else ""
    reason = f": {quote_value(resolution.reason, 200)}" if resolution.reason else ""
    winner = {
        "gateId": gate.id,
        "outcome": resolution.ending.value,
        "reason": resolution.reason,
        "by": resolution.by,
        "at": format_rfc3339(resolution.at),
    }
    return Late(f"the gate {gate.id!r} was {resolution.ending} already{by}{reason}", winner=winner)


def is_allowed(actor: Entity | None, *names: str | None) -> bool:
    """Return True if the actor has one of these names, is the administrator, or is Gatepost itself (None)."""
    return actor is None or actor.name in (directory.ADMINISTRATOR, *names)


def _lock_gate(tx: Transaction, id: str, by: str | None) -> tuple[Gate, Entity | None]:
    """Lock a gate until the commit; return it with the entity `by`, which it must concern."""
    actor = directory.find_live(tx, by) if by is not None else None
    gate = gates.lock(tx, ids.check("gate", id))
    if gate is None or not _is_concerned(tx, gate, actor):
        raise _build_unknown_error(id)
    return gate, actor


def _is_concerned(tx: Reader, gate: Gate, actor: Entity | None) -> bool:
    return is_allowed(actor, *gate.viewers) or is_allowed(actor, directory.find(tx, gate.owner).owner)


def _check_repository(tx: Transaction, spec: GateSpec) -> None:
    """Refuse a repository that the operator has not listed: Gatepost would ask GitHub with the operator's login."""
    assert spec.awaits is not None
    check = condition_check.parse_ci_target(spec.awaits)
    reason = condition_check.explain_refusal(check, tx.policy.allowed_repositories)
    if reason is not None and check.repository is None:
        raise Refused(reason, hint=f"write {spec.awaits}@OWNER/NAME, and list the repository in gates.ci")
    if reason is not None:
        raise Refused(reason, hint=f'add "{check.repository}" to gates.ci in gatepost.toml')


def _find_awaited(tx: Transaction, spec: GateSpec, owner: Entity) -> Entity | None:
    """Return the entity that has to resolve a human gate, or to send the awaited mail; None for other kinds."""
    if spec.kind not in (GateKind.HUMAN, GateKind.MAIL):
        return None
    awaited_entity = directory.find_live(tx, spec.awaits or directory.find_responsible(tx, owner))
    can_await_itself = spec.kind is GateKind.HUMAN and spec.awaits is not None and owner.kind is EntityKind.AGENT
    if awaited_entity.number == owner.number and not can_await_itself:
        raise Invalid(f"{owner.name!r} would wait for itself", hint="name somebody else: `awaits`")
    return awaited_entity


def _build_push(gate: Gate, outcome: str, text: str, actor: Entity | None, hops: int = 0) -> Push:
    return Push(
        to=gate.owner,
        type=EventType.GATE,
        source="gate",
        sender=actor.name if actor else None,
        content=text,
        data={"gateId": gate.id, "name": gate.name, "kind": gate.kind.value, "outcome": str(outcome)},
        dedup_key=f"gate:{gate.id}",
        ref=Ref("gate", gate.id),
        hops=hops,
    )


def _build_notice_key(gate: Gate) -> str:
    """Return the dedup key of the notice to the entity that should resolve a gate."""
    return f"gate:{gate.id}:opened"


def _push_alert(tx: Transaction, gate: Gate, to: str, text: str, topic: str) -> None:
    ref, hops = Ref("gate", gate.id), gates.read_hops(tx, gate.number)
    push.push_alerts(tx, [push.build_alert(to, text, f"gate:{gate.id}:{topic}", source="gate", ref=ref, hops=hops)])


def _read(tx: Transaction, gate: Gate) -> Gate:
    stored_gate = gates.read(tx, gate.id)
    assert stored_gate is not None
    return stored_gate


def _build_unknown_error(id: str) -> NotFound:
    return NotFound(f"there is no gate {id!r}", hint="`gatepost gate list --durable` lists them")
