"""
A decision: a question to people or agents, and a gate that keeps the asker from stopping until it is answered, unless
the program of the asker follows the decision and brings the answer by itself.

A round is one question and at most one answer. The first valid answer counts, through whichever door it comes. An
answer that asks for another round (`again`, with words) sends the question back, and the asker revises it:

    asked --answer, default--> answered              the gate is resolved
          --rejection, withdrawal--> ...             the gate is withdrawn
          --deadline without a default--> expired    the gate is expired
          --nobody can answer--> orphaned            the gate is orphaned
          --again--> revising --revision--> asked    at most three rounds

A question has a hash, so that nobody answers a question that changed while they read it. A question may be about an
action that the asker wants to run (`proposed_action.py`). An answer to an action counts only with the hash of what was
shown, through whichever door it comes.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gatepost.core import text
from gatepost.core.json_limits import Json
from gatepost.core.times import Duration, Instant, format_rfc3339
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, quote_value
from gatepost.gates import proposed_action
from gatepost.gates.gate import Ending
from gatepost.gates.proposed_action import Action, AnswerKind, Arguments
from gatepost.inbox.event import DECISION_KEY, Priority, Ref, Route
from gatepost.operations.fields import describe
from gatepost.operations.operation import FieldSet

#: rounds of one decision
MAX_ROUNDS: Final = 3
MAX_OPTIONS: Final = 20
_MAX_QUESTION_LENGTH: Final = 10_000
_MAX_LABEL_LENGTH: Final = 200
_MAX_TEXT_LENGTH: Final = 10_000
_MAX_CONTEXT_LENGTH: Final = 64 * 1024
_MAX_SESSION_LENGTH: Final = 256
_OPTION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class DecisionOutcome(StrEnum):
    ANSWERED = "answered"
    REJECTED = "rejected"
    DEFAULTED = "defaulted"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    #: nobody can answer any more, or the asker is gone
    ORPHANED = "orphaned"
    #: another round is requested
    AGAIN = "again"

    @property
    def gate_ending(self) -> Ending | None:
        """How the gate of the decision ends; None if it does not end."""
        match self:
            case DecisionOutcome.ANSWERED | DecisionOutcome.DEFAULTED:
                return Ending.RESOLVED
            case DecisionOutcome.REJECTED | DecisionOutcome.WITHDRAWN:
                return Ending.WITHDRAWN
            case DecisionOutcome.EXPIRED:
                return Ending.EXPIRED
            case DecisionOutcome.ORPHANED:
                return Ending.ORPHANED
            case DecisionOutcome.AGAIN:
                return None


class DecisionStatus(StrEnum):
    PENDING = "pending"
    #: it was sent back, and the asker has to revise it
    REVISING = "revising"
    ANSWERED = "answered"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    ORPHANED = "orphaned"


class Option(Struct, frozen=True, kw_only=True):
    id: str
    label: str
    description: str = ""


class AnswerOrigin(Struct, frozen=True, kw_only=True):
    """The way by which an answer came, if that is a channel."""

    route: Route
    #: the name of the trigger behind the route; None if it has none
    trigger: str | None
    #: the ids of the channel
    metadata: Mapping[str, str]

    def build_data(self) -> dict[str, Json]:
        """Return what the event about the answer says of it, as prompts of the channel do."""
        trigger: dict[str, Json] = {"trigger": self.trigger} if self.trigger is not None else {}
        route = {"channel": self.route.channel, "sessionId": self.route.session}
        return {**route, **trigger, "metadata": dict(self.metadata)}


class Answer(Struct, frozen=True, kw_only=True):
    """The end of a round."""

    outcome: DecisionOutcome
    #: for an action, the kind of the answer
    option: str | None
    text: str | None
    #: the arguments to run the action with; None if there is no action, or it is not to be run
    args: Arguments | None
    #: None if it ended by itself, at the deadline
    by: str | None
    at: Instant
    iteration: int


class Decision(Struct, frozen=True, kw_only=True):
    id: str
    #: the id of its gate
    gate: str
    asker: str
    #: who may answer
    respondents: tuple[str, ...]
    question: str
    action: Action | None
    #: for an action, the allowed kinds of answers
    options: tuple[Option, ...]
    #: whether words are an answer
    free_text: bool
    urgency: Priority
    #: the option that counts if nobody answers in time
    default: str | None
    deadline: Instant | None
    context: str | None
    #: of the present question
    context_hash: str
    ref: Ref | None
    #: the guest session that asked
    session: str | None
    #: whether the program of the asker follows it, and shows the asker its answer: then the asker may stop
    is_followed: bool
    #: the number of the round, from 1
    iteration: int
    #: the words of the respondent who sent the last round back
    guidance: str | None
    created_at: Instant
    #: the answers of all rounds, in order
    answers: tuple[Answer, ...]
    number: int = 0

    @property
    def last_answer(self) -> Answer | None:
        """The answer that ended the present round, or a later round that was never asked; None while it is open."""
        return self.answers[-1] if self.answers and self.answers[-1].iteration >= self.iteration else None

    @property
    def status(self) -> DecisionStatus:
        match self.last_answer:
            case None:
                return DecisionStatus.PENDING
            case Answer(outcome=DecisionOutcome.AGAIN):
                return DecisionStatus.REVISING
            case Answer(outcome=DecisionOutcome.DEFAULTED):
                return DecisionStatus.ANSWERED
            case Answer(outcome=outcome):
                return DecisionStatus(outcome.value)

    @property
    def is_open(self) -> bool:
        """True while its gate is pending."""
        return self.status in (DecisionStatus.PENDING, DecisionStatus.REVISING)

    def is_overdue(self, now: Instant) -> bool:
        """Return True if the deadline has passed and the end is not recorded yet."""
        return self.is_open and self.deadline is not None and self.deadline <= now

    def find_label(self, option: str) -> str:
        return next((candidate.label for candidate in self.options if candidate.id == option), option)

    @property
    def allow(self) -> tuple[str, ...] | None:
        """The allowed kinds of answers to its action; None if it has none."""
        return tuple(option.id for option in self.options) if self.action is not None else None

    @property
    def viewers(self) -> frozenset[str]:
        """The names of entities that may see it: the asker and the respondents."""
        return frozenset((self.asker, *self.respondents))


class DecisionAsked(NamedTuple):
    """With the two below, for the rooms that react to it (`reactions.py`)."""

    decision: Decision
    respondents: Sequence[Entity]


class DecisionRevised(NamedTuple):
    """It is asked again, in another round."""

    decision: Decision


class DecisionEnded(NamedTuple):
    decision: Decision
    answer: Answer


class Question(Struct, frozen=True, kw_only=True):
    """
    A decision to ask for, or the new question of a revision. Give `deadline` or `within`, not both. Give options and
    free text, or an action.
    """

    question: str
    action: Action | None = None
    #: the kinds of answers to the action; by default all
    allow: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    free_text: bool = False
    #: addresses: names or teams; by default the owner of the asker. A revision goes to the same respondents
    respondents: tuple[str, ...] = ()
    urgency: Priority = Priority.NORMAL
    default: str | None = None
    deadline: Instant | None = None
    within: Duration | None = None
    context: str | None = None
    ref: Ref | None = None
    session: str | None = None
    #: whether the program of the asker follows the decision, and shows the asker its answer: then the asker may stop
    is_followed: bool = False


class AnswerSpec(FieldSet, kw_only=True):
    """
    An answer to give: an option, words, or both; words that ask for another round; or a rejection. The answer to an
    action is a kind with what the kind needs, or words alone, which are a response.
    """

    option: Annotated[str | None, describe("the id of an option, or the kind of answer to an action")] = None
    args: Annotated[Arguments | None, describe("all arguments of the action, for the answer `edit`")] = None
    text: Annotated[str | None, describe("answer in words; without an option only where the question allows it")] = None
    again: Annotated[bool, describe("send the question back with a text, at most twice")] = False
    reject: Annotated[bool, describe("refuse to decide")] = False
    context_hash: Annotated[
        str | None,
        describe("hash of the question that was read: another question is not answered; an action needs it"),
    ] = None


def check_question(question: Question, *, max_data_bytes: int, current_deadline: Instant | None = None) -> Question:
    """
    Return the question if it can be answered; one with an action gets its options. `current_deadline` stays if the
    question names none.
    """
    if not text.has_visible_text(question.question):
        raise Invalid("the question is empty", hint="give `question`")
    text.check_text("question", question.question, _MAX_QUESTION_LENGTH)
    if question.context is not None:
        text.check_text("context", question.context, _MAX_CONTEXT_LENGTH)
    if question.session is not None:
        text.check_text("session", question.session, _MAX_SESSION_LENGTH)
    for part in (question.ref.type, question.ref.id) if question.ref is not None else ():
        text.check_text("reference", part, _MAX_LABEL_LENGTH)
    if question.action is not None:
        question = _add_kinds(question, question.action, max_data_bytes)
    elif question.allow:
        raise Invalid("`allow` needs `action`", hint="give `action`, or `options` instead")
    if not question.options and not question.free_text:
        raise Invalid(
            "there is no way to answer the question", hint="give `options`, or let it be answered in words: `freeText`"
        )
    ids = check_options(question.options)
    if question.default is not None and question.default not in ids:
        raise Invalid(
            f"the default {quote_value(question.default)} is not among the options",
            hint=f"use {' or '.join(ids)}" if ids else "give `options`",
        )
    if question.default is not None and question.action is not None:
        proposed_action.check_default(question.default, [AnswerKind(id) for id in ids])
    if question.default is not None and question.deadline is question.within is current_deadline is None:
        raise Invalid("a default counts at the deadline, and there is none", hint="give `within` or `deadline`")
    return question


def _add_kinds(question: Question, action: Action, max_data_bytes: int) -> Question:
    """Return the question about an action with the allowed kinds of answers as its options."""
    proposed_action.check_action(action, max_data_bytes)
    if question.options or question.free_text:
        raise Invalid(
            f"{'`options`' if question.options else '`freeText`'} cannot be combined with `action`",
            hint="give `allow`, which says what may be answered",
        )
    names = {AnswerKind.parse(name) for name in question.allow}
    kinds = [kind for kind in AnswerKind if kind in names or not names]
    return replace(
        question,
        options=tuple(Option(id=kind.value, label=kind.label) for kind in kinds),
        free_text=AnswerKind.RESPOND in kinds,
    )


def check_options(options: Sequence[Option]) -> list[str]:
    """Return the ids of the options."""
    if len(options) > MAX_OPTIONS:
        raise Invalid(f"{len(options)} options are too many", hint=f"use at most {MAX_OPTIONS}")
    ids = [_check_option(option).id for option in options]
    if len(set(ids)) < len(ids):
        duplicate_id = next(id for id in ids if ids.count(id) > 1)
        raise Invalid(f"there are two options {duplicate_id!r}", hint="give each an id of its own")
    labels = [option.label for option in options]
    if len(set(labels)) < len(labels):
        duplicate_label = next(label for label in labels if labels.count(label) > 1)
        duplicate_ids = [id for id, label in zip(ids, labels, strict=True) if label == duplicate_label]
        raise Invalid(
            f"the options {duplicate_ids[0]!r} and {duplicate_ids[1]!r} have the same label",
            hint="give each one of its own",
        )
    return ids


def _check_option(option: Option) -> Option:
    if not _OPTION_ID.fullmatch(option.id):
        raise Invalid(
            f"{quote_value(option.id)} is not the id of an option",
            hint="use up to 63 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    if not text.has_visible_text(option.label):
        raise Invalid(f"the option {option.id!r} has no label", hint="write the text that respondents choose")
    text.check_text("label", option.label, _MAX_LABEL_LENGTH)
    text.check_text("description", option.description, _MAX_QUESTION_LENGTH)
    return option


def complete_answer(decision: Decision, spec: AnswerSpec) -> AnswerSpec:
    """Return an answer with its kind: words alone are a response to an action."""
    is_response = decision.action is not None and decision.free_text and spec.option is None and spec.args is None
    if is_response and not spec.again and not spec.reject and text.has_visible_text(spec.text or ""):
        return replace(spec, option=AnswerKind.RESPOND.value)
    return spec


def decide_outcome(decision: Decision, spec: AnswerSpec, *, max_data_bytes: int) -> DecisionOutcome:
    """Return the outcome of an answer to the present question; raise Invalid or Conflict if it does not count."""
    ids = [option.id for option in decision.options]
    ways = ([f"`option` ({', '.join(ids)})"] if ids else []) + (["`text`"] if decision.free_text else [])
    ways_hint = f"give {' or '.join(ways)}"
    has_text = text.has_visible_text(spec.text or "")
    if spec.text is not None:
        text.check_text("text", spec.text, _MAX_TEXT_LENGTH)
    if spec.context_hash is not None and spec.context_hash != decision.context_hash:
        raise Conflict(
            f"the decision {decision.id!r} has changed since that was read", hint="read it again, and answer that"
        )
    if spec.option is not None and spec.option not in ids:
        raise Invalid(f"{quote_value(spec.option)} is not an option of this decision", hint=ways_hint)
    if spec.again + spec.reject + (spec.option is not None) > 1:
        raise Invalid("give only one of `option`, `again` and `reject`")
    if spec.args is not None:
        _check_edited_args(decision, spec.option, spec.args, max_data_bytes)
    if spec.option is not None and decision.action is not None:
        proposed_action.check_answer(AnswerKind(spec.option), ids, has_args=spec.args is not None, has_text=has_text)
    if spec.reject:
        return DecisionOutcome.REJECTED
    if spec.again and not decision.free_text:
        raise Invalid("this decision cannot be sent back: it takes no free text", hint=ways_hint)
    if spec.again and not has_text:
        raise Invalid("a question is sent back with words", hint="give `text`")
    if spec.option is None and not has_text:
        raise Invalid("the answer is empty", hint=ways_hint)
    if spec.option is None and not decision.free_text:
        raise Invalid("this decision cannot be answered with text alone", hint=ways_hint)
    if spec.again and decision.iteration >= MAX_ROUNDS:
        raise Conflict(f"this decision was asked {MAX_ROUNDS} times already", hint="answer it, or reject it")
    return DecisionOutcome.AGAIN if spec.again else DecisionOutcome.ANSWERED


def require_hash(decision: Decision, spec: AnswerSpec) -> None:
    """Refuse an answer to an action that does not say which question was read: its asker may have changed it."""
    if decision.action is not None and spec.context_hash is None:
        raise Invalid(
            "an answer to an action needs `contextHash`, the hash of the question that was read",
            hint=f"`gatepost decision show {decision.id}` shows its arguments and its hash",
        )


def _check_edited_args(decision: Decision, option: str | None, args: Arguments, max_data_bytes: int) -> None:
    if decision.action is None or option is None:
        can_edit = AnswerKind.EDIT in (decision.allow or ())
        hint = "give `option` edit, too" if can_edit else "leave it out"
        raise Invalid("`args` needs the answer 'edit' to an action", hint=hint)
    proposed_action.check_args(args, max_data_bytes)


def compute_context_hash(question: Question) -> str:
    """Return the hash of a question, its options, reference and context, and of its action if it has one."""
    document: list[Json] = [
        question.question,
        [[option.id, option.label, option.description] for option in question.options],
        [question.ref.type, question.ref.id] if question.ref is not None else None,
        question.context,
    ]
    if question.action is not None:
        document.append([question.action.name, question.action.args])
    encoded = json.dumps(document, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(encoded.encode()).hexdigest()


def build_event_key(decision: Decision, iteration: int) -> str:
    """Return the dedup key of the events for a round: of its question, and of its answer."""
    return f"{DECISION_KEY}{decision.id}:{iteration}"


def render_action(decision: Decision) -> str:
    """Return the action of a decision with all its arguments, for a chat; nothing if it has none."""
    return proposed_action.render_action(decision.action) if decision.action is not None else ""


def render_question(decision: Decision) -> str:
    """
    Return the text that respondents read. The hash that an answer to an action needs is at the end: where a text is cut
    because its arguments are long, nobody can approve what was not shown.
    """
    sentences = [decision.question]
    if decision.action is not None:
        sentences.append(f"Action: {proposed_action.render_action(decision.action)}.")
    if decision.options:
        options = [
            f"{option.id} ({option.label})" + (f", {option.description}" if option.description else "")
            for option in decision.options
        ]
        sentences.append(f"Options: {'; '.join(options)}.")
    if decision.free_text and decision.action is None:
        sentences.append("It may be answered in words." if decision.options else "Answer in words.")
    if decision.deadline is not None:
        fallback = f"{decision.default} counts" if decision.default is not None else "it expires"
        sentences.append(
            f"Without an answer until {format_rfc3339(decision.deadline - decision.deadline % 1_000_000)} {fallback}."
        )
    if decision.action is not None:
        sentences.append(f"Answer with its hash {decision.context_hash}.")
    return " ".join(sentences)


def render_answer(decision: Decision, answer: Answer) -> str:
    """Return the text that the asker reads: the label of the option, and the words; or what to do about the action."""
    if decision.action is not None and answer.option is not None:
        return proposed_action.render_outcome(decision.action.name, answer.option, answer.args, answer.text)
    label = decision.find_label(answer.option) if answer.option is not None else None
    return " - ".join(part for part in (label, answer.text) if part)


def describe_answer(decision: Decision) -> dict[str, Json]:
    """Return who answered what, for a respondent who was late."""
    last_answer = decision.last_answer
    assert last_answer is not None
    return {
        "decisionId": decision.id,
        "outcome": last_answer.outcome.value,
        "option": last_answer.option,
        "text": last_answer.text,
        "by": last_answer.by,
        "at": format_rfc3339(last_answer.at),
        "iteration": last_answer.iteration,
        **describe_action(decision, last_answer),
    }


def describe_action(decision: Decision, answer: Answer) -> dict[str, Json]:
    """Return what an answer means for the action of a decision; nothing if it has none."""
    if decision.action is None:
        return {}
    return {"action": decision.action.name, "kind": answer.option, "args": answer.args}
