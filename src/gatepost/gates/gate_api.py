"""Gates: what keeps an agent from stopping. A gate does not exist for those whom it does not concern."""

from enum import StrEnum
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.gates.gate import AtDeadline, Ending, FailMode, Gate, GateKind, Resolution
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import Actor, After, Limit, Name, Parse, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write
from gatepost.operations.tool import FOR_MCP, Tool, ToolChanges

#: the group of these operations in OpenAPI
TAG = "gates"

Deadline = Annotated[
    str | None,
    Meta(description="its deadline, as a time", examples=["2026-02-20T10:00:00Z"]),
    Parse(partial(parse_instant, duration_field="within")),
]
Within = Annotated[
    str | None,
    Meta(description="its deadline, from now", examples=["2h"]),
    Parse(partial(parse_duration, time_field="deadline")),
]


class GateStatus(StrEnum):
    PENDING = "pending"
    RESOLVED = "resolved"
    EXPIRED = "expired"
    ORPHANED = "orphaned"
    WITHDRAWN = "withdrawn"


class ResolutionView(RecordView[Resolution]):
    ending: Ending
    reason: str
    by: Annotated[str | None, describe("null if it ended by itself")]
    at: Time


def _get_status(gate: Gate) -> GateStatus:
    return GateStatus.PENDING if gate.resolution is None else GateStatus(gate.resolution.ending)


class GateView(RecordView[Gate]):
    id: str
    name: str
    kind: GateKind
    owner: Annotated[str, describe("agent that may not stop")]
    made_by: str | None
    awaits: str | None
    instruction: str
    waiters: tuple[str, ...]
    deadline: Time | None
    at_deadline: AtDeadline
    fail: FailMode
    trouble: Annotated[str | None, describe("reason why the last check failed")]
    escalated_at: Time | None
    created_at: Time
    resolution: ResolutionView | None
    status: Annotated[GateStatus, Source(_get_status)]
    holds: Annotated[bool, describe("whether the owner may not stop now")]
    overdue: Annotated[bool, describe("whether its deadline has passed and its end is not recorded yet")]


#: what a model gets of a gate
_ANSWER: Final = ("id", "name", "kind", "owner", "awaits", "instruction", "deadline", "resolution", "status", "holds")


@write(
    "POST /api/gates",
    access=ActAs("made_by", default="admin"),
    lane="{owner|made_by}",
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={
        "owner": "analyst",
        "name": "Sign-off",
        "awaits": "husam",
        "instruction": "Wait for Husam's sign-off",
        "within": "2h",
    },
    tool=Tool(
        name="set_gate",
        title="Set a gate",
        answer=_ANSWER,
        description="Make a gate, which keeps its owner from stopping until it is resolved.",
        own=("made_by",),
        hidden=("deadline", "at_deadline", "fail"),
        notes={
            "kind": "what ends it",
            "owner": "agent that may not stop; default: you",
            "awaits": "a name (human, mail), TYPE[:SOURCE] (event), run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME (ci)",
            "instruction": "what its owner is told that wants to stop",
        },
        for_residents=ToolChanges(
            description="Wait for something, asleep: when it has happened you are told of it in your inbox, and woken."
            " A plan with onGate can say what you do then. A human gate that awaits yourself reminds you of it, once,"
            " before you end a cycle.",
            answer=("id", "name", "status"),
            hidden=("owner", "deadline"),
            renames={"id": "gateId"},
            notes={
                "kind": "human: somebody resolves it; timer, event, mail, ci: it resolves itself",
                "awaits": "human: who resolves it, else whoever owns you; event: TYPE or TYPE:SOURCE; mail: the sender;"
                " ci: run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME; timer: nothing",
                "instruction": "what is to be done about it",
            },
        ),
    ),
)
class AddGate(Request[GateView]):
    """Make a gate, which keeps its owner from stopping. Only the administrator can make a gate that runs a command."""

    name: Annotated[str, describe("the name of the gate")]
    kind: Annotated[GateKind, describe("kind of gate; a question makes a gate of the kind decision")] = GateKind.HUMAN
    owner: Annotated[str | None, describe("agent that may not stop; default: the caller")] = None
    made_by: Actor = None
    awaits: Annotated[
        str | None,
        describe(
            "a name (human, mail), TYPE[:SOURCE] (event), a command line (command),"
            " run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME (ci)"
        ),
    ] = None
    instruction: Annotated[str, describe("the text for its owner that wants to stop")] = ""
    waiters: Annotated[tuple[str, ...], describe("others that get an event when the gate ends")] = ()
    deadline: Deadline = None
    within: Within = None
    at_deadline: Annotated[
        AtDeadline,
        describe("with open it ends; with escalate it holds on, and the owner of its owner gets an alert"),
    ] = AtDeadline.OPEN
    fail: Annotated[FailMode, describe("with closed it holds also if it cannot be checked")] = FailMode.OPEN


@read(
    "GET /api/gates",
    access=AnyEntity(own=("owner", "waiter")),
    errors=(NotFound,),
    tool=Tool(
        name="list_gates",
        title="List gates",
        answer=_ANSWER,
        description="List the gates that concern you: what you wait for, and what others wait for from you.",
        hidden=("owner", "waiter", "kind", "newest_first"),
        doors=FOR_MCP,
    ),
)
class ListGates(Request[Page[GateView]]):
    """List the gates that concern the caller, in the order in which they were made; for the administrator all."""

    owner: Annotated[str | None, describe("only gates that hold this agent")] = None
    waiter: Annotated[str | None, describe("only gates with this waiter")] = None
    kind: Annotated[GateKind | None, describe("only gates of this kind")] = None
    pending: Annotated[bool | None, describe("true: only pending gates; false: only ended ones")] = None
    newest_first: Annotated[bool, describe("list the last gates first")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/gates/{id}", access=AnyEntity())
class ShowGate(Request[GateView]):
    """Show a gate that concerns the caller; the administrator sees all."""

    id: str


@write(
    "PUT /api/gates/{id}/resolution",
    access=ActAs("by", default="admin"),
    needs_disk_space=False,
    lane="{id}",
    requires_body=True,
    errors=(Conflict, TooLarge),
    example={"reason": "CI is green"},
    tool=Tool(
        name="resolve_gate",
        title="Resolve a gate",
        answer=("id", "name", "status", "resolution"),
        own=("by",),
        renames={"id": "gate"},
        for_residents=ToolChanges(
            description="Say that what a gate waits for has happened, or take back one that you have made.",
            answer=("id", "name", "status"),
            renames={"id": "gateId"},
            notes={
                "gateId": "the id of a gate that waits for you, or that you have made",
                "withdraw": "it is not needed any more; so you end a gate or a decision of yours",
            },
        ),
    ),
)
class ResolveGate(Request[GateView]):
    """Resolve a gate or, with `withdraw`, declare it unnecessary. The first end counts."""

    id: str
    reason: Annotated[str, describe("why; everybody concerned gets it")] = ""
    withdraw: Annotated[bool, describe("withdraw the gate as unnecessary instead of resolving it")] = False
    by: Actor = None


@write(
    "POST /api/gates/{id}/waiters",
    access=ActAs("by", default="admin"),
    lane="{id}",
    errors=(Conflict, TooLarge),
    example={"name": "designer"},
)
class AddWaiter(Request[GateView]):
    """Add a waiter, which gets an event when the gate ends."""

    id: str
    name: Name
    by: Actor = None
