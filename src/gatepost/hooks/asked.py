"""Whether an agent has asked for a decision before it stops, and what comes of that; see `handlers/decision.py`."""

from typing import Final

from gatepost.actions import carried, decisions
from gatepost.core import decision as rules
from gatepost.core import line
from gatepost.core.decision import Answer, Decision, DecisionStatus
from gatepost.core.instants import Instant
from gatepost.core.session import filename
from gatepost.core.text import count_bytes, truncate
from gatepost.errors import GatepostError
from gatepost.hooks.chain import Wait
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Verdict
from gatepost.ports import Reader

#: the option that lets an agent go
STOP: Final = "stop"
#: bytes of an answer that is shown beside the inbox
_LONGEST_ANSWER: Final = 3_000
#: characters of an owner of a claim
_LONGEST_OWNER: Final = 200


def before_stop(desk: Desk, agent: str) -> Verdict | Wait | None:
    decision = asked(desk, agent)
    if decision is None:
        return Verdict(block=_instruction(desk, agent))
    match decision.status:
        case DecisionStatus.PENDING:
            until = desk.began + desk.rules.wait
            if desk.clock.now() < until:
                return Wait(agent=agent, until=until)
            desk.excused.add(decision.gate)
            return None
        case DecisionStatus.REVISING | DecisionStatus.ANSWERED if decision.last and decision.last.option != STOP:
            return _sent_on(desk, decision, decision.last)
        case DecisionStatus.ANSWERED if (last := decision.last) is not None:
            desk.dismissed = True
            key = f"decision:{decision.id}:{last.iteration}"
            return Verdict(printed=lambda: _consume(desk, agent, key))
        case _:
            return None


def _consume(desk: Desk, agent: str, key: str) -> None:
    """Mark the answer as delivered: the agent has stopped, so the next session need not read it."""
    try:
        desk.call(carried.deliver, agent, [key], owner=filename(desk.session.id)[:_LONGEST_OWNER])
    except GatepostError as error:
        desk.tell(f"the answer stays in the inbox: {error.message}")


def asked(desk: Desk, agent: str) -> Decision | None:
    """The last decision that the agent asked for, in this session, since it was told to go on."""
    turn, again = desk.state.turn, desk.state.again
    mine = [
        one
        for one in desk.look(_recent, agent, turn)
        if one.session in (None, desk.session.id) and (one.created_at >= turn or one.id == again)
    ]
    return max(mine, key=lambda one: one.number, default=None)


def _recent(tx: Reader, agent: str, turn: Instant) -> list[Decision]:
    """All that were asked for since then: they are open, or a round of theirs has ended since."""
    return decisions.page(tx, asker=agent, pending=True) + decisions.page(tx, asker=agent, since=turn)


def _instruction(desk: Desk, agent: str) -> str:
    options = ("--option", "continue=...", "--option", f"{STOP}=Stop here")
    return (
        "Before you stop, ask for a decision on what comes next, then stop again; you will be told the answer. Run: "
        + desk.write_command("decision", "ask", "QUESTION", *options, "--as", agent)
    )


def _sent_on(desk: Desk, decision: Decision, answer: Answer) -> Verdict:
    again = decision.id if decision.status is DecisionStatus.REVISING else None
    # What was said counts once: before the next stop it is to be asked anew.
    desk.remember(lambda state: state._replace(turn=max(desk.clock.now(), answer.at + 1), again=again))
    by = f" by {line.title(answer.by)}" if answer.by else ""
    ending = "is to be revised, as asked for" if again else "was answered"
    text = f"The decision {decision.id} {ending}{by}: {line.quote(rules.said(decision, answer))}"
    if (size := count_bytes(text)) > _LONGEST_ANSWER:
        note = f" ... (cut, {size} bytes in all; the rest: gatepost decision show {decision.id})"
        text = truncate(text, _LONGEST_ANSWER, note)
    desk.answer = (f"decision:{decision.id}:{answer.iteration}", text)
    return Verdict(continues=True)
