"""Decisions: questions to people or agents. Only the asker, the respondents and the administrator see a decision."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType, field

from gatepost.core.times import parse_instant
from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.gates.decision import Answer, AnswerSpec, Decision, DecisionOutcome, DecisionStatus, Option
from gatepost.gates.gate_api import Deadline, Within
from gatepost.gates.proposed_action import Action, AnswerKind
from gatepost.inbox.event_api import PriorityWord, Reference, RefView
from gatepost.inbox.item_api import BatchView, OwnerName
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import Actor, After, Json, Limit, Parse, Priority, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, RequestPart, read, write
from gatepost.operations.tool import FOR_MCP, FOR_RESIDENTS, Tool, ToolChanges

#: the group of these operations in OpenAPI
TAG = "decisions"

Round = Annotated[int, Meta(ge=1)]


class OptionView(RecordView[Option]):
    id: str
    label: str
    description: str


class ActionView(RecordView[Action]):
    """What the asker wants to do."""

    name: str
    args: dict[str, Json]


class DecisionAnswerView(RecordView[Answer], kw_only=True):
    """The end of a round of a decision."""

    outcome: DecisionOutcome
    option: Annotated[str | None, describe("the id of an option; for an action, the kind of the answer")]
    text: str | None
    args: Annotated[dict[str, Json] | UnsetType, describe("arguments to run the action with, if it is to be run")] = (
        UNSET
    )
    by: Annotated[str | None, describe("null if it ended by itself, at the deadline")]
    at: Time
    iteration: Round


class DecisionView(RecordView[Decision], kw_only=True):
    id: str
    gate: str
    asker: str
    asked: Annotated[tuple[str, ...], Source("respondents")]
    question: str
    action: ActionView | UnsetType = UNSET
    allow: Annotated[tuple[AnswerKind, ...] | UnsetType, describe("allowed kinds of answers to the action")] = UNSET
    options: Annotated[tuple[OptionView, ...], describe("options; for an action, the allowed kinds of answers")]
    free_text: bool
    urgency: Priority
    default: str | None
    deadline: Time | None
    context: str | None
    context_hash: Annotated[str, describe("hash of the present question; send it back with the answer")]
    ref: RefView | None
    session: str | None
    iteration: Round
    guidance: Annotated[str | None, describe("text of the respondent who sent the last round back")]
    created_at: Time
    answers: Annotated[tuple[DecisionAnswerView, ...], describe("answers of all rounds")]
    status: DecisionStatus
    overdue: Annotated[bool, describe("whether its deadline has passed and its end is not recorded yet")]
    answer: Annotated[
        DecisionAnswerView | None,
        describe("answer that counts"),
        Source(lambda decision: None if decision.is_open else decision.last_answer),
    ]


#: what a model gets of a decision
_ANSWER: Final = (
    "id",
    "asker",
    "question",
    "action",
    "options",
    "free_text",
    "deadline",
    "guidance",
    "context_hash",
    "created_at",
    "status",
    "answer",
)


#: how residents write what a question is about
_REFERENCE: Final = {"ref": ("ref.type", "ref.id")}


class OptionSpec(RequestPart):
    id: Annotated[str, describe("a short word")]
    label: Annotated[str, describe("text shown")]
    description: Annotated[str, describe("its meaning")] = ""


class ActionSpec(RequestPart):
    """What the asker wants to do."""

    name: Annotated[str, describe("name, e.g. of a tool", minLength=1, maxLength=200)]
    args: Annotated[dict[str, Json], describe("up to 64 KiB")] = field(default_factory=dict)


class QuestionRequest(Request[DecisionView], kw_only=True):
    """The fields of a question, which is asked for the first time or again."""

    question: str
    action: Annotated[ActionSpec | None, describe("what the asker wants to do, instead of options")] = None
    allow: Annotated[tuple[AnswerKind, ...], describe("allowed answers to the action; default: all")] = ()
    options: Annotated[tuple[OptionSpec, ...], describe("up to 20")] = ()
    free_text: Annotated[bool, describe("text is an answer, too")] = False
    urgency: PriorityWord = 2
    default: Annotated[str | None, describe("the option that counts at the deadline")] = None
    deadline: Deadline = None
    within: Within = None
    context: Annotated[str | None, describe("background for the respondents")] = None
    ref: Annotated[Reference, describe("what it is about")] = None
    asker: Actor = None


@write(
    "POST /api/decisions",
    access=ActAs("asker"),
    lane="{asker}",
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={
        "asker": "analyst",
        "of": ["husam"],
        "question": "Ship version 2 today?",
        "options": [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait", "description": "until Monday"}],
        "freeText": True,
        "default": "wait",
        "within": "2h",
    },
    tool=Tool(
        name="ask_decision",
        title="Ask for a decision",
        answer=_ANSWER,
        description="Ask people or agents to decide. The answer comes to your inbox; until then a gate keeps you from"
        " stopping.",
        own=("asker",),
        hidden=("session", "followed", "deadline"),
        notes={
            "of": "names or teams; default: your owner",
            "action": "what you want to run, instead of options; the answer has the args to run it with, or none",
            "event": "id or channel session of a prompt: ask its writer there",
        },
        for_residents=ToolChanges(
            description="Ask for a decision. The answer comes to your inbox, and you will be woken for it: until then"
            " do what can be done without it. If the question is sent back with words, ask it anew with revises. The"
            " answer about an action says whether to run it, and with which arguments.",
            answer=("id", "gate", "asked", "status", "iteration"),
            renames={"id": "decisionId", "gate": "gateId"},
            references=_REFERENCE,
            notes={
                "question": "what is to be decided, in full: who reads it may know nothing of what you know",
                "options": "what there is to choose from; without it, the answer is in words",
            },
        ),
    ),
)
class AskDecision(QuestionRequest):
    """Ask for a decision. A gate keeps its asker from stopping until it is answered."""

    of: Annotated[tuple[str, ...], describe("names or teams to ask; default: the owner of the asker")] = ()
    session: Annotated[str | None, describe("guest session that asks")] = None
    followed: Annotated[
        bool, describe("the asker's program waits for the answer and shows it: no gate keeps the asker from stopping")
    ] = False
    event: Annotated[
        str | None,
        describe("a prompt that the asker got: its writer is asked, on that channel; an id or a channel session"),
    ] = None


@read(
    "GET /api/decisions",
    access=AnyEntity(own=("asker", "asked")),
    errors=(NotFound,),
    tool=Tool(
        name="list_decisions",
        title="List decisions",
        answer=_ANSWER,
        description="List the decisions that you asked or were asked. To wait for an answer, give pending false, since"
        " the time when you asked, and wait.",
        hidden=("asker", "asked", "session", "newest_first"),
        defaults={"limit": 20},
        notes={"pending": "true: open ones; false: ended ones"},
        waits=True,
        doors=FOR_MCP,
    ),
)
class ListDecisions(Request[Page[DecisionView]]):
    """List the decisions that the caller asked or was asked, in that order; for the administrator all."""

    asker: Annotated[str | None, describe("only decisions that this entity asked")] = None
    asked: Annotated[str | None, describe("only decisions that this entity may answer")] = None
    session: Annotated[str | None, describe("only decisions of this guest session")] = None
    pending: Annotated[bool | None, describe("true: only open ones; false: only ended ones")] = None
    since: Annotated[str | None, describe("only those answered since then"), Parse(parse_instant)] = None
    newest_first: Annotated[bool, describe("list the last decisions first")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/decisions/{id}", access=AnyEntity())
class ShowDecision(Request[DecisionView]):
    """Show a decision that the caller asked or was asked; the administrator sees all."""

    id: str


@write(
    "PUT /api/decisions/{id}/answer",
    access=ActAs("by", default="admin"),
    needs_disk_space=False,
    lane="{id}",
    requires_body=True,
    errors=(Conflict, TooLarge),
    example={"option": "ship"},
    tool=Tool(
        name="answer_decision",
        title="Answer a decision",
        answer=("id", "question", "status", "answer"),
        description="Answer a decision that you were asked, or pass it on to others. The first answer counts.",
        own=("by",),
        renames={"id": "decision"},
        notes={
            "args": "for edit: all args to run the action with",
            "text": "in words; alone only if free_text",
            "again": "send it back with text",
            "context_hash": "of the question read; needed for an action",
        },
        for_residents=ToolChanges(
            answer=("id", "status"),
            renames={"id": "decisionId"},
            notes={
                "decisionId": "the id of a decision that you were asked for",
                "contextHash": "the hash of the question that you read; needed for an action",
            },
        ),
    ),
)
class AnswerDecision(Request[DecisionView], AnswerSpec, kw_only=True):
    """Answer a decision. The first answer counts, by whichever door it comes; a later one gets 409 with the first."""

    id: str
    by: Actor = None


@write(
    "PUT /api/decisions/{id}/respondents",
    access=ActAs("by", default="admin"),
    lane="{id}",
    requires_body=True,
    errors=(Conflict, TooLarge),
    example={"to": ["designer"], "text": "You know the budget."},
    tool=Tool(
        name="answer_decision",
        takes_over_with="to",
        own=("by",),
        answer=("id", "question", "status", "answer"),
        renames={"id": "decision"},
        notes={"to": "ask these instead"},
        for_residents=ToolChanges(answer=("id", "status"), renames={"id": "decisionId"}),
    ),
)
class DelegateDecision(Request[DecisionView], kw_only=True):
    """Pass a question on: somebody else is asked instead of the caller, in another round."""

    id: str
    to: Annotated[tuple[str, ...], describe("names or teams to ask instead")]
    text: Annotated[str, describe("for those who are asked now")] = ""
    by: Actor = None


@write(
    "PUT /api/decisions/{id}/question",
    access=ActAs("asker", default="admin"),
    lane="{id}",
    errors=(Conflict, TooLarge),
    example={
        "question": "Ship version 2 on Monday instead?",
        "options": [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}],
    },
    tool=Tool(
        name="ask_decision",
        takes_over_with="revises",
        own=("asker",),
        answer=("id", "gate", "asked", "status", "iteration"),
        hidden=("deadline",),
        renames={"id": "revises"},
        answer_names={"id": "decisionId", "gate": "gateId"},
        references=_REFERENCE,
        notes={"revises": "the id of a decision of yours that was sent back: ask that one anew"},
        doors=FOR_RESIDENTS,
    ),
)
class ReviseDecision(QuestionRequest):
    """Ask again in another round, such as after the question was sent back."""

    id: str


@write("DELETE /api/decisions/{id}", access=ActAs("by", default="admin"), lane="{id}", errors=(Conflict,))
class WithdrawDecision(Request[DecisionView]):
    """Withdraw a question: it need not be answered any more."""

    id: str
    reason: Annotated[str, describe("why; everybody concerned gets it")] = ""
    by: Actor = None


@write(
    "POST /api/decisions/{id}/claim",
    access=AnyEntity(),
    needs_disk_space=False,
    lane="{id}",
    repetition=Repetition.NEVER,
    errors=(Conflict,),
    example={"owner": "session-1", "proof": "30m"},
)
class ClaimOutcome(Request[BatchView]):
    """
    Claim the item that tells the asker how a decision has ended, also while it is hidden: for a program that follows
    the decision and shows the answer itself. Ack or release the claim.
    """

    id: str
    owner: OwnerName
    proof: Annotated[
        str | None, describe("if the owner is a guest session: how long its hooks have to prove that the item was read")
    ] = None
