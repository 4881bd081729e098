"""
Gates: making them, seeing whom they hold, and ending them.

A gate ends once. Whoever ends it takes its row first (`gates.lock`) and writes the resolution, whose key is the gate:
of two who would end it the second finds how it ended and is told so. In the same transaction everybody is told whom it
concerns (`gate:{id}`), and plans that wait for it become due, or are cancelled; so a gate that has ended is never one
that nobody heard of.

Whom a gate concerns may see it: its owner and whoever owns that one, who made it, who is to resolve it, who waits for
it. Who may do what:

    make        whom it holds, and whoever owns that one; what runs a command, only an administrator
    resolve     a human gate: who is to; any other: who made it, and whoever owns the one it holds
    withdraw    who made it, and whoever owns the one it holds

`by` is who does it; None is the house, and may do everything, as the administrator may.

What ends by itself goes on with the chain of events in which the gate was made a while ago at most (`chain.PAUSE`), or
that of what it waited for if that is longer (I13): else two agents could wake each other for ever by way of timers.
Whoever ends one brings their own.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from gatepost.actions import directory, inbox, intake, plans
from gatepost.core import address, ids
from gatepost.core import gate as rules
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Push, Ref, Type
from gatepost.core.gate import Ending, Gate, GateKind, GateWish, Gone, Met, NotYet, Sight, Troubled
from gatepost.core.instants import Duration, Instant, rfc3339
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, Invalid, Late, LimitReached, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import entities, events, gates

_LONGEST_REASON: Final = 1_000
#: waiters of one gate
_MOST_WAITERS: Final = 100


def add(tx: Transaction, wish: GateWish, *, by: str | None, hops: int = 0) -> Gate:
    """Make a gate, and tell whoever is to resolve it."""
    wish = rules.checked(wish)
    maker = directory.find_live(tx, by) if by is not None else None
    owner = directory.find(tx, wish.owner) if wish.owner is not None else maker
    if owner is None:
        raise Invalid("a gate needs an owner", hint="name whom it keeps from stopping")
    if not may(maker, owner.name, owner.owner):
        raise Refused(f"{by!r} cannot keep {owner.name!r} from stopping", hint="only that one, and its owner, can")
    if wish.kind is GateKind.COMMAND:
        _check_commands(tx, maker)
    if wish.kind is GateKind.CI:
        _check_repository(tx, wish)
    awaited = _awaited(tx, wish, owner)
    waiters = [directory.find_live(tx, name) for name in dict.fromkeys(wish.waiters)]
    stay(tx, [owner, *([awaited] if awaited else ())])
    gate = opened(tx, wish, owner, maker, awaited, hops=hops)
    for waiter in waiters:
        gates.wait(tx, gate.number, waiter.number)
    if gate.kind is GateKind.HUMAN and awaited is not None:
        notice = _event(gate, "opened", gate.instruction or gate.name, maker, hops)
        intake.fan_out(tx, replace(notice, key=_notice(gate)), maker, [awaited])
    return _read(tx, gate)


def show(tx: Reader, id: str, *, as_: str | None = None) -> Gate:
    """A gate, as somebody whom it concerns or (None) as the administrator."""
    found = gates.read(tx, ids.check("gate", id))
    if found is None or (as_ is not None and not _concerns(tx, found, directory.find(tx, as_))):
        raise _unknown(id)
    return found


def page(
    tx: Reader,
    *,
    owner: str | None = None,
    waiter: str | None = None,
    concerning: str | None = None,
    kind: GateKind | None = None,
    pending: bool | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[Gate]:
    """Gates in the order they were made; `after` is the number of the last one seen."""
    return gates.page(
        tx,
        owner=directory.number(tx, owner),
        waiter=directory.number(tx, waiter),
        concerned=directory.number(tx, concerning),
        kind=kind,
        pending=pending,
        after=after,
        most=limit,
    )


def blocking(tx: Reader, name: str | Entity) -> list[Gate]:
    """The gates that keep somebody from stopping now; nothing changes by asking."""
    owner = directory.find(tx, name)
    return [gate for gate in gates.pending(tx, owner.number) if gate.holds(tx.now)]


def instructing(tx: Reader, agent: int) -> list[Gate]:
    """
    Return the gates that have something to say to a resident before it ends its cycle: those that it can do something
    about itself, and that have not said so before. For all others it waits asleep, and their end wakes it.
    """
    fresh = gates.uninstructed(tx, agent)
    if not fresh:
        return []
    return [gate for gate in gates.pending(tx, agent) if gate.number in fresh and gate.holds(tx.now)]


def resolve(tx: Transaction, id: str, *, by: str | None, reason: str = "", hops: int = 0) -> Gate:
    """Say that what a gate waits for has come."""
    gate, who = _taken(tx, id, by)
    if gate.kind is GateKind.DECISION:
        raise Conflict(
            f"the gate {id!r} is that of a decision", hint=f"answer that: gatepost decision answer {gate.awaits}"
        )
    owner = directory.find(tx, gate.owner)
    allowed = (gate.awaits,) if gate.kind is GateKind.HUMAN else (gate.made_by, owner.owner)
    if not may(who, *allowed):
        names = " or ".join(repr(name) for name in dict.fromkeys(allowed) if name)
        raise Refused(f"{by!r} cannot resolve the gate {id!r}", hint=f"{names} can" if names else None)
    return end(tx, gate, Ending.RESOLVED, reason, who, hops=hops)


def withdraw(tx: Transaction, id: str, *, by: str | None, reason: str = "", hops: int = 0) -> Gate:
    """Say that a gate is not needed any more."""
    gate, who = _taken(tx, id, by)
    if gate.kind is GateKind.DECISION:
        raise Conflict(
            f"the gate {id!r} is that of a decision", hint=f"withdraw that: gatepost decision withdraw {gate.awaits}"
        )
    if not may(who, gate.made_by, directory.find(tx, gate.owner).owner):
        raise Refused(f"{by!r} cannot withdraw the gate {id!r}", hint="who made it can")
    return end(tx, gate, Ending.WITHDRAWN, reason, who, hops=hops)


def add_waiter(tx: Transaction, id: str, name: str, *, by: str | None) -> Gate:
    """Let somebody be told when a gate ends; whoever is already stays so."""
    address.single(name)
    gate, _ = _taken(tx, id, by)
    if not gate.pending:
        raise over(gate)
    if len(gate.waiters) >= _MOST_WAITERS:
        raise Conflict(f"the gate {id!r} has {_MOST_WAITERS} waiters already")
    gates.wait(tx, gate.number, directory.find_live(tx, name).number)
    return _read(tx, gate)


def take(tx: Transaction, *, hold: Duration, limit: int, after: str = "") -> list[Gate]:
    """
    Take gates that somebody has to look at; unless they say within `hold` what they saw, another may look too. Owners
    take turns, in the order of their names from the one `after` whom it goes on: one of each, then a second of each.
    """
    taken = gates.take(tx, tx.now + hold, after, limit)
    return [gate for gate in (gates.read(tx, id) for id in taken) if gate is not None]


def next_look(tx: Reader) -> Instant | None:
    """When somebody has to look at a gate next."""
    return gates.next_look(tx)


def looked(tx: Transaction, id: str, sight: Sight, *, again_in: Duration) -> Gate:
    """Say what a look at a gate has shown. If it has ended meanwhile, that counts for nothing."""
    gate, _ = _taken(tx, id, None)
    if not gate.pending:
        return gate
    match sight:
        case Met(reason):
            return end(tx, gate, Ending.RESOLVED, reason[:_LONGEST_REASON], None)
        case Gone(reason):
            return end(tx, gate, Ending.ORPHANED, reason[:_LONGEST_REASON], None)
        case NotYet():
            gates.looked(tx, gate.number, trouble=None, look_at=tx.now + again_in)
        case Troubled(reason):
            gates.looked(tx, gate.number, trouble=reason[:_LONGEST_REASON], look_at=tx.now + again_in)
            if gate.trouble is None:
                _alert(tx, gate, gate.owner, f"nobody can look at the gate {gate.name!r} ({id}): {reason}", "trouble")
    return _read(tx, gate)


def escalate(tx: Transaction, gate: Gate) -> None:
    """Tell whoever owns the one whom a gate holds that its deadline has passed; once."""
    gates.escalate(tx, gate.number)
    owner = directory.find(tx, gate.owner)
    assert gate.deadline is not None
    words = f"the gate {gate.name!r} ({gate.id}) has kept {owner.name!r} past {rfc3339(gate.deadline)}"
    _alert(tx, gate, owner.owner or directory.ADMINISTRATOR, words, "deadline")


def opened(
    tx: Transaction,
    wish: GateWish,
    owner: Entity,
    maker: Entity | None,
    awaited: Entity | None = None,
    *,
    hops: int = 0,
) -> Gate:
    """
    Store a gate that was wished for; those whom it concerns are for the caller to tell. The caller has locked its owner
    (`stay`). What the house makes (without a `maker`) counts, and is not refused.
    """
    if maker is not None:
        _check_limit(tx, owner)
    gate = Gate(
        id=tx.new_id("gate"),
        name=wish.name,
        kind=wish.kind,
        owner=owner.name,
        made_by=maker.name if maker else None,
        awaits=awaited.name if awaited else wish.awaits,
        instruction=wish.instruction,
        waiters=(),
        deadline=rules.until(tx.now, wish.deadline, wish.within),
        at_deadline=wish.at_deadline,
        fail=wish.fail,
        trouble=None,
        escalated_at=None,
        created_at=tx.now,
        resolution=None,
        hops=max(hops, intake.next_hops(tx, maker)),
        hops_at=tx.now,
    )
    number = hang(tx, gate, owner, maker, awaited, since=lambda: events.take_arrivals(tx, 1)[0])
    tx.after_commit(Ring(f"gate:{gate.id}", "opened", wakes=False))
    return replace(gate, number=number)


def hang(
    tx: Transaction,
    gate: Gate,
    owner: Entity,
    maker: Entity | None,
    awaited: Entity | None,
    *,
    since: Callable[[], int],
) -> int:
    """Store a gate as it is, and return its number; one that waits for an event waits for those `since` an arrival."""
    kind, source = None, None
    if gate.kind is GateKind.MAIL:
        kind = Type.MAIL
    elif gate.kind is GateKind.EVENT and gate.awaits is not None:
        kind, source = rules.awaited_event(gate.awaits)
    return gates.insert(
        tx,
        gate,
        owner=owner.number,
        made_by=maker.number if maker else None,
        awaited=awaited.number if awaited else None,
        event_type=kind,
        event_source=source,
        since=since() if kind is not None else None,
        look_at=tx.now if gate.kind in (GateKind.COMMAND, GateKind.CI) else None,
    )


def end(
    tx: Transaction, gate: Gate, ending: Ending, reason: str, who: Entity | None, *, hops: int = 0, tell: bool = True
) -> Gate:
    """End a gate that was taken, and tell everybody but `who` ends it; or raise how it ended before."""
    if len(reason) > _LONGEST_REASON:
        raise Invalid(f"the reason has {len(reason)} characters, over the limit of {_LONGEST_REASON}")
    rules.short("reason", reason)
    if not gates.end(tx, gate.number, ending, reason, who.number if who else None):
        raise over(_read(tx, gate))
    hops = chained(tx, gate, who, hops)
    if tell:
        concerned = entities.by_names(tx, [gate.owner, *gate.waiters])
        words = (f"{gate.name}: {reason}" if reason else gate.name)[: tx.limits.content // 4]
        told = sorted(concerned.values(), key=lambda one: one.number)
        intake.fan_out(tx, _event(gate, ending, words, who, hops), who, told)
        if gate.kind is GateKind.HUMAN and gate.awaits is not None:
            _put_away(tx, gate, directory.find(tx, gate.awaits), who)
    plans.gate_ended(tx, gate, ending, who, hops=hops)
    tx.after_commit(Ring(f"gate:{gate.id}", "resolved", wakes=False))
    return _read(tx, gate)


def chained(tx: Reader, gate: Gate, who: Entity | None, hops: int) -> int:
    """How long the chain is of what is told when a gate ends: what nobody ends goes on with its making, for a while."""
    return hops if who is not None else max(hops, gates.hops(tx, gate.number))


def stay(tx: Transaction, needed: Sequence[Entity]) -> None:
    """Make sure that those without whom a gate makes no sense are there, and do not leave before this is committed."""
    for one in sorted({one.number: one for one in needed}.values(), key=lambda one: one.number):
        entities.lock(tx, one.number)
        directory.find_live(tx, one.name)


def over(gate: Gate) -> Late:
    """Say how a gate ended, to whoever came late."""
    found = gate.resolution
    assert found is not None
    by = f" by {found.by!r}" if found.by else ""
    reason = f": {found.reason!r:.200}" if found.reason else ""
    winner = {
        "gateId": gate.id,
        "outcome": found.ending.value,
        "reason": found.reason,
        "by": found.by,
        "at": rfc3339(found.at),
    }
    return Late(f"the gate {gate.id!r} was {found.ending} already{by}{reason}", winner=winner)


def may(who: Entity | None, *names: str | None) -> bool:
    """Whether somebody is one of these, the administrator, or the house."""
    return who is None or who.name in (directory.ADMINISTRATOR, *names)


def _taken(tx: Transaction, id: str, by: str | None) -> tuple[Gate, Entity | None]:
    """Take a gate until the commit, for somebody whom it concerns."""
    who = directory.find_live(tx, by) if by is not None else None
    gate = gates.lock(tx, ids.check("gate", id))
    if gate is None or not _concerns(tx, gate, who):
        raise _unknown(id)
    return gate, who


def _concerns(tx: Reader, gate: Gate, who: Entity | None) -> bool:
    return who is None or gate.concerns(who.name) or may(who, directory.find(tx, gate.owner).owner)


def _check_commands(tx: Transaction, maker: Entity | None) -> None:
    if not tx.limits.commands:
        raise Refused("gates that run commands are not allowed here", hint="set gates.commands to true")
    if not may(maker):
        raise Refused("only an administrator can make a gate that runs a command")


def _check_repository(tx: Transaction, wish: GateWish) -> None:
    """Refuse to ask GitHub, with the operator's login, about what the operator has not listed; for everybody."""
    assert wish.awaits is not None
    check = rules.awaited_check(wish.awaits)
    reason = rules.explain_refusal(check, tx.limits.ci)
    if reason is not None and check.repository is None:
        raise Refused(reason, hint=f"write {wish.awaits}@OWNER/NAME, and list the repository in gates.ci")
    if reason is not None:
        raise Refused(reason, hint=f'add "{check.repository}" to gates.ci in gatepost.toml')


def _check_limit(tx: Transaction, owner: Entity) -> None:
    """Refuse one gate too many. Its owner is locked (`stay`), so two who make one at once do not both find room."""
    limit = tx.limits.gates
    if gates.count_pending(tx, owner.number, limit) >= limit:
        raise LimitReached(
            f"{owner.name!r} has {limit} pending gates and decisions already, the limit for one entity",
            hint="resolve or withdraw some, or raise limits.gates",
        )


def _awaited(tx: Transaction, wish: GateWish, owner: Entity) -> Entity | None:
    """Who has to do something about it."""
    if wish.kind not in (GateKind.HUMAN, GateKind.MAIL):
        return None
    found = directory.find_live(tx, wish.awaits or directory.responsible(tx, owner))
    itself = wish.kind is GateKind.HUMAN and wish.awaits is not None and owner.kind is Kind.AGENT
    if found.number == owner.number and not itself:
        raise Invalid(f"{owner.name!r} would wait for itself", hint="name somebody else in awaits")
    return found


def _event(gate: Gate, outcome: str, words: str, who: Entity | None, hops: int) -> Push:
    return Push(
        to=gate.owner,
        type=Type.GATE,
        source="gate",
        sender=who.name if who else None,
        content=words,
        data={"gateId": gate.id, "name": gate.name, "kind": gate.kind.value, "outcome": str(outcome)},
        key=f"gate:{gate.id}",
        ref=Ref("gate", gate.id),
        hops=hops,
    )


def _notice(gate: Gate) -> str:
    """The key of what was told to whoever is to resolve a gate."""
    return f"gate:{gate.id}:opened"


def _put_away(tx: Transaction, gate: Gate, awaited: Entity, who: Entity | None) -> None:
    about = {"gateId": gate.id, "outcome": "opened"}
    inbox.put_away(tx, [awaited], _notice(gate), source=gate.made_by or "gate", about=about, by=who)


def _alert(tx: Transaction, gate: Gate, to: str, words: str, what: str) -> None:
    ref, hops = Ref("gate", gate.id), gates.hops(tx, gate.number)
    intake.alert(tx, [intake.warning(to, words, f"gate:{gate.id}:{what}", source="gate", ref=ref, hops=hops)])


def _read(tx: Transaction, gate: Gate) -> Gate:
    found = gates.read(tx, gate.id)
    assert found is not None
    return found


def _unknown(id: str) -> NotFound:
    return NotFound(f"there is no gate {id!r}", hint="`gatepost gate list --durable` shows which there are")
