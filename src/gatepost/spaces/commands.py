"""`gatepost space`."""

from typing import Final

import msgspec

from gatepost.cli import inputs, output
from gatepost.cli.command import Noun, Outcome, TableRow
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, argument, current_agent, number, option
from gatepost.core.quoting import quote, render_json, render_name
from gatepost.directory.person_commands import NAME
from gatepost.settings import Configuration
from gatepost.spaces import api
from gatepost.spaces.space import check_id

spaces = Noun("space", "Create, read and watch spaces, where people and agents talk.")
commands = [spaces]

#: checked here, because in the path of a request `a/b` would be another path
SPACE: Final = argument("SPACE", "the id of a space", parse=check_id)
MEMBER: Final = option("--as", "NAME", "read as this member, and record how far they have read")

#: what an agent's message has for those who watched it being written
_STREAM_FIELDS: Final = ("streamId", "runId")


@spaces.send("create", api.CreateSpace, members=option("--member", "NAME", "a member; repeatable"))
def create(space: api.NewSpaceView) -> Outcome:
    """
    Create a space and print its id.

    Example:
      gatepost space create "Q4 report" --member husam --member analyst
    """
    return Outcome(space.id, f"created {space.name!r} with {output.count(len(space.members), 'member')}")


@spaces.list(
    "list",
    api.ListSpaces,
    columns=("SPACE", "MESSAGES", "SINCE", "NAME"),
    empty=lambda request: "no spaces" + (f" with {request.member!r} in them" if request.member else " yet"),
)
def list_spaces(space: api.SpaceView) -> TableRow:
    """
    List the spaces, in the order in which they were created.

    Example:
      gatepost space list --member analyst
    """
    archived = " (archived)" if space.archived_at is not None else ""
    return [space.id, str(space.last_seq), space.created_at[:10], space.name + archived]


def _fetch_space(connection: CommandConnection, request: api.ShowSpace) -> api.NewSpaceView:
    space = connection.send(request)
    return api.NewSpaceView(
        **msgspec.structs.asdict(space), members=connection.send(api.ListMembers(id=space.id)).items
    )


@spaces.show("show", api.ShowSpace, id=SPACE, fetch=_fetch_space)
def show(space: api.NewSpaceView) -> None:
    """
    Show a space, its members, and how far each has read.

    Example:
      gatepost space show q4-report
    """
    output.facts(
        ("space", space.id),
        ("name", space.name),
        ("messages", space.last_seq),
        ("since", space.created_at),
        ("archived", space.archived_at),
    )
    if space.members:
        output.line_out("")
        rows = [
            [member.name, member.kind.value, member.joined_at[:10], str(member.read_seq), member.display_name]
            for member in space.members
        ]
        output.table(["MEMBER", "KIND", "SINCE", "READ", "DISPLAY"], rows)


@spaces.send("join", api.AddMember, id=SPACE, name=NAME)
def join(member: api.MemberView, request: api.AddMember) -> Outcome:
    """
    Add a member to a space. They can read all of it, and an agent gets what is posted from now on.

    Example:
      gatepost space join q4-report designer
    """
    return Outcome(member.name, f"{member.name!r} is in {request.id!r}")


@spaces.send("leave", api.RemoveMember, id=SPACE, name=NAME)
def leave(request: api.RemoveMember) -> Outcome:
    """
    Remove a member from a space.

    Example:
      gatepost space leave q4-report designer
    """
    document = {"space": request.id, "name": request.name}
    return Outcome(request.name, f"{request.name!r} is no longer in {request.id!r}", document)


@spaces.send(
    "post",
    api.PostMessage,
    id=SPACE,
    content=argument("TEXT|-", "the message; - reads stdin", parse=inputs.read_text),
    sender=current_agent("--as", "the sender; by default the current agent", no_agent="the message has no sender"),
    data=None,
)
def post(message: api.MessageView) -> Outcome:
    """
    Post a message in a space, and print its number.

    When this returns, the message is in the inbox of every other agent in the space.

    Examples:
      gatepost space post q4-report --as husam "Who has the numbers?"
      date | gatepost space post q4-report --as analyst -
    """
    return Outcome(str(message.seq))


@spaces.request(
    "read",
    api.ReadMessages,
    id=SPACE,
    member=MEMBER,
    after_seq=number("--after", "start after this message; by default the last ones", minimum=0, maximum=999_999_999),
    before_seq=None,
    limit=number("--limit", "how many at most", maximum=1_000, short="-n"),
)
def read(request: api.ReadMessages, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Print messages of a space, oldest first, one a line.

    Examples:
      gatepost space read q4-report -n 10
      gatepost space read q4-report --as husam --after 41
    """
    with connect(configuration) as connection:
        messages = _read_messages(connection, request)
        if json:
            output.document(msgspec.to_builtins(messages))
        elif messages:
            for message in messages:
                output.line_out(_build_line(message))
        else:
            after = f" after {request.after_seq}" if request.after_seq else ""
            output.talk(f"no messages{after} in {request.id!r}")
        if messages:
            _mark_read(connection, messages[-1], request.member)


@spaces.request("watch", api.WatchSpace, id=SPACE, member=MEMBER, after=None)
def watch(request: api.WatchSpace, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Print the messages of a space as they are posted, one a line. Ctrl-C stops it.

    With --json each line is a JSON document.

    Example:
      gatepost space watch q4-report --as husam
    """
    notice = f"watching {request.id!r}; Ctrl-C stops it"
    with connect(configuration) as connection:
        for message in connection.stream(request, lambda: output.talk(notice)):
            output.live(msgspec.to_builtins(message) if json else _build_line(message))
            _mark_read(connection, message, request.member)


def _read_messages(connection: CommandConnection, request: api.ReadMessages) -> list[api.MessageView]:
    """Return as many messages as the request asks for: a page has fewer if they are long."""
    messages: list[api.MessageView] = []
    limit = request.limit
    while True:
        page = connection.send(request)
        messages = page.items + messages if request.after_seq is None else messages + page.items
        if page.next is None or len(messages) >= limit:
            return messages
        cursor = "before_seq" if request.after_seq is None else "after_seq"
        request = msgspec.structs.replace(request, **{cursor: int(page.next)}, limit=limit - len(messages))


def _mark_read(connection: CommandConnection, message: api.MessageView, reader: str | None) -> None:
    """Record that the reader, if there is one, has read up to a message."""
    if reader is not None:
        connection.send(api.MarkRead(id=message.space, seq=message.seq, name=reader))


def _build_line(message: api.MessageView) -> str:
    """Return a message as one line, which no other message can pretend to be."""
    data = message.data
    if isinstance(data, dict):  # where an agent's words were streamed is for programs
        data = {name: value for name, value in data.items() if name not in _STREAM_FIELDS} or None
    data_text = f" {render_json(data)}" if data is not None else ""
    sender = f"{render_name(message.sender_name)} ({message.sender_type})"
    time = output.format_seconds(message.created_at)
    return f"{message.seq}  {time}  {sender}: {quote(message.content)}{data_text}"
