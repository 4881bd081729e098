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
          --delegation--> asked                      of somebody else, in the next round

A question has a hash, so that nobody answers a question that changed while they read it. A question may be about an
action that the asker wants to run (`proposed_action.py`). An answer to an action counts only with the hash of what was
shown, through whichever door it comes.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.core.times import SECOND, Duration, Instant, format_rfc3339
from gatepost.directory.entity import Entity
from gatepost.errors import quote_value
from gatepost.gates import proposed_action
from gatepost.gates.gate import Ending
from gatepost.gates.proposed_action import Action, Arguments
from gatepost.inbox.event import DECISION_KEY, Priority, Ref, Route
from gatepost.operations.fields import describe
from gatepost.operations.operation import FieldSet

#: how long the answer of a followed decision is kept for the program that follows it: two of its looks
FOLLOW_TIME: Final[Duration] = 6 * SECOND
#: rounds of one decision
MAX_ROUNDS: Final = 3
MAX_OPTIONS: Final = 20


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
    #: a respondent passed it on, and somebody else is asked in the next round
    DELEGATED = "delegated"

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
            case DecisionOutcome.AGAIN | DecisionOutcome.DELEGATED:
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
    def followed_answer(self) -> Answer | None:
        """The answer with which a program stops following it: the first, unless it only passes the question on."""
        return next((answer for answer in self.answers if answer.outcome is not DecisionOutcome.DELEGATED), None)

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
        """The names of entities that may see it: the asker, the respondents, and who has ended one of its rounds."""
        return frozenset((self.asker, *self.respondents, *(answer.by for answer in self.answers if answer.by)))


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
    last = decision.answers[-1] if decision.answers else None
    if last is not None and last.outcome is DecisionOutcome.DELEGATED:
        sentences.append(f"Passed on by {last.by or 'Gatepost'} {quote_value(last.text, 300)}.")
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
