"""Spaces, their members and messages."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid, Refused
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.spaces import actions as spaces, api
from gatepost.spaces.space import SpaceActivity


@api.CreateSpace.handler
def create_space(tx: Transaction, request: api.CreateSpace, caller: Caller) -> api.NewSpaceView:
    space = spaces.create(tx, name=request.name, id=request.id, members=request.members)
    return api.NewSpaceView.of(space, members=spaces.list_members(tx, space.id))


@api.ListSpaces.handler
def list_spaces(tx: Reader, request: api.ListSpaces, caller: Caller) -> api.SpacePage:
    page = read_page(tx, request, spaces.list_page, viewer=request.member, after=request.after)
    activities = spaces.list_activity(tx, [space.id for space in page.items], viewer=request.member)
    return replace(page, items=[_add_activity(space, activities[space.id]) for space in page.items])


def _add_activity(space: api.ListedSpaceView, activity: SpaceActivity) -> api.ListedSpaceView:
    return replace(
        space,
        last_message_at=None if activity.last_message_at is None else format_rfc3339(activity.last_message_at),
        unread=None if activity.read_seq is None else space.last_seq - activity.read_seq,
    )


@api.ShowSpace.handler
def show_space(tx: Reader, request: api.ShowSpace, caller: Caller) -> api.SpaceView:
    return api.SpaceView.of(spaces.show(tx, request.id, viewer=caller.entity))


@api.RenameSpace.handler
def rename_space(tx: Transaction, request: api.RenameSpace, caller: Caller) -> api.SpaceView:
    return api.SpaceView.of(spaces.rename(tx, request.id, request.name))


@api.ArchiveSpace.handler
def archive_space(tx: Transaction, request: api.ArchiveSpace, caller: Caller) -> api.SpaceView:
    return api.SpaceView.of(spaces.archive(tx, request.id))


@api.ListMembers.handler
def list_members(tx: Reader, request: api.ListMembers, caller: Caller) -> Page[api.MemberView]:
    members = spaces.list_members(tx, request.id, viewer=caller.entity)
    return Page[api.MemberView](items=[api.MemberView.of(member) for member in members], next=None)


@api.AddMember.handler
def add_member(tx: Transaction, request: api.AddMember, caller: Caller) -> api.MemberView:
    return api.MemberView.of(spaces.join(tx, request.id, request.name))


@api.RemoveMember.handler
def remove_member(tx: Transaction, request: api.RemoveMember, caller: Caller) -> None:
    spaces.leave(tx, request.id, request.name, by=caller.entity)


@api.ReadMessages.handler
def read_messages(tx: Reader, request: api.ReadMessages, caller: Caller) -> api.MessagePage:
    if request.after_seq is not None and request.before_seq is not None:
        raise Invalid("give only one of `afterSeq` and `beforeSeq`")
    with _name_missing_space(tx, request.id, caller):
        return read_page(
            tx,
            request,
            spaces.read,
            request.id,
            viewer=request.member,
            after_seq=request.after_seq,
            before_seq=request.before_seq,
            cursor=lambda message: message.seq,
            backwards=request.after_seq is None,
        )


@api.PostMessage.handler
def post_message(tx: Transaction, request: api.PostMessage, caller: Caller) -> api.MessageView:
    assert request.sender is not None
    with _name_missing_space(tx, request.id, caller):
        message = spaces.post(tx, request.id, sender=request.sender, content=request.content, data=request.data)
    return api.MessageView.of(message)


@api.MarkRead.handler
def mark_read(tx: Transaction, request: api.MarkRead, caller: Caller) -> api.MemberView:
    assert request.name is not None
    return api.MemberView.of(spaces.mark_read(tx, request.id, request.name, request.seq))


@contextmanager
def _name_missing_space(tx: Reader, id: str, caller: Caller) -> Iterator[None]:
    """Tell an administrator who acts as an entity that a space does not exist; the entity itself does not learn it."""
    try:
        yield
    except Refused:
        if caller.is_administrator:
            spaces.show(tx, id)
        raise
