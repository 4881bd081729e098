"""What became of a decision: waiting for it, and printing it."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import typer

from gatepost.api.decisions import DecisionAnswerView, DecisionView, ShowDecision
from gatepost.cli import output, waiting
from gatepost.cli.connect import Connection
from gatepost.cli.plain import argument, option
from gatepost.core import render
from gatepost.core.decision import DecisionStatus
from gatepost.core.times import Duration

DecisionId = Annotated[str, argument("DECISION", "The id of a decision.")]
For = Annotated[str | None, option("--for", "10m", "How long to wait at most.")]
Session = Annotated[str | None, option("--session", "ID", "The guest session that asks.")]

#: bytes of what is read from stdin or a file
MAX_TEXT_SIZE: Final = 256 * 1024


def wait_for_answer(connection: Connection, id: str, timeout: Duration | None, *, json: bool) -> None:
    """Wait until a round has ended, print what was answered, and exit with 1 if nothing was."""
    decision = waiting.poll(connection.store, lambda: connection.send(ShowDecision(id=id)), _is_over, timeout)
    last_answer = find_last_answer(decision)
    if json:
        output.document(msgspec.to_builtins(decision))
    elif decision.status is DecisionStatus.ANSWERED and last_answer is not None:
        _print_answer(last_answer)
    if decision.status is not DecisionStatus.ANSWERED:
        output.talk(describe_outcome(decision) if last_answer else f"not answered: it is {describe_state(decision)}")
        raise typer.Exit(1)


def _is_over(decision: DecisionView) -> bool:
    # What has a default is answered with it in a moment; nothing else can be answered any more.
    return decision.status is not DecisionStatus.PENDING or (decision.default is None and decision.overdue)


def _print_answer(answer: DecisionAnswerView) -> None:
    if answer.option is not None:
        output.line_out(answer.option)
    if answer.text is not None:
        output.line_out("\n".join(render.escape_unsafe(line) for line in answer.text.splitlines()))


def print_list(decisions: Sequence[DecisionView], count: int, *, otherwise: str, json: bool) -> None:
    headings = ["DECISION", "STATE", "BY", "ASKED", "DEADLINE", "QUESTION"]
    output.listing(decisions, count, headings, _build_row, msgspec.to_builtins, otherwise=otherwise, json=json)


def _build_row(decision: DecisionView) -> list[str]:
    outcome = f" -> {describe_outcome(decision)}" if find_last_answer(decision) else ""
    return [
        decision.id,
        describe_state(decision),
        decision.asker,
        ", ".join(decision.asked),
        output.format_seconds(decision.deadline) if decision.deadline is not None else "",
        f"{render.quote(decision.question)}{outcome}",
    ]


def build_answer_row(answer: DecisionAnswerView) -> list[str]:
    return [
        str(answer.iteration),
        answer.outcome.value,
        answer.by or "",
        answer.at,
        answer.option or "",
        render.quote(answer.text) if answer.text is not None else "",
    ]


def find_last_answer(decision: DecisionView) -> DecisionAnswerView | None:
    """Return the end of the present round, also if it was sent back; None while it can be answered."""
    return None if decision.status is DecisionStatus.PENDING else decision.answers[-1]


def describe_state(decision: DecisionView) -> str:
    return "overdue" if decision.overdue else decision.status.value


def describe_outcome(decision: DecisionView) -> str:
    """Return how the last round ended, in a few words."""
    answer = find_last_answer(decision)
    assert answer is not None
    by = f" by {answer.by}" if answer.by else ""
    parts = [part for part in (answer.option, render.quote(answer.text) if answer.text is not None else None) if part]
    verb = "sent back" if decision.status is DecisionStatus.REVISING else answer.outcome.value
    return f"{verb}{by}" + (f": {' '.join(parts)}" if parts else "")
