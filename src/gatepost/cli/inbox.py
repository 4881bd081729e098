"""`gatepost inbox`: what waits, what comes, what has become of it, and what to do about it."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated

from gatepost.actions import directory, inbox_feed, push
from gatepost.actions import inbox as verbs
from gatepost.cli import here, output, words
from gatepost.cli.drain import drain
from gatepost.cli.here import EventId, Json, Limit, To
from gatepost.cli.mend import discard, done, replay, shown
from gatepost.cli.plain import Noun, flag, option
from gatepost.cli.push import push_command
from gatepost.core import render, wire
from gatepost.core.event import EventType, Item, ItemState, Posted, Priority, parse_body
from gatepost.core.times import Instant, format_rfc3339
from gatepost.errors import Invalid

app = Noun(help="Push, read and mend what is in inboxes.")
app.verb("push")(push_command)

#: the most that a page of HTTP has
_PAGE = 1_000
#: items that are looked for at once
_ARRIVALS = 200


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
    wanted = _state(state, every=every, delivered=delivered, expired=expired, dead=dead)
    most = words.number(limit, "--limit", most=100_000)
    kind = EventType.parse(type) if type is not None else None
    about = push.parse_ref(ref) if ref is not None else None
    with here.opened() as place:
        whose = None if to in ("*", "ALL") else place.whose(to)
        now = place.now()
        found = place.all(
            verbs.page,
            lambda far: far.page,
            whose,
            state=wanted,
            type=kind,
            sender=sender,
            ref=about,
            since=words.moment(since, "--since", now) if since is not None else None,
            until=words.moment(older, "--older", now) if older is not None else None,
            limit=most + 1,
        )
    shown = found[:most]
    if json:
        output.document([wire.write_item(item) for item in shown])
    elif shown:
        _table(shown, now, whose is None)
    else:
        output.talk("nothing there" if whose is None else f"nothing there for {whose!r}")
    if len(found) > most:
        output.talk(f"there are more than {most}: raise --limit, or narrow it with --since, --older or --type")


@app.verb("peek")
def peek(to: To = None, limit: Limit = "20", json: Json = False) -> None:
    """
    Show what waits, as a drain would; nothing changes.

    Example:
      gatepost inbox peek --to analyst -n 3
    """
    most = words.number(limit, "--limit", most=1_000)
    with here.opened() as place:
        whose = place.whose(to)
        now = place.now()
        found = place.do(
            lambda near: near.query(verbs.peek, whose, limit=most + 1),
            lambda far: far.peek(whose, limit=min(most + 1, _PAGE)),
        )
    shown = found[:most]
    if json:
        output.document([wire.write_item(item) for item in shown])
    elif shown:
        output.line_out(render.render_batch(shown, at=now))
    else:
        output.talk(f"nothing waits for {whose!r}")
    if len(found) > most:
        output.talk("more is waiting: raise --limit to see it")


@app.verb("show")
def show(event: EventId, json: Json = False) -> None:
    """
    Show all of an event, and where it stands with each recipient.

    Example:
      gatepost inbox show evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with here.opened() as place:
        found = shown(place, event)
    if json:
        output.document(wire.write_items(found))
    else:
        _details(found)


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
    with here.opened() as place:
        whose = place.whose(to)
        ready = f"watching the inbox of {whose!r}; Ctrl-C stops it"
        for item in _arriving(place, whose, lambda: output.talk(ready)):
            output.live(wire.write_item(item) if json else render.render_event(item.event))


app.verb("replay")(replay)
app.verb("discard")(discard)
app.verb("done")(done)


def _arriving(place: here.Here, name: str, ready: Callable[[], None]) -> Iterator[Item]:
    """New items as they come, for ever; `ready` is called once nothing more can be missed."""
    if place.far is not None:
        yield from place.far.each(lambda far, once: far.watch_inbox(name, ready=once), ready)
        return
    position = place.near.query(inbox_feed.read_end)
    place.near.query(directory.find, name)
    ready()
    while True:
        page = place.near.query(inbox_feed.read_page, name, after=position, limit=_ARRIVALS)
        position = page.position
        yield from (item for item, _ in page.entries)
        if len(page.entries) < _ARRIVALS:
            time.sleep(here.PAUSE)


def _state(state: str | None, **flags: bool) -> ItemState | None:
    """The state asked for: pending without a word, None for all of them."""
    asked = [name for name, given in flags.items() if given] + ([state] if state is not None else [])
    if len(asked) > 1:
        raise Invalid("give only one of --all, --delivered, --expired, --dead and --state")
    if flags["every"]:
        return None
    return ItemState.parse(asked[0]) if asked else ItemState.PENDING


def _table(items: list[Item], now: Instant, whose: bool) -> None:
    """The items, one a row; a column that would say the same of all of them is left out."""
    urgent = any(item.event.priority is not Priority.NORMAL for item in items)
    headings = ["EVENT", "STATE", *(["FOR"] if whose else []), "AGE", *(["PRIORITY"] if urgent else []), "WHAT"]
    rows = [
        [
            item.event.id,
            item.state.value,
            *([item.recipient] if whose else []),
            output.age(item.event.created_at, now),
            *([item.event.priority.name.lower()] if urgent else []),
            render.render_event(item.event),
        ]
        for item in items
    ]
    output.table(headings, rows)


def _details(items: list[Item]) -> None:
    event = items[0].event
    sender = f"{event.sender.name} ({event.sender.display}, {event.sender.kind})" if event.sender else None
    said = parse_body(event)
    if isinstance(said, Posted) and said.outsider is not None:
        sender = render.render_outsider(said.outsider)
    output.facts(
        ("event", event.id),
        ("type", event.type),
        ("priority", event.priority.name.lower()),
        ("from", sender),
        ("source", event.source),
        ("subject", event.subject),
        ("about", event.ref),
        ("created", format_rfc3339(event.created_at)),
        ("occurred", format_rfc3339(event.source_time) if event.source_time is not None else None),
        ("expires", format_rfc3339(event.expires_at) if event.expires_at is not None else None),
        ("dedup key", event.key),
        ("trust", event.trust),
        ("hops", event.hops or None),
        *((f"for {item.recipient}", _standing(item)) for item in items),
    )
    if event.content:
        output.line_out("\ncontent:\n" + output.prose(event.content))
    document = wire.write_event(event)
    if document["data"] is not None:
        data = document["data"] | document["extra"] if "extra" in document else document["data"]
        output.line_out("\ndata:\n" + output.prose(output.pretty(data)))


def _standing(item: Item) -> str:
    words = [item.state.value]
    if item.ended_at is not None:
        words.append(format_rfc3339(item.ended_at))
    if item.receipt is not None:
        words.append(f"by {item.receipt.owner} ({item.receipt.kind})")
    if item.attempts:
        words.append(f"after {item.attempts} failures")
    if item.seen_at is not None:
        words.append(f"seen {format_rfc3339(item.seen_at)}")
    return ", ".join(words)
