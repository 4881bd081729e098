"""`gatepost space`."""

from typing import Annotated

import typer

from gatepost import settings
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun
from gatepost.core import line, wire
from gatepost.core.instants import SECOND, rfc3339
from gatepost.core.space import Message
from gatepost.errors import Invalid

app = Noun(help="Spaces: where people and agents talk.")

Space = Annotated[str, typer.Argument(metavar="SPACE", help="The id of a space.", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name, or an alias.", show_default=False)]
Member = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="Read as this member, and note how far they have read.")
]


@app.verb("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.", show_default=False)],
    member: Annotated[
        list[str] | None, typer.Option("--member", metavar="NAME", help="Who is in it; may be repeated.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id; else made from the name.")] = None,
    json: Json = False,
) -> None:
    """
    Make a space, and print its id.

    \b
    Example:
      gatepost space create "Q4 report" --member husam --member analyst
    """
    with here.opened() as place:
        made = place.verbs.create_space(name, id=words.given(id, "--id", "which"), members=member or ())
        members = place.verbs.members(made.id)
    if json:
        output.document(wire.space(made) | {"members": [wire.member(each) for each in members]})
    else:
        output.line_out(made.id)
        output.talk(f"made {made.name!r} with {output.count(len(members), 'member')}")


@app.verb("list")
def list_(
    member: Annotated[str | None, typer.Option("--member", metavar="NAME", help="Only those this one is in.")] = None,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the spaces, in the order in which they were made.

    \b
    Example:
      gatepost space list --member analyst
    """
    most = words.number(limit, "--limit", most=100_000)
    with here.opened() as place:
        found = place.verbs.spaces(member=words.given(member, "--member"), limit=most + 1)
    shown = found[:most]
    if json:
        output.document([wire.space(each) for each in shown])
    elif shown:
        rows = [
            [each.id, str(each.last_seq), rfc3339(each.created_at)[:10], _title(each.name, each.archived_at)]
            for each in shown
        ]
        output.table(["SPACE", "MESSAGES", "SINCE", "NAME"], rows)
    else:
        output.talk("there is no space" + (f" with {member!r} in it" if member else ""))
    if len(found) > most:
        output.talk(f"there are more than {most}: raise --limit")


@app.verb("show")
def show(space: Space, json: Json = False) -> None:
    """
    Show a space, who is in it, and how far each has read.

    \b
    Example:
      gatepost space show q4-report
    """
    with here.opened() as place:
        found = place.verbs.space(space)
        members = place.verbs.members(space)
    if json:
        output.document(wire.space(found) | {"members": [wire.member(each) for each in members]})
        return
    output.facts(
        [
            ("space", found.id),
            ("name", found.name),
            ("messages", found.last_seq),
            ("since", rfc3339(found.created_at)),
            ("archived", rfc3339(found.archived_at) if found.archived_at is not None else None),
        ]
    )
    if members:
        output.line_out("")
        output.table(
            ["MEMBER", "KIND", "SINCE", "READ", "DISPLAY"],
            [
                [each.name, each.kind.value, rfc3339(each.joined_at)[:10], str(each.read_seq), each.display]
                for each in members
            ],
        )


@app.verb("join")
def join(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody into a space: they read all of it, and an agent hears what is said from now on.

    \b
    Example:
      gatepost space join q4-report designer
    """
    with here.opened() as place:
        member = place.verbs.join(space, name)
    if json:
        output.document(wire.member(member))
    else:
        output.line_out(member.name)
        output.talk(f"{member.name!r} is in {space!r}")


@app.verb("leave")
def leave(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody read and hear nothing more of a space.

    \b
    Example:
      gatepost space leave q4-report designer
    """
    with here.opened() as place:
        place.verbs.leave(space, name)
    if json:
        output.document({"space": space, "name": name})
    else:
        output.line_out(name)
        output.talk(f"{name!r} is not in {space!r} any more")


@app.verb("post")
def post(
    space: Space,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to say; - reads stdin.", show_default=False)],
    sender: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Who says it; else the current agent.")
    ] = None,
    json: Json = False,
) -> None:
    """
    Say something in a space, and print the number of the message.

    When this returns, it is in the inbox of every other agent in the space.

    \b
    Examples:
      gatepost space post q4-report --as husam "Who has the numbers?"
      date | gatepost space post q4-report --as analyst -
    """
    configuration = settings.load()
    who = words.given(sender, "--as") or here.current(configuration)
    if who is None:
        raise Invalid("who says it?", hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml")
    content = words.content(text, configuration.settings.limits.content)
    with here.opened(configuration) as place:
        message = place.verbs.post(space, sender=who, content=content)
    if json:
        output.document(wire.message(message))
    else:
        output.line_out(str(message.seq))


@app.verb("read")
def read(
    space: Space,
    member: Member = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="NUMBER", help="The first after this one; else the last.")
    ] = None,
    limit: Limit = "50",
    json: Json = False,
) -> None:
    """
    Print messages of a space, oldest first, one a line.

    \b
    Examples:
      gatepost space read q4-report -n 10
      gatepost space read q4-report --as husam --after 41
    """
    most = words.number(limit, "--limit", most=1_000)
    first = words.number(after, "--after", least=0, most=999_999_999) if after is not None else None
    me = words.given(member, "--as")
    with here.opened() as place:
        found = place.verbs.read(space, member=me, after=first, limit=most)
        if json:
            output.document([wire.message(each) for each in found])
        elif found:
            for each in found:
                output.line_out(_line(each))
        else:
            output.talk(f"nothing there in {space!r}")
        if me is not None and found:
            place.verbs.mark_read(space, member=me, seq=found[-1].seq)


@app.verb("watch")
def watch(space: Space, member: Member = None, json: Json = False) -> None:
    """
    Print the messages of a space as they are posted, one a line, until Ctrl-C.

    With --json each line is a JSON document.

    \b
    Example:
      gatepost space watch q4-report --as husam
    """
    me = words.given(member, "--as")
    ready = f"watching {space!r}; Ctrl-C stops it"
    with here.opened() as place:
        for message in place.verbs.watch_space(space, member=me, ready=lambda: output.talk(ready)):
            output.live(wire.message(message) if json else _line(message))
            if me is not None:
                place.verbs.mark_read(space, member=me, seq=message.seq)


def _title(name: str, archived: int | None) -> str:
    return name if archived is None else f"{name} (archived)"


def _line(message: Message) -> str:
    """A message on one line, which no other one can pretend to be."""
    when = rfc3339(message.created_at - message.created_at % SECOND)
    data = f" {line.payload(message.data)}" if message.data is not None else ""
    who = f"{line.title(message.sender_display)} ({message.sender_kind})"
    return f"{message.seq}  {when}  {who}: {line.quote(message.content)}{data}"
