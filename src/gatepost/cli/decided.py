"""What became of a decision: waiting for it, and telling it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

import typer

from gatepost.actions import decisions as verbs
from gatepost.cli import output, waiting
from gatepost.cli.here import Here
from gatepost.cli.plain import argument, option
from gatepost.core import render, wire
from gatepost.core.decision import Answer, Decision, DecisionStatus
from gatepost.core.times import SECOND, Duration, Instant, format_rfc3339

DecisionId = Annotated[str, argument("DECISION", "The id of a decision.")]
For = Annotated[str | None, option("--for", "10m", "How long to wait at most.")]
Session = Annotated[str | None, option("--session", "ID", "The guest session that asks.")]

#: bytes of what is read from stdin or a file
LARGEST: Final = 256 * 1024


def shown(place: Here, id: str) -> Decision:
    return place.look(verbs.show, lambda far: far.decision, id)


def awaited(place: Here, id: str, most: Duration | None, *, json: bool) -> None:
    """Wait until a round has ended, print what was answered, and end with 1 if nothing was."""

    def over(found: Decision) -> bool:
        # What has a default is answered with it in a moment; nothing else can be answered any more.
        return found.status is not DecisionStatus.PENDING or (found.default is None and found.is_overdue(place.now()))

    seen = waiting.poll(place.store, lambda: shown(place, id), over, most)
    now = place.now()
    if json:
        output.document(wire.write_decision(seen, now))
    elif seen.status is DecisionStatus.ANSWERED and seen.last_answer is not None:
        _print(seen.last_answer)
    if seen.status is not DecisionStatus.ANSWERED:
        output.talk(outcome(seen) if seen.last_answer else f"not answered: it is {state(seen, now)}")
        raise typer.Exit(1)


def _print(given: Answer) -> None:
    if given.option is not None:
        output.line_out(given.option)
    if given.text is not None:
        output.line_out("\n".join(render.escape_unsafe(each) for each in given.text.splitlines()))


def listing(found: Sequence[Decision], most: int, now: Instant, *, otherwise: str, json: bool) -> None:
    headings = ["DECISION", "STATE", "BY", "ASKED", "DEADLINE", "QUESTION"]
    row, written = partial(_row, now=now), partial(wire.write_decision, now=now)
    output.listing(found, most, headings, row, written, otherwise=otherwise, json=json)


def _row(decision: Decision, now: Instant) -> list[str]:
    deadline = decision.deadline
    said = f" -> {outcome(decision)}" if decision.last_answer else ""
    return [
        decision.id,
        state(decision, now),
        decision.asker,
        ", ".join(decision.respondents),
        format_rfc3339(deadline - deadline % SECOND) if deadline is not None else "",
        f"{render.quote(decision.question)}{said}",
    ]


def row(given: Answer) -> list[str]:
    return [
        str(given.iteration),
        given.outcome.value,
        given.by or "",
        format_rfc3339(given.at),
        given.option or "",
        render.quote(given.text) if given.text is not None else "",
    ]


def state(decision: Decision, now: Instant) -> str:
    return "overdue" if decision.is_overdue(now) else decision.status.value


def outcome(decision: Decision) -> str:
    """How the last round ended, in a few words."""
    given = decision.last_answer
    assert given is not None
    by = f" by {given.by}" if given.by else ""
    parts = [part for part in (given.option, render.quote(given.text) if given.text is not None else None) if part]
    verb = "sent back" if decision.status is DecisionStatus.REVISING else given.outcome.value
    return f"{verb}{by}" + (f": {' '.join(parts)}" if parts else "")
