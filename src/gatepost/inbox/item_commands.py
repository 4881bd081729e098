"""
`gatepost inbox`: list, show and watch items, and end them by hand. `own_inbox_commands.py` has what it prints without a
verb, `push/commands.py` and `guests/drain_commands.py` have other verbs.
"""

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Annotated, Any, Final

import msgspec

from gatepost import settings
from gatepost.cli import inputs, output
from gatepost.cli.command import LimitOption, Noun, Outcome
from gatepost.cli.current_agent import choose_recipient
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, flag, number, option
from gatepost.core import times
from gatepost.core.address import check_entity_address
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.guests.drain_commands import drain
from gatepost.inbox import event_api, event_rendering as render, triage_commands
from gatepost.inbox.event import EventType, Item, ItemState, Posted, Priority, Ref, parse_body
from gatepost.inbox.item_api import ListInbox, ListItems, PeekInbox, WatchInbox
from gatepost.inbox.push.api import PushEvent
from gatepost.inbox.push.commands import FIELDS, push
from gatepost.inbox.triage_commands import EVENT, choose_owner
from gatepost.settings import Configuration

inbox = Noun("inbox", "Push, read and manage the items of inboxes.")
commands = [inbox]

RECIPIENT: Final = option("--to", "NAME", "only for this recipient")
To = Annotated[str | None, option("--to", "NAME", "whose inbox; by default that of the current agent")]


@inbox.without_verb
def show_own(
    name: Annotated[
        str | None, option("--as", "NAME", "whose inbox; by default that of the current agent, else of admin")
    ] = None,
    limit: LimitOption = 50,
    json: JsonFlag = False,
) -> None:
    """
    Show what waits for you, or push, read and manage the items of other inboxes.

    Without a verb it prints your pending items, the most urgent first and the newest first among those, then the
    decisions that you are asked, and what to type next. Nothing changes.

    Examples:
      gatepost inbox
      gatepost inbox --as husam --json
    """
    from gatepost.inbox.own_inbox_commands import show_own_inbox  # other verbs must start fast

    show_own_inbox(settings.load(), name, limit, json=json)


inbox.request("push", PushEvent, **FIELDS)(push)


@inbox.request(
    "list",
    ListItems,
    type=option("--type", "TYPE", parse=EventType.parse),
    message_type=option("--message-type", "TYPE"),
    sender=option("--from", "NAME"),
    ref=option("--ref", "TYPE:ID", parse=lambda text: str(Ref.parse(text))),
    text=option("--text", "TEXT"),
    priority=option("--priority", "P", parse=lambda text: Priority.parse(text).value),
    channel=option("--channel", "C"),
    origin=option("--origin", "NAME"),
    newest_first=flag("--newest", "the last arrivals first"),
    **dict.fromkeys(("state", "since", "until", "after", "limit", "hidden")),  # see below
)
def list_items(
    request: ListItems,
    configuration: Configuration,
    to: To = None,
    every: Annotated[bool, flag("--all", "items in any state")] = False,
    delivered: Annotated[bool, flag("--delivered", "only delivered items")] = False,
    expired: Annotated[bool, flag("--expired", "only expired items")] = False,
    dead: Annotated[bool, flag("--dead", "only items that failed too often")] = False,
    snoozed: Annotated[bool, flag("--snoozed", "only snoozed items, which are pending and hidden")] = False,
    state: Annotated[
        str | None, option("--state", "STATE", f"one of {', '.join(ItemState)}", choices=list(ItemState))
    ] = None,
    since: Annotated[str | None, option("--since", "2h", "only events since then: how long ago, or a time")] = None,
    older: Annotated[str | None, option("--older", "1d", "only events before then: how long ago, or a time")] = None,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    List the items of an inbox, in order of arrival.

    By default it lists pending items that are not snoozed. --to '*' lists all inboxes.

    Examples:
      gatepost inbox list --to analyst
      gatepost inbox list --to '*' --dead --json
      gatepost inbox list --to analyst --all --type mail --since 2h
    """
    is_default = not (every or delivered or expired or dead or state)
    item_state = _parse_state(state, every=every, delivered=delivered, expired=expired, dead=dead, snoozed=snoozed)
    with connect(configuration) as connection:
        recipient = None if to in ("*", "ALL") else _choose_recipient(to, connection)
        now = connection.read_clock()
        filters: dict[str, Any] = {
            "state": item_state,
            "type": request.type,
            "message_type": request.message_type,
            "sender": request.sender,
            "ref": request.ref,
            "text": request.text,
            "priority": request.priority,
            "channel": request.channel,
            "origin": request.origin,
            "hidden": True if snoozed else False if is_default else None,
            "newest_first": request.newest_first,
            "since": _format_past(since, "--since", now),
            "until": _format_past(older, "--older", now),
        }
        query = ListItems(**filters) if recipient is None else ListInbox(name=recipient, **filters)
        items = connection.list_all(query, limit + 1)
    output.listing(
        items,
        limit,
        partial(_print_table, now=now, include_recipient=recipient is None),
        empty="no such items" if recipient is None else f"no such items in the inbox of {recipient!r}",
        more=f"there are more than {limit}: raise --limit, or narrow it with --since, --older or --type",
        json=json,
    )


@inbox.command("peek")
def peek(
    to: To = None,
    limit: Annotated[int, number("--limit", "how many at most", maximum=1_000, short="-n")] = 20,
    json: JsonFlag = False,
) -> None:
    """
    Print the pending items as a drain does, without a change.

    Example:
      gatepost inbox peek --to analyst -n 3
    """
    with connect() as connection:
        recipient = _choose_recipient(to, connection)
        now = connection.read_clock()
        items = connection.list_all(PeekInbox(name=recipient), limit + 1)

    def print_batch(views: Sequence[event_api.ItemView]) -> None:
        records = [Item(event=view.to_event(), recipient=view.recipient) for view in views]
        output.line_out(render.render_batch(records, at=now))

    more = "more items are pending: raise --limit to see them"
    output.listing(items, limit, print_batch, empty=f"the inbox of {recipient!r} is empty", more=more, json=json)


@inbox.show("show", event_api.ShowEvent, id=EVENT)
def show(view: event_api.EventDetailView) -> None:
    """
    Show all of an event, and its state for each recipient.

    Example:
      gatepost inbox show evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    event = view.to_event()
    sender = f"{view.sender} ({view.sender_name}, {view.sender_type})" if view.sender is not None else None
    body = parse_body(event)
    if isinstance(body, Posted) and body.outsider is not None:
        sender = render.render_outsider(body.outsider)
    output.facts(
        ("event", view.event_id),
        ("type", view.type),
        ("priority", event.priority.name.lower()),
        ("from", sender),
        ("source", view.source),
        ("subject", view.subject),
        ("about", event.ref),
        ("created", view.created_at),
        ("occurred", view.occurred_at if event.source_time is not None else None),
        ("expires", view.expires_at),
        ("dedup key", view.dedup_key),
        ("trust", view.trust),
        ("hops", view.hops or None),
        *((f"for {recipient.name}", _describe_recipient(recipient)) for recipient in view.recipients),
    )
    if view.content:
        output.line_out("\ncontent:\n" + output.indent(view.content))
    if view.data is not None:
        data = view.data | view.extra if view.extra else view.data
        output.line_out("\ndata:\n" + output.indent(output.format_json(data)))


inbox.import_verbs("gatepost.mail.sent_mail_commands", "sent", "thread")
inbox.import_verbs("gatepost.channels.shared_inbox.commands", "shared")
inbox.command("drain")(drain)


@inbox.command("watch")
def watch(to: To = None, json: JsonFlag = False) -> None:
    """
    Print the events of an inbox as they arrive, one a line. Ctrl-C stops it. Nothing is marked as delivered.

    With --json each line is a JSON document.

    Examples:
      gatepost inbox watch --to analyst
      gatepost inbox watch --to husam --json | jq .content
    """
    with connect() as connection:
        recipient = _choose_recipient(to, connection)
        notice = f"watching the inbox of {recipient!r}; Ctrl-C stops it"
        for item in connection.stream(WatchInbox(name=recipient), lambda: output.talk(notice)):
            output.live(msgspec.to_builtins(item) if json else render.render_event(item.to_event()))


@inbox.send("replay", event_api.ReplayEvent, id=EVENT, name=RECIPIENT)
def replay(page: event_api.ItemsView) -> Outcome:
    """
    Deliver an event again.

    A dead, expired or discarded item becomes pending, without an expiry and without counted failures. A delivered item
    stays delivered, and a new event with the same content is pushed.

    Example:
      gatepost inbox replay evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return _describe_items(page.items, "pending again for")


@inbox.send("discard", event_api.DiscardEvent, id=EVENT, name=RECIPIENT)
def discard(page: event_api.ItemsView) -> Outcome:
    """
    Discard an event that is pending or dead, without delivering it. `gatepost inbox replay` brings it back.

    Example:
      gatepost inbox discard evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --to analyst
    """
    return _describe_items(page.items, "discarded for")


@inbox.command("done")
def done(
    event: Annotated[str, EVENT],
    person: Annotated[str | None, option("--as", "NAME", "the person; by default the only recipient")] = None,
    json: JsonFlag = False,
) -> None:
    """
    Mark a person's item as done.

    Agents drain their inbox; the items of a person stay until they are done.

    Example:
      gatepost inbox done evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --as husam
    """
    with connect() as connection:
        person = choose_owner(connection, event, person)
        items = connection.send(event_api.MarkDone(id=event, name=person)).items
    outcome = _describe_items(items, "done for")
    output.done(outcome.document, outcome.line, outcome.message, json=json)


def _describe_items(items: Sequence[event_api.ItemView], change: str) -> Outcome:
    return Outcome(
        "\n".join(item.event_id for item in items),
        "\n".join(f"{change} {item.recipient}" for item in items),
        msgspec.to_builtins(event_api.EventDetailView.merge(items)),
    )


inbox.command("snooze")(triage_commands.snooze)
inbox.command("unsnooze")(triage_commands.unsnooze)
inbox.command("undo")(triage_commands.undo)


def _choose_recipient(to: str | None, connection: CommandConnection) -> str:
    return check_entity_address(choose_recipient(to, connection.configuration))


def _parse_state(state: str | None, **flags: bool) -> ItemState | None:
    """Return the state that is asked for: pending if none is, None for all of them."""
    names = [name for name, is_set in flags.items() if is_set] + ([state] if state is not None else [])
    if len(names) > 1:
        raise Invalid("give only one of --all, --delivered, --expired, --dead, --snoozed and --state")
    if flags["every"]:
        return None
    return ItemState.parse(names[0]) if names and names != ["snoozed"] else ItemState.PENDING


def _format_past(text: str | None, option: str, now: Instant) -> str | None:
    """Return the time of an option as a request has it; it has no times before 1970."""
    return times.format_rfc3339(max(0, inputs.parse_past(text, option, now))) if text is not None else None


def _print_table(items: Sequence[event_api.ItemView], *, now: Instant, include_recipient: bool) -> None:
    """Print a row for each item. The column of priorities is left out if all are normal."""
    include_priority = any(item.priority != Priority.NORMAL for item in items)
    headings = ["EVENT", "STATE", "FOR", "AGE", "PRIORITY", "WHAT"]
    columns = [True, True, include_recipient, True, include_priority, True]
    rows = [
        [
            item.event_id,
            item.state.value,
            item.recipient,
            output.age(times.parse_instant(item.created_at), now),
            Priority(item.priority).name.lower(),
            render.render_event(item.to_event()),
        ]
        for item in items
    ]
    output.table(list(compress(headings, columns)), [list(compress(row, columns)) for row in rows])


def _describe_recipient(recipient: event_api.RecipientView) -> str:
    parts = [recipient.state.value]
    if recipient.ended_at is not None:
        parts.append(recipient.ended_at)
    if recipient.receipt is not None:
        parts.append(f"by {recipient.receipt.owner} ({recipient.receipt.kind})")
    if recipient.attempts:
        parts.append(f"after {recipient.attempts} failures")
    if recipient.hidden_until:
        parts.append(f"snoozed until {recipient.hidden_until}")
    if recipient.awaits:
        parts.append(f"or until {recipient.awaits} comes")
    if recipient.seen_at is not None:
        parts.append(f"seen {recipient.seen_at}")
    return ", ".join(parts)
