"""
A decision: a question to people or agents, and a gate that keeps whoever asked from stopping until it is answered.

A round of it is one question and at most one answer. The first valid answer counts, whichever door it comes through;
an answer that asks for another round (`again`, with words) sends the question back, and whoever asked revises it:

    asked --answer, default--> answered              the gate is resolved
          --rejection, withdrawal--> ...             the gate is withdrawn
          --deadline without a default--> expired    the gate is expired
          --nobody is left to answer--> orphaned     the gate is orphaned
          --again--> revising --revision--> asked    at most three rounds

What was asked is known by its hash, so that nobody answers a question that has changed under their eyes.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gatepost.core import text
from gatepost.core.event import Json, Priority, Ref
from gatepost.core.gate import Ending
from gatepost.core.instants import Duration, Instant, rfc3339
from gatepost.errors import Conflict, Invalid

#: rounds of one decision
MOST_ROUNDS: Final = 3
MOST_OPTIONS: Final = 20
_LONGEST_QUESTION: Final = 10_000
_LONGEST_LABEL: Final = 200
_LONGEST_TEXT: Final = 10_000
_LONGEST_CONTEXT: Final = 64 * 1024
_LONGEST_SESSION: Final = 256
_OPTION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class Outcome(StrEnum):
    ANSWERED = "answered"
    REJECTED = "rejected"
    DEFAULTED = "defaulted"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    #: nobody is left who could answer, or who asked
    ORPHANED = "orphaned"
    #: another round is wished for
    AGAIN = "again"

    @property
    def ending(self) -> Ending | None:
        """How the gate ends by it; None where it does not."""
        match self:
            case Outcome.ANSWERED | Outcome.DEFAULTED:
                return Ending.RESOLVED
            case Outcome.REJECTED | Outcome.WITHDRAWN:
                return Ending.WITHDRAWN
            case Outcome.EXPIRED:
                return Ending.EXPIRED
            case Outcome.ORPHANED:
                return Ending.ORPHANED
            case Outcome.AGAIN:
                return None


class DecisionStatus(StrEnum):
    PENDING = "pending"
    #: it was sent back, and whoever asked has to ask it anew
    REVISING = "revising"
    ANSWERED = "answered"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    ORPHANED = "orphaned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    id: str
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a round ended."""

    outcome: Outcome
    option: str | None
    text: str | None
    #: None when nobody did anything: at the deadline
    by: str | None
    at: Instant
    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    id: str
    #: the id of its gate
    gate: str
    asker: str
    #: who may answer
    asked: tuple[str, ...]
    question: str
    options: tuple[Option, ...]
    #: whether it may be answered in words
    free_text: bool
    urgency: Priority
    #: the option that counts when nobody answers in time
    default: str | None
    deadline: Instant | None
    context: str | None
    #: of the question as it stands
    context_hash: str
    ref: Ref | None
    #: the guest session that asked
    session: str | None
    #: the round, from 1 on
    iteration: int
    #: what was said by whoever sent the last round back
    guidance: str | None
    created_at: Instant
    #: of all rounds, in order
    answers: tuple[Answer, ...]
    number: int = 0

    @property
    def last(self) -> Answer | None:
        """How the round that stands ended, or the one that followed without being asked."""
        return self.answers[-1] if self.answers and self.answers[-1].iteration >= self.iteration else None

    @property
    def status(self) -> DecisionStatus:
        match self.last:
            case None:
                return DecisionStatus.PENDING
            case Answer(outcome=Outcome.AGAIN):
                return DecisionStatus.REVISING
            case Answer(outcome=Outcome.DEFAULTED):
                return DecisionStatus.ANSWERED
            case Answer(outcome=outcome):
                return DecisionStatus(outcome.value)

    @property
    def open(self) -> bool:
        """Whether its gate is still pending."""
        return self.status in (DecisionStatus.PENDING, DecisionStatus.REVISING)

    def overdue(self, now: Instant) -> bool:
        """Whether its deadline has passed and nobody has written down yet what becomes of it."""
        return self.open and self.deadline is not None and self.deadline <= now

    def label(self, option: str) -> str:
        return next((one.label for one in self.options if one.id == option), option)

    @property
    def concerned(self) -> frozenset[str]:
        """Who may see it: who asked, and who was asked."""
        return frozenset((self.asker, *self.asked))

    def concerns(self, name: str) -> bool:
        return name in self.concerned


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A decision to ask for or, in a revision, the question as it shall stand. A deadline is said in one way."""

    question: str
    options: tuple[Option, ...] = ()
    free_text: bool = False
    #: addresses: names or teams; by default whoever owns the one who asks. A revision goes to those who were asked
    of: tuple[str, ...] = ()
    urgency: Priority = Priority.NORMAL
    default: str | None = None
    deadline: Instant | None = None
    within: Duration | None = None
    context: str | None = None
    ref: Ref | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as somebody gives it: an option, words, or both; words that ask for another round; or a rejection."""

    option: str | None = None
    text: str | None = None
    again: bool = False
    reject: bool = False
    #: of the question that was read; None to answer it as it stands
    context_hash: str | None = None


def checked(question: Question, *, until: Instant | None = None) -> Question:
    """Return the question if it can be answered; `until` is the deadline that stays if it names none."""
    if not text.shows(question.question):
        raise Invalid("there is nothing in the question")
    _fits("question", question.question, _LONGEST_QUESTION)
    if question.context is not None:
        _fits("context", question.context, _LONGEST_CONTEXT)
    if question.session is not None:
        _fits("session", question.session, _LONGEST_SESSION)
    for part in (question.ref.type, question.ref.id) if question.ref is not None else ():
        _fits("reference", part, _LONGEST_LABEL)
    if not question.options and not question.free_text:
        raise Invalid("nobody could answer", hint="give options, or let it be answered in words")
    if len(question.options) > MOST_OPTIONS:
        raise Invalid(f"{len(question.options)} options are too many", hint=f"use at most {MOST_OPTIONS}")
    ids = [_option(each).id for each in question.options]
    if len(set(ids)) < len(ids):
        twice = next(id for id in ids if ids.count(id) > 1)
        raise Invalid(f"there are two options {twice!r}", hint="give each an id of its own")
    labels = [text.alike(each.label) for each in question.options]
    if len(set(labels)) < len(labels):
        first = next(label for label in labels if labels.count(label) > 1)
        same = [id for id, label in zip(ids, labels, strict=True) if label == first]
        raise Invalid(f"the options {same[0]!r} and {same[1]!r} have the same label", hint="give each one of its own")
    if question.default is not None and question.default not in ids:
        raise Invalid(f"the default {question.default!r:.60} is not among the options", hint=_choice(ids))
    if question.default is not None and question.deadline is question.within is until is None:
        raise Invalid("a default counts at the deadline, and there is none", hint="say within (2h) or deadline")
    return question


def settle(decision: Decision, reply: Reply) -> Outcome:
    """What a reply to the question as it stands comes to, or why it does not count."""
    ids = [each.id for each in decision.options]
    said = text.shows(reply.text or "")
    if reply.text is not None:
        _fits("text", reply.text, _LONGEST_TEXT)
    if reply.context_hash is not None and reply.context_hash != decision.context_hash:
        raise Conflict(
            f"the decision {decision.id!r} has changed since that was read", hint="read it again, and answer that"
        )
    if reply.option is not None and reply.option not in ids:
        raise Invalid(f"{reply.option!r:.60} is not an option of this decision", hint=_choice(ids))
    if reply.again + reply.reject + (reply.option is not None) > 1:
        raise Invalid("an option, again and reject exclude each other", hint="choose one")
    if reply.reject:
        return Outcome.REJECTED
    if reply.option is None and not said:
        raise Invalid("there is nothing in the answer", hint=_choice(ids) if ids else "answer in words")
    if reply.again and not decision.free_text:
        raise Invalid("this decision cannot be sent back: it takes no words", hint=_choice(ids))
    if reply.option is None and not decision.free_text:
        raise Invalid("this decision cannot be answered in words alone", hint=_choice(ids))
    if reply.again and decision.iteration >= MOST_ROUNDS:
        raise Conflict(f"this decision was asked {MOST_ROUNDS} times already", hint="answer it, or reject it")
    return Outcome.AGAIN if reply.again else Outcome.ANSWERED


def digest(question: str, options: Sequence[Option], ref: Ref | None, context: str | None) -> str:
    """What a question is known by: question, options, reference and context."""
    about = [ref.type, ref.id] if ref is not None else None
    document = [question, [[each.id, each.label, each.description] for each in options], about, context]
    return hashlib.sha256(json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()


def key(decision: Decision, iteration: int) -> str:
    """By which the question of a round is known in an inbox, and its answer in another."""
    return f"decision:{decision.id}:{iteration}"


def of_key(key: str) -> str | None:
    """The id of the decision that an event with this key would be about."""
    parts = key.split(":")
    return parts[1] if parts[0] == "decision" and len(parts) == 3 else None


def asking(decision: Decision) -> str:
    """A decision as those who are asked read it, in one piece of text."""
    words = [decision.question]
    if decision.options:
        words.append(f"Options: {'; '.join(map(_shown, decision.options))}.")
    if decision.free_text:
        words.append("It may be answered in words." if decision.options else "Answer in words.")
    if decision.deadline is not None:
        left = f"{decision.default} counts" if decision.default is not None else "it expires"
        words.append(f"Without an answer until {rfc3339(decision.deadline - decision.deadline % 1_000_000)} {left}.")
    return " ".join(words)


def said(decision: Decision, answer: Answer) -> str:
    """What was answered, as whoever asked reads it: the label of the option, and the words."""
    label = decision.label(answer.option) if answer.option is not None else None
    return " - ".join(part for part in (label, answer.text) if part)


def winner(decision: Decision) -> dict[str, Json]:
    """Who answered what, for whoever was late."""
    last = decision.last
    assert last is not None
    return {
        "decisionId": decision.id,
        "outcome": last.outcome.value,
        "option": last.option,
        "text": last.text,
        "by": last.by,
        "at": rfc3339(last.at),
        "iteration": last.iteration,
    }


def _option(option: Option) -> Option:
    if not _OPTION.fullmatch(option.id):
        raise Invalid(
            f"{option.id!r:.60} is not the id of an option",
            hint="use up to 63 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    if not text.shows(option.label):
        raise Invalid(f"the option {option.id!r} has no label")
    _fits("label", option.label, _LONGEST_LABEL)
    _fits("description", option.description, _LONGEST_QUESTION)
    return option


def _shown(option: Option) -> str:
    return f"{option.id} ({option.label})" + (f", {option.description}" if option.description else "")


def _choice(ids: Sequence[str]) -> str:
    return f"use one of {', '.join(ids)}" if ids else "it has no options: answer in words"


def _fits(what: str, given: str, most: int) -> None:
    if len(given) > most:
        raise Invalid(f"the {what} has {len(given)} characters, over the limit of {most}")
    text.storable(what, given)
