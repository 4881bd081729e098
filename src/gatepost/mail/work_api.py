"""Work items: tasks, phases, stages and projects, with their notes and events."""

from typing import Annotated, Final

from msgspec import Meta

from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.inbox.event import Ref
from gatepost.inbox.event_api import PriorityWord, Reference, RefView
from gatepost.mail import work_item as rules
from gatepost.mail.mail_api import PRIORITY_NOTE
from gatepost.mail.sent_record import PostState
from gatepost.mail.work_item import Note, WorkEvent, WorkItem, WorkType
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import Actor, After, Limit, Parse, Priority, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write
from gatepost.operations.tool import Tool, ToolChanges

#: the group of these operations in OpenAPI
TAG = "work"

#: in a path
ItemType = Annotated[str, Meta(extra_json_schema={"enum": list(WorkType)})]
ItemId = Annotated[str, describe("its id or topic", minLength=1, maxLength=rules.MAX_ID_LENGTH)]


class WorkItemView(RecordView[WorkItem]):
    type: WorkType
    id: str
    title: str
    parent: Annotated[RefView | None, describe("work item that it is a part of")]
    topic: Annotated[str | None, describe("its topic on a ledger")]
    status: Annotated[str | None, describe("its last event; null if it had none")]
    made_by: str
    created_at: Time
    updated_at: Time


class NoteView(RecordView[Note], kw_only=True):
    id: str
    item: Annotated[RefView, Source("ref")]
    sender: str
    text: Annotated[str, Source("data.note"), describe("Markdown")]
    notify: Annotated[tuple[str, ...], Source("targets")]
    priority: Annotated[Priority, Source("data.priority")]
    event_id: Annotated[str | None, Source("event")]
    created_at: Time
    post_state: Annotated[PostState | None, Source("post"), describe("null if it is not for a ledger")]
    posted_at: Annotated[Time | None, describe("when it was posted to a ledger")]
    recipients: Annotated[
        tuple[str, ...], Source("notified"), describe("who got it; only in the answer to the one who posted it")
    ]
    created: Annotated[bool, Source("has_added_item"), describe("whether this has added its work item")]


#: what a model gets of a note
_NOTE_ANSWER: Final = ("id", "sender", "text", "created_at")


class WorkEventView(RecordView[WorkEvent], kw_only=True):
    id: str
    item: Annotated[RefView, Source("ref")]
    type: Annotated[str, Source("data.type"), describe("its name with the type of its item, such as task.blocked")]
    sender: str
    reason: Annotated[str, Source("data.reason")]
    created_at: Time
    post_state: Annotated[PostState | None, Source("post"), describe("null if it is not for a ledger")]
    posted_at: Annotated[Time | None, describe("when it was posted to a ledger")]
    recipients: Annotated[
        tuple[str, ...], Source("notified"), describe("who got it; only in the answer to the one who posted it")
    ]
    created: Annotated[bool, Source("has_added_item"), describe("whether this has added its work item")]


#: what models call the type and the id of a work item
_ENTITY_ARGUMENTS: Final = {"type": "entity_type", "id": "entity_id"}
#: how residents write both
_REFERENCE: Final = {"ref": ("type", "id")}
_REFERENCE_NOTE: Final = "the work item as TYPE:ID, such as task:0.0.123; a type is task, phase, stage or project"


@write(
    "POST /api/work",
    access=ActAs("made_by", default="admin"),
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={"type": "task", "id": "0.0.123", "title": "Write the schema"},
    tool=Tool(
        name="add_work_item",
        title="Add a work item",
        answer=("type", "id", "title"),
        own=("made_by",),
        hidden=("topic",),
        renames=_ENTITY_ARGUMENTS,
        parts={"parent": {"type": "parent_type", "id": "parent_id"}},
        notes={"parent_type": "of what it is a part of", "entity_id": "its id"},
        for_residents=ToolChanges(
            parts={},
            references={**_REFERENCE, "parent": ("parent.type", "parent.id")},
            notes={"ref": _REFERENCE_NOTE, "parent": "the work item that it is a part of, as TYPE:ID"},
        ),
    ),
)
class AddWorkItem(Request[WorkItemView]):
    """Add a task, phase, stage or project."""

    type: WorkType
    id: ItemId
    title: Annotated[str | None, describe("default: its id", maxLength=rules.MAX_TITLE_LENGTH)] = None
    parent: Annotated[Reference, describe("work item that it is a part of")] = None
    topic: Annotated[str | None, describe("its topic on a ledger", maxLength=rules.MAX_ID_LENGTH)] = None
    made_by: Actor = None


@read("GET /api/work", access=AnyEntity(), errors=(NotFound,))
class ListWorkItems(Request[Page[WorkItemView]]):
    """List work items, in the order in which they were added."""

    type: Annotated[WorkType | None, describe("only work items of this type")] = None
    status: Annotated[str | None, describe("only those whose last event this is, such as blocked")] = None
    parent: Annotated[
        str | None,
        Meta(description="only parts of this work item, TYPE:ID", examples=["phase:design"]),
        Parse(Ref.parse),
    ] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/work/{type}/{id}", access=AnyEntity())
class ShowWorkItem(Request[WorkItemView]):
    """Show a work item."""

    type: ItemType
    id: ItemId


@write(
    "POST /api/work/{type}/{id}/events",
    access=ActAs("sender", default="admin"),
    lane="{type}:{id}",
    status=201,
    errors=(Conflict, TooLarge),
    example={"event": "blocked", "reason": "The schema is not decided"},
    tool=Tool(
        name="post_work_event",
        title="Report on a work item",
        description="Report what happened to a task, phase, stage or project. Those who have to know get it.",
        answer=("id", "type", "recipients", "created"),
        own=("sender",),
        renames=_ENTITY_ARGUMENTS,
        for_residents=ToolChanges(
            answer=("type", "recipients", "created"),
            renames={"type": "event"},
            references=_REFERENCE,
            notes={"ref": _REFERENCE_NOTE, "event": "what happened: started, blocked, complete, or another word"},
        ),
    ),
)
class PostWorkEvent(Request[WorkEventView]):
    """
    Report what happened to a work item, which is added if nobody has (`work.auto_add`). The setting `work.notify` says
    who gets it.
    """

    type: ItemType
    id: ItemId
    event: Annotated[str, Meta(description="a word", examples=["started", "blocked", "complete"])]
    reason: Annotated[str, describe("why", maxLength=rules.MAX_REASON_LENGTH)] = ""
    sender: Actor = None


@read("GET /api/work/{type}/{id}/events", access=AnyEntity())
class ListWorkEvents(Request[Page[WorkEventView]]):
    """List the events of a work item, the oldest first."""

    type: ItemType
    id: ItemId
    after: After = 0
    limit: Limit = 100


@write(
    "POST /api/work/{type}/{id}/notes",
    access=ActAs("sender", default="admin"),
    lane="{type}:{id}",
    status=201,
    errors=(Conflict, TooLarge),
    example={"note": "The **second** schema is simpler.", "notify": ["analyst"]},
    tool=Tool(
        name="post_note",
        title="Post a note",
        description="Post a note on a task, phase, stage or project. Everyone in notify has it in the inbox at once.",
        answer=("id", "recipients", "created"),
        own=("sender",),
        renames=_ENTITY_ARGUMENTS,
        for_residents=ToolChanges(
            answer=("id", "recipients", "created"),
            renames={"id": "noteId"},
            references=_REFERENCE,
            notes={"ref": _REFERENCE_NOTE, "priority": PRIORITY_NOTE},
        ),
    ),
)
class PostNote(Request[NoteView]):
    """
    Post a note on a work item, which is added if nobody has (`work.auto_add`). Everyone in `notify` has it in the inbox
    when the call returns.
    """

    type: ItemType
    id: ItemId
    note: Annotated[str, Meta(min_length=1, description="Markdown")]
    notify: Annotated[
        tuple[str, ...], describe("who gets it: names, aliases or teams", maxItems=rules.MAX_ADDRESSES)
    ] = ()
    priority: PriorityWord = 2
    sender: Actor = None


@read(
    "GET /api/work/{type}/{id}/notes",
    access=AnyEntity(),
    tool=Tool(
        name="read_notes",
        title="Read notes",
        answer=_NOTE_ANSWER,
        defaults={"limit": 20},
        renames=_ENTITY_ARGUMENTS,
        for_residents=ToolChanges(
            answer=("sender", "text", "created_at"),
            items="notes",
            renames={"text": "note", "created_at": "timestamp"},
            references=_REFERENCE,
            notes={"ref": _REFERENCE_NOTE, "limit": "how many notes at most"},
        ),
    ),
)
class ListNotes(Request[Page[NoteView]]):
    """List the notes on a work item, the oldest first."""

    type: ItemType
    id: ItemId
    after: After = 0
    limit: Limit = 100
