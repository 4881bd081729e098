"""`gatepost space`."""

from typing import Annotated

import msgspec

from gatepost import settings
from gatepost.api.spaces import (
    AddMember,
    CreateSpace,
    ListMembers,
    ListSpaces,
    MarkRead,
    MessageView,
    PostMessage,
    ReadMessages,
    RemoveMember,
    ShowSpace,
    SpaceView,
    WatchSpace,
)
from gatepost.cli import identity, output, words
from gatepost.cli.connect import Connection, connect
from gatepost.cli.plain import Json, Limit, Noun, argument, option
from gatepost.core import render
from gatepost.core.address import check_entity_address
from gatepost.core.space import check_id

app = Noun(help="Spaces: where people and agents talk.")

#: every command checks it: in the path of a request, `a/b` would be another path
Space = Annotated[str, argument("SPACE", "The id of a space.")]
Name = Annotated[str, argument("NAME", "A name, or an alias.")]
Member = Annotated[str | None, option("--as", "NAME", "Read as this member, and note how far they have read.")]

#: what an agent's message has for those who watched it being written
_STREAM_FIELDS = ("streamId", "runId")


@app.verb("create")
def create(
    name: Annotated[str, argument("NAME", "What it is called.")],
    member: Annotated[list[str] | None, option("--member", "NAME", "Who is in it; may be repeated.")] = None,
    id: Annotated[str | None, option("--id", "ID", "Its id; else made from the name.")] = None,
    json: Json = False,
) -> None:
    """
    Make a space, and print its id.

    Example:
      gatepost space create "Q4 report" --member husam --member analyst
    """
    request = CreateSpace(name=name, id=words.given(id, "--id", "which"), members=tuple(member or ()))
    with connect() as connection:
        space = connection.send(request)
    summary = f"made {space.name!r} with {output.count(len(space.members), 'member')}"
    output.done(msgspec.to_builtins(space), space.id, summary, json=json)


@app.verb("list")
def list_(
    member: Annotated[str | None, option("--member", "NAME", "Only those this one is in.")] = None,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the spaces, in the order in which they were made.

    Example:
      gatepost space list --member analyst
    """
    count = words.number(limit, "--limit", most=100_000)
    request = ListSpaces(member=words.given(member, "--member"))
    with connect() as connection:
        spaces = connection.list_all(request, count + 1)
    headings = ["SPACE", "MESSAGES", "SINCE", "NAME"]
    none = "there is no space" + (f" with {member!r} in it" if member else "")
    output.listing(spaces, count, headings, _build_row, msgspec.to_builtins, otherwise=none, json=json)


@app.verb("show")
def show(space: Space, json: Json = False) -> None:
    """
    Show a space, who is in it, and how far each has read.

    Example:
      gatepost space show q4-report
    """
    with connect() as connection:
        view = connection.send(ShowSpace(id=check_id(space)))
        members = connection.send(ListMembers(id=view.id)).items
    if json:
        output.document(msgspec.to_builtins(view) | {"members": msgspec.to_builtins(members)})
        return
    output.facts(
        ("space", view.id),
        ("name", view.name),
        ("messages", view.last_seq),
        ("since", view.created_at),
        ("archived", view.archived_at),
    )
    if members:
        output.line_out("")
        output.table(
            ["MEMBER", "KIND", "SINCE", "READ", "DISPLAY"],
            [
                [member.name, member.kind.value, member.joined_at[:10], str(member.read_seq), member.display_name]
                for member in members
            ],
        )


@app.verb("join")
def join(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody into a space: they read all of it, and an agent hears what is said from now on.

    Example:
      gatepost space join q4-report designer
    """
    with connect() as connection:
        member = connection.send(AddMember(id=check_id(space), name=name))
    output.done(msgspec.to_builtins(member), member.name, f"{member.name!r} is in {space!r}", json=json)


@app.verb("leave")
def leave(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody read and hear nothing more of a space.

    Example:
      gatepost space leave q4-report designer
    """
    with connect() as connection:
        connection.send(RemoveMember(id=check_id(space), name=check_entity_address(name)))
    output.done({"space": space, "name": name}, name, f"{name!r} is not in {space!r} any more", json=json)


@app.verb("post")
def post(
    space: Space,
    text: Annotated[str, argument("TEXT|-", "What to say; - reads stdin.")],
    sender: Annotated[str | None, option("--as", "NAME", "Who says it; else the current agent.")] = None,
    json: Json = False,
) -> None:
    """
    Say something in a space, and print the number of the message.

    When this returns, it is in the inbox of every other agent in the space.

    Examples:
      gatepost space post q4-report --as husam "Who has the numbers?"
      date | gatepost space post q4-report --as analyst -
    """
    configuration = settings.load()
    sender = identity.choose_agent(sender, "--as", configuration, otherwise="who says it?")
    content = words.content(text, configuration.settings.limits.content)
    with connect(configuration) as connection:
        message = connection.send(PostMessage(id=check_id(space), content=content, sender=sender))
    if json:
        output.document(msgspec.to_builtins(message))
    else:
        output.line_out(str(message.seq))


@app.verb("read")
def read(
    space: Space,
    member: Member = None,
    after: Annotated[str | None, option("--after", "NUMBER", "The first after this one; else the last.")] = None,
    limit: Limit = "50",
    json: Json = False,
) -> None:
    """
    Print messages of a space, oldest first, one a line.

    Examples:
      gatepost space read q4-report -n 10
      gatepost space read q4-report --as husam --after 41
    """
    count = words.number(limit, "--limit", most=1_000)
    after_seq = words.number(after, "--after", least=0, most=999_999_999) if after is not None else None
    reader = words.given(member, "--as")
    with connect() as connection:
        messages = _read_messages(
            connection, ReadMessages(id=check_id(space), member=reader, after_seq=after_seq, limit=count)
        )
        if json:
            output.document(msgspec.to_builtins(messages))
        elif messages:
            for message in messages:
                output.line_out(_build_line(message))
        else:
            output.talk(f"nothing there in {space!r}")
        if messages:
            _mark_read(connection, messages[-1], reader)


@app.verb("watch")
def watch(space: Space, member: Member = None, json: Json = False) -> None:
    """
    Print the messages of a space as they are posted, one a line, until Ctrl-C.

    With --json each line is a JSON document.

    Example:
      gatepost space watch q4-report --as husam
    """
    reader = words.given(member, "--as")
    with connect() as connection:
        stream = connection.stream(
            WatchSpace(id=check_id(space), member=reader), lambda: output.talk(f"watching {space!r}; Ctrl-C stops it")
        )
        for message in stream:
            output.live(msgspec.to_builtins(message) if json else _build_line(message))
            _mark_read(connection, message, reader)


def _read_messages(connection: Connection, request: ReadMessages) -> list[MessageView]:
    """Return as many messages as the request asks for: a page has fewer if they are long."""
    messages: list[MessageView] = []
    limit = request.limit
    while True:
        page = connection.send(request)
        messages = page.items + messages if request.after_seq is None else messages + page.items
        if page.next is None or len(messages) >= limit:
            return messages
        cursor = "before_seq" if request.after_seq is None else "after_seq"
        request = msgspec.structs.replace(request, **{cursor: int(page.next)}, limit=limit - len(messages))


def _mark_read(connection: Connection, message: MessageView, reader: str | None) -> None:
    """Record that the reader, if there is one, has read up to a message."""
    if reader is not None:
        connection.send(MarkRead(id=message.space, seq=message.seq, name=reader))


def _build_row(space: SpaceView) -> list[str]:
    archived = " (archived)" if space.archived_at is not None else ""
    return [space.id, str(space.last_seq), space.created_at[:10], space.name + archived]


def _build_line(message: MessageView) -> str:
    """Return a message as one line, which no other message can pretend to be."""
    data = message.data
    if isinstance(data, dict):  # where an agent's words were streamed is for programs
        data = {name: value for name, value in data.items() if name not in _STREAM_FIELDS} or None
    data_text = f" {render.render_json(data)}" if data is not None else ""
    sender = f"{render.render_name(message.sender_name)} ({message.sender_type})"
    time = output.format_seconds(message.created_at)
    return f"{message.seq}  {time}  {sender}: {render.quote(message.content)}{data_text}"
