"""
A client on the store itself, in this process: no event loop, no web framework, no gateway.

A stream looks at the store again and again; nothing signals it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from gatepost.client.request_retries import decode_event, list_pages
from gatepost.core.ports import Store
from gatepost.directory.authorization_actions import authorize_names
from gatepost.executor import LocalExecutor, build_gateway_error
from gatepost.operations.access import ADMINISTRATOR, Caller
from gatepost.operations.operation import Page, Request, Stream, StreamedView

if TYPE_CHECKING:  # few commands watch, and all must start fast
    from gatepost.channels.shared_inbox.api import WatchSharedInbox
    from gatepost.inbox.event_api import ItemView
    from gatepost.inbox.item_api import WatchInbox
    from gatepost.inbox.push.api import PushEvent, PushOutcomeView
    from gatepost.spaces.api import WatchSpace

R = TypeVar("R")
V = TypeVar("V")

#: seconds between two looks at the store
_POLL_INTERVAL: Final = 1.0
_PAGE_LENGTH: Final = 500


class LocalClient:
    """Sends requests to a store, as the administrator or as one entity."""

    def __init__(self, store: Store, caller: Caller = ADMINISTRATOR) -> None:
        self._store = store
        self._caller = caller
        self._executor = LocalExecutor(store, caller)

    def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer to a request; `key` makes it the same as an earlier one."""
        return self._executor.send(request, key=key)

    def push_many(self, pushes: "Iterable[PushEvent]") -> "list[PushOutcomeView]":
        """
        Push any number of events; return the outcome of each in their order: status 201 with its result, or a problem.
        Each thousand is one commit.
        """
        from gatepost.client.push_batches import push_many  # commands push one

        return push_many(self.send, pushes)

    def list_all(self, request: Request[Page[V]], *, limit: int | None = None) -> Iterator[V]:
        """Return the items of a list, or the first of them, page by page."""
        return list_pages(self.send, request, limit)

    def work(self, name: str, *, hold: str = "5m") -> "Iterator[ItemView]":
        """Return the items of an inbox, one at a time, for ever, as `SyncClient.work` does; it polls the store."""
        from gatepost.client.work_loop import work

        return work(self.send, name, hold, 0.0)

    def stream(self, request: Stream[R], *, on_connect: Callable[[], None] | None = None) -> Iterator[R]:
        """Return the models of a stream, for ever: messages, items, entries, or else its events."""
        for event in self.events(request, on_connect=on_connect):
            model = decode_event(request, event)
            if model is not None:
                yield model

    def events(self, request: Stream[Any], *, on_connect: Callable[[], None] | None = None) -> Iterator[StreamedView]:
        """Return the events of a stream, for ever; `on_connect` is called before the first."""
        from gatepost.channels.shared_inbox.api import WatchSharedInbox
        from gatepost.inbox.item_api import WatchInbox
        from gatepost.spaces.api import WatchSpace

        request.operation.access.admit(self._caller)
        bound = self._store.read_sync(
            authorize_names, request.operation.access.bind(request, self._caller), self._caller
        )
        match bound:
            case WatchSpace():
                yield from self._watch_space(bound, on_connect)
            case WatchInbox():
                yield from self._watch_inbox(bound, on_connect)
            case WatchSharedInbox():
                yield from self._watch_shared_inbox(bound, on_connect)
            case _:
                raise build_gateway_error(request.operation)

    def _watch_space(self, request: "WatchSpace", on_connect: Callable[[], None] | None) -> Iterator[StreamedView]:
        from gatepost.spaces import actions as spaces
        from gatepost.spaces.api import MessageView

        last_seq = self._store.read_sync(spaces.show, request.id, viewer=request.member).last_seq
        last_seq = last_seq if request.after is None else int(request.after)
        if on_connect is not None:
            on_connect()
        while True:
            messages = self._store.read_sync(
                spaces.read, request.id, viewer=request.member, after_seq=last_seq, limit=_PAGE_LENGTH
            )
            for message in messages:
                last_seq = message.seq
                yield _build_event("space.message", MessageView.of(message), str(last_seq))
            if len(messages) < _PAGE_LENGTH:
                time.sleep(_POLL_INTERVAL)

    def _watch_inbox(self, request: "WatchInbox", on_connect: Callable[[], None] | None) -> Iterator[StreamedView]:
        from gatepost.inbox import feed_actions as inbox_feed
        from gatepost.inbox.event_api import ItemView
        from gatepost.inbox.feed_actions import Position

        position = (
            self._store.read_sync(inbox_feed.read_end) if request.after is None else Position.parse(request.after)
        )
        if on_connect is not None:
            on_connect()
        while True:
            page = self._store.read_sync(inbox_feed.read_page, request.name, position, _PAGE_LENGTH)
            for item, position_after in page.entries:
                yield _build_event("inbox.item", ItemView.of(item), str(position_after))
            position = page.position
            if len(page.entries) < _PAGE_LENGTH:
                time.sleep(_POLL_INTERVAL)

    def _watch_shared_inbox(
        self, request: "WatchSharedInbox", on_connect: Callable[[], None] | None
    ) -> Iterator[StreamedView]:
        from gatepost.channels.shared_inbox import actions as shared_inbox
        from gatepost.channels.shared_inbox.api import SharedEntryView

        position = (
            self._store.read_sync(shared_inbox.find_last_position) if request.after is None else int(request.after)
        )
        if on_connect is not None:
            on_connect()
        while True:
            entries = self._store.read_sync(
                shared_inbox.list_changes,
                viewer=self._caller.entity,
                channel=request.channel,
                session=request.session,
                kind=request.kind,
                after=position,
                limit=_PAGE_LENGTH,
            )
            for entry in entries:
                position = entry.position
                yield _build_event("shared.entry", SharedEntryView.of(entry), str(position))
            if len(entries) < _PAGE_LENGTH:
                time.sleep(_POLL_INTERVAL)


def _build_event(name: str, model: Any, id: str) -> StreamedView:
    return StreamedView(event=name, data=msgspec.json.encode(model).decode(), id=id)
