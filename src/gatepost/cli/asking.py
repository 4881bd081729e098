"""`gatepost decision ask`, `revise` and `answer`."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from gatepost import settings
from gatepost.api.agents import ShowSession
from gatepost.api.decisions import AnswerDecision, AskDecision, DecisionView, OptionSpec, ReviseDecision
from gatepost.api.fields import RefSpec
from gatepost.cli import identity, output, words
from gatepost.cli.connect import Connection, connect
from gatepost.cli.decided import MAX_TEXT_SIZE, DecisionId, For, Session, describe_outcome, wait_for_answer
from gatepost.cli.plain import As, Json, argument, flag, option
from gatepost.core import times
from gatepost.core.event import Ref
from gatepost.core.times import Duration
from gatepost.errors import Invalid

Text = Annotated[str, argument("TEXT|-", "The question; - reads stdin.")]
Options = Annotated[
    list[str] | None, option("--option", "ID=LABEL", "An answer to choose; may be repeated, ID alone is its label.")
]
Words = Annotated[bool, flag("--text", "It may be answered in words.")]
Default = Annotated[str | None, option("--default", "ID", "The option that counts at the deadline.")]
Within = Annotated[str | None, option("--within", "2h", "Its deadline, from now.")]
Until = Annotated[str | None, option("--until", "TIME", "Its deadline, as a time.")]
Context = Annotated[str | None, option("--context", "TEXT", "What whoever answers should know; @FILE reads a file.")]
About = Annotated[str | None, option("--ref", "TYPE:ID", "What it is about.")]
Urgency = Annotated[str, option("--urgency", "P", "critical, high, normal, low, fyi; or 0 to 4.")]
Wait = Annotated[bool, flag("--wait", "Wait for the answer, and print it.")]


def ask(
    text: Text,
    option: Options = None,
    free_text: Words = False,
    of: Annotated[
        list[str] | None, option("--of", "ADDRESS", "Who is asked: names or teams; else the owner of who asks.")
    ] = None,
    default: Default = None,
    within: Within = None,
    until: Until = None,
    context: Context = None,
    ref: About = None,
    urgency: Urgency = "normal",
    session: Session = None,
    actor: Annotated[
        str | None, option("--as", "NAME", "Who asks; else whose session it is, or the current agent.")
    ] = None,
    wait: Wait = False,
    timeout: For = None,
    json: Json = False,
) -> None:
    """
    Ask for a decision, and print its id. Until it is answered, whoever asks may not stop.

    With --wait the answer is printed: the option, and then what was said. Ends with 0 when it was answered, and with 1
    when it was rejected, withdrawn, sent back, or not answered in time.

    Examples:
      gatepost decision ask "Ship version 2?" --option ship="Ship it" --option wait=Wait --as analyst --of husam
      gatepost decision ask "What is it called?" --text --within 2h --as analyst --wait
    """
    configuration = settings.load()
    asker = words.given(actor, "--as") or (None if session else identity.find_current_agent(configuration))
    if asker is None and words.given(session, "--session", "which") is None:
        raise Invalid("who asks?", hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml")
    duration = _parse_timeout(timeout, wait=wait)
    request = AskDecision(
        question=words.content(text, MAX_TEXT_SIZE),
        options=tuple(map(_parse_option, option or ())),
        free_text=free_text,
        of=tuple(of or ()),
        urgency=urgency,
        default=words.given(default, "--default", "which"),
        deadline=until,
        within=within,
        context=words.told(context, MAX_TEXT_SIZE) if context is not None else None,
        ref=_parse_ref(ref) if ref is not None else None,
        session=session or (identity.find_session(configuration) if actor is None else None),
    )
    with connect(configuration) as connection:
        asker = asker or connection.send(ShowSession(id=session or "")).agent
        decision = connection.send(msgspec.structs.replace(request, asker=asker))
        _print_question(connection, decision, wait=wait, timeout=duration, json=json)


def revise(
    decision: DecisionId,
    text: Text,
    option: Options = None,
    free_text: Words = False,
    default: Default = None,
    within: Within = None,
    until: Until = None,
    context: Context = None,
    ref: About = None,
    urgency: Urgency = "normal",
    actor: As = None,
    wait: Wait = False,
    timeout: For = None,
    json: Json = False,
) -> None:
    """
    Ask anew, in another round: what was asked before is replaced as a whole, and whoever was asked is told again.

    Example:
      gatepost decision revise dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 "Ship it on Monday?" --option yes --option no
    """
    duration = _parse_timeout(timeout, wait=wait)
    request = ReviseDecision(
        id=decision,
        question=words.content(text, MAX_TEXT_SIZE),
        options=tuple(map(_parse_option, option or ())),
        free_text=free_text,
        urgency=urgency,
        default=words.given(default, "--default", "which"),
        deadline=until,
        within=within,
        context=words.told(context, MAX_TEXT_SIZE) if context is not None else None,
        ref=_parse_ref(ref) if ref is not None else None,
    )
    with connect() as connection:
        view = connection.send(msgspec.structs.replace(request, asker=connection.choose_actor(actor)))
        _print_question(connection, view, wait=wait, timeout=duration, json=json)


def answer(
    decision: DecisionId,
    option: Annotated[str | None, argument("OPTION", "The id of an option.")] = None,
    text: Annotated[str | None, option("--text", "TEXT", "What to say with it, or instead; - reads stdin.")] = None,
    again: Annotated[bool, flag("--again", "Send a question that takes words back, with --text.")] = False,
    reject: Annotated[bool, flag("--reject", "Refuse to decide.")] = False,
    hash: Annotated[
        str | None, option("--context-hash", "HASH", "Answer only if the question is still this one.")
    ] = None,
    actor: As = None,
    json: Json = False,
) -> None:
    """
    Answer a decision. The first answer counts, whichever way it comes; whoever is later is told who answered what.

    Examples:
      gatepost decision answer dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 ship --as husam
      gatepost decision answer dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --text "On which day?" --again
    """
    request = AnswerDecision(
        id=decision,
        option=words.given(option, "OPTION", "which"),
        text=words.content(text, MAX_TEXT_SIZE) if text is not None else None,
        again=again,
        reject=reject,
        context_hash=words.given(hash, "--context-hash", "which"),
    )
    with connect() as connection:
        view = connection.send(msgspec.structs.replace(request, by=connection.choose_actor(actor)))
    output.done(msgspec.to_builtins(view), view.id, f"{describe_outcome(view)}; {view.asker} is told", json=json)


def _parse_option(text: str) -> OptionSpec:
    """Return the option of `ship=Ship it`, or of an id alone."""
    id, equals, label = text.partition("=")
    return OptionSpec(id=id.strip(), label=label.strip() if equals else id.strip())


def _parse_ref(text: str) -> RefSpec:
    ref = Ref.parse(text)
    return RefSpec(type=ref.type, id=ref.id)


def _parse_timeout(timeout: str | None, *, wait: bool) -> Duration | None:
    if timeout is not None and not wait:
        raise Invalid("--for goes with --wait")
    return times.parse_duration(timeout) if timeout is not None else None


def _print_question(
    connection: Connection, decision: DecisionView, *, wait: bool, timeout: Duration | None, json: bool
) -> None:
    """Print that a question was asked or, with `wait`, what became of it."""
    if wait:
        output.talk(f"{decision.id}: {_join_names(decision.asked)} asked, waiting")
        wait_for_answer(connection, decision.id, timeout, json=json)
    else:
        output.done(msgspec.to_builtins(decision), decision.id, f"{_join_names(decision.asked)} asked", json=json)


def _join_names(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
