"""
How something gets into inboxes.

`push_all` takes many wishes and says of each what it came to: an event and, for every recipient, whether it is new, or
an error that concerns that wish alone. It costs the same few statements however many there are:

    resolve the names -> take arrivals -> check each -> items -> events -> counts and rings

Items go in before events, because only they can tell a repeat: the unique key (recipient, dedup key) refuses it. An
event whose every item was refused is not stored at all, so a repeat changes nothing.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gatepost.actions import directory
from gatepost.core import address, chain, dedup, line, strict
from gatepost.core.address import Address, Everyone, Named, Team
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Delivery, Event, Priority, Push, Pushed, Ref, Sender, Trust, Type
from gatepost.core.instants import DAY, LAST, LONGEST
from gatepost.core.limits import Limits
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError, Invalid, LimitReached, Refused, TooLarge, UnknownAddress
from gatepost.ports import Reader, RetryTransaction, Transaction, batched, weigh_by
from gatepost.tables import broadcasts, entities, events, items

#: how the keys begin of what the house itself warns of
ALERTS: Final = "alert:gatepost:"
#: how many pushes to one recipient a push to a team counts for; how large the team is, nobody knows yet
TEAM_WEIGHT: Final = 50
#: items of the pushes that come together
MAX_BATCH_ITEMS: Final = 10_000
#: arrays and objects of data within each other; readers stand deeper in a stack than we, and must still get through
_DEEPEST: Final = 128
#: a type and an id, each
LONGEST_REFERENCE: Final = 256
_LONGEST: Final = {
    "source": 200,
    "subject": 1_000,
    "dedup key": dedup.LONGEST,
    "reference": LONGEST_REFERENCE,
    "route": 256,
}

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

Outcome = Pushed | GatepostError


@dataclass(slots=True)
class Draft:
    """A wish that was found good: the event it would be, and for whom."""

    event: Event
    data: str | None
    sender: Entity | None
    recipients: list[Entity]
    size: int
    new: set[int] = field(default_factory=set)


def _weigh(wish: Push) -> int:
    """What a push adds to a transaction that it shares with others: one for a team writes an item for each member."""
    return TEAM_WEIGHT if address.is_team(wish.to) else 1


@weigh_by(_weigh)
@batched
def push_all(tx: Transaction, wishes: Sequence[Push]) -> list[Outcome]:
    """Accept what can be accepted; return an outcome for each wish."""
    if not wishes:
        return []
    drafts = _drafted(tx, wishes)
    _store(tx, drafts)
    _alert(tx, drafts)
    return [_pushed(tx, draft) if isinstance(draft, Draft) else draft for draft in drafts]


def check_batch(tx: Reader, wishes: Sequence[Push]) -> None:
    """
    Refuse a batch that would make more than 10,000 items: whoever else writes would wait for it. One event alone is
    exempt, however many it is for. Everybody who is there is counted, repeats and the sender too.
    """
    addresses = [where for where in map(_parsed, (wish.to for wish in wishes)) if not isinstance(where, GatepostError)]
    teams = {where for where in addresses if isinstance(where, Team)}
    if len(wishes) < 2 or not teams:
        return  # at most one item each, and doors limit how many there are
    sizes: dict[Address, int] = {team: entities.count_team(tx, team.team, team.role) for team in teams}
    count = sum(sizes.get(where, 1) for where in addresses)
    if count > MAX_BATCH_ITEMS:
        raise TooLarge(
            f"the batch would make {count} items, over the limit of {MAX_BATCH_ITEMS}", hint="send smaller batches"
        )


def push(tx: Transaction, wish: Push) -> Pushed:
    """Accept one wish, or raise why not."""
    [outcome] = push_all(tx, [wish])
    if isinstance(outcome, GatepostError):
        raise outcome
    return outcome


def fan_out(tx: Transaction, wish: Push, sender: Entity | None, recipients: Sequence[Entity]) -> Pushed:
    """Accept one wish of this sender, None for the house, for these recipients: one event, an item each."""
    known: dict[Address, list[Entity]] = {Named(sender.name): [sender]} if sender is not None else {}
    [wish] = _chained(tx, [wish], known)
    [arrival] = events.take_arrivals(tx, 1)
    draft = drawn(tx, wish, arrival, known)
    draft.recipients = [one for one in recipients if one.live and one != draft.sender]
    _store(tx, [draft])
    _alert(tx, [draft])
    return _pushed(tx, draft)


def repeat(tx: Transaction, wish: Push, recipient: Entity) -> Pushed:
    """Accept once more, without a key, what was accepted before; also when its sender has retired since."""
    [arrival] = events.take_arrivals(tx, 1)
    draft = drawn(tx, wish, arrival, directory.resolve(tx, _senders([wish])), again=True)
    draft.recipients = [recipient]
    _store(tx, [draft])
    return _pushed(tx, draft)


def warning(
    to: str, content: str, about: str, *, source: str = "gatepost", ref: Ref | None = None, hops: int = 0
) -> Push:
    """What the house warns somebody of, once for whatever it is `about`."""
    return Push(
        to=to,
        type=Type.ALERT,
        source=source,
        content=content,
        priority=Priority.HIGH,
        key=f"{ALERTS}{about}",
        ref=ref,
        hops=hops,
        trust=Trust.OWNER,
    )


def alert(tx: Transaction, wishes: Sequence[Push]) -> None:
    """Tell owners that something is wrong; the administrator, where an owner is retired."""
    if not wishes:
        return
    drafts = _drafted(tx, wishes)
    unheard = [wish for wish, draft in zip(wishes, drafts, strict=True) if isinstance(draft, Refused)]
    if unheard:
        drafts += _drafted(tx, [replace(wish, to=directory.ADMINISTRATOR) for wish in unheard])
    _store(tx, drafts)
    _alert(tx, drafts)


def _drafted(tx: Transaction, wishes: Sequence[Push]) -> list[Draft | Outcome]:
    addresses = [_parsed(wish.to) for wish in wishes]
    good = [one for one in addresses if not isinstance(one, GatepostError)]
    known = directory.resolve(tx, [*good, *_senders(wishes)])
    wishes = _chained(tx, wishes, known)
    arrivals = events.take_arrivals(tx, len(wishes))
    drafts: list[Draft | Outcome] = []
    for wish, where, arrival in zip(wishes, addresses, arrivals, strict=True):
        try:
            if isinstance(where, GatepostError):
                raise where
            draft = drawn(tx, wish, arrival, known)
            if isinstance(where, Everyone):
                drafts.append(_broadcast(tx, draft))
            else:
                draft.recipients = _recipients(tx, where, draft.sender, known)
                drafts.append(draft)
        except GatepostError as error:
            drafts.append(error)
    return drafts


def _parsed(text: str) -> Address | GatepostError:
    try:
        return address.parse(text)
    except GatepostError as error:
        return error


def _senders(wishes: Sequence[Push]) -> list[Address]:
    senders = {wish.sender for wish in wishes if wish.sender}
    return [one for one in map(_parsed, senders) if isinstance(one, Named)]


def next_hops(tx: Reader, sender: Entity | None) -> int:
    """Return the hops of what somebody sends next; only an agent continues a chain."""
    return _count_hops(tx, [sender]).get(sender.number, 0) if sender is not None else 0


def _count_hops(tx: Reader, senders: Iterable[Entity]) -> dict[int, int]:
    """Return the hops of what each agent among these senders sends next, by its number, with one query for all."""
    agents = [sender.number for sender in senders if sender.kind is Kind.AGENT]
    if not agents:
        return {}
    since, until = tx.now - chain.PAUSE, tx.now + chain.PAUSE
    longest = items.longest_chains(tx, agents, since=since, until=until, limit=chain.MAX_ITEMS)
    return {agent: chain.next_hops(hops) for agent, hops in longest.items()}


def _chained(tx: Transaction, wishes: Sequence[Push], known: Mapping[Address, list[Entity]]) -> Sequence[Push]:
    """Let what agents push continue their chains; hops that a wish names count only if they are more."""
    found = {wish.sender: known.get(Named(wish.sender)) for wish in wishes if wish.sender}
    senders = {name: entities[0] for name, entities in found.items() if entities}
    hops = _count_hops(tx, senders.values())
    if not any(hops.values()):
        return wishes
    least: dict[str | None, int] = {name: hops.get(sender.number, 0) for name, sender in senders.items()}
    return [
        replace(wish, hops=least[wish.sender]) if 0 <= wish.hops < least.get(wish.sender, 0) else wish
        for wish in wishes
    ]


def drawn(
    tx: Transaction, wish: Push, arrival: int, known: Mapping[Address, list[Entity]], *, again: bool = False
) -> Draft:
    """Check a wish and make an event of it; what was accepted before (`again`) has no key here."""
    sender = None
    if wish.sender:
        found = known.get(Named(wish.sender))
        if not found:
            address.parse(wish.sender)
            raise directory.unknown(tx, wish.sender)
        [sender] = found
        if not sender.live and not again:
            raise Refused(f"{sender.name!r} is retired and sends nothing")
    data = checked(wish, tx.limits)
    event = Event(
        id=tx.new_id("evt"),
        type=wish.type,
        source=wish.source,
        sender=Sender(sender.name, sender.display, sender.kind) if sender else None,
        subject=wish.subject,
        content=wish.content,
        data=wish.data,
        priority=wish.priority,
        key=None if again else _stored_key(wish),
        created_at=tx.now,
        source_time=wish.occurred_at,
        expires_at=tx.now + wish.ttl if wish.ttl is not None else wish.expires_at,
        ref=wish.ref,
        route=wish.route,
        hops=wish.hops,
        trust=wish.trust,
        wakes=wish.priority is not Priority.FYI and wish.hops <= tx.limits.hops,
        arrival=arrival,
    )
    return Draft(event, data, sender, [], line.measure(event))


def _stored_key(wish: Push) -> str | None:
    """Return the key by which a repeat is recognised: of an alert without one, what the alert says."""
    key = dedup.name_alert(wish) if wish.key is None and wish.type is Type.ALERT else wish.key
    return f"{wish.key_prefix}{key}" if key is not None else None


def checked(wish: Push, limits: Limits) -> str | None:
    """Refuse what is too large or cannot be stored; return the data as JSON."""
    if len(wish.content) * 4 > limits.content and len(_encoded("content", wish.content)) > limits.content:
        raise TooLarge(
            f"the content is {len(_encoded('content', wish.content))} bytes, over the limit of {limits.content}",
            hint="send a reference to it instead",
        )
    _storable("content", wish.content)
    if not wish.source:
        raise Invalid("an event needs a source")
    for what, text in _short_texts(wish):
        _short(what, text)
    if wish.key is not None and not wish.key:
        raise Invalid("the dedup key is empty", hint="leave it out for something that is never a repeat")
    if wish.key is not None and wish.key_prefix not in (dedup.REDIS, dedup.NATS):
        dedup.check(wish.key)
    if not 0 <= wish.hops <= 10_000:
        raise Invalid(f"{wish.hops} is not a number of hops")
    if wish.ttl is not None and not 0 < wish.ttl <= LONGEST:
        raise Invalid(f"{wish.ttl} is not a time to live", hint="it must be over zero and at most a hundred years")
    if wish.occurred_at is not None and not 0 <= wish.occurred_at <= LAST:
        raise Invalid(f"{wish.occurred_at} is not a time", hint="it must be in the years 1970 to 9999")
    if wish.ref is not None and not (wish.ref.type and wish.ref.id):
        raise Invalid(f"{str(wish.ref)!r} is not a reference", hint="it needs a type and an id")
    if wish.route is not None and not (wish.route.channel and wish.route.session):
        raise Invalid("a route needs a channel and a session")
    return _json(wish, limits) if wish.data is not None else None


def _short_texts(wish: Push) -> Iterable[tuple[str, str]]:
    yield "source", wish.source
    if wish.subject is not None:
        yield "subject", wish.subject
    if wish.key is not None:
        yield "dedup key", wish.key
    if wish.ref is not None:
        yield from (("reference", wish.ref.type), ("reference", wish.ref.id))
    if wish.route is not None:
        yield from (("route", wish.route.channel), ("route", wish.route.session))


def about(text: str) -> Ref:
    """Read a reference by which events are looked for; it is one that an event can have."""
    ref = Ref.parse(text)
    for part in (ref.type, ref.id):
        _short("reference", part)
    return ref


def _short(what: str, text: str) -> None:
    _storable(what, text)
    if len(text) > _LONGEST[what]:
        raise TooLarge(f"the {what} has {len(text)} characters, over the limit of {_LONGEST[what]}")


def _storable(what: str, text: str) -> None:
    if "\x00" in text:
        raise Invalid(f"the {what} has a NUL character in it", hint="remove it")
    if not text.isascii():
        _encoded(what, text)


def _encoded(what: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the {what} is not valid Unicode: it has half of a surrogate pair in it") from None


def _json(wish: Push, limits: Limits) -> str:
    try:
        text = _encode(wish.data)
    except (ValueError, TypeError, RecursionError):
        raise Invalid("the data is not JSON", hint="no NaN, no infinity, nothing nested very deep") from None
    if len(text) * 4 > limits.data and len(_encoded("data", text)) > limits.data:
        raise TooLarge(
            f"the data is {len(_encoded('data', text))} bytes as JSON, over the limit of {limits.data}",
            hint="send a reference to it instead",
        )
    if strict.deeper(wish.data, _DEEPEST, text.count("[") + text.count("{")):
        raise Invalid(f"the data is nested over {_DEEPEST} deep", hint="send it flatter")
    if "\\u0000" in text and "\\u0000" in text.replace("\\\\", ""):
        raise Invalid("the data has a NUL character in it", hint="remove it")
    _encoded("data", text)
    return text


def _recipients(
    tx: Transaction, where: Named | Team, sender: Entity | None, known: Mapping[Address, list[Entity]]
) -> list[Entity]:
    match where:
        case Named(name):
            found = known.get(where)
            if not found:
                raise directory.unknown(tx, name)
            if not found[0].live:
                raise Refused(f"{found[0].name!r} is retired and receives nothing")
            return found
        case Team():
            everybody = known.get(where)
            if not everybody or not any(one.live for one in everybody):
                raise UnknownAddress(
                    f"nobody is in {str(where)!r}", hint="`gatepost agent list` shows who is in which team"
                )
            return [one for one in everybody if one.live and one != sender]


def _broadcast(tx: Transaction, draft: Draft) -> Pushed:
    """Store a broadcast: one row, which each agent takes when it next looks."""
    event = draft.event
    key = event.key or f"broadcast:{event.id}"
    number = broadcasts.number(tx, by=1)
    if event.key and (first := broadcasts.keyed(tx, key)):
        broadcasts.number(tx, by=-1)
        return Pushed(first[1], broadcast=first[0], duplicate=True)
    limit, sender = tx.limits.broadcasts, draft.sender
    if sender is not None and broadcasts.count_since(tx, sender.number, tx.now - DAY) >= limit:
        broadcasts.number(tx, by=-1)
        raise LimitReached(
            f"{sender.name!r} has made {limit} broadcasts in the last 24 hours, the limit for one entity",
            hint="push to a team or to those whom it concerns, or raise limits.broadcasts",
        )
    event = replace(event, key=key)
    events.insert(tx, [(event, draft.sender.number if draft.sender else None, draft.data)])
    broadcasts.insert(tx, number, _item(draft, event, 0), draft.sender.number if draft.sender else None)
    tx.after_commit(Ring("*", event.type, event, event.wakes))
    if event.hops > tx.limits.hops:
        # Agents take it one by one, so their owners are not told each: the one who answers for all of them is.
        alert(tx, [_too_long(event, directory.ADMINISTRATOR, "*")])
    return Pushed(event.id, broadcast=number)


def _store(tx: Transaction, outcomes: Sequence[Draft | Outcome]) -> None:
    drafts = [draft for draft in outcomes if isinstance(draft, Draft) and draft.recipients]
    if not drafts:
        return
    rows = [_item(draft, draft.event, recipient.number) for draft in drafts for recipient in draft.recipients]
    # In one order everywhere, so that two writers with the same keys wait for each other instead of deadlocking.
    new = items.insert(tx, sorted(rows, key=lambda row: (row[0], row[2] or "")))
    for draft in drafts:
        draft.new = {one.number for one in draft.recipients if (draft.event.arrival, one.number) in new}
    stored = [draft for draft in drafts if draft.new]
    if stored:
        events.insert(
            tx, [(draft.event, draft.sender.number if draft.sender else None, draft.data) for draft in stored]
        )
    for draft in stored:
        for recipient in draft.recipients:
            if recipient.number in draft.new:
                tx.add_to_tally(recipient.number, "accepted", 1)
                tx.after_commit(Ring(recipient.name, draft.event.type, draft.event, draft.event.wakes))


def _item(draft: Draft, event: Event, recipient: int) -> items.NewItem:
    person = draft.sender is not None and draft.sender.kind is Kind.HUMAN
    source = draft.sender.name if draft.sender else event.source
    return (
        recipient,
        event.arrival,
        event.key,
        event.priority.value,
        person,
        source,
        event.expires_at,
        event.wakes,
        draft.size,
    )


def _alert(tx: Transaction, outcomes: Sequence[Draft | Outcome]) -> None:
    """Tell the owner of each recipient of an event past the limit of hops, once an hour for each sender."""
    wishes = [
        _too_long(draft.event, _other(recipient), recipient.name)
        for draft in outcomes
        if isinstance(draft, Draft) and draft.event.hops > tx.limits.hops
        for recipient in draft.recipients
        if recipient.number in draft.new and recipient.owner is not None and recipient.name != directory.ADMINISTRATOR
    ]
    alert(tx, wishes)


def _other(entity: Entity) -> str:
    """Who answers for an entity: its owner, or the administrator for one that is its own."""
    return entity.owner if entity.owner not in (None, entity.name) else directory.ADMINISTRATOR


def _too_long(event: Event, to: str, recipient: str) -> Push:
    sender = event.sender.name if event.sender else None
    origin = f" from {sender!r}" if sender else ""
    reached = "every agent" if recipient == "*" else repr(recipient)
    content = (
        f"a chain of {event.hops} events{origin} reached {reached}:"
        f" the last one was stored and woke nobody (event {event.id})"
    )
    return warning(to, content, chain.alert_topic(sender, recipient, event.created_at))


def _pushed(tx: Transaction, draft: Draft) -> Pushed:
    repeated = [one.number for one in draft.recipients if one.number not in draft.new]
    first = items.keyed(tx, repeated, draft.event.key) if repeated and draft.event.key is not None else {}
    if len(first) < len(repeated):
        raise RetryTransaction(f"the first event with the key {draft.event.key!r} was just removed")
    deliveries = tuple(
        Delivery(one.name, first.get(one.number, draft.event.id), duplicate=one.number not in draft.new)
        for one in draft.recipients
    )
    return Pushed(draft.event.id if draft.new or not deliveries else deliveries[0].event, deliveries)
