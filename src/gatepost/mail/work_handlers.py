"""Work items, their notes and their events."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.inbox.event import Priority, Ref
from gatepost.mail import work_actions as work
from gatepost.mail.work_api import (
    AddWorkItem,
    ListNotes,
    ListWorkEvents,
    ListWorkItems,
    NotePage,
    NoteView,
    PostNote,
    PostWorkEvent,
    ShowWorkItem,
    WorkEventPage,
    WorkEventView,
    WorkItemPage,
    WorkItemView,
)
from gatepost.mail.work_item import WorkItemSpec
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page


@AddWorkItem.handler
def add_work_item(tx: Transaction, request: AddWorkItem, caller: Caller) -> WorkItemView:
    spec = WorkItemSpec(
        type=request.type,
        id=request.id,
        title=request.title,
        parent=Ref(request.parent.type, request.parent.id) if request.parent else None,
        topic=request.topic,
    )
    assert request.by is not None
    return WorkItemView.of(work.add(tx, spec, by=request.by))


@ListWorkItems.handler
def list_work_items(tx: Reader, request: ListWorkItems, caller: Caller) -> WorkItemPage:
    return read_page(
        tx,
        WorkItemPage,
        work.page,
        view=WorkItemView.of,
        type=request.type,
        status=request.status,
        parent=Ref.parse(request.parent) if request.parent is not None else None,
        after=request.after,
        limit=request.limit,
    )


@ShowWorkItem.handler
def show_work_item(tx: Reader, request: ShowWorkItem, caller: Caller) -> WorkItemView:
    return WorkItemView.of(work.find(tx, _get_ref(request)))


@PostWorkEvent.handler
def post_work_event(tx: Transaction, request: PostWorkEvent, caller: Caller) -> WorkEventView:
    assert request.by is not None
    event = work.post_event(tx, _get_ref(request), request.event, reason=request.reason, by=request.by)
    return WorkEventView.of(event)


@ListWorkEvents.handler
def list_work_events(tx: Reader, request: ListWorkEvents, caller: Caller) -> WorkEventPage:
    return read_page(
        tx,
        WorkEventPage,
        work.page_events,
        _get_ref(request),
        view=WorkEventView.of,
        after=request.after,
        limit=request.limit,
    )


@PostNote.handler
def post_note(tx: Transaction, request: PostNote, caller: Caller) -> NoteView:
    assert request.author is not None
    note = work.post_note(
        tx,
        _get_ref(request),
        request.note,
        by=request.author,
        notify=request.notify,
        priority=parse_field("priority", request.priority, Priority.parse),
    )
    return NoteView.of(note)


@ListNotes.handler
def list_notes(tx: Reader, request: ListNotes, caller: Caller) -> NotePage:
    return read_page(
        tx,
        NotePage,
        work.page_notes,
        _get_ref(request),
        view=NoteView.of,
        after=request.after,
        limit=request.limit,
    )


def _get_ref(request: ShowWorkItem | PostWorkEvent | ListWorkEvents | PostNote | ListNotes) -> Ref:
    return Ref(request.type, request.id)
