"""
A decision: a question to people or agents, and a gate that keeps the asker from stopping until it is answered.

A round is one question and at most one answer. The first valid answer counts, through whichever door it comes. An
answer that asks for another round (`again`, with words) sends the question back, and the asker revises it:

    asked --answer, default--> answered              the gate is resolved
          --rejection, withdrawal--> ...             the gate is withdrawn
          --deadline without a default--> expired    the gate is expired
          --nobody can answer--> orphaned            the gate is orphaned
          --again--> revising --revision--> asked    at most three rounds

A question has a hash, so that nobody answers a question that changed while they read it.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from gatepost.core import text
from gatepost.core.event import Json, Priority, Ref
from gatepost.core.gate import Ending
from gatepost.core.times import Duration, Instant, format_rfc3339
from gatepost.errors import Conflict, Invalid, quote_value

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


class Answer(Struct, frozen=True, kw_only=True):
    """The end of a round."""

    outcome: DecisionOutcome
    option: str | None
    text: str | None
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
    def viewers(self) -> frozenset[str]:
        """The names of entities that may see it: the asker and the respondents."""
        return frozenset((self.asker, *self.respondents))


class Question(Struct, frozen=True, kw_only=True):
    """A decision to ask for, or the new question of a revision. Give `deadline` or `within`, not both."""

    question: str
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


class AnswerSpec(Struct, frozen=True, kw_only=True):
    """An answer to give: an option, words, or both; words that ask for another round; or a rejection."""

    option: str | None = None
    text: str | None = None
    again: bool = False
    reject: bool = False
    #: of the question that was read; None to answer the present one
    context_hash: str | None = None


def check_question(question: Question, *, current_deadline: Instant | None = None) -> Question:
    """Return the question if it can be answered. `current_deadline` stays if the question names none."""
    if not text.has_visible_text(question.question):
        raise Invalid("the question is empty", hint="give `question`")
    text.check_text("question", question.question, _MAX_QUESTION_LENGTH)
    if question.context is not None:
        text.check_text("context", question.context, _MAX_CONTEXT_LENGTH)
    if question.session is not None:
        text.check_text("session", question.session, _MAX_SESSION_LENGTH)
    for part in (question.ref.type, question.ref.id) if question.ref is not None else ():
        text.check_text("reference", part, _MAX_LABEL_LENGTH)
    if not question.options and not question.free_text:
        raise Invalid(
            "there is no way to answer the question", hint="give `options`, or let it be answered in words: `freeText`"
        )
    if len(question.options) > MAX_OPTIONS:
        raise Invalid(f"{len(question.options)} options are too many", hint=f"use at most {MAX_OPTIONS}")
    ids = [_check_option(option).id for option in question.options]
    if len(set(ids)) < len(ids):
        duplicate_id = next(id for id in ids if ids.count(id) > 1)
        raise Invalid(f"there are two options {duplicate_id!r}", hint="give each an id of its own")
    labels = [option.label for option in question.options]
    if len(set(labels)) < len(labels):
        duplicate_label = next(label for label in labels if labels.count(label) > 1)
        duplicate_ids = [id for id, label in zip(ids, labels, strict=True) if label == duplicate_label]
        raise Invalid(
            f"the options {duplicate_ids[0]!r} and {duplicate_ids[1]!r} have the same label",
            hint="give each one of its own",
        )
    if question.default is not None and question.default not in ids:
        raise Invalid(
            f"the default {quote_value(question.default)} is not among the options",
            hint=f"use one of {', '.join(ids)}" if ids else "give `options`",
        )
    if question.default is not None and question.deadline is question.within is current_deadline is None:
        raise Invalid("a default counts at the deadline, and there is none", hint="give `within` or `deadline`")
    return question


def decide_outcome(decision: Decision, spec: AnswerSpec) -> DecisionOutcome:
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


def hash_question(question: str, options: Sequence[Option], ref: Ref | None, context: str | None) -> str:
    """Return the hash of a question, its options, reference and context."""
    ref_parts = [ref.type, ref.id] if ref is not None else None
    document = [question, [[option.id, option.label, option.description] for option in options], ref_parts, context]
    return hashlib.sha256(json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def build_event_key(decision: Decision, iteration: int) -> str:
    """Return the dedup key of the events for a round: of its question, and of its answer."""
    return f"decision:{decision.id}:{iteration}"


def parse_event_key(key: str) -> str | None:
    """Return the id of the decision that has events with this key; None if it is another kind of key."""
    parts = key.split(":")
    return parts[1] if parts[0] == "decision" and len(parts) == 3 else None


def render_question(decision: Decision) -> str:
    """Return the text that respondents read."""
    sentences = [decision.question]
    if decision.options:
        options = [
            f"{option.id} ({option.label})" + (f", {option.description}" if option.description else "")
            for option in decision.options
        ]
        sentences.append(f"Options: {'; '.join(options)}.")
    if decision.free_text:
        sentences.append("It may be answered in words." if decision.options else "Answer in words.")
    if decision.deadline is not None:
        fallback = f"{decision.default} counts" if decision.default is not None else "it expires"
        sentences.append(
            f"Without an answer until {format_rfc3339(decision.deadline - decision.deadline % 1_000_000)} {fallback}."
        )
    return " ".join(sentences)


def render_answer(decision: Decision, answer: Answer) -> str:
    """Return the text that the asker reads: the label of the option, and the words."""
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
    }


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
