"""`gatepost work` and `gatepost note`: work items, with their events and notes."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from gatepost import settings
from gatepost.cli import inputs, output
from gatepost.cli.command import LimitOption, Noun, TableRow, build_verb
from gatepost.cli.current_agent import choose_actor
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import AS, JsonFlag, ParameterSpec, argument, option
from gatepost.core.quoting import quote, render_name
from gatepost.inbox.event import Priority, Ref
from gatepost.inbox.event_api import RefSpec
from gatepost.mail import work_api as api, work_item as rules
from gatepost.mail.mail_commands import join_names
from gatepost.mail.work_item import WorkType

work = Noun("work", "Add work items, and report what happens to them.")

#: events that `show` prints
_LAST_EVENTS: Final = 5
#: events and notes that `show` counts
_MAX_POSTS: Final = 100_000
_COMMON_EVENTS: Final = ("started", "blocked", "complete")


def parse_item(text: str) -> Ref:
    """Return the reference of `task:7`. It is checked here, because in the path of a request `a/b` is another path."""
    ref = Ref.parse(text)
    return Ref(WorkType.parse(ref.type).value, rules.check_id(ref.id))


Item = Annotated[Ref, argument("TYPE:ID", "a work item, such as task:7", parse=parse_item)]
Actor = Annotated[str | None, AS]


@work.command("add")
def add(
    item: Annotated[
        Ref, argument("TYPE:ID", f"its type ({', '.join(WorkType)}) and a new id, such as task:7", parse=parse_item)
    ],
    title: Annotated[str | None, option("--title", "TEXT", "its title; by default its id")] = None,
    parent: Annotated[
        Ref | None, option("--parent", "TYPE:ID", "the work item that it is a part of", parse=parse_item)
    ] = None,
    topic: Annotated[str | None, option("--topic", "ID", "its topic on a ledger", parse=rules.check_id)] = None,
    actor: Actor = None,
    json: JsonFlag = False,
) -> None:
    """
    Add a work item: a task, phase, stage or project.

    Examples:
      gatepost work add phase:design --title "Design"
      gatepost work add task:7 --title "Write the schema" --parent phase:design
    """
    configuration = settings.load()
    request = api.AddWorkItem(
        type=WorkType(item.type),
        id=item.id,
        title=title,
        parent=RefSpec(type=parent.type, id=parent.id) if parent else None,
        topic=topic,
        made_by=choose_actor(actor, configuration),
    )
    with connect(configuration) as connection:
        view = connection.send(request)
    output.done(msgspec.to_builtins(view), str(item), f"added {view.title!r}", json=json)


@work.list(
    "list",
    api.ListWorkItems,
    columns=("ITEM", "STATUS", "PARENT", "BY", "UPDATED", "TITLE"),
    empty=lambda request: (
        "no such work items" if request.type or request.status or request.parent else "no work items yet"
    ),
    type=option(
        "--type", "TYPE", f"only this type: {', '.join(WorkType)}", parse=WorkType.parse, choices=list(WorkType)
    ),
    status=option(
        "--status",
        "EVENT",
        "only those whose last event this is, such as blocked",
        parse=str.lower,
        choices=_COMMON_EVENTS,
    ),
    parent=option("--parent", "TYPE:ID", "only the parts of this work item", parse=lambda text: str(parse_item(text))),
)
def list_work(item: api.WorkItemView) -> TableRow:
    """
    List work items, in the order in which they were added.

    Examples:
      gatepost work list --status blocked
      gatepost work list --type task --parent phase:design
    """
    return [
        f"{item.type}:{item.id}",
        item.status or "",
        f"{item.parent.type}:{item.parent.id}" if item.parent else "",
        item.made_by,
        output.format_seconds(item.updated_at),
        render_name(item.title),
    ]


@work.command("show")
def show(item: Item, json: JsonFlag = False) -> None:
    """
    Show a work item: its last events, and how many notes it has.

    Example:
      gatepost work show task:7
    """
    with connect() as connection:
        view = connection.send(api.ShowWorkItem(type=item.type, id=item.id))
        events = connection.list_all(api.ListWorkEvents(type=item.type, id=item.id), _MAX_POSTS)
        note_count = len(connection.list_all(api.ListNotes(type=item.type, id=item.id), _MAX_POSTS))
    last_events = events[-_LAST_EVENTS:]
    if json:
        document = msgspec.to_builtins(view) | {"events": msgspec.to_builtins(last_events), "notes": note_count}
        output.document(document)
        return
    ref = f"{view.type}:{view.id}"
    output.facts(
        ("item", ref),
        ("title", view.title),
        ("status", view.status or "no events yet"),
        ("parent", f"{view.parent.type}:{view.parent.id}" if view.parent else None),
        ("topic", view.topic),
        ("made by", view.made_by),
        ("created", view.created_at),
        ("updated", view.updated_at),
        ("notes", note_count),
    )
    if last_events:
        output.line_out("")
        output.table(["EVENT", "BY", "AT", "REASON"], map(_build_event_row, last_events))
    for command in (f"work event {ref} EVENT", f"note {ref} TEXT", f"work notes {ref}"):
        output.talk(f"next: gatepost {command}")


def _build_event_row(event: api.WorkEventView) -> TableRow:
    reason = quote(event.reason) if event.reason else ""
    return [event.type, event.sender, output.format_seconds(event.created_at), reason]


@work.command("event")
def event(
    item: Item,
    event: Annotated[
        str,
        ParameterSpec(
            flag=None,
            metavar="EVENT",
            help=f"a word, such as {', '.join(_COMMON_EVENTS)}",
            choices=_COMMON_EVENTS,
        ),
    ],
    reason: Annotated[str, option("--reason", "TEXT", "why; - reads stdin", parse=inputs.read_text)] = "",
    actor: Actor = None,
    json: JsonFlag = False,
) -> None:
    """
    Report what happened to a work item, and print the id of the event. An item that nobody has added is added.

    The event becomes the status of the item. The setting work.notify says who gets it.

    Examples:
      gatepost work event task:7 started
      gatepost work event task:7 blocked --reason "No schema yet" --as analyst
    """
    name = rules.parse_event(WorkType(item.type), event)
    configuration = settings.load()
    with connect(configuration) as connection:
        view = connection.send(
            api.PostWorkEvent(
                type=item.type, id=item.id, event=name, reason=reason, sender=choose_actor(actor, configuration)
            )
        )
    message = f"{view.type}: {_describe_notified(view.recipients)}"
    if not view.recipients:
        message += ", because the setting work.notify names nobody else who is there"
    output.done(msgspec.to_builtins(view), view.id, f"{_describe_item(view)}{message}", json=json)


@work.command("notes")
def notes(item: Item, limit: LimitOption = 100, json: JsonFlag = False) -> None:
    """
    Print the notes on a work item, oldest first.

    Example:
      gatepost work notes task:7
    """
    with connect() as connection:
        notes = connection.list_all(api.ListNotes(type=item.type, id=item.id), limit + 1)
    output.listing(notes, limit, _print_notes, empty=f"no notes on {item} yet", json=json)


def _print_notes(notes: Sequence[api.NoteView]) -> None:
    for number, note in enumerate(notes):
        notified = f" to {', '.join(note.notify)}" if note.notify else ""
        heading = f"{output.format_seconds(note.created_at)} {note.sender}{notified}"
        output.passage(heading, note.text, is_first=number == 0)


def note(
    item: Item,
    text: Annotated[str, argument("TEXT|-", "the note, in Markdown; - reads stdin", parse=inputs.read_text)],
    notify: Annotated[
        list[str] | None, option("--notify", "NAME", "who gets it: a name, an alias or a team; repeatable")
    ] = None,
    priority: Annotated[
        Priority,
        option(
            "--priority",
            "P",
            "one of critical, high, normal, low, fyi; or 0 to 4",
            parse=Priority.parse,
            default="normal",
        ),
    ] = Priority.NORMAL,
    actor: Actor = None,
    json: JsonFlag = False,
) -> None:
    """
    Post a note on a work item, and print its id. Everyone after --notify has it in the inbox when this returns. An item
    that nobody has added is added.

    Examples:
      gatepost note task:7 "The **second** schema is simpler" --notify analyst
      gatepost note phase:design - --notify husam --notify team:web < review.md
    """
    inputs.require_text(text)
    configuration = settings.load()
    with connect(configuration) as connection:
        view = connection.send(
            api.PostNote(
                type=item.type,
                id=item.id,
                note=text,
                notify=tuple(notify or ()),
                priority=priority.value,
                sender=choose_actor(actor, configuration),
            )
        )
    message = f"posted on {view.item.type}:{view.item.id}"
    if notify:
        message = f"{message}: {_describe_notified(view.recipients)}"
    output.done(msgspec.to_builtins(view), view.id, f"{_describe_item(view)}{message}", json=json)


def _describe_item(view: api.NoteView | api.WorkEventView) -> str:
    return f"added {view.item.type}:{view.item.id}; " if view.created else ""


def _describe_notified(names: Sequence[str]) -> str:
    if not names:
        return "nobody else gets it"
    return f"{join_names(names)} {'has' if len(names) == 1 else 'have'} it"


commands = [work, build_verb("note", note, "Post a note on a work item.")]
