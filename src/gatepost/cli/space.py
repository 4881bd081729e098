"""`gatepost space`."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated

from gatepost import settings
from gatepost.actions import spaces as verbs
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun, argument, option
from gatepost.core import render, wire
from gatepost.core import space as rules
from gatepost.core.space import Message
from gatepost.core.times import SECOND, format_rfc3339
from gatepost.ports import Reader

app = Noun(help="Spaces: where people and agents talk.")

Space = Annotated[str, argument("SPACE", "The id of a space.")]
Name = Annotated[str, argument("NAME", "A name, or an alias.")]
Member = Annotated[str | None, option("--as", "NAME", "Read as this member, and note how far they have read.")]

_PAGE = 200
#: what an agent's message has for those who watched it being written
_STREAMED = ("streamId", "runId")


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
    with here.opened() as place:
        own = words.given(id, "--id", "which")
        made = place.call(verbs.create, lambda far: far.create_space, name=name, id=own, members=member or ())
        members = _members(place, made.id)
    output.done(
        wire.write_space(made) | {"members": [wire.write_member(each) for each in members]},
        made.id,
        f"made {made.name!r} with {output.count(len(members), 'member')}",
        json=json,
    )


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
    most = words.number(limit, "--limit", most=100_000)
    with here.opened() as place:
        whose = words.given(member, "--member")
        found = place.all(_page, lambda far: far.spaces, member=whose, limit=most + 1)
    none = "there is no space" + (f" with {member!r} in it" if member else "")
    output.listing(
        found, most, ["SPACE", "MESSAGES", "SINCE", "NAME"], _row, wire.write_space, otherwise=none, json=json
    )


@app.verb("show")
def show(space: Space, json: Json = False) -> None:
    """
    Show a space, who is in it, and how far each has read.

    Example:
      gatepost space show q4-report
    """
    with here.opened() as place:
        found = place.look(verbs.show, lambda far: far.space, space)
        members = _members(place, space)
    if json:
        output.document(wire.write_space(found) | {"members": [wire.write_member(each) for each in members]})
        return
    output.facts(
        ("space", found.id),
        ("name", found.name),
        ("messages", found.last_seq),
        ("since", format_rfc3339(found.created_at)),
        ("archived", format_rfc3339(found.archived_at) if found.archived_at is not None else None),
    )
    if members:
        output.line_out("")
        output.table(
            ["MEMBER", "KIND", "SINCE", "READ", "DISPLAY"],
            [
                [each.name, each.kind.value, format_rfc3339(each.joined_at)[:10], str(each.read_seq), each.display]
                for each in members
            ],
        )


@app.verb("join")
def join(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody into a space: they read all of it, and an agent hears what is said from now on.

    Example:
      gatepost space join q4-report designer
    """
    with here.opened() as place:
        member = place.call(verbs.join, lambda far: far.join, space, name)
    output.done(wire.write_member(member), member.name, f"{member.name!r} is in {space!r}", json=json)


@app.verb("leave")
def leave(space: Space, name: Name, json: Json = False) -> None:
    """
    Let somebody read and hear nothing more of a space.

    Example:
      gatepost space leave q4-report designer
    """
    with here.opened() as place:
        place.call(verbs.leave, lambda far: far.leave, space, name)
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
    who = here.named(sender, "--as", configuration, otherwise="who says it?")
    content = words.content(text, configuration.settings.limits.content)
    with here.opened(configuration) as place:
        message = place.call(verbs.post, lambda far: far.post, space, sender=who, content=content)
    if json:
        output.document(wire.write_message(message))
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
    most = words.number(limit, "--limit", most=1_000)
    first = words.number(after, "--after", least=0, most=999_999_999) if after is not None else None
    me = words.given(member, "--as")
    with here.opened() as place:
        found = place.do(
            lambda near: near.query(verbs.read, space, viewer=me, after_seq=first, limit=most),
            lambda far: far.read(space, member=me, after_seq=first, limit=most),
        )
        if json:
            output.document([wire.write_message(each) for each in found])
        elif found:
            for each in found:
                output.line_out(_line(each))
        else:
            output.talk(f"nothing there in {space!r}")
        if me is not None and found:
            _mark_read(place, space, me, found[-1].seq)


@app.verb("watch")
def watch(space: Space, member: Member = None, json: Json = False) -> None:
    """
    Print the messages of a space as they are posted, one a line, until Ctrl-C.

    With --json each line is a JSON document.

    Example:
      gatepost space watch q4-report --as husam
    """
    me = words.given(member, "--as")
    ready = f"watching {space!r}; Ctrl-C stops it"
    with here.opened() as place:
        for message in _posted(place, space, me, lambda: output.talk(ready)):
            output.live(wire.write_message(message) if json else _line(message))
            if me is not None:
                _mark_read(place, space, me, message.seq)


def _page(tx: Reader, *, member: str | None, limit: int) -> list[rules.Space]:
    return verbs.page(tx, viewer=member, limit=limit)


def _members(place: here.Here, space: str) -> list[rules.Member]:
    return place.look(verbs.list_members, lambda far: far.members, space)


def _mark_read(place: here.Here, space: str, member: str, seq: int) -> None:
    place.do(
        lambda near: near.call(verbs.mark_read, space, member, seq),
        lambda far: far.mark_read(space, seq, member=member),
    )


def _posted(place: here.Here, space: str, member: str | None, ready: Callable[[], None]) -> Iterator[Message]:
    """Messages as they are posted, for ever, and as long as the member is one; `ready` is called before the first."""
    if place.far is not None:
        yield from place.far.each(lambda far, once: far.watch_space(space, member=member, ready=once), ready)
        return
    last = place.near.query(verbs.show, space, viewer=member).last_seq
    ready()
    while True:
        found = place.near.query(verbs.read, space, viewer=member, after_seq=last, limit=_PAGE)
        yield from found
        if len(found) < _PAGE:
            time.sleep(here.PAUSE)
        last = found[-1].seq if found else last


def _row(space: rules.Space) -> list[str]:
    archived = " (archived)" if space.archived_at is not None else ""
    return [space.id, str(space.last_seq), format_rfc3339(space.created_at)[:10], space.name + archived]


def _line(message: Message) -> str:
    """A message on one line, which no other one can pretend to be."""
    when = format_rfc3339(message.created_at - message.created_at % SECOND)
    said = message.data
    if isinstance(said, dict):  # where an agent's words were streamed is for programs
        said = {name: value for name, value in said.items() if name not in _STREAMED} or None
    data = f" {render.render_json(said)}" if said is not None else ""
    who = f"{render.render_name(message.sender_display)} ({message.sender_kind})"
    return f"{message.seq}  {when}  {who}: {render.quote(message.content)}{data}"
