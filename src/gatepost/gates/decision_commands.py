"""`gatepost decision`."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import click
import msgspec
from click.exceptions import Exit
from msgspec import UNSET

from gatepost import settings
from gatepost.cli import inputs, output
from gatepost.cli.command import Noun, Outcome, TableRow
from gatepost.cli.current_agent import find_current_agent, find_session
from gatepost.cli.gateway_or_store import CommandConnection, connect, poll
from gatepost.cli.parameters import JsonFlag, ParameterSpec, Timeout, argument, flag, option
from gatepost.core import ids, times
from gatepost.core.escaping import escape_unsafe
from gatepost.core.quoting import quote, render_json, render_name
from gatepost.core.times import Duration
from gatepost.errors import Invalid
from gatepost.gates import decision_api as api, proposed_action
from gatepost.gates.decision import DecisionStatus
from gatepost.gates.proposed_action import AnswerKind
from gatepost.inbox.event import EventType, Priority, Ref
from gatepost.residents.agent_api import ShowSession
from gatepost.settings import Configuration

decisions = Noun("decision", "Ask and answer decisions. An agent that asks may not stop until it has the answer.")
commands = [decisions]

Q = TypeVar("Q", bound=api.QuestionRequest)

DECISION: Final = argument("DECISION", "the id of a decision", parse=partial(ids.check, "dec"))
SESSION: Final = option("--session", "ID", "the guest session that asks", parse=inputs.check_session)
Wait = Annotated[bool, flag("--wait", "wait for the answer, and print it")]
#: what is typed to answer about an action
_USAGE: Final[dict[str, str]] = {
    AnswerKind.ACCEPT: "accept",
    AnswerKind.EDIT: "edit --args JSON",
    AnswerKind.RESPOND: "respond --text TEXT",
    AnswerKind.IGNORE: "ignore",
}
_COLUMNS: Final = ("DECISION", "STATE", "BY", "ASKED", "DEADLINE", "QUESTION")


def _parse_kinds(text: str) -> tuple[AnswerKind, ...]:
    try:
        return tuple(AnswerKind.parse(word.strip()) for word in text.split(","))
    except Invalid as error:
        raise Invalid(error.message, hint=f"use one or more of {','.join(AnswerKind)}, with commas between") from None


_QUESTION: Final[dict[str, ParameterSpec | None]] = {
    "question": argument("TEXT|-", "the question; - reads stdin", parse=inputs.read_text),
    "action": None,
    "allow": None,
    "options": option(
        "--option", "ID=LABEL", "an answer to choose; repeatable; ID alone is its own label", parse=inputs.parse_choice
    ),
    "free_text": flag("--text"),
    "default": option("--default", "ID"),
    "within": option("--within", "2h"),
    "deadline": option("--until", "TIME", "its deadline, such as 2026-02-20T10:00:00Z"),
    "context": option(
        "--context", "TEXT", "what a respondent should know; @FILE reads a file", parse=inputs.read_text_or_file
    ),
    "ref": option("--ref", "TYPE:ID", parse=Ref.parse),
    "urgency": option("--urgency", "P", default="normal"),
}


ActionName = Annotated[str | None, option("--action", "NAME", "what the asker wants to do, instead of options")]
ActionArgs = Annotated[
    dict[str, Any] | None,
    option("--args", "JSON", "its arguments; @FILE reads a file, - reads stdin", parse=inputs.read_json_object),
]
AllowedKinds = Annotated[
    tuple[AnswerKind, ...] | None,
    option(
        "--allow",
        "KINDS",
        f"what may be answered about the action: {','.join(AnswerKind)}; by default all",
        parse=_parse_kinds,
    ),
]


@decisions.request(
    "ask",
    api.AskDecision,
    **_QUESTION,
    of=option("--of", "ADDRESS", "who is asked: names or teams; by default the owner of the asker"),
    session=SESSION,
    asker=option("--as", "NAME", "who asks; by default the entity of the guest session, or the current agent"),
)
def ask(
    request: api.AskDecision,
    configuration: Configuration,
    action: ActionName = None,
    args: ActionArgs = None,
    allow: AllowedKinds = None,
    wait: Wait = False,
    timeout: Timeout = None,
    json: JsonFlag = False,
) -> None:
    """
    Ask for a decision and print its id. Until it is answered, the asker may not stop.

    With --action the question is whether to run something. The answer is accept, edit (run it with other arguments),
    respond (a text) or ignore.

    With --wait the answer is printed: the option, then the arguments to run the action with, and then the text. Exits
    with 0 if it was answered, and with 1 if it was rejected, withdrawn, sent back, or not answered in time.

    Examples:
      gatepost decision ask "Ship it?" --option yes=Ship --option no --as analyst
      gatepost decision ask "What is its name?" --text --within 2h --wait
      gatepost decision ask "Pay?" --action pay --args @a.json --allow accept,edit
    """
    _check_timeout(timeout, wait=wait)
    request = _add_action(request, action, args, allow)
    asker, session = request.asker, request.session
    if asker is None and session is None:
        asker, session = find_current_agent(configuration), find_session(configuration)
        if asker is None:
            raise Invalid(
                "no asker is given", hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml"
            )
    with connect(configuration) as connection:
        if request.session is not None:  # a session that hooks have not registered is a mistake, if it is typed
            session_agent = connection.send(ShowSession(id=request.session)).agent
            asker = asker or session_agent
        decision = connection.send(msgspec.structs.replace(request, asker=asker, session=session))
        _print_question(connection, decision, wait=wait, timeout=timeout, json=json)


@decisions.request("revise", api.ReviseDecision, id=DECISION, **_QUESTION)
def revise(
    request: api.ReviseDecision,
    configuration: Configuration,
    action: ActionName = None,
    args: ActionArgs = None,
    allow: AllowedKinds = None,
    wait: Wait = False,
    timeout: Timeout = None,
    json: JsonFlag = False,
) -> None:
    """
    Ask again, in another round. The new question replaces the old one, and everybody who was asked gets it.

    Example:
      gatepost decision revise "$DECISION" "On Monday?" --option yes --option no
    """
    _check_timeout(timeout, wait=wait)
    with connect(configuration) as connection:
        decision = connection.send(_add_action(request, action, args, allow))
        _print_question(connection, decision, wait=wait, timeout=timeout, json=json)


def _add_action(request: Q, name: str | None, args: dict[str, Any] | None, allow: tuple[AnswerKind, ...] | None) -> Q:
    if name is None and (args is not None or allow is not None):
        raise Invalid(f"{'--args' if args is not None else '--allow'} needs --action")
    if name is None:
        return request
    if request.options or request.free_text:
        raise Invalid(
            f"{'--option' if request.options else '--text'} cannot be combined with --action",
            hint="say with --allow what may be answered",
        )
    return msgspec.structs.replace(request, action=api.ActionSpec(name=name, args=args or {}), allow=allow or ())


def _check_timeout(timeout: Duration | None, *, wait: bool) -> None:
    if timeout is not None and not wait:
        raise Invalid("--for needs --wait")


def _print_question(
    connection: CommandConnection, decision: api.DecisionView, *, wait: bool, timeout: Duration | None, json: bool
) -> None:
    """Print that a question was asked or, with `wait`, its answer."""
    message = f"{_join_names(decision.asked)} asked"
    if wait:
        output.talk(f"{decision.id}: {message}, waiting")
        try:
            wait_for_answer(connection, decision.id, timeout, reader=decision.asker, json=json)
        except KeyboardInterrupt:
            output.talk(f"the question is still open: `gatepost decision wait {decision.id}` waits for the answer")
            raise
    else:
        output.done(msgspec.to_builtins(decision), decision.id, message, json=json)


def _join_names(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _answer_shown(connection: CommandConnection, request: api.AnswerDecision) -> api.DecisionView:
    """
    Send an answer. One to an action needs the hash of what was shown: it is given or, at a terminal, that of what is
    shown now.
    """
    if request.context_hash is None and sys.stdin.isatty() and sys.stderr.isatty():
        decision = connection.send(api.ShowDecision(id=request.id))
        if decision.action is not UNSET and decision.status is DecisionStatus.PENDING:
            _confirm(decision, decision.action)
            request = msgspec.structs.replace(request, context_hash=decision.context_hash)
    return connection.send(request)


def _confirm(decision: api.DecisionView, action: api.ActionView) -> None:
    """Show an action to the person at the terminal, and ask; exit with 1 if the person does not want to answer."""
    texts = [decision.question, decision.context, f"action {action.name}", output.format_json(action.args)]
    output.talk("\n\n".join(output.indent(text) for text in texts if text))
    if not click.confirm("\nIs this what you want to answer?", err=True):
        output.talk("nothing was answered")
        raise Exit(1)


@decisions.send(
    "answer",
    api.AnswerDecision,
    fetch=_answer_shown,
    id=DECISION,
    option=argument("OPTION"),
    args=option(
        "--args",
        "JSON",
        "all arguments to run the action with, for edit; @FILE reads a file, - reads stdin",
        parse=inputs.read_json_object,
    ),
    text=option("--text", "TEXT", "text with the option, or instead of one; - reads stdin", parse=inputs.read_text),
    again=flag("--again", "send the question back, with --text"),
    context_hash=option("--hash", "HASH"),
)
def answer(decision: api.DecisionView) -> Outcome:
    """
    Answer a decision. The first answer counts, whichever way it comes; later ones get an error that says who answered.
    If the question is about an action, OPTION is accept, edit (with --args), respond (with --text) or ignore. Its
    arguments are shown at the terminal, before you are asked; a script gives the hash that `decision show` prints.

    Examples:
      gatepost decision answer "$DECISION" ship --as husam
      gatepost decision answer "$DECISION" edit --args '{"sum": 9}' --hash "$HASH"
      gatepost decision answer "$DECISION" --text "On which day?" --again
    """
    return Outcome(decision.id, f"{describe_outcome(decision)}; {decision.asker} gets the answer")


@decisions.send(
    "delegate",
    api.DelegateDecision,
    id=DECISION,
    to=argument("ADDRESS", "who is asked instead: a name or a team; repeatable"),
    text=option("--text", "TEXT", "for them; - reads stdin", parse=inputs.read_text),
)
def delegate(decision: api.DecisionView) -> Outcome:
    """
    Pass a question on: others are asked instead of you.

    It is another round of the question. The administrator passes it on for everybody who was asked.

    Example:
      gatepost decision delegate "$DECISION" mira --text "You know why" --as husam
    """
    return Outcome(decision.id, f"{_join_names(decision.asked)} asked now")


@decisions.list(
    "list",
    api.ListDecisions,
    columns=_COLUMNS,
    empty=lambda request: "no decisions" if request.pending is None else "no decisions are open",
    asker=option("--by", "NAME"),
    asked=option("--of", "NAME"),
    session=option("--session", "ID"),
    pending=flag("--all", "include decisions that have ended", on=None, off=True),
    since=None,
    newest_first=flag("--newest", "the last decisions first"),
)
def list_decisions(decision: api.DecisionView) -> TableRow:
    """
    List the decisions that have not ended, oldest first.

    Examples:
      gatepost decision list --of husam
      gatepost decision list --by analyst --all --json
    """
    outcome = f" -> {describe_outcome(decision)}" if _find_last_answer(decision) else ""
    return [
        decision.id,
        _describe_state(decision),
        decision.asker,
        ", ".join(decision.asked),
        output.format_seconds(decision.deadline),
        f"{quote(decision.question)}{outcome}",
    ]


@decisions.show("show", api.ShowDecision, id=DECISION)
def show(decision: api.DecisionView) -> None:
    """
    Show a decision: the question, its action or options, the answers.

    Example:
      gatepost decision show dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    output.facts(
        ("decision", decision.id),
        ("gate", decision.gate),
        ("state", _describe_state(decision)),
        ("asked by", decision.asker),
        ("asked", ", ".join(decision.asked)),
        ("since", decision.created_at),
        ("urgency", Priority(decision.urgency).name.lower()),
        ("deadline", decision.deadline),
        ("default", decision.default),
        ("round", decision.iteration),
        ("guidance", decision.guidance),
        ("about", f"{decision.ref.type}:{decision.ref.id}" if decision.ref else None),
        ("session", decision.session),
        ("hash", decision.context_hash),
    )
    output.line_out("")
    output.line_out(output.indent(decision.question))
    if decision.context is not None:
        output.line_out("\n" + output.indent(decision.context))
    if decision.action is not UNSET:
        output.line_out(f"\naction {render_name(decision.action.name)}")
        output.line_out(output.indent(output.format_json(decision.action.args)))
        output.line_out("")
        output.table(["ANSWER", "MEANING"], [[option.id, option.label] for option in decision.options])
    elif decision.options:
        output.line_out("")
        rows = [[option.id, render_name(option.label), option.description] for option in decision.options]
        output.table(["OPTION", "LABEL", "DESCRIPTION"], rows)
    if decision.answers:
        output.line_out("")
        output.table(["ROUND", "OUTCOME", "BY", "AT", "OPTION", "TEXT"], map(_build_answer_row, decision.answers))
    if decision.action is not UNSET and decision.status is DecisionStatus.PENDING:
        start = f"  gatepost decision answer {decision.id}"
        commands = [f"{start} {_USAGE[option.id]} --hash {decision.context_hash}" for option in decision.options]
        output.talk("\n".join(["", "to answer, run one of:", *commands]))


@decisions.send(
    "withdraw", api.WithdrawDecision, id=DECISION, reason=option("--reason", "TEXT", parse=inputs.read_text)
)
def withdraw(decision: api.DecisionView) -> Outcome:
    """
    Withdraw a question. No answer is needed any more, and the asker may stop.

    Example:
      gatepost decision withdraw "$DECISION" --reason "Found it out"
    """
    return Outcome(decision.id, "withdrawn: no answer is needed any more")


@decisions.command("wait")
def wait(decision: Annotated[str, DECISION], timeout: Timeout = None, json: JsonFlag = False) -> None:
    """
    Wait for the answer to a decision, and print it. The option is printed first, then the arguments to run the action
    with, if there is one, and then the text.

    Exits with 0 if it was answered, and with 1 if it was rejected, withdrawn, sent back, or not answered in time.

    Example:
      gatepost decision wait dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --for 30m
    """
    with connect() as connection:
        reader = find_current_agent(connection.configuration)
        wait_for_answer(connection, decision, timeout, reader=reader, json=json)


@decisions.command("check")
def check(
    since: Annotated[str, option("--since", "5m", "how long ago, or a time")] = "5m",
    asker: Annotated[str | None, option("--as", "NAME", "who asked; by default the current agent, else anyone")] = None,
    session: Annotated[str | None, SESSION] = None,
    json: JsonFlag = False,
) -> None:
    """
    Check whether decisions were answered, or ended otherwise, lately. Exits with 0 if there are some, with 1 if not.

    Example:
      gatepost decision check --since 5m --as analyst
    """
    configuration = settings.load()
    with connect(configuration) as connection:
        start = inputs.parse_past(since, "--since", connection.read_clock())
        request = api.ListDecisions(
            asker=asker or (None if session else find_current_agent(configuration)),
            session=session,
            since=times.format_rfc3339(max(0, start)),  # a request has no times before 1970
        )
        answered = connection.list_all(request, 1_000)
    empty = f"no decision has ended since {times.format_rfc3339(start)}"
    output.listing(
        answered,
        len(answered),
        lambda items: output.table(_COLUMNS, map(list_decisions, items)),
        empty=empty,
        json=json,
    )
    if not answered:
        raise Exit(1)


def wait_for_answer(
    connection: CommandConnection, id: str, timeout: Duration | None, *, reader: str | None, json: bool
) -> None:
    """
    Wait until a round has ended, print the answer, and exit with 1 if there is none. If the `reader` has asked, the
    answer is delivered in its inbox too.
    """
    decision = poll(connection, api.ShowDecision(id=id), _is_over, timeout)
    last_answer = _find_last_answer(decision)
    if last_answer is None or decision.asker != reader:
        _print_answer(decision, last_answer, json=json)
    else:
        from gatepost.cli.printed_events import deliver_printed  # other verbs do without

        key = f"decision:{decision.id}:{last_answer.iteration}"
        with deliver_printed(connection, reader, EventType.DECISION, key, session=decision.session):
            _print_answer(decision, last_answer, json=json)
    if decision.status is not DecisionStatus.ANSWERED:
        raise Exit(1)


def _print_answer(decision: api.DecisionView, last_answer: api.DecisionAnswerView | None, *, json: bool) -> None:
    if json:
        output.document(msgspec.to_builtins(decision))
    elif decision.status is DecisionStatus.ANSWERED and last_answer is not None:
        if last_answer.option is not None:
            output.line_out(last_answer.option)
        if last_answer.args is not UNSET:
            output.line_out(render_json(last_answer.args))
        if last_answer.text is not None:
            output.line_out("\n".join(escape_unsafe(line) for line in last_answer.text.splitlines()))
    if decision.status is not DecisionStatus.ANSWERED:
        reason = describe_outcome(decision) if last_answer else f"it is {_describe_state(decision)}"
        output.talk(f"not answered: {reason}")


def _is_over(decision: api.DecisionView) -> bool:
    # What has a default is answered with it in a moment; nothing else can be answered any more.
    return decision.status is not DecisionStatus.PENDING or (decision.default is None and decision.overdue)


def _build_answer_row(answer: api.DecisionAnswerView) -> TableRow:
    return [
        str(answer.iteration),
        answer.outcome.value,
        answer.by or "",
        answer.at,
        answer.option or "",
        _render_rest(answer),
    ]


def _render_rest(answer: api.DecisionAnswerView) -> str:
    """Return the arguments and the text of an answer."""
    texts = [
        render_json(answer.args) if answer.args is not UNSET else "",
        quote(answer.text) if answer.text is not None else "",
    ]
    return " ".join(filter(None, texts))


def _find_last_answer(decision: api.DecisionView) -> api.DecisionAnswerView | None:
    """Return the end of the present round, also if it was sent back; None while it can be answered."""
    return None if decision.status is DecisionStatus.PENDING else decision.answers[-1]


def _describe_state(decision: api.DecisionView) -> str:
    return "overdue" if decision.overdue else decision.status.value


def describe_outcome(decision: api.DecisionView) -> str:
    """Return how the last round ended, in a few words."""
    answer = _find_last_answer(decision)
    assert answer is not None
    by = f" by {answer.by}" if answer.by else ""
    verb = "sent back" if decision.status is DecisionStatus.REVISING else answer.outcome.value
    if decision.action is not UNSET and answer.option is not None:
        args = None if answer.args is UNSET else answer.args
        words = quote(answer.text or "")
        return f"{verb}{by}: {proposed_action.render_outcome(decision.action.name, answer.option, args, words)}"
    parts = [part for part in (answer.option, _render_rest(answer)) if part]
    return f"{verb}{by}" + (f": {' '.join(parts)}" if parts else "")
