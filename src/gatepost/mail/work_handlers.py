"""Work items, their notes and their events."""

from gatepost.core.ports import Reader, Transaction
from gatepost.inbox.event import Ref
from gatepost.mail import work_actions as work, work_api as api
from gatepost.mail.work_item import WorkItemSpec
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record, parse_fields
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.AddWorkItem.handler
def add_work_item(tx: Transaction, request: api.AddWorkItem, caller: Caller) -> api.WorkItemView:
    assert request.made_by is not None
    return api.WorkItemView.of(work.add(tx, build_record(WorkItemSpec, request), by=request.made_by))


@api.ListWorkItems.handler
def list_work_items(tx: Reader, request: api.ListWorkItems, caller: Caller) -> Page[api.WorkItemView]:
    return read_page(tx, request, work.list_page, **parse_fields(request))


@api.ShowWorkItem.handler
def show_work_item(tx: Reader, request: api.ShowWorkItem, caller: Caller) -> api.WorkItemView:
    return api.WorkItemView.of(work.find(tx, _get_ref(request)))


@api.PostWorkEvent.handler
def post_work_event(tx: Transaction, request: api.PostWorkEvent, caller: Caller) -> api.WorkEventView:
    assert request.sender is not None
    event = work.post_event(tx, _get_ref(request), request.event, reason=request.reason, by=request.sender)
    return api.WorkEventView.of(event)


@api.ListWorkEvents.handler
def list_work_events(tx: Reader, request: api.ListWorkEvents, caller: Caller) -> Page[api.WorkEventView]:
    return read_page(tx, request, work.list_events, _get_ref(request), after=request.after)


@api.PostNote.handler
def post_note(tx: Transaction, request: api.PostNote, caller: Caller) -> api.NoteView:
    assert request.sender is not None
    priority = parse_fields(request)["priority"]
    ref = _get_ref(request)
    note = work.post_note(tx, ref, request.note, by=request.sender, notify=request.notify, priority=priority)
    return api.NoteView.of(note)


@api.ListNotes.handler
def list_notes(tx: Reader, request: api.ListNotes, caller: Caller) -> Page[api.NoteView]:
    return read_page(tx, request, work.list_notes, _get_ref(request), after=request.after)


def _get_ref(request: api.ShowWorkItem | api.PostWorkEvent | api.ListWorkEvents | api.PostNote | api.ListNotes) -> Ref:
    return Ref(request.type, request.id)
