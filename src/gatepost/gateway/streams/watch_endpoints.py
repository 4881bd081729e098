"""
What each stream contains: the handlers of the requests that watch something.

A combined stream follows the spaces and inboxes that are named. If none is named, it has all that the page of a person
needs, which is what concerns the caller:

    an entity            the spaces that it is in, its inbox (with its gates and decisions), its shared inbox
    the administrator    all spaces, its own inbox, the whole shared inbox, all gates and decisions, which agents are
                         thinking, and which plans and triggers fire

Of more than 200 spaces it has the 200 newest. When the spaces change, the stream ends with a position to resume from.
A reader that comes back with that position continues each part where it was, and a new space at the first message since
it became a member, its own included; the administrator at the first of all.
"""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import SharedEntryView, WatchSharedInbox
from gatepost.core.ports import Reader
from gatepost.core.signals import Topic
from gatepost.directory import entity_actions as directory
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.streams.event_models import encode_entry
from gatepost.gateway.streams.frames import ALL_AGENTS, ALL_FIRES, ALL_GATES
from gatepost.gateway.streams.live_readers import StreamEnd, StreamEntry, StreamPage, StreamPosition, StreamSource
from gatepost.gateway.streams.resume_positions import decode_combined_cursor
from gatepost.gateway.streams.server_sent_events import EventStream, StreamPart, open_stream
from gatepost.inbox import feed_actions as inbox_feed
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import WatchAll, WatchInbox
from gatepost.operations.access import Caller
from gatepost.operations.operation import View
from gatepost.operations.pagination import limit_page
from gatepost.residents.agent_api import WatchAgent
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.api import RunView, StepView, WatchRun
from gatepost.residents.runs.handlers import find_run
from gatepost.residents.runs.run import Run, RunStatus, Step
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import MessageView, WatchSpace
from gatepost.spaces.space import Message, Space

#: entries that one query reads
_PAGE_LENGTH: Final = 200
#: spaces of a combined stream: its ids have a position of each, and come back in a header
_MAX_SPACES: Final = 200
_SPACES_CHANGED: Final = StreamEnd("the spaces have changed", is_resumable=True)


@WatchSpace.gateway_handler
async def watch_space(state: GatewayState, request: WatchSpace, caller: Caller) -> EventStream:
    space = await state.store.read(spaces.show, request.id, viewer=request.member)
    part = _build_space_part(state, space.id, space.last_seq)
    return await open_stream(state, [part], viewer=request.member, after=request.after)


@WatchInbox.gateway_handler
async def watch_inbox(state: GatewayState, request: WatchInbox, caller: Caller) -> EventStream:
    part = _build_inbox_part(state, request.name, await state.store.read(inbox_feed.read_end))
    return await open_stream(state, [part], viewer=request.name, after=request.after)


@WatchRun.gateway_handler
async def watch_run(state: GatewayState, request: WatchRun, caller: Caller) -> EventStream:
    run = await state.store.read(find_run, request.id, caller.entity)
    return await open_stream(state, [_build_run_part(state, run.id)], viewer=caller.entity, after=request.after)


@WatchAll.gateway_handler
async def watch_all(state: GatewayState, request: WatchAll, caller: Caller) -> EventStream:
    viewer = caller.entity
    if not request.space and not request.inbox:
        last = await state.store.read(shared_inbox.find_last_position)
        parts = [_build_shared_part(state, WatchSharedInbox(), viewer, last)]
        if viewer is None:
            parts += [_build_live_part(topic) for topic in (ALL_AGENTS, ALL_FIRES, ALL_GATES)]
        return await _watch_entity(state, viewer, viewer, request.after, parts)
    names, named_spaces, end = await state.store.read(_find_named, request, caller)
    parts = [_build_space_part(state, space.id, space.last_seq) for space in named_spaces]
    parts += [_build_inbox_part(state, name, end) for name in names]
    return await open_stream(state, parts, viewer=viewer, after=request.after, is_combined=True)


@WatchAgent.gateway_handler
async def watch_agent(state: GatewayState, request: WatchAgent, caller: Caller) -> EventStream:
    parts = [_build_live_part(Topic("agent", request.name))]
    return await _watch_entity(state, request.name, caller.entity, request.after, parts)


@WatchSharedInbox.gateway_handler
async def watch_shared_inbox(state: GatewayState, request: WatchSharedInbox, caller: Caller) -> EventStream:
    part = _build_shared_part(state, request, caller.entity, await state.store.read(shared_inbox.find_last_position))
    return await open_stream(state, [part], viewer=caller.entity, after=request.after)


async def _watch_entity(
    state: GatewayState, name: str | None, viewer: str | None, after: str | None, other_parts: Sequence[StreamPart]
) -> EventStream:
    """Follow all spaces of an entity, its inbox, and other parts; for the administrator (None) all spaces."""
    starts, end = await state.store.read(_find_starts, name, after)
    parts = [_build_space_part(state, id, start) for id, start in starts.items()]
    parts += [_build_inbox_part(state, name or directory.ADMINISTRATOR, end), *other_parts]

    async def check_end() -> StreamEnd | None:
        spaces_now = await state.store.read(_find_spaces, name)
        return None if {space.id for space in spaces_now} == starts.keys() else _SPACES_CHANGED

    return await open_stream(state, parts, viewer=viewer, after=after, is_combined=True, check_end=check_end)


def _find_spaces(tx: Reader, name: str | None) -> list[Space]:
    """Return the newest spaces of an entity; for the administrator (None) the newest of all."""
    return spaces.list_newest(tx, viewer=name, limit=_MAX_SPACES)


def _find_starts(tx: Reader, name: str | None, after: str | None) -> tuple[dict[str, int], inbox_feed.Position]:
    """
    Return where a reader begins in each of its spaces, and the end of all inboxes. One that resumes has missed whatever
    was written since it became a member of a space that its stream did not have.
    """
    old_topics = decode_combined_cursor(after) if after else None
    starts: dict[str, int] = {}
    for space in _find_spaces(tx, name):
        starts[space.id] = space.last_seq
        if old_topics is not None and Topic("space", space.id) not in old_topics:
            starts[space.id] = spaces.find_first_seq(tx, space.id, name) - 1 if name is not None else 0
    return starts, inbox_feed.read_end(tx)


def _find_named(
    tx: Reader, request: WatchAll, caller: Caller
) -> tuple[Sequence[str], list[Space], inbox_feed.Position]:
    """Return the inboxes and spaces that a request names, if the caller may see them."""
    names: list[str] = []
    for name in request.inbox:
        entity = directory.find_or_none(tx, name) if caller.entity is not None else directory.find(tx, name)
        if entity is None or caller.entity not in (None, entity.name):
            raise caller.build_refusal(name)
        names.append(entity.name)
    named_spaces = [spaces.show(tx, id, viewer=caller.entity) for id in dict.fromkeys(request.space)]
    return list(dict.fromkeys(names)), named_spaces, inbox_feed.read_end(tx)


def _build_space_part(state: GatewayState, id: str, start: int) -> StreamPart:
    async def read_page(after: StreamPosition) -> StreamPage:
        messages, audience = await state.store.read(limit_page(_read_messages), id, after)
        entries = [_build_entry(message.seq, "space.message", MessageView.of(message)) for message in messages]
        return StreamPage(entries, messages[-1].seq if messages else after, audience)

    return StreamPart(StreamSource(Topic("space", id), read_page), start)


def _build_inbox_part(state: GatewayState, name: str, start: inbox_feed.Position) -> StreamPart:
    async def read_page(after: StreamPosition) -> StreamPage:
        page = await state.store.read(limit_page(inbox_feed.read_page), name, after=after, limit=_PAGE_LENGTH)
        entries = [_build_entry(position, "inbox.item", ItemView.of(item)) for item, position in page.entries]
        return StreamPage(entries, page.position, has_hidden_entries=page.has_delayed_items)

    return StreamPart(StreamSource(Topic("inbox", name), read_page), start)


def _build_shared_part(state: GatewayState, request: WatchSharedInbox, viewer: str | None, start: int) -> StreamPart:
    """The entries that a viewer may see; readers who ask for the same ones share a topic."""
    filters = {"viewer": viewer, "channel": request.channel, "session": request.session, "kind": request.kind}

    async def read_page(after: StreamPosition) -> StreamPage:
        read = limit_page(shared_inbox.list_changes)
        entries = await state.store.read(read, after=after, limit=_PAGE_LENGTH, **filters)
        views = [_build_entry(entry.position, "shared.entry", SharedEntryView.of(entry)) for entry in entries]
        return StreamPage(views, entries[-1].position if entries else after)

    return StreamPart(StreamSource(Topic("shared", json.dumps(list(filters.values()))), read_page), start)


def _build_live_part(topic: Topic) -> StreamPart:
    """Frames alone."""

    async def read_page(after: StreamPosition) -> StreamPage:
        return StreamPage([], after)

    return StreamPart(StreamSource(topic, read_page), 0, is_live=True)


def _build_run_part(state: GatewayState, id: str) -> StreamPart:
    """A run from its first step on. That it waits for a tool, and that it ended, have the next two positions."""

    async def read_page(after: StreamPosition) -> StreamPage:
        run, steps = await state.store.read(_read_run, id)
        entries = [_build_entry(step.number, "run.step", StepView.of(step)) for step in steps]
        if run.status is not RunStatus.RUNNING:
            end = len(steps) + (1 if run.status is RunStatus.WAITING_TOOL else 2)
            entries.append(_build_entry(end, f"run.{run.status}", RunView.of(run)))
        new_entries = [entry for entry in entries if entry.position > after]
        return StreamPage(new_entries, new_entries[-1].position if new_entries else after)

    return StreamPart(StreamSource(Topic("run", id), read_page), 0)


def _read_run(tx: Reader, id: str) -> tuple[Run, list[Step]]:
    return runs.show(tx, id), runs.list_steps(tx, id)


def _read_messages(tx: Reader, id: str, after: int) -> tuple[list[Message], frozenset[str]]:
    """Return messages, and who may see them as of the same moment."""
    messages = spaces.read(tx, id, after_seq=after, limit=_PAGE_LENGTH)
    return messages, frozenset(member.name for member in spaces.list_members(tx, id))


def _build_entry(position: StreamPosition, event: str, view: View) -> StreamEntry:
    return StreamEntry(position, event, encode_entry(event, view))
