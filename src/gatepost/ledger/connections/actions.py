"""
Connections with agents outside, on a public ledger.

An agent outside asks on the inbound topic of an entity; its owner is told, and an administrator accepts or refuses. An
entity asks in the same way. What has to be posted for that is a job (`ledger/connections/background.py`); here is what
the store keeps of it.

An accepted peer is an entity of kind service, with its account as alias. Mail to it goes to the topic of the
connection, and only the entity that has the connection may write to it. What it says has the trust `external`, a
priority of normal at most, and a limit for each hour.
"""

import re
from typing import Final

from gatepost.core.ids import check as check_id
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import check_label
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.inbox.event import EventType, Priority, Push, Ref, Trust
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import topic_rows as topics
from gatepost.ledger.connections import rows as connections
from gatepost.ledger.connections.api import MAX_NOTE_LENGTH, Connection, ConnectionState
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind
from gatepost.mail import ledger_delivery
from gatepost.mail.ledger_delivery import FindOutsider

#: the kind of the jobs that post what a connection needs; the payload is its id
CONNECTION_JOB: Final = "ledger.connection"
#: requests to one entity that wait for an answer
MAX_REQUESTS: Final = 20
#: characters of the name, and of the display name, that are taken from a profile
_MAX_STEM_LENGTH: Final = 30
_MAX_TITLE_LENGTH: Final = 100
#: how long an account whose request was refused is not heard again
REFUSAL_LENGTH: Final = DAY
_HINT: Final = "`gatepost ledger connections` lists them"


def list_page(
    tx: Reader,
    *,
    state: ConnectionState | None,
    viewer: str | None,
    is_incoming: bool | None = None,
    after: int = 0,
    limit: int = 100,
) -> list[Connection]:
    """
    Return connections in the order in which they were asked for; to an entity only its own. Of an incoming one, the
    agent outside has asked.
    """
    network = ledger_delivery.find_public_network(tx)
    entity = directory.find(tx, viewer).name if viewer is not None else None
    filters = {"network": network, "state": state, "entity": entity, "is_incoming": is_incoming}
    return connections.CONNECTION.fetch_page(tx, "ledger/connections/list_page", **filters, after=after, limit=limit)


def find(tx: Reader, id: str) -> Connection:
    connection = connections.find(tx, check_id("con", id))
    if connection is None:
        raise NotFound(f"there is no connection {id!r}", hint=_HINT)
    return connection


def find_entity(tx: Reader, connection: Connection) -> Entity:
    """Return the entity whose connection it is."""
    return directory.find(tx, connection.entity)


def connect(
    tx: Transaction, peer_account: LedgerId, peer_inbound: LedgerId | None, *, by: str, note: str | None = None
) -> Connection:
    """Ask an agent outside for a connection. Its inbound topic is looked up in its profile if it is not given."""
    network, entity = _require_public_network(tx), directory.find_live(tx, by)
    if topics.find_account_owner(tx, network, peer_account) is not None:
        raise Refused(f"{peer_account} is an account of this Gatepost", hint="send mail to its owner")
    pending = connections.find_pending(tx, network, entity.number, str(peer_account))
    if pending is not None:
        raise Conflict(f"there is a connection of {entity.name!r} with {peer_account} already: {pending.id}")
    id = tx.new_id("con")
    tx.execute_later(
        "ledger/connections/insert",
        id=id,
        network=network,
        entity=entity.number,
        peer_account=str(peer_account),
        peer_inbound=str(peer_inbound) if peer_inbound else None,
        is_incoming=False,
        request=None,
        note=check_label("a note", note, MAX_NOTE_LENGTH) if note else None,
        now=tx.now,
    )
    jobs.add(tx, CONNECTION_JOB, id)
    return find(tx, id)


def accept(tx: Transaction, id: str) -> Connection:
    """Accept a request; the connection is open when its topic is made."""
    return _answer(tx, id, ConnectionState.ACCEPTING)


def refuse(tx: Transaction, id: str) -> Connection:
    """Refuse a request. Nothing is posted: the standard has no message for it."""
    return _answer(tx, id, ConnectionState.REFUSED)


def _answer(tx: Transaction, id: str, state: ConnectionState) -> Connection:
    _require_public_network(tx)
    connection = find(tx, id)
    if not connection.is_incoming:
        raise Refused(f"{connection.entity!r} has asked for this connection itself", hint="the other end answers")
    if state is ConnectionState.ACCEPTING:
        directory.find_live(tx, connection.entity)
    if not connections.set_state(tx, connection.number, state, before=[ConnectionState.REQUESTED]):
        raise Conflict(f"the connection {id!r} is {connection.state} already")
    if state is ConnectionState.ACCEPTING:
        jobs.add(tx, CONNECTION_JOB, id)
    return find(tx, id)


def close(tx: Transaction, id: str) -> Connection:
    """End a connection; a request that was not answered is withdrawn."""
    _require_public_network(tx)
    connection = find(tx, id)
    if connection.state is ConnectionState.REQUESTED and not connection.is_incoming:
        connections.set_state(tx, connection.number, ConnectionState.CLOSED, before=[ConnectionState.REQUESTED])
    elif connections.set_state(tx, connection.number, ConnectionState.CLOSING, before=[ConnectionState.OPEN]):
        jobs.add(tx, CONNECTION_JOB, id)
    else:
        hint = "refuse it instead" if connection.state is ConnectionState.REQUESTED else _HINT
        raise Conflict(f"the connection {id!r} is {connection.state}", hint=hint)
    return find(tx, id)


def find_outsider(tx: Reader, question: FindOutsider) -> str | None:
    """Return the name of the agent outside that mail goes to; None if the address is not of one."""
    target, author = question.target, question.author
    [*recipients] = directory.resolve(tx, [target]).get(target, ())
    if (
        not recipients
        or recipients[0].kind is not EntityKind.SERVICE
        or not connections.is_peer(tx, recipients[0].number)
    ):
        return None
    network = ledger_delivery.find_public_network(tx)
    peer = recipients[0]
    connection = connections.find_open(tx, network, author.number, peer.number) if network is not None else None
    if connection is None:
        raise Refused(f"{author.name!r} has no open connection with {peer.name!r}", hint=_HINT)
    return connection.peer


def record_request(
    tx: Transaction, topic: LedgerTopic, sequence: int, requester: OperatorId, note: str | None
) -> str | None:
    """Record that an agent outside asks for a connection; return the reason if the request does not count."""
    assert topic.entity is not None
    entity = directory.find(tx, topic.entity)
    if not entity.is_live:
        return f"{entity.name} is retired"
    if topics.find_account_owner(tx, topic.network, requester.account) is not None:
        return "it is from an entity of this Gatepost, which needs no connection"
    pending = connections.find_pending(tx, topic.network, entity.number, str(requester.account))
    if pending is not None and pending.state is not ConnectionState.OPEN:  # it may have closed that one just now
        return f"there is a request of {requester.account} already"
    if connections.has_refused(tx, topic.network, entity.number, str(requester.account), tx.now - REFUSAL_LENGTH):
        return f"a request of {requester.account} was refused not long ago"
    if connections.count_requested(tx, topic.network, entity.number) >= MAX_REQUESTS:
        return f"{MAX_REQUESTS} requests wait for an answer"
    id = tx.new_id("con")
    tx.execute_later(
        "ledger/connections/insert",
        id=id,
        network=topic.network,
        entity=entity.number,
        peer_account=str(requester.account),
        peer_inbound=str(requester.inbound),
        is_incoming=True,
        request=sequence,
        note=note[:MAX_NOTE_LENGTH] if note else None,
        now=tx.now,
    )
    text = f"account {requester.account} asks {entity.name} for a connection: `gatepost ledger accept {id}`"
    responsible = directory.find_responsible(tx, entity)
    ref, cause = Ref("connection", id), Ref("agent", entity.name)
    push.push_alerts(
        tx, [push.build_alert(responsible, text, f"connection:{id}", source="ledger", ref=ref, cause=cause)]
    )
    return None


def save_request(tx: Transaction, id: str, peer_inbound: LedgerId, request: int) -> None:
    """Save where a request of ours was posted, and follow the topic, because the answer comes there."""
    connection = find(tx, id)
    if connection.request is not None:
        return
    tx.execute_later(
        "ledger/connections/set_request", number=connection.number, peer_inbound=str(peer_inbound), request=request
    )
    if topics.find(tx, connection.network, str(peer_inbound)) is None:
        topics.insert(tx, connection.network, peer_inbound, TopicKind.PEER, "", after=request)


def check_answer(tx: Transaction, connection: Connection, topic: LedgerId) -> None:
    """Have the topic looked at that an agent outside has named in its answer: it can name any topic."""
    jobs.add(tx, CONNECTION_JOB, {"id": connection.id, "topic": str(topic)})


def open_connection(tx: Transaction, id: str, topic: LedgerId, *, memo: str, display: str | None = None) -> Connection:
    """
    Save that a connection is open: its topic is read from now on, and its other end can be written to. It ends instead
    if the other end has named a topic that we know already: what is said to the one would be heard by others.
    """
    connection = find(tx, id)
    states = [ConnectionState.REQUESTED, ConnectionState.ACCEPTING]
    if not connections.set_state(tx, connection.number, ConnectionState.ACCEPTING, before=states):  # locks the row
        return connection  # another process was first, and it may have ended since
    if topics.find(tx, connection.network, str(topic)) is not None:
        end_connection(tx, connection, f"it has named the topic {topic}, which is in use here already")
        return find(tx, id)
    entity = directory.find(tx, connection.entity)
    peer = _ensure_peer(tx, connection, display)
    topics.insert(tx, connection.network, topic, TopicKind.CONNECTION, memo, entity=entity.number)
    row = topics.find(tx, connection.network, str(topic))
    assert row is not None
    connections.open(tx, connection.number, peer=peer.number, topic=row.number)
    _tell(tx, connection, f"the connection with {peer.name} (account {connection.peer_account}) is open")
    return find(tx, id)


def end_connection(tx: Transaction, connection: Connection, reason: str = "", *, trust: Trust = Trust.OWNER) -> None:
    """Save that a connection has ended, whichever end has ended it; `trust` is that of the reason."""
    states = [ConnectionState.REQUESTED, ConnectionState.ACCEPTING, ConnectionState.OPEN, ConnectionState.CLOSING]
    if connections.set_state(tx, connection.number, ConnectionState.CLOSED, before=states):
        because = f": {reason}" if reason else ""
        peer = connection.peer or connection.peer_account
        _tell(tx, connection, f"the connection with {peer} has ended{because}", trust)


def _tell(tx: Transaction, connection: Connection, text: str, trust: Trust = Trust.OWNER) -> None:
    """Tell the entity of a connection what has become of it."""
    if not directory.find(tx, connection.entity).is_live:
        return
    push.push_event(
        tx,
        Push(
            to=connection.entity,
            type=EventType.SYSTEM,
            source="ledger",
            content=text[: tx.policy.content],
            priority=Priority.NORMAL,
            ref=Ref("connection", connection.id),
            cause=Ref("agent", connection.entity),
            trust=trust,
        ),
    )


def _ensure_peer(tx: Transaction, connection: Connection, display: str | None) -> Entity:
    """
    Return the entity of an agent outside; make it if there is none. It is found by its connections, never by a name: a
    name comes from a profile, and everybody can write any name there. So its own account is always a part of its name.
    """
    known_peer = connections.find_peer(tx, connection.network, connection.peer_account)
    if known_peer is not None and (peer := directory.find(tx, known_peer)).is_live:
        return peer
    account = connection.peer_account
    stem = re.sub(r"[^a-z0-9_-]+", "-", (display or "").lower())[:_MAX_STEM_LENGTH].strip("-_") or "peer"
    name = f"{stem}-{account}"
    taken_names = entities.find_by_names(tx, [name, account])
    title = "".join(letter for letter in display or "" if letter.isprintable()).strip()[:_MAX_TITLE_LENGTH]
    return directory.register(
        tx,
        EntitySpec(
            name=tx.new_id("con") if name in taken_names else name,
            kind=EntityKind.SERVICE,
            display=f"{title or 'peer'} ({account})",
            aliases=[] if account in taken_names else [account],
        ),
    )


def _require_public_network(tx: Reader) -> str:
    network = ledger_delivery.find_public_network(tx)
    if network is None:
        raise Refused(
            "only a public ledger has agents outside", hint='set `ledger` to "hedera:testnet" in gatepost.toml'
        )
    return network
