"""What is sent on channels, and voice messages that are being transcribed."""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from gatepost.channels.conversation import Button, ChannelMessage, MessageState
from gatepost.channels.envelope import Envelope
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import Instant
from gatepost.stores.row_mapping import Mapper, fetch_number


def _decode_buttons(text: str | None) -> list[Button]:
    return msgspec.json.decode(text, type=list[Button]) if text else []


_MESSAGE: Final = Mapper(
    ChannelMessage, without="trigger decision person", options=_decode_buttons, sent_ids=json.loads
)


class Voice(NamedTuple):
    id: str
    #: the number of the trigger
    trigger: int
    dedup_key: str
    #: the name of whoever spoke; None if it is nobody here
    person: str | None
    envelope: Envelope
    state: str
    due_at: Instant | None


def insert(
    tx: Transaction,
    trigger: int,
    chat: str,
    content: str,
    *,
    thread: str | None,
    user_id: str | None,
    person: int | None,
    options: Sequence[Button],
    decision: int | None,
    replaces: int | None,
) -> str:
    """Return the id of the new message."""
    id = tx.new_id("out")
    fetch_number(
        tx,
        "channels/channel_messages/insert",
        id=id,
        trigger=trigger,
        chat=chat,
        thread=thread,
        user_id=user_id,
        person=person,
        content=content,
        options=msgspec.json.encode(list(options)).decode() if options else None,
        decision=decision,
        replaces=replaces,
        now=tx.now,
    )
    return id


def find(tx: Reader, id: str) -> ChannelMessage | None:
    row = tx.fetch_one("channels/channel_messages/find", id=id)
    return _build(row) if row else None


def read(tx: Reader, number: int) -> ChannelMessage | None:
    row = tx.fetch_one("channels/channel_messages/read", number=number)
    return _build(row) if row else None


def list_pending(tx: Reader, message: ChannelMessage, *, limit: int) -> list[ChannelMessage]:
    """Return what is to be sent to the chat of a message, up to that message, the oldest first."""
    row = tx.fetch_one("channels/channel_messages/find", id=message.id)
    if row is None:
        return []
    rows = tx.fetch_all(
        "channels/channel_messages/list_pending",
        trigger=row.trigger,
        chat=message.chat,
        number=message.number,
        limit=limit,
    )
    return [_build(row) for row in rows]


def list_by_decision(tx: Reader, decision: int) -> list[ChannelMessage]:
    """Return the messages that show a decision."""
    return [_build(row) for row in tx.fetch_all("channels/channel_messages/list_by_decision", decision=decision)]


def find_by_sent_id(tx: Reader, trigger: int, chat: str, sent_id: str) -> ChannelMessage | None:
    """Return the message with a question, of a decision or a pairing, to which the channel gave this id."""
    pattern = f"%{json.dumps(sent_id)}%"
    row = tx.fetch_one("channels/channel_messages/find_by_sent_id", trigger=trigger, chat=chat, pattern=pattern)
    return _build(row) if row else None


def save_part(tx: Transaction, number: int, sent_ids: Sequence[str]) -> None:
    tx.execute("channels/channel_messages/save_part", number=number, sent_ids=json.dumps(list(sent_ids)))


def set_state(tx: Transaction, number: int, state: MessageState, error: str | None) -> None:
    tx.execute("channels/channel_messages/set_state", number=number, state=state, error=error, now=tx.now)


def fail_chat(tx: Transaction, trigger: int, chat: str, error: str) -> None:
    tx.execute("channels/channel_messages/fail_chat", trigger=trigger, chat=chat, error=error, now=tx.now)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete messages that were sent, or given up, before; those with a question stay."""
    return tx.execute("channels/channel_messages/reap", before=before, limit=limit)


def insert_voice(
    tx: Transaction, trigger: int, dedup_key: str, envelope: Envelope, due_at: Instant, *, person: int | None
) -> str | None:
    """Return the id of the voice message; None if it is here already."""
    id = tx.new_id("voice")
    row_count = tx.execute(
        "channels/channel_messages/insert_voice",
        id=id,
        trigger=trigger,
        dedup_key=dedup_key,
        person=person,
        envelope=msgspec.json.encode(envelope).decode(),
        due_at=due_at,
        now=tx.now,
    )
    return id if row_count else None


def lock_voice(tx: Transaction, id: str) -> Voice | None:
    """Read a voice message and lock it until the commit."""
    row = tx.fetch_one("channels/channel_messages/find_voice", id=id)
    if row is None:
        return None
    envelope = msgspec.json.decode(row.envelope, type=Envelope)
    return Voice(row.id, row.trigger, row.dedup_key, row.person_name, envelope, row.state, row.due_at)


def list_due_voices(tx: Reader, limit: int) -> list[str]:
    """Return the ids of voice messages that have waited for their transcript long enough."""
    return [row.id for row in tx.fetch_all("channels/channel_messages/list_due_voices", now=tx.now, limit=limit)]


def end_voice(tx: Transaction, id: str, state: str) -> bool:
    """Return False if it has ended before."""
    return tx.execute("channels/channel_messages/end_voice", id=id, state=state) == 1


def _build(row: Row) -> ChannelMessage:
    return _MESSAGE.read(row, trigger=row.trigger_name, decision=row.decision_id, person=row.person_name)
