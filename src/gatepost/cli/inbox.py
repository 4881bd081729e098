"""`gatepost inbox`: list, show and watch the items of inboxes; push, drain and the rest are in files of their own."""

from collections.abc import Sequence
from itertools import compress
from typing import Annotated, Any

import msgspec

from gatepost.api.events import EventDetailView, ItemView, RecipientView, ShowEvent
from gatepost.api.inbox import ListInbox, ListItems, PeekInbox
from gatepost.api.streams import WatchInbox
from gatepost.cli import identity, output, words
from gatepost.cli.connect import Connection, connect
from gatepost.cli.drain import drain
from gatepost.cli.mend import discard, done, replay
from gatepost.cli.plain import EventId, Json, Limit, Noun, To, flag, option
from gatepost.cli.push import push_command
from gatepost.core import ids, render, times
from gatepost.core.address import check_entity_address
from gatepost.core.event import EventType, Item, ItemState, Posted, Priority, Ref, parse_body
from gatepost.core.times import Instant
from gatepost.errors import Invalid

app = Noun(help="Push, read and mend what is in inboxes.")
app.verb("push")(push_command)


@app.verb("list")
def list_(
    to: To = None,
    every: Annotated[bool, flag("--all", "Whatever its state.")] = False,
    delivered: Annotated[bool, flag("--delivered", "Only what was delivered.")] = False,
    expired: Annotated[bool, flag("--expired", "Only what ran out of time.")] = False,
    dead: Annotated[bool, flag("--dead", "Only what failed too often.")] = False,
    state: Annotated[str | None, option("--state", "STATE", f"One of {', '.join(ItemState)}.")] = None,
    type: Annotated[str | None, option("--type", "TYPE", "Only events of this type.")] = None,
    sender: Annotated[str | None, option("--from", "NAME", "Only what this one sent.")] = None,
    ref: Annotated[str | None, option("--ref", "TYPE:ID", "Only what is about this.")] = None,
    since: Annotated[str | None, option("--since", "2h", "Only what came since: how long ago, or a time.")] = None,
    older: Annotated[str | None, option("--older", "1d", "Only what came before: how long ago, or a time.")] = None,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List what is in an inbox, in order of arrival.

    What is pending is listed, unless another state is asked for. --to '*' lists all inboxes.

    Examples:
      gatepost inbox list --to analyst
      gatepost inbox list --to '*' --dead --json
      gatepost inbox list --to analyst --all --type mail --since 2h
    """
    count = words.number(limit, "--limit", most=100_000)
    filters: dict[str, Any] = {
        "state": _parse_state(state, every=every, delivered=delivered, expired=expired, dead=dead),
        "type": EventType.parse(type) if type is not None else None,
        "sender": sender,
        "ref": str(Ref.parse(ref)) if ref is not None else None,
    }
    with connect() as connection:
        recipient = None if to in ("*", "ALL") else _choose_recipient(to, connection)
        now = connection.read_clock()
        filters |= {"since": _format_moment(since, "--since", now), "until": _format_moment(older, "--older", now)}
        request = ListItems(**filters) if recipient is None else ListInbox(name=recipient, **filters)
        items = connection.list_all(request, count + 1)
    shown_items = items[:count]
    if json:
        output.document(msgspec.to_builtins(shown_items))
    elif shown_items:
        _print_table(shown_items, now, include_recipient=recipient is None)
    else:
        output.talk("nothing there" if recipient is None else f"nothing there for {recipient!r}")
    if len(items) > count:
        output.talk(f"there are more than {count}: raise --limit, or narrow it with --since, --older or --type")


@app.verb("peek")
def peek(to: To = None, limit: Limit = "20", json: Json = False) -> None:
    """
    Show what waits, as a drain would; nothing changes.

    Example:
      gatepost inbox peek --to analyst -n 3
    """
    count = words.number(limit, "--limit", most=1_000)
    with connect() as connection:
        recipient = _choose_recipient(to, connection)
        now = connection.read_clock()
        items = connection.list_all(PeekInbox(name=recipient), count + 1)
    shown_items = items[:count]
    if json:
        output.document(msgspec.to_builtins(shown_items))
    elif shown_items:
        records = [Item(event=item.to_event(), recipient=item.recipient) for item in shown_items]
        output.line_out(render.render_batch(records, at=now))
    else:
        output.talk(f"nothing waits for {recipient!r}")
    if len(items) > count:
        output.talk("more is waiting: raise --limit to see it")


@app.verb("show")
def show(event: EventId, json: Json = False) -> None:
    """
    Show all of an event, and where it stands with each recipient.

    Example:
      gatepost inbox show evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        view = connection.send(ShowEvent(id=ids.check("evt", event)))
    if json:
        output.document(msgspec.to_builtins(view))
    else:
        _print_details(view)


app.verb("drain")(drain)


@app.verb("watch")
def watch(to: To = None, json: Json = False) -> None:
    """
    Print what comes into an inbox as it comes, one line an event, until Ctrl-C. Nothing is marked as delivered.

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


app.verb("replay")(replay)
app.verb("discard")(discard)
app.verb("done")(done)


def _choose_recipient(to: str | None, connection: Connection) -> str:
    return check_entity_address(identity.choose_recipient(to, connection.configuration))


def _parse_state(state: str | None, **flags: bool) -> ItemState | None:
    """Return the state that is asked for: pending if none is, None for all of them."""
    names = [name for name, is_set in flags.items() if is_set] + ([state] if state is not None else [])
    if len(names) > 1:
        raise Invalid("give only one of --all, --delivered, --expired, --dead and --state")
    if flags["every"]:
        return None
    return ItemState.parse(names[0]) if names else ItemState.PENDING


def _format_moment(text: str | None, option: str, now: Instant) -> str | None:
    """Return the time of an option as a request has it; it has no times before 1970."""
    return times.format_rfc3339(max(0, words.moment(text, option, now))) if text is not None else None


def _print_table(items: Sequence[ItemView], now: Instant, *, include_recipient: bool) -> None:
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


def _print_details(view: EventDetailView) -> None:
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
        output.line_out("\ncontent:\n" + output.prose(view.content))
    if view.data is not None:
        data = view.data | view.extra if view.extra else view.data
        output.line_out("\ndata:\n" + output.prose(output.pretty(data)))


def _describe_recipient(recipient: RecipientView) -> str:
    parts = [recipient.state.value]
    if recipient.ended_at is not None:
        parts.append(recipient.ended_at)
    if recipient.receipt is not None:
        parts.append(f"by {recipient.receipt.owner} ({recipient.receipt.kind})")
    if recipient.attempts:
        parts.append(f"after {recipient.attempts} failures")
    if recipient.seen_at is not None:
        parts.append(f"seen {recipient.seen_at}")
    return ", ".join(parts)
