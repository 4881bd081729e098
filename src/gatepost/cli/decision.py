"""`gatepost decision`."""

from typing import Annotated

import msgspec
import typer

from gatepost import settings
from gatepost.api.decisions import ListDecisions, ShowDecision, WithdrawDecision
from gatepost.cli import decided, identity, output, words
from gatepost.cli.asking import answer, ask, revise
from gatepost.cli.connect import connect
from gatepost.cli.decided import MAX_TEXT_SIZE, DecisionId, For, Session
from gatepost.cli.plain import As, Json, Limit, Noun, flag, option
from gatepost.core import render, times
from gatepost.core.event import Priority

app = Noun(help="Decisions: questions that keep whoever asks from stopping until they are answered.")
app.verb("ask")(ask)
app.verb("answer")(answer)
app.verb("revise")(revise)


@app.verb("list")
def list_(
    of: Annotated[str | None, option("--of", "NAME", "Only those that this one may answer.")] = None,
    asker: Annotated[str | None, option("--by", "NAME", "Only those that this one asked.")] = None,
    session: Session = None,
    include_ended: Annotated[bool, flag("--all", "Those too that have ended.")] = False,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the decisions that have not ended, in the order in which they were asked.

    Examples:
      gatepost decision list --of husam
      gatepost decision list --by analyst --all --json
    """
    count = words.number(limit, "--limit", most=100_000)
    with connect() as connection:
        request = ListDecisions(
            asker=words.given(asker, "--by"),
            asked=words.given(of, "--of"),
            session=words.given(session, "--session", "which"),
            pending=None if include_ended else True,
        )
        decisions = connection.list_all(request, count + 1)
    none = "there is no decision" if include_ended else "there is no decision that has not ended"
    decided.print_list(decisions, count, otherwise=none, json=json)


@app.verb("show")
def show(decision: DecisionId, json: Json = False) -> None:
    """
    Show a decision: the question, its options, and what was answered.

    Example:
      gatepost decision show dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        view = connection.send(ShowDecision(id=decision))
    if json:
        output.document(msgspec.to_builtins(view))
        return
    output.facts(
        ("decision", view.id),
        ("gate", view.gate),
        ("state", decided.describe_state(view)),
        ("asked by", view.asker),
        ("asked", ", ".join(view.asked)),
        ("since", view.created_at),
        ("urgency", Priority(view.urgency).name.lower()),
        ("deadline", view.deadline),
        ("default", view.default),
        ("round", view.iteration),
        ("guidance", view.guidance),
        ("about", f"{view.ref.type}:{view.ref.id}" if view.ref else None),
        ("session", view.session),
        ("hash", view.context_hash),
    )
    output.line_out("")
    output.line_out(output.prose(view.question))
    if view.context is not None:
        output.line_out("\n" + output.prose(view.context))
    if view.options:
        output.line_out("")
        rows = [
            [option.id, render.render_name(option.label), render.escape_unsafe(option.description)]
            for option in view.options
        ]
        output.table(["OPTION", "LABEL", "DESCRIPTION"], rows)
    if view.answers:
        output.line_out("")
        output.table(["ROUND", "OUTCOME", "BY", "AT", "OPTION", "TEXT"], map(decided.build_answer_row, view.answers))


@app.verb("withdraw")
def withdraw(
    decision: DecisionId,
    reason: Annotated[str, option("--reason", "TEXT", "Why.")] = "",
    actor: As = None,
    json: Json = False,
) -> None:
    """
    Withdraw a question: it need not be answered any more, and whoever asked may stop.

    Example:
      gatepost decision withdraw dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "Found it out"
    """
    with connect() as connection:
        by = connection.choose_actor(actor)
        view = connection.send(WithdrawDecision(id=decision, by=by, reason=words.content(reason, MAX_TEXT_SIZE)))
    output.done(msgspec.to_builtins(view), view.id, "withdrawn", json=json)


@app.verb("wait")
def wait(decision: DecisionId, timeout: For = None, json: Json = False) -> None:
    """
    Wait for the answer to a decision, and print it: the option, and then what was said.

    Ends with 0 when it was answered, and with 1 when it was rejected, withdrawn, sent back, or not answered in time.

    Example:
      gatepost decision wait dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --for 30m
    """
    duration = times.parse_duration(timeout) if timeout is not None else None
    with connect() as connection:
        decided.wait_for_answer(connection, decision, duration, json=json)


@app.verb("check")
def check(
    since: Annotated[str, option("--since", "5m", "What was answered since: how long ago, or a time.")] = "5m",
    asker: Annotated[str | None, option("--as", "NAME", "Who asked; else the current agent.")] = None,
    session: Session = None,
    json: Json = False,
) -> None:
    """
    Look whether decisions were answered, or ended otherwise, of late. Ends with 0 if there are some, with 1 if not.

    Example:
      gatepost decision check --since 5m --as analyst
    """
    configuration = settings.load()
    with connect(configuration) as connection:
        start = words.moment(since, "--since", connection.read_clock())
        request = ListDecisions(
            asker=words.given(asker, "--as") or (None if session else identity.find_current_agent(configuration)),
            session=words.given(session, "--session", "which"),
            since=times.format_rfc3339(max(0, start)),  # a request has no times before 1970
        )
        decisions = connection.list_all(request, 1_000)
    none = f"nothing was answered since {times.format_rfc3339(start)}"
    decided.print_list(decisions, len(decisions), otherwise=none, json=json)
    if not decisions:
        raise typer.Exit(1)
