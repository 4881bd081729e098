"""Spaces, their members and messages."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid, Refused
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import (
    AddMember,
    ArchiveSpace,
    CreateSpace,
    ListedSpaceView,
    ListMembers,
    ListSpaces,
    MarkRead,
    MemberPage,
    MemberView,
    MessagePage,
    MessageView,
    NewSpaceView,
    PostMessage,
    ReadMessages,
    RemoveMember,
    RenameSpace,
    ShowSpace,
    SpacePage,
    SpaceView,
)
from gatepost.spaces.space import SpaceActivity


@CreateSpace.handler
def create_space(tx: Transaction, request: CreateSpace, caller: Caller) -> NewSpaceView:
    space = spaces.create(tx, name=request.name, id=request.id, members=request.members)
    return NewSpaceView.of(space, members=spaces.list_members(tx, space.id))


@ListSpaces.handler
def list_spaces(tx: Reader, request: ListSpaces, caller: Caller) -> SpacePage:
    page = read_page(
        tx,
        SpacePage,
        spaces.page,
        viewer=request.member,
        view=ListedSpaceView.of,
        after=request.after,
        limit=request.limit,
    )
    activities = spaces.list_activity(tx, [space.id for space in page.items], viewer=request.member)
    return replace(page, items=[_add_activity(space, activities[space.id]) for space in page.items])


def _add_activity(space: ListedSpaceView, activity: SpaceActivity) -> ListedSpaceView:
    return replace(
        space,
        last_message_at=None if activity.last_message_at is None else format_rfc3339(activity.last_message_at),
        unread=None if activity.read_seq is None else space.last_seq - activity.read_seq,
    )


@ShowSpace.handler
def show_space(tx: Reader, request: ShowSpace, caller: Caller) -> SpaceView:
    return SpaceView.of(spaces.show(tx, request.id, viewer=caller.entity))


@RenameSpace.handler
def rename_space(tx: Transaction, request: RenameSpace, caller: Caller) -> SpaceView:
    return SpaceView.of(spaces.rename(tx, request.id, request.name))


@ArchiveSpace.handler
def archive_space(tx: Transaction, request: ArchiveSpace, caller: Caller) -> SpaceView:
    return SpaceView.of(spaces.archive(tx, request.id))


@ListMembers.handler
def list_members(tx: Reader, request: ListMembers, caller: Caller) -> MemberPage:
    members = spaces.list_members(tx, request.id, viewer=caller.entity)
    return MemberPage(items=[MemberView.of(member) for member in members], next=None)


@AddMember.handler
def add_member(tx: Transaction, request: AddMember, caller: Caller) -> MemberView:
    return MemberView.of(spaces.join(tx, request.id, request.name))


@RemoveMember.handler
def remove_member(tx: Transaction, request: RemoveMember, caller: Caller) -> None:
    spaces.leave(tx, request.id, request.name, by=caller.entity)


@ReadMessages.handler
def read_messages(tx: Reader, request: ReadMessages, caller: Caller) -> MessagePage:
    if request.after_seq is not None and request.before_seq is not None:
        raise Invalid("give only one of `afterSeq` and `beforeSeq`")
    with _name_missing_space(tx, request.id, caller):
        return read_page(
            tx,
            MessagePage,
            spaces.read,
            request.id,
            viewer=request.member,
            after_seq=request.after_seq,
            before_seq=request.before_seq,
            limit=request.limit,
            view=MessageView.of,
            cursor=lambda message: message.seq,
            backwards=request.after_seq is None,
        )


@PostMessage.handler
def post_message(tx: Transaction, request: PostMessage, caller: Caller) -> MessageView:
    assert request.sender is not None
    with _name_missing_space(tx, request.id, caller):
        message = spaces.post(tx, request.id, sender=request.sender, content=request.content, data=request.data)
    return MessageView.of(message)


@MarkRead.handler
def mark_read(tx: Transaction, request: MarkRead, caller: Caller) -> MemberView:
    assert request.name is not None
    return MemberView.of(spaces.mark_read(tx, request.id, request.name, request.seq))


@contextmanager
def _name_missing_space(tx: Reader, id: str, caller: Caller) -> Iterator[None]:
    """Tell an administrator who acts as an entity that a space does not exist; the entity itself does not learn it."""
    try:
        yield
    except Refused:
        if caller.is_administrator:
            spaces.show(tx, id)
        raise
