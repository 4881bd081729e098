"""`gatepost decision ask`, `revise` and `answer`."""

from collections.abc import Sequence
from typing import Annotated

from gatepost import settings
from gatepost.actions import decisions as verbs
from gatepost.cli import here, output, words
from gatepost.cli.decided import LARGEST, DecisionId, For, Session, awaited, outcome
from gatepost.cli.here import As, Json
from gatepost.cli.plain import argument, flag, option
from gatepost.core import times, wire
from gatepost.core.decision import AnswerSpec, Decision, Option, Question
from gatepost.core.event import Priority, Ref
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
    who: Annotated[
        str | None, option("--as", "NAME", "Who asks; else whose session it is, or the current agent.")
    ] = None,
    wait: Wait = False,
    most: For = None,
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
    asker = words.given(who, "--as") or (None if session else here.current(configuration))
    if asker is None and words.given(session, "--session", "which") is None:
        raise Invalid("who asks?", hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml")
    length = _length(most, wait=wait)
    question = Question(
        question=words.content(text, LARGEST),
        options=tuple(map(_option, option or ())),
        free_text=free_text,
        respondents=tuple(of or ()),
        urgency=Priority.parse(urgency),
        default=words.given(default, "--default", "which"),
        deadline=times.parse_instant(until) if until is not None else None,
        within=times.parse_duration(within) if within is not None else None,
        context=words.told(context, LARGEST) if context is not None else None,
        ref=Ref.parse(ref) if ref is not None else None,
        session=session or (here.session(configuration) if who is None else None),
    )
    with here.opened(configuration) as place:
        by = asker or place.session(session or "").agent
        made = place.call(verbs.ask, lambda far: far.ask, question, by=by)
        _asked(place, made, wait=wait, most=length, json=json)


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
    who: As = None,
    wait: Wait = False,
    most: For = None,
    json: Json = False,
) -> None:
    """
    Ask anew, in another round: what was asked before is replaced as a whole, and whoever was asked is told again.

    Example:
      gatepost decision revise dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 "Ship it on Monday?" --option yes --option no
    """
    length = _length(most, wait=wait)
    question = Question(
        question=words.content(text, LARGEST),
        options=tuple(map(_option, option or ())),
        free_text=free_text,
        urgency=Priority.parse(urgency),
        default=words.given(default, "--default", "which"),
        deadline=times.parse_instant(until) if until is not None else None,
        within=times.parse_duration(within) if within is not None else None,
        context=words.told(context, LARGEST) if context is not None else None,
        ref=Ref.parse(ref) if ref is not None else None,
    )
    with here.opened() as place:
        made = place.call(verbs.revise, lambda far: far.revise, decision, question, by=place.myself(who))
        _asked(place, made, wait=wait, most=length, json=json)


def answer(
    decision: DecisionId,
    option: Annotated[str | None, argument("OPTION", "The id of an option.")] = None,
    text: Annotated[str | None, option("--text", "TEXT", "What to say with it, or instead; - reads stdin.")] = None,
    again: Annotated[bool, flag("--again", "Send a question that takes words back, with --text.")] = False,
    reject: Annotated[bool, flag("--reject", "Refuse to decide.")] = False,
    hash: Annotated[
        str | None, option("--context-hash", "HASH", "Answer only if the question is still this one.")
    ] = None,
    who: As = None,
    json: Json = False,
) -> None:
    """
    Answer a decision. The first answer counts, whichever way it comes; whoever is later is told who answered what.

    Examples:
      gatepost decision answer dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 ship --as husam
      gatepost decision answer dec_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --text "On which day?" --again
    """
    reply = AnswerSpec(
        option=words.given(option, "OPTION", "which"),
        text=words.content(text, LARGEST) if text is not None else None,
        again=again,
        reject=reject,
        context_hash=words.given(hash, "--context-hash", "which"),
    )
    with here.opened() as place:
        answered = place.call(verbs.answer, lambda far: far.answer, decision, reply, by=place.myself(who))
        now = place.now()
    output.done(
        wire.write_decision(answered, now), answered.id, f"{outcome(answered)}; {answered.asker} is told", json=json
    )


def _option(text: str) -> Option:
    """`ship=Ship it`, or the id alone."""
    id, equals, label = text.partition("=")
    return Option(id=id.strip(), label=label.strip() if equals else id.strip())


def _length(most: str | None, *, wait: bool) -> Duration | None:
    if most is not None and not wait:
        raise Invalid("--for goes with --wait")
    return times.parse_duration(most) if most is not None else None


def _asked(place: here.Here, made: Decision, *, wait: bool, most: Duration | None, json: bool) -> None:
    """Say that a question was asked or, if somebody waits for it, what became of it."""
    if wait:
        output.talk(f"{made.id}: {_names(made.respondents)} asked, waiting")
        awaited(place, made.id, most, json=json)
    else:
        output.done(wire.write_decision(made, place.now()), made.id, f"{_names(made.respondents)} asked", json=json)


def _names(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
