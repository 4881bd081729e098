"""The shared inbox; `gateway/streams/watch_endpoints.py` streams it."""

from typing import Any

from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import ListSharedEntries, SharedEntryView, ShowSharedEntry
from gatepost.core.ports import Reader
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@ListSharedEntries.handler
def list_shared_entries(tx: Reader, request: ListSharedEntries, caller: Caller) -> Page[SharedEntryView]:
    filters: dict[str, Any] = {
        "viewer": caller.entity,
        "channel": request.channel,
        "session": request.session,
        "kind": request.kind,
        "pending": request.pending,
    }
    if request.newest:
        before = request.after or None
        page = read_page(tx, request, shared_inbox.list_recent, before=before, **filters)
        return Page[SharedEntryView](items=page.items[::-1], next=page.next)
    return read_page(tx, request, shared_inbox.list_page, after=request.after, **filters)


@ShowSharedEntry.handler
def show_shared_entry(tx: Reader, request: ShowSharedEntry, caller: Caller) -> SharedEntryView:
    return SharedEntryView.of(shared_inbox.show(tx, request.id, viewer=caller.entity))
