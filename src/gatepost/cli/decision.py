"""`gatepost decision`."""

from typing import Annotated

import typer

from gatepost import settings
from gatepost.actions import decisions as verbs
from gatepost.cli import decided, here, output, words
from gatepost.cli.asking import answer, ask, revise
from gatepost.cli.decided import LARGEST, DecisionId, For, Session
from gatepost.cli.here import As, Json, Limit
from gatepost.cli.plain import Noun, flag, option
from gatepost.core import render, times, wire
from gatepost.core.times import format_rfc3339

app = Noun(help="Decisions: questions that keep whoever asks from stopping until they are answered.")
app.verb("ask")(ask)
app.verb("answer")(answer)
app.verb("revise")(revise)


@app.verb("list")
def list_(
    of: Annotated[str | None, option("--of", "NAME", "Only those that this one may answer.")] = None,
    who: Annotated[str | None, option("--by", "NAME", "Only those that this one asked.")] = None,
    session: Session = None,
    every: Annotated[bool, flag("--all", "Those too that have ended.")] = False,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the decisions that have not ended, in the order in which they were asked.

    Examples:
      gatepost decision list --of husam
      gatepost decision list --by analyst --all --json
    """
    most = words.number(limit, "--limit", most=100_000)
    with here.opened() as place:
        found = place.all(
            verbs.page,
            lambda far: far.decisions,
            asker=words.given(who, "--by"),
            asked=words.given(of, "--of"),
            session=words.given(session, "--session", "which"),
            pending=None if every else True,
            limit=most + 1,
        )
        now = place.now()
    none = "there is no decision" if every else "there is no decision that has not ended"
    decided.listing(found, most, now, otherwise=none, json=json)


@app.verb("show")
def show(decision: DecisionId, json: Json = False) -> None:
    """
    Show a decision: the question, its options, and what was answered.

    Example:
      gatepost decision show dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with here.opened() as place:
        found = decided.shown(place, decision)
        now = place.now()
    if json:
        output.document(wire.write_decision(found, now))
        return
    output.facts(
        ("decision", found.id),
        ("gate", found.gate),
        ("state", decided.state(found, now)),
        ("asked by", found.asker),
        ("asked", ", ".join(found.respondents)),
        ("since", format_rfc3339(found.created_at)),
        ("urgency", found.urgency.name.lower()),
        ("deadline", format_rfc3339(found.deadline) if found.deadline is not None else None),
        ("default", found.default),
        ("round", found.iteration),
        ("guidance", found.guidance),
        ("about", str(found.ref) if found.ref else None),
        ("session", found.session),
        ("hash", found.context_hash),
    )
    output.line_out("")
    output.line_out(output.prose(found.question))
    if found.context is not None:
        output.line_out("\n" + output.prose(found.context))
    if found.options:
        output.line_out("")
        rows = [
            [each.id, render.render_name(each.label), render.escape_unsafe(each.description)] for each in found.options
        ]
        output.table(["OPTION", "LABEL", "DESCRIPTION"], rows)
    if found.answers:
        output.line_out("")
        output.table(["ROUND", "OUTCOME", "BY", "AT", "OPTION", "TEXT"], [decided.row(each) for each in found.answers])


@app.verb("withdraw")
def withdraw(
    decision: DecisionId,
    reason: Annotated[str, option("--reason", "TEXT", "Why.")] = "",
    who: As = None,
    json: Json = False,
) -> None:
    """
    Withdraw a question: it need not be answered any more, and whoever asked may stop.

    Example:
      gatepost decision withdraw dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "Found it out"
    """
    with here.opened() as place:
        by, said = place.myself(who), words.content(reason, LARGEST)
        ended = place.call(verbs.withdraw, lambda far: far.withdraw_decision, decision, by=by, reason=said)
        now = place.now()
    output.done(wire.write_decision(ended, now), ended.id, "withdrawn", json=json)


@app.verb("wait")
def wait(decision: DecisionId, most: For = None, json: Json = False) -> None:
    """
    Wait for the answer to a decision, and print it: the option, and then what was said.

    Ends with 0 when it was answered, and with 1 when it was rejected, withdrawn, sent back, or not answered in time.

    Example:
      gatepost decision wait dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --for 30m
    """
    length = times.parse_duration(most) if most is not None else None
    with here.opened() as place:
        decided.awaited(place, decision, length, json=json)


@app.verb("check")
def check(
    since: Annotated[str, option("--since", "5m", "What was answered since: how long ago, or a time.")] = "5m",
    who: Annotated[str | None, option("--as", "NAME", "Who asked; else the current agent.")] = None,
    session: Session = None,
    json: Json = False,
) -> None:
    """
    Look whether decisions were answered, or ended otherwise, of late. Ends with 0 if there are some, with 1 if not.

    Example:
      gatepost decision check --since 5m --as analyst
    """
    configuration = settings.load()
    with here.opened(configuration) as place:
        now = place.now()
        found = place.all(
            verbs.page,
            lambda far: far.decisions,
            asker=words.given(who, "--as") or (None if session else here.current(configuration)),
            session=words.given(session, "--session", "which"),
            since=words.moment(since, "--since", now),
            limit=1_000,
        )
    none = f"nothing was answered since {format_rfc3339(words.moment(since, '--since', now))}"
    decided.listing(found, len(found), now, otherwise=none, json=json)
    if not found:
        raise typer.Exit(1)
