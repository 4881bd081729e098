"""
Conversations on channels: begin and reset sessions, list them, and note how far channels were read. The rows of
pairings are here, too: `channels/pairing_actions.py` lets users in.
"""

from typing import Any, Final

from msgspec.structs import replace

from gatepost.channels.conversation import ChannelSession, ChannelStatus, Pairing, PairingState, parse_base
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.inbox.event import OWN_CHANNELS
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row

#: characters of a name of a channel's user
MAX_DISPLAY_LENGTH: Final = 200

_SESSION: Final = Mapper(ChannelSession)
_PAIRING: Final = Mapper(Pairing)


def ensure_session(
    tx: Transaction,
    channel: str,
    base: str,
    *,
    trigger: Trigger | None = None,
    person: Entity | None = None,
    chat: str | None = None,
    user_id: str | None = None,
    thread: str | None = None,
    display: str | None = None,
) -> ChannelSession:
    """Return a session, and note that it is used; make it if there is none."""
    number = trigger.number if trigger is not None else None
    fetch_row(
        tx,
        "channels/channels/ensure_session",
        channel=channel,
        trigger=number,
        base=base,
        person=person.number if person is not None else None,
        chat=chat,
        user_id=user_id,
        thread=thread,
        display=display[:MAX_DISPLAY_LENGTH] if display else None,
        now=tx.now,
    )
    session = find_session(tx, channel, base, trigger)
    assert session is not None
    return session


def reset_session(tx: Transaction, session: ChannelSession) -> ChannelSession:
    """Begin a session anew: its generation is raised for good."""
    return replace(
        session, generation=fetch_number(tx, "channels/channels/raise_generation", number=session.number, now=tx.now)
    )


def find_session(tx: Reader, channel: str, id: str, trigger: Trigger | None) -> ChannelSession | None:
    """Return the session of a route, whichever generation the route names."""
    number = trigger.number if trigger is not None else None
    base = parse_base(id)
    return _SESSION.fetch_one(tx, "channels/channels/find_session", channel=channel, trigger=number, base=base)


def list_statuses(tx: Reader, *, after: int = 0, limit: int = 100) -> list[ChannelStatus]:
    """
    Return the channels on which people write: those that are built in, and then triggers in the order in which they
    were added.
    """
    statuses = [
        ChannelStatus(
            number=number,
            name=name,
            provider=name,
            sessions=fetch_number(tx, "channels/channels/count_own_sessions", channel=name),
        )
        for number, name in enumerate(OWN_CHANNELS, 1)
        if number > after
    ]
    position = max(after - len(OWN_CHANNELS), 0)
    while len(statuses) < limit:
        rows = tx.fetch_page("channels/channels/list_statuses", now=tx.now, after=position, limit=limit)
        statuses += [
            ChannelStatus(
                number=trigger.number + len(OWN_CHANNELS),
                name=trigger.name,
                provider=trigger.provider,
                mode=trigger.config.mode if trigger.is_built_in_channel else None,
                active=trigger.active,
                error=row.error,
                sessions=row.sessions,
                requests=row.requests,
            )
            for row in rows
            if (trigger := triggers.build(row)).is_channel
        ]
        if len(rows) < limit:
            break
        position = triggers.build(rows[-1]).number
    return statuses[:limit]


def count_failing(tx: Reader) -> int:
    """Return how many active channels do not work."""
    return fetch_number(tx, "channels/channels/count_failing")


def list_sessions(
    tx: Reader, *, channel: str | None = None, person: str | None = None, after: int = 0, limit: int = 100
) -> list[ChannelSession]:
    """Return sessions in the order in which they began; `channel` is a channel, or the name of a trigger."""
    number = directory.find_number(tx, person)
    bounds = {"after": after, "limit": limit}
    return _SESSION.fetch_page(tx, "channels/channels/list_sessions", channel=channel, person=number, **bounds)


def set_error(tx: Transaction, trigger: int, error: str | None) -> bool:
    """Note why a trigger does not work, or that it does; return False if that was noted before."""
    return tx.execute("channels/channels/set_error", trigger=trigger, error=error) == 1


def read_cursor(tx: Reader, trigger: int) -> tuple[int, int, Instant] | None:
    """Return the last update of a channel, its epoch, and when it came."""
    row = tx.fetch_one("channels/channels/read_cursor", trigger=trigger)
    return (row.last_update, row.epoch, row.updated_at) if row else None


def set_cursor(tx: Transaction, trigger: int, last_update: int, epoch: int) -> None:
    tx.execute_later("channels/channels/set_cursor", trigger=trigger, last_update=last_update, epoch=epoch, now=tx.now)


def is_used(tx: Reader, trigger: int) -> bool:
    """Return True if there are conversations, pairings or entries of a trigger."""
    return tx.fetch_one("channels/channels/is_used", trigger=trigger) is not None


def lock_trigger(tx: Transaction, trigger: int) -> bool:
    """Lock a trigger until the commit; return False if it is gone."""
    return tx.fetch_one("channels/channels/lock_trigger", trigger=trigger) is not None


def move_chat(tx: Transaction, trigger: int, old_chat: str, new_chat: str) -> None:
    """Give the sessions, pairings, messages and pending questions of a chat its new id."""
    chats: dict[str, Any] = {"trigger": trigger, "old_chat": old_chat, "new_chat": new_chat}
    parts = {"old_part": f"chat-{old_chat}:", "new_part": f"chat-{new_chat}:"}
    tx.execute_later("channels/channels/copy_sessions", **chats, **parts)
    tx.execute_later("channels/channels/move_sessions", **chats)
    tx.execute_later("channels/channels/move_pairings", **chats)
    tx.execute_later("channels/channel_messages/move", **chats)
    tx.execute_later("channels/shared_entries/move", trigger=trigger, **parts, pattern=f"chat-{old_chat}:%")


def insert_pairing(
    tx: Transaction, trigger: int, *, chat: str, user_id: str, display: str, code: str, expires_at: Instant
) -> str:
    """Insert a request, and return its id; `code` is the hash of the code."""
    id = tx.new_id("pair")
    tx.execute_later(
        "channels/channels/insert_pairing",
        id=id,
        trigger=trigger,
        chat=chat,
        user_id=user_id,
        display=display,
        code=code,
        expires_at=expires_at,
        now=tx.now,
    )
    return id


def find_pairing(tx: Reader, id: str) -> Pairing | None:
    return _PAIRING.fetch_one(tx, "channels/channels/find_pairing", id=id)


def find_pairing_by_user(tx: Reader, trigger: int, chat: str, user_id: str) -> Pairing | None:
    """Return the request or the pairing of a user that counts."""
    return _PAIRING.fetch_one(tx, "channels/channels/find_pairing_by_user", trigger=trigger, chat=chat, user_id=user_id)


def find_pairing_elsewhere(tx: Reader, trigger: int, chat: str, user_id: str) -> Pairing | None:
    """Return the first pairing of a user in another chat, with a person who has not retired."""
    return _PAIRING.fetch_one(
        tx, "channels/channels/find_pairing_elsewhere", trigger=trigger, chat=chat, user_id=user_id
    )


def find_pairing_by_code(tx: Reader, code: str) -> Pairing | None:
    """Return the request with a code, of which `code` is the hash."""
    return _PAIRING.fetch_one(tx, "channels/channels/find_pairing_by_code", code=code)


def list_pairings(tx: Reader, *, state: PairingState | None, after: int, limit: int) -> list[Pairing]:
    """Return requests and pairings; a request that was not answered in time has expired."""
    return _PAIRING.fetch_page(tx, "channels/channels/list_pairings", state=state, now=tx.now, after=after, limit=limit)


def count_requested_pairings(tx: Reader, trigger: int) -> int:
    return fetch_number(tx, "channels/channels/count_requested_pairings", trigger=trigger, now=tx.now)


def end_pairing(
    tx: Transaction, number: int, state: PairingState, *, person: int | None, answered_by: int | None
) -> bool:
    """Return False if the request was answered before."""
    row_count = tx.execute(
        "channels/channels/end_pairing", number=number, state=state, person=person, answered_by=answered_by, now=tx.now
    )
    return row_count == 1


def expire_pairings(tx: Transaction) -> int:
    return tx.execute("channels/channels/expire_pairings", now=tx.now)


def revoke_pairing(tx: Transaction, number: int, answered_by: int) -> bool:
    return tx.execute("channels/channels/revoke_pairing", number=number, answered_by=answered_by, now=tx.now) == 1


def list_chats_of_person(tx: Reader, person: int) -> list[tuple[int, str]]:
    """Return the numbers of the bots, and the chats, in which a person can be reached."""
    return [(row.trigger, row.chat) for row in tx.fetch_all("channels/channels/list_chats_of_person", person=person)]


def delete_cursor(tx: Transaction, trigger: int) -> None:
    tx.execute_later("channels/channels/delete_cursor", trigger=trigger)
