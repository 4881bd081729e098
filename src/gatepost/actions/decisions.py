"""
Decisions: asking, answering, asking again.

A decision and its gate are one thing in two tables: whoever changes one takes the gate's row first (`gates.lock`), so
that everything that happens to a decision happens in one line. Of any number of answers the first that is valid writes
the row of its round, whose key is (decision, round); the others find it there and are told who answered what.

In the transaction of an answer the gate is resolved, whoever asked is told (`decision:{id}:{round}`, priority high),
and what those asked had in their inbox is put away. A rejection, the deadline, a withdrawal and the loss of everybody
who could answer end it in the same way.

Who was asked may answer, and the administrator; who asked revises and withdraws. To others it is not there.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gatepost.actions import directory, errands, gates, inbox, intake
from gatepost.core import address, ids
from gatepost.core import decision as rules
from gatepost.core import gate as gate_rules
from gatepost.core.address import Everyone, Named
from gatepost.core.decision import MOST_ROUNDS, Answer, Decision, DecisionStatus, Outcome, Question, Reply
from gatepost.core.entity import Entity
from gatepost.core.event import Json, Priority, Push, Type
from gatepost.core.gate import GateKind, GateWish
from gatepost.core.instants import Instant, rfc3339
from gatepost.core.ring import Ring
from gatepost.core.text import shows
from gatepost.errors import Conflict, Invalid, Late, NotFound, Refused, UnknownAddress
from gatepost.ports import Reader, Transaction
from gatepost.tables import decisions, entities
from gatepost.tables import gates as stored_gates

#: the kind of errand that runs the command of `decision.on_answer`
ERRAND: Final = "on_answer"
#: characters of a question that are said again with its answer
_QUOTED: Final = 200
#: who can be asked at once
_MOST_ASKED: Final = 100
_ANSWERS: Final = (Outcome.ANSWERED, Outcome.DEFAULTED, Outcome.REJECTED, Outcome.AGAIN)


def ask(tx: Transaction, question: Question, *, by: str | None, hops: int = 0) -> Decision:
    """Ask for a decision, and tell those who may answer. Whoever asks is kept from stopping until it has ended."""
    question = rules.checked(question)
    if by is None:
        raise Invalid("a decision needs somebody who asks", hint="say who with --as")
    asker = directory.find_live(tx, by)
    asked = _asked(tx, question.of or (directory.responsible(tx, asker),), asker)
    gates.stay(tx, [asker, *asked])
    id = tx.new_id("dec")
    wish = GateWish(
        name="decision",
        kind=GateKind.DECISION,
        awaits=id,
        instruction=_instruction(id, question.question),
        deadline=question.deadline,
        within=question.within,
    )
    gate = gates.opened(tx, wish, asker, asker, hops=hops)
    decision = Decision(
        id=id,
        gate=gate.id,
        asker=asker.name,
        asked=tuple(one.name for one in asked),
        question=question.question,
        options=question.options,
        free_text=question.free_text,
        urgency=question.urgency,
        default=question.default,
        deadline=gate.deadline,
        context=question.context,
        context_hash=_hash(question),
        ref=question.ref,
        session=question.session,
        iteration=1,
        guidance=None,
        created_at=tx.now,
        answers=(),
    )
    decision = replace(decision, number=decisions.insert(tx, decision, gate=gate.number, asker=asker.number))
    for one in asked:
        decisions.ask(tx, decision.number, one.number)
    _put(tx, decision, asker, asked, hops)
    return _read(tx, id)


def revise(tx: Transaction, id: str, question: Question, *, by: str | None, hops: int = 0) -> Decision:
    """Ask anew, in another round; those who were asked are told again. Without a new deadline the old one stays."""
    decision, who = _taken(tx, id, by)
    question = rules.checked(question, until=decision.deadline)
    if not gates.may(who, decision.asker):
        raise Refused(f"{by!r} cannot revise the decision {id!r}", hint=f"{decision.asker!r} can")
    _check_open(decision, tx.now)
    if decision.iteration >= MOST_ROUNDS:
        raise Conflict(f"the decision {id!r} was asked {MOST_ROUNDS} times already", hint="withdraw it, or wait")
    asked = _live(tx, decision)
    _put_away(tx, decision, asked, who)
    deadline = gate_rules.until(tx.now, question.deadline, question.within) or decision.deadline
    revised = replace(
        decision,
        question=question.question,
        options=question.options,
        free_text=question.free_text,
        urgency=question.urgency,
        default=question.default,
        deadline=deadline,
        context=question.context,
        context_hash=_hash(question),
        ref=question.ref,
        iteration=decision.iteration + 1,
        guidance=decision.last.text if decision.last is not None else decision.guidance,
    )
    decisions.revise(tx, revised)
    gate = stored_gates.read(tx, decision.gate)
    assert gate is not None
    if deadline != decision.deadline:
        stored_gates.postpone(tx, gate.number, deadline)
        tx.after_commit(Ring(f"gate:{gate.id}", "postponed", wakes=False))
    stored_gates.chain(tx, gate.number, max(hops, intake.next_hops(tx, who)))
    _put(tx, revised, directory.find_live(tx, decision.asker), asked, hops)
    return _read(tx, id)


def answer(tx: Transaction, id: str, reply: Reply, *, by: str | None, hops: int = 0) -> Decision:
    """Answer a decision; whoever comes after the first is told who answered what."""
    decision, who = _taken(tx, id, by)
    if not gates.may(who, *decision.asked):
        raise Refused(f"{by!r} was not asked", hint=f"{' or '.join(map(repr, decision.asked))} can answer")
    _check_open(decision, tx.now)
    if decision.status is DecisionStatus.REVISING:
        raise _late(decision)
    outcome = rules.settle(decision, reply)
    words = reply.text if reply.text is not None and shows(reply.text) else None
    return end(tx, decision, outcome, who, option=reply.option, text=words, hops=hops)


def withdraw(tx: Transaction, id: str, *, by: str | None, reason: str = "", hops: int = 0) -> Decision:
    """Say that an answer is not needed any more."""
    decision, who = _taken(tx, id, by)
    if not gates.may(who, decision.asker):
        raise Refused(f"{by!r} cannot withdraw the decision {id!r}", hint=f"{decision.asker!r} can")
    if not decision.open:
        raise _late(decision)
    return end(tx, decision, Outcome.WITHDRAWN, who, text=gate_rules.short("reason", reason) or None, hops=hops)


def show(tx: Reader, id: str, *, as_: str | None = None) -> Decision:
    """A decision, as somebody whom it concerns or (None) as the administrator."""
    found = decisions.read(tx, ids.check("dec", id))
    if found is None or (as_ is not None and not found.concerns(directory.find(tx, as_).name)):
        raise _unknown(id)
    return found


def page(
    tx: Reader,
    *,
    asker: str | None = None,
    asked: str | None = None,
    concerning: str | None = None,
    session: str | None = None,
    pending: bool | None = None,
    since: Instant | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[Decision]:
    """
    Decisions in the order they were asked; `after` is the number of the last one seen. `since` leaves those whose
    last round has ended since then, `pending` those that have not ended, or have.
    """
    return decisions.page(
        tx,
        asker=directory.number(tx, asker),
        asked=directory.number(tx, asked),
        concerned=directory.number(tx, concerning),
        session=session,
        pending=pending,
        since=since,
        after=after,
        most=limit,
    )


def end(
    tx: Transaction,
    decision: Decision,
    outcome: Outcome,
    who: Entity | None,
    *,
    option: str | None = None,
    text: str | None = None,
    hops: int = 0,
) -> Decision:
    """End the round that stands of a decision that was taken and, unless it is sent back, the decision."""
    # A decision that was sent back has an answer for its round: what ends it now is how the next one would have.
    iteration = decision.iteration + (decision.status is DecisionStatus.REVISING)
    given = Answer(
        outcome=outcome,
        option=option,
        text=text,
        by=who.name if who else None,
        at=tx.now,
        iteration=iteration,
    )
    if not decisions.answer(tx, decision.number, given, who.number if who else None):
        raise _late(_read(tx, decision.id))
    gate = stored_gates.read(tx, decision.gate)
    assert gate is not None
    hops = gates.chained(tx, gate, who, hops)
    if outcome.ending is not None:
        gates.end(tx, gate, outcome.ending, _reason(decision, given), who, hops=hops, tell=False)
    _put_away(tx, decision, _known(tx, decision.asked), who)
    wish = _told(decision, given, hops)
    wish = replace(wish, content=wish.content[: tx.limits.content // 4])
    hearing = [decision.asker, *(one for one in gate.waiters if one not in decision.asked)]
    intake.fan_out(tx, wish, who, _known(tx, hearing))
    # Those who were asked too have had something with that key: the question.
    both = [one for one in gate.waiters if one in decision.asked]
    intake.fan_out(tx, replace(wish, key=f"{wish.key}:ended"), who, _known(tx, both))
    if tx.limits.on_answer and outcome in _ANSWERS:
        errands.add(tx, ERRAND, wish.data)
    tx.after_commit(Ring(f"decision:{decision.id}", "answered", wakes=False))
    return _read(tx, decision.id)


def _hash(question: Question) -> str:
    return rules.digest(question.question, question.options, question.ref, question.context)


def _asked(tx: Transaction, addresses: Sequence[str], asker: Entity) -> list[Entity]:
    """Everybody behind the addresses but whoever asks."""
    found: dict[int, Entity] = {}
    for text in dict.fromkeys(addresses):
        where = address.parse(text)
        if isinstance(where, Everyone):
            raise Invalid("a decision is asked of somebody, not of everybody", hint="name them, or a team")
        behind = directory.resolve(tx, [where]).get(where) or []
        if not behind and isinstance(where, Named):
            raise directory.unknown(tx, text)
        live = [one for one in behind if one.live]
        if not live:
            hint = "`gatepost agent list` and `gatepost person list` show who is"
            raise UnknownAddress(f"nobody is there as {text!r} who could answer", hint=hint)
        found |= {one.number: one for one in live if one.number != asker.number}
    if not found:
        raise Invalid(f"nobody but {asker.name!r} itself would be asked", hint="name somebody else")
    if len(found) > _MOST_ASKED:
        raise Invalid(f"{len(found)} are too many to ask at once", hint=f"ask at most {_MOST_ASKED}")
    return [found[number] for number in sorted(found)]


def _put(tx: Transaction, decision: Decision, asker: Entity, asked: Sequence[Entity], hops: int) -> None:
    """Tell those who may answer."""
    data: dict[str, Json] = {
        "decisionId": decision.id,
        "gateId": decision.gate,
        "outcome": "asked",
        "by": decision.asker,
        "iteration": decision.iteration,
        "options": [{"id": one.id, "label": one.label, "description": one.description} for one in decision.options],
        "freeText": decision.free_text,
        "contextHash": decision.context_hash,
    }
    if decision.default is not None:
        data["default"] = decision.default
    if decision.deadline is not None:
        data["deadline"] = rfc3339(decision.deadline)
    if decision.context is not None:
        data["context"] = decision.context
    wish = Push(
        to=decision.asker,
        type=Type.DECISION,
        source="decision",
        sender=decision.asker,
        content=rules.asking(decision),
        data=data,
        priority=decision.urgency,
        key=rules.key(decision, decision.iteration),
        ref=decision.ref,
        hops=hops,
    )
    intake.fan_out(tx, wish, asker, asked)
    tx.after_commit(Ring(f"decision:{decision.id}", "asked", wakes=False))


def _put_away(tx: Transaction, decision: Decision, asked: Sequence[Entity], who: Entity | None) -> None:
    """Take the question from those who were asked; with it what was replayed of it, and of the rounds before."""
    key, about = rules.key(decision, decision.iteration), {"decisionId": decision.id, "outcome": "asked"}
    inbox.put_away(tx, asked, key, source=decision.asker, about=about, by=who)


def _told(decision: Decision, given: Answer, hops: int) -> Push:
    """What whoever asked is told."""
    return Push(
        to=decision.asker,
        type=Type.DECISION,
        source="decision",
        sender=given.by,
        content=rules.said(decision, given),
        data={
            "decisionId": decision.id,
            "gateId": decision.gate,
            "outcome": given.outcome.value,
            "by": given.by or "",
            "option": given.option,
            "text": given.text,
            "iteration": given.iteration,
            "question": decision.question[:_QUOTED],
            "asker": decision.asker,
        },
        priority=Priority.HIGH,
        key=rules.key(decision, given.iteration),
        ref=decision.ref,
        hops=hops,
    )


def _reason(decision: Decision, given: Answer) -> str:
    """How its gate ended, for those too who may see only that: the option by its id, which labels need not tell."""
    chosen = f"{given.option} ({decision.label(given.option)})" if given.option is not None else None
    words = " - ".join(part for part in (chosen, given.text) if part)
    return (f"{given.outcome}: {words}" if words else given.outcome.value)[:1_000]


def _instruction(id: str, question: str) -> str:
    return f"the decision {id} is not answered yet: {json.dumps(question[:_QUOTED], ensure_ascii=False)}"


def _taken(tx: Transaction, id: str, by: str | None) -> tuple[Decision, Entity | None]:
    """Take a decision until the commit, for somebody whom it concerns."""
    who = directory.find_live(tx, by) if by is not None else None
    found = decisions.read(tx, ids.check("dec", id))
    if found is None or not (gates.may(who) or (who is not None and found.concerns(who.name))):
        raise _unknown(id)
    stored_gates.lock(tx, found.gate)
    return _read(tx, id), who


def _check_open(decision: Decision, now: Instant) -> None:
    if not decision.open:
        raise _late(decision)
    if decision.overdue(now):
        assert decision.deadline is not None
        left = f"{decision.default!r} counts" if decision.default is not None else "it has expired"
        raise Late(
            f"the time for the decision {decision.id!r} ran out at {rfc3339(decision.deadline)}: {left}",
            winner={"decisionId": decision.id, "outcome": "overdue", "option": decision.default, "by": None},
        )


def _late(decision: Decision) -> Late:
    last = decision.last
    assert last is not None
    by = f" by {last.by!r}" if last.by else ""
    if last.outcome is Outcome.AGAIN:
        words = f"was sent back{by}: {last.text!r:.200}"
        hint = f"{decision.asker!r} has to revise it"
        return Late(f"the decision {decision.id!r} {words}", hint=hint, winner=rules.winner(decision))
    said = rules.said(decision, last)
    words = f"was {last.outcome} already{by}" + (f": {said!r:.200}" if said else "")
    return Late(f"the decision {decision.id!r} {words}", winner=rules.winner(decision))


def _live(tx: Transaction, decision: Decision) -> list[Entity]:
    return [one for one in _known(tx, decision.asked) if one.live]


def _known(tx: Transaction, names: Sequence[str]) -> list[Entity]:
    return sorted(entities.by_names(tx, names).values(), key=lambda one: one.number)


def _read(tx: Transaction, id: str) -> Decision:
    found = decisions.read(tx, id)
    assert found is not None
    return found


def _unknown(id: str) -> NotFound:
    return NotFound(f"there is no decision {id!r}", hint="`gatepost decision list` shows which there are")
