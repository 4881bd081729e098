"""
What one cycle of a resident writes, transaction by transaction.

    take -> (replied -> act, act, ... -> urgent)* -> finish
                 |  after something was done: stumble, and go on from here later
                 `- before that: release, as if nothing had been

Why nothing is lost, shown twice or done twice, though the process may be killed at any instruction, or put to sleep
and woken when somebody else has long taken over:

- A cycle's every transaction holds the agent's lease (`leases.hold`, and `leases.give_back` the last): it names the
  fence, and takes the row. Whoever took the lease later made the fence grow, so a transaction of an earlier holder
  finds no row and fails whole; and while it runs nobody can take the lease. So the transactions of all holders stand in
  one line, and each builds on all before it: also the first, which reads how the agent stands only when it has the row.
- The batch, the run and the first step are committed together (`take`). A run that is open is gone on with by whoever
  takes the lease next; only when there is none is a new batch claimed. So an event is in the steps of one run, once.
- Steps are numbered without a gap, and a step is committed before the next begins. What a built-in tool does is
  committed with its result. So whoever resumes knows exactly what has been done: what has a result.
- A run ends together with its claim, and with what it adds to the mind. "There is nothing more to do" and "the lease is
  given back" are one transaction too: whatever is committed later rings later, and finds the lease free.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from gatepost.actions import budgets, directory, errands, gates, inbox, intake, leases, prompt
from gatepost.actions.prompt import Remembered
from gatepost.actions.tools import BUILT_IN, Desk, use
from gatepost.actions.tools.desk import ROOM
from gatepost.core import address, batch, rest
from gatepost.core import mind as rules
from gatepost.core.agent import CODE, Resident
from gatepost.core.claim import Batch
from gatepost.core.entity import Entity
from gatepost.core.event import Item, Priority, State
from gatepost.core.gate import remind
from gatepost.core.instants import DAY, SECOND, Duration, Instant
from gatepost.core.lease import Lease, name_of
from gatepost.core.mind import Call, Prompt, Reply, Result, Turn
from gatepost.core.ring import Ring
from gatepost.core.run import Limit, Run, Status, Step
from gatepost.errors import Lost, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, calls, entities, items, minds, runs, steps
from gatepost.tables import gates as gate_rows

#: how long a lease lasts when nothing is committed meanwhile
LENGTH: Final = 30 * SECOND
#: the kind of errand that is a tool to be used
ERRAND: Final = "tool"
#: how often a model may refuse to go on with what was begun
_REFUSALS: Final = 5
#: items looked at for a preview, and those of them that are critical
_LOOKED_AT: Final = 50
#: cycles in a row that end at a limit before the owner is told
_LIMITS_IN_A_ROW: Final = 3
#: how long somebody outside may take to answer a call
_PATIENCE: Final = DAY

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The right to write a run: the lease of its agent, and for how long to keep it."""

    lease: Lease
    length: Duration
    run: Run
    resident: Resident


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A run to go on with, from its last step; code has nothing in mind."""

    held: Held
    steps: tuple[Step, ...]
    remembered: Remembered | None


@dataclass(frozen=True, slots=True)
class Acted:
    """What a built-in tool came to, where the agent is now and, if that was asked, what has come meanwhile."""

    result: Result
    active: str | None
    waiting: list[Item] | None = None


def looked_at(tx: Reader, name: str, *, looking: bool = False) -> tuple[Resident | None, bool]:
    """An agent, if it lives here, and whether it has something to think about now."""
    _, resident = _at_home(tx, name)
    return resident, resident is not None and agents.stirring(tx, resident.number, looking=looking)


def _at_home(tx: Reader, name: str) -> tuple[Entity, Resident | None]:
    found = agents.at_home(tx, address.single(name))
    if found is None:
        raise directory.unknown(tx, name)
    return found


def take(tx: Transaction, name: str, holder: str, *, length: Duration = LENGTH) -> Taken | None:
    """Take an agent's lease, and with it what it has to think about; None when that is nothing, or not ours to do."""
    lease = leases.take(tx, name_of(address.single(name)), holder, length)
    if lease is None:
        return None
    me, resident = _at_home(tx, name)  # not before: whoever had the lease may just have ended a cycle
    if me.name != name:  # an alias, which has no lease of its own
        leases.release(tx, lease)
        return take(tx, me.name, holder, length=length)
    going = _going(tx, me, resident) if resident is not None else None
    if resident is None or going is None:
        leases.release(tx, lease)
        return None
    run, journal = going
    mindful = resident.config.model.name != CODE
    return Taken(
        held=Held(lease=lease, length=length, run=run, resident=resident),
        steps=journal,
        remembered=prompt.remembered(tx, me, resident.config, run) if mindful else None,
    )


def _going(tx: Transaction, me: Entity, resident: Resident) -> tuple[Run, tuple[Step, ...]] | None:
    """The run that was not ended, or a new one; None when it may not think now, or has nothing to think about."""
    resting = resident.rest_until is not None and resident.rest_until > tx.now
    if not me.live or resident.paused_at is not None or resting:
        return None
    run = runs.open_of(tx, me.number)
    if run is not None:
        return run, tuple(steps.of_run(tx, run.number))
    if (exhausted := budgets.find_exhausted(tx, resident, beginning=True)) is not None:
        budgets.rest(tx, resident, exhausted.until)
        return None
    return _begun(tx, me, resident)


def _begun(tx: Transaction, me: Entity, resident: Resident) -> tuple[Run, tuple[Step, ...]] | None:
    id = tx.new_id("run")
    loop = resident.config.loop
    taken = inbox.claim(
        tx,
        me,
        owner=id,
        kind="run",
        cap=resident.cap or batch.RESIDENT_CAP,
        budget=max(batch.LEAST_BUDGET, rules.byte_limit(loop.max_tokens // 2)),
    )
    if taken.claim is None:
        return None
    shown = _shown(taken)
    run = runs.begin(
        tx,
        resident.number,
        tokens=rules.weigh(shown),
        id=id,
        agent=resident.name,
        cycle=resident.cycles + 1,
        cause=taken.items[0].event.type,
        claim=taken.claim.id,
        claim_fence=taken.claim.fence,
        events=len(taken.items),
        hops=_hops(tx, taken.items),
        version=resident.version,
        model=resident.config.model.name,
    )
    steps.insert(tx, run.number, 1, shown)
    tx.after_commit(_stepped(run))
    return run, (Step(number=1, turn=shown, at=tx.now),)


def renew(tx: Transaction, held: Held) -> None:
    """Say that somebody is still at work."""
    leases.hold(tx, held.lease, held.length)


def replied(tx: Transaction, held: Held, number: int, reply: Reply) -> None:
    """Write down what the model said."""
    renew(tx, held)
    _write_reply(tx, held, number, reply)


def act(
    tx: Transaction,
    held: Held,
    number: int,
    call: Call,
    key: str,
    arguments: Mapping[str, Any],
    active: str | None,
    *,
    look: bool = False,
) -> Acted:
    """Let a built-in tool do what it does, and write down what it came to; `look` into the inbox after that."""
    renew(tx, held)
    me, hops, weight = entities.at_work(tx, held.run.number)
    if not me.live:
        raise Refused(f"{me.name!r} is retired")
    run = held.run if hops == held.run.hops else replace(held.run, hops=hops)
    room = room_to_pull(held, weight)
    desk = Desk(tx=tx, me=me, run=run, call=f"{run.id}/{key}", active=active, room=min(ROOM, room))
    result = Result(call.id, call.tool, _encode(use(desk, call.tool, arguments)).decode())
    _write(
        tx,
        run,
        number,
        result,
        key=key,
        effects=int(BUILT_IN[call.tool].effect),
        events=len(desk.taken),
        hops=_hops(tx, desk.taken),
    )
    return Acted(result, desk.active, waiting(tx, me.number) if look else None)


def record(tx: Transaction, held: Held, number: int, result: Result, key: str, *, effect: bool) -> None:
    """Write down what was done elsewhere, or why it was not done."""
    renew(tx, held)
    _write(tx, held.run, number, result, key=key, effects=int(effect))


def defer(
    tx: Transaction, held: Held, number: int, call: Call, key: str, arguments: Mapping[str, Any] | None = None
) -> Result:
    """
    Write down a call that will be answered later; the agent goes on meanwhile. With `arguments` it is an errand of
    ours, else somebody outside answers it.
    """
    renew(tx, held)
    id = tx.new_id("call")
    calls.insert(tx, held.run.number, replace(call, id=id), tx.now + _PATIENCE)
    if arguments is not None:
        errands.add(tx, ERRAND, {"run": held.run.id, "call": id, "tool": call.tool, "arguments": arguments})
    pending = {"status": "pending", "callId": id, "message": "the result will come to your inbox"}
    result = Result(call.id, call.tool, _encode(pending).decode())
    _write(tx, held.run, number, result, key=key, effects=1)
    return result


def waiting(tx: Reader, agent: int) -> list[Item]:
    """What has come meanwhile, most urgent first."""
    return items.peek(tx, agent, _LOOKED_AT)


def room_to_pull(held: Held, weight: int) -> int:
    """
    Return the bytes of items that a cycle which weighs so much may take in: half of what is left of its tokens, so that
    the other half is there for what comes of them. 0 when that is too little for an item.
    """
    room = rules.byte_limit((held.resident.config.loop.max_tokens - weight) // 2)
    return room if room >= batch.LEAST_BUDGET else 0


def urgent(tx: Transaction, held: Held, number: int, room: int) -> Prompt | None:
    """Take what is critical into the cycle, in full as far as it fits into so many bytes."""
    renew(tx, held)
    critical = [item for item in waiting(tx, held.resident.number) if item.event.priority is Priority.CRITICAL]
    if not critical:
        return None
    run = held.run
    pulled = inbox.pull(tx, run.claim, owner=run.id, fence=run.claim_fence, count=len(critical), budget=room)
    if not pulled.items:
        return None
    shown = _shown(pulled)
    _write(tx, run, number, shown, events=len(pulled.items), hops=_hops(tx, pulled.items))
    return shown


def finish(
    tx: Transaction,
    held: Held,
    number: int,
    reply: Reply,
    *,
    summary: str,
    room: int | None = None,
    gated: bool = True,
) -> bool | Prompt:
    """
    End a cycle with what the model said last; its summary is what will be left of it, and `room` the tokens that its
    model could read, where that was found out. Return whether there is more to think about. If gates have something to
    say to the agent first, and it may go on (`gated`), return what it is told instead. Each gate says it once.
    """
    mindful = held.resident.config.model.name != CODE
    if gated and mindful and (fresh := gates.instructing(tx, held.resident.number)):
        renew(tx, held)
        _write_reply(tx, held, number, reply)
        told = Prompt(remind(fresh), gates=tuple(gate.id for gate in fresh))
        _write(tx, held.run, number + 1, told)
        for gate in fresh:
            gate_rows.instruct(tx, gate.id, tx.now)
        return told
    leases.give_back(tx, held.lease)
    _write_reply(tx, held, number, reply)
    weight = _end(tx, held, Status.COMPLETED, summary=summary)
    _remember(tx, held, weight, room)
    return _slept(tx, held)


def stop(
    tx: Transaction,
    held: Held,
    number: int,
    limit: Limit,
    note: str,
    *,
    summary: str,
    room: int | None = None,
    rest_until: Instant | None = None,
) -> bool:
    """
    End a cycle that has reached a limit, with a note of the agent to itself. The third time in a row its owner is told;
    of a budget, at which the agent rests until an instant, once a period. Return whether there is more to think about.
    """
    leases.give_back(tx, held.lease)
    run = held.run
    _write(tx, run, number, Prompt(note))
    weight = _end(tx, held, Status.COMPLETED, summary=summary, limit=limit)
    _remember(tx, held, weight, room)
    if rest_until is not None:
        budgets.rest(tx, replace(held.resident, failures=0, cap=None), rest_until)
        return _slept(tx, held)
    before = runs.last_limits(tx, held.resident.number, before=run.number, most=_LIMITS_IN_A_ROW)
    row = next((place for place, reached in enumerate(before) if reached is None), len(before))
    if row == _LIMITS_IN_A_ROW - 1:
        text = (
            f"the cycles of {run.agent!r} ended at a limit {_LIMITS_IN_A_ROW} times in a row, the last at its {limit}"
        )
        _alert(tx, held, f"{text}; `gatepost agent runs {run.agent}` shows them", about=f"limit:{run.id}")
    return _slept(tx, held)


def skip(tx: Transaction, held: Held) -> bool:
    """End a cycle that changed nothing: its events are delivered, and the mind does not know of it."""
    leases.give_back(tx, held.lease)
    _end(tx, held, Status.SKIPPED)
    agents.completed(tx, held.resident.number, cycles=held.resident.cycles, tokens=held.resident.tokens)
    return _slept(tx, held)


def release(tx: Transaction, held: Held, trouble: str, error: str, pause: Duration) -> None:
    """
    The model failed before anything was done: give the batch back, as if nothing had been. If the content is to blame,
    the next batch is half as large; and an item that was alone has failed of its own.
    """
    leases.give_back(tx, held.lease)
    run = held.run
    shown = [step.turn for step in steps.of_run(tx, run.number)]
    events = [event for turn in shown if isinstance(turn, Prompt) for event in turn.events]
    taken = runs.read(tx, run.id)
    alone = len(events) == 1 and taken is not None and taken.events == 1
    blamed = events if trouble == "content" and alone else []
    for gate in (gate for turn in shown if isinstance(turn, Prompt) for gate in turn.gates):
        gate_rows.instruct(tx, gate, None)  # the mind does not know of this run: it is told again
    inbox.release(tx, run.claim, owner=run.id, fence=run.claim_fence, failed=blamed)
    runs.end(tx, run.number, Status.FAILED, error=error)
    cap = held.resident.cap
    if trouble == "content":
        cap = rest.halved(len(events))
    if blamed and _is_dead(tx, held.resident, blamed[0]):
        cap = None
        text = f"an event made the model of {run.agent!r} fail again and again: {blamed[0]} ({error})"
        _alert(tx, held, text, about=blamed[0])
    _rest(tx, held, pause, cap)


def stumble(tx: Transaction, held: Held, pause: Duration) -> None:
    """The model failed after something was done: the run stays open, and is gone on with later."""
    leases.give_back(tx, held.lease)
    _rest(tx, held, pause, held.resident.cap)


def refuse(tx: Transaction, held: Held, error: str, pause: Duration) -> bool | None:
    """
    The model will not go on with what was begun: it is asked again later, and after some times no more. Then what was
    done stays done, the events count as delivered, the owner is told, and it is returned whether there is more to think
    about. Only refusals count: an outage is nobody's fault.
    """
    leases.give_back(tx, held.lease)
    if runs.refused(tx, held.run.number) < _REFUSALS:
        _rest(tx, held, pause, held.resident.cap)
        return None
    _end(tx, held, Status.FAILED, error=error)
    _alert(tx, held, f"the run {held.run.id} of {held.run.agent!r} could not be ended: {error}", about=held.run.id)
    agents.completed(tx, held.resident.number, cycles=held.resident.cycles, tokens=held.resident.tokens)
    return _slept(tx, held)


def let_go(tx: Transaction, held: Held) -> None:
    """Stop in the middle, at a step: whoever takes the lease next goes on from there."""
    leases.release(tx, held.lease)
    tx.after_commit(Ring(held.run.agent, "handover"))


def _write_reply(tx: Transaction, held: Held, number: int, reply: Reply) -> None:
    _write(
        tx,
        held.run,
        number,
        reply,
        steps=1,
        prompt_tokens=reply.usage.prompt,
        completion_tokens=reply.usage.completion,
        model=reply.model,
    )


def _write(tx: Transaction, run: Run, number: int, turn: Turn, *, key: str | None = None, **counts: Any) -> None:
    steps.insert(tx, run.number, number, turn, key)
    if not runs.count(tx, run.number, tokens=rules.weigh(turn), **counts):
        raise Lost(f"the run {run.id!r} has ended")
    tx.after_commit(_stepped(run))


def _stepped(run: Run) -> Ring:
    return Ring(f"run:{run.id}", "step")


def _end(
    tx: Transaction,
    held: Held,
    status: Status,
    *,
    summary: str = "",
    error: str | None = None,
    limit: Limit | None = None,
) -> int:
    """End a run and its claim; return what it weighs."""
    run = held.run
    weight = runs.end(tx, run.number, status, summary=summary, error=error, limit=limit)
    if weight is None:
        raise Lost(f"the run {run.id!r} has ended")
    inbox.ack(tx, run.claim, owner=run.id, fence=run.claim_fence)
    tx.after_commit(Ring(f"run:{run.id}", "end"))
    return weight


def _remember(tx: Transaction, held: Held, weight: int, room: int | None) -> None:
    """Add a cycle to the mind; when that outgrows its limit, old cycles are replaced by their summaries."""
    resident = held.resident
    if resident.config.model.name == CODE:  # it has no mind
        agents.completed(tx, resident.number, cycles=resident.cycles + 1, tokens=0)
        return
    tokens = resident.tokens + weight
    limits = resident.config.mind
    if room is not None and room < limits.max_tokens:
        limits = replace(limits, max_tokens=room)
    if tokens > limits.max_tokens:
        carried = minds.read(tx, resident.number)
        cycles = runs.weights(tx, resident.number, carried.run)
        smaller = rules.compact(cycles, carried, limits)
        if smaller != carried:
            minds.insert(tx, resident.number, smaller)
        tokens = smaller.tokens + sum(cycle.tokens for cycle in cycles if cycle.run > smaller.run)
    agents.completed(tx, resident.number, cycles=resident.cycles + 1, tokens=tokens)


def _slept(tx: Transaction, held: Held) -> bool:
    return agents.stirring(tx, held.resident.number, looking=False)


def _rest(tx: Transaction, held: Held, pause: Duration, cap: int | None) -> None:
    resident = held.resident
    agents.rest(tx, replace(resident, failures=resident.failures + 1, rest_until=tx.now + pause, cap=cap))


def _is_dead(tx: Transaction, resident: Resident, event: str) -> bool:
    return any(item.state is State.DEAD for _, item in items.of_event(tx, event, resident.number))


def _alert(tx: Transaction, held: Held, text: str, *, about: str) -> None:
    owner = directory.responsible(tx, directory.find(tx, held.run.agent))
    intake.alert(tx, [intake.warning(owner, text, f"{held.run.agent}:{about}")])


def _shown(taken: Batch) -> Prompt:
    return Prompt(str(taken), tuple(item.event.id for item in taken.items))


def _hops(tx: Transaction, shown: Iterable[Item]) -> int:
    """The longest chain that goes on here; one that came to its end has woken nobody, and was only taken along."""
    return max((item.event.hops for item in shown if item.event.hops <= tx.limits.hops), default=0)
