"""
Let users of channels in.

A user whom the lists of a bot neither allow nor block gets a code. An administrator approves it, and says which person
the user is; from then on the prompts of the user have that sender, and decisions asked of the person are shown in the
chat. An administrator who has a paired chat can also press a button there; then the user becomes a new person. A user
whom the allow list names becomes a person at once.

A request has the SHA-256 of its code, a code is valid for an hour and once, and a bot has few that wait: guessing is
hopeless, and a gateway limits it besides (`gateway/attempt_limits.py`).
"""

import re
import unicodedata
from collections.abc import Container, Sequence
from hashlib import sha256
from typing import Final

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    outgoing_message_actions as outgoing,
)
from gatepost.channels.conversation import Pairing, PairingState
from gatepost.channels.provider import Button
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.escaping import escape_invisible, escape_markdown, remove_invisible
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import fold_text, has_visible_text
from gatepost.core.times import HOUR, Duration
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound, Refused, quote_value
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import Ref
from gatepost.inbox.push import actions as push

#: how long the code of a pairing is valid
PAIRING_TIME: Final[Duration] = HOUR
#: requests of one bot that wait for an answer
MAX_PAIRINGS: Final = 3
#: characters of a code: no letters and digits that look alike
CODE_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH: Final = 8
_HINT: Final = "`gatepost channel pair` lists the requests"
_MAX_DISPLAY_LENGTH: Final = 200
#: persons that one user of a channel can have become: one for each bot
_MAX_NAMESAKES: Final = 100
_CODE: Final = re.compile(rf"\b[{CODE_ALPHABET}]{{{CODE_LENGTH}}}\b")
#: what is in the id of a user on some channels, and cannot be in a name
_NO_NAME: Final = re.compile(r"[^a-z0-9]+")


def admit(tx: Transaction, trigger: Trigger, *, chat: str, user_id: str, display: str) -> str | None:
    """
    Pair a user whom the allow list of a bot names, without a request: as the person that it is, or as a new person.
    Return the name of the person; None if it has retired.
    """
    name = access.find_person(tx, trigger, chat, user_id)
    if name is not None:
        return name
    pairing = conversations.find_pairing_by_user(tx, trigger.number, chat, user_id)
    if pairing is not None and pairing.state is PairingState.APPROVED:
        return None
    id = pairing.id if pairing is not None else _insert(tx, trigger, chat, user_id, display, tx.new_id("pair"))
    pairing = show(tx, id)
    person = _find_or_make_person(tx, pairing, None)
    _end(tx, pairing, PairingState.APPROVED, None, person)
    return person.name


def request(
    tx: Transaction, trigger: Trigger, *, chat: str, user_id: str, display: str, random_bits: int
) -> str | None:
    """
    Ask for a pairing, and return the code for the user; None if the user has asked before, or too many wait. The
    administrator is told in the inbox, and by a message with buttons in each paired chat.
    """
    conversations.expire_pairings(tx)
    if conversations.find_pairing_by_user(tx, trigger.number, chat, user_id) is not None:
        return None
    if conversations.count_requested_pairings(tx, trigger.number) >= MAX_PAIRINGS:
        return None
    code = build_code(random_bits)
    id = _insert(tx, trigger, chat, user_id, display, code)
    text = f"{quote_value(show(tx, id).display)} (user {user_id}, chat {chat}) wants to write to {trigger.label}"
    alert = push.build_alert(
        directory.ADMINISTRATOR,
        f"{text}: ask for the code, then `gatepost channel pair CODE --person NAME`",
        _build_topic(id),
        source=trigger.name,
        ref=Ref("pairing", id),
    )
    push.push_alerts(tx, [alert])
    administrator = directory.find(tx, directory.ADMINISTRATOR)
    buttons = [Button(f"approve:{id}", "Approve"), Button(f"deny:{id}", "Deny")]
    message = escape_markdown(escape_invisible(text))
    for bot, administrator_chat in outgoing.list_private_chats(tx, administrator.number):
        outgoing.send(tx, bot.number, administrator_chat, message, options=buttons)
    return code


def _insert(tx: Transaction, trigger: Trigger, chat: str, user_id: str, display: str, code: str) -> str:
    """Insert a request, and return its id."""
    return conversations.insert_pairing(
        tx,
        trigger.number,
        chat=chat,
        user_id=user_id,
        display=display.strip()[:_MAX_DISPLAY_LENGTH] or user_id,
        code=_hash_code(code),
        expires_at=tx.now + PAIRING_TIME,
    )


def build_code(random_bits: int) -> str:
    """Return a code that is made of random bits."""
    letters = []
    for _ in range(CODE_LENGTH):
        random_bits, place = divmod(random_bits, len(CODE_ALPHABET))
        letters.append(CODE_ALPHABET[place])
    return "".join(letters)


def approve(tx: Transaction, code_or_id: str, *, by: str | None, person: str | None = None) -> Pairing:
    """Approve a request, by its code or its id; `person` is who the user is, by default a new person."""
    administrator = _require_administrator(tx, by)
    pairing = _find_request(tx, code_or_id)
    trigger = triggers.find(tx, pairing.trigger)
    assert trigger is not None
    entity = _find_or_make_person(tx, pairing, person)
    _end(tx, pairing, PairingState.APPROVED, administrator, entity)
    text = f"You are paired as {escape_markdown(entity.display)}. Write to me."
    outgoing.send(tx, trigger.number, pairing.chat, text, user_id=pairing.user_id)
    return show(tx, pairing.id)


def deny(tx: Transaction, code_or_id: str, *, by: str | None) -> Pairing:
    """Deny a request, by its code or its id."""
    administrator = _require_administrator(tx, by)
    pairing = _find_request(tx, code_or_id)
    _end(tx, pairing, PairingState.DENIED, administrator, None)
    return show(tx, pairing.id)


def revoke(tx: Transaction, id: str, *, by: str | None) -> Pairing:
    """End a pairing; the user has to ask again."""
    administrator = _require_administrator(tx, by)
    pairing = show(tx, id)
    if not conversations.revoke_pairing(tx, pairing.number, administrator.number):
        raise Conflict(f"the pairing {id!r} is {pairing.state}, not approved")
    return show(tx, id)


def show(tx: Reader, id: str) -> Pairing:
    pairing = conversations.find_pairing(tx, id)
    if pairing is None:
        raise NotFound(f"there is no pairing {id!r}", hint=_HINT)
    return pairing


def list_page(tx: Reader, *, state: PairingState | None = None, after: int = 0, limit: int = 100) -> Sequence[Pairing]:
    """Return pairings in the order in which they were asked for."""
    return conversations.list_pairings(tx, state=state, after=after, limit=limit)


def _find_request(tx: Transaction, code: str) -> Pairing:
    """
    Return the request with an id, or with a code that is still valid; wrong, used and old codes get the same error.
    """
    conversations.expire_pairings(tx)
    if code.startswith("pair_"):
        return show(tx, code)
    folded_code = code.strip().upper()
    if len(folded_code) != CODE_LENGTH or not set(folded_code) <= set(CODE_ALPHABET):
        raise Invalid("this is not a code", hint=f"a code has {CODE_LENGTH} letters and digits")
    pairing = conversations.find_pairing_by_code(tx, _hash_code(folded_code))
    if pairing is None:
        raise NotFound("no request has this code, or it is not valid any more", hint=_HINT)
    return pairing


def _end(
    tx: Transaction, pairing: Pairing, state: PairingState, administrator: Entity | None, person: Entity | None
) -> None:
    """End a request; without an administrator, it was the allow list that let the user in."""
    number = person.number if person is not None else None
    answered_by = administrator.number if administrator is not None else None
    if not conversations.end_pairing(tx, pairing.number, state, person=number, answered_by=answered_by):
        raise Conflict(f"the request {pairing.id!r} is {pairing.state} already")
    # The alert has nothing to ask any more.
    key = f"{push.ALERT_KEY_PREFIX}{_build_topic(pairing.id)}"
    inbox_items.close_items(tx, [directory.find(tx, directory.ADMINISTRATOR)], key, actor=administrator)
    inbox_items.signal_change(tx, directory.ADMINISTRATOR, "done")


def _build_topic(id: str) -> str:
    """Return the topic of the alert about a request."""
    return f"pairing:{id}"


def _find_or_make_person(tx: Transaction, pairing: Pairing, name: str | None) -> Entity:
    if name is not None:
        person = directory.find_live(tx, name)
        if person.kind is not EntityKind.HUMAN:
            raise Invalid(f"{name!r} is {person.kind.phrase}, not a person", hint="name a person")
        return person
    trigger = triggers.find(tx, pairing.trigger)
    assert trigger is not None
    other = conversations.find_pairing_elsewhere(tx, trigger.number, pairing.chat, pairing.user_id)
    if other is not None and other.person is not None:  # a user is one person in all chats
        return directory.find(tx, other.person)
    own_name = _clean_display(pairing.display.partition(" (@")[0])
    stem = "".join(letter for letter in own_name.lower() if letter.isascii() and letter.isalnum())[:40]
    id = _NO_NAME.sub("-", pairing.user_id.lower()).strip("-")[:40] or "x"
    numbered = [f"user-{id}", *(f"user-{id}-{count}" for count in range(2, _MAX_NAMESAKES))]
    candidates = [*([stem] if stem not in ("", "all") else []), *numbered]
    taken_names = entities.find_by_names(tx, candidates)
    new_name = next(candidate for candidate in candidates if candidate not in taken_names)
    display = _build_display(tx, own_name, new_name)
    return directory.register(tx, EntitySpec(name=new_name, kind=EntityKind.HUMAN, display=display))


def _build_display(tx: Reader, own_name: str, name: str) -> str:
    """
    Return how a new person is shown: by the name that the user chose, if it is the name here and nobody else is shown
    like that; otherwise by both, such as `Husam (user-66)`, so that nobody looks like another person.
    """
    if not has_visible_text(own_name):
        return name
    if fold_text(own_name) == name and not entities.is_shown(tx, name):
        return own_name
    suffix = f" ({name})"
    return own_name[: _MAX_DISPLAY_LENGTH - len(suffix)].rstrip() + suffix


def _clean_display(display: str) -> str:
    """Return the name that a user chose, on one line, without invisible characters and without brackets of any kind."""
    text = remove_invisible(unicodedata.normalize("NFKC", " ".join(display.split())))
    letters = (letter for letter in text if letter.isprintable() and unicodedata.category(letter) not in ("Ps", "Pe"))
    return " ".join("".join(letters).split())[:_MAX_DISPLAY_LENGTH].rstrip()


def _require_administrator(tx: Reader, by: str | None) -> Entity:
    """Return the administrator; refuse everybody else."""
    entity = directory.find_live(tx, by or directory.ADMINISTRATOR)
    if entity.name != directory.ADMINISTRATOR:
        raise Refused(f"{entity.name!r} cannot pair users", hint="an administrator can")
    return entity


def hide_codes(text: str, hashes: Container[str]) -> str:
    """Return a text without the codes that have one of these hashes."""
    return _CODE.sub(lambda match: "***" if _hash_code(match[0]) in hashes else match[0], text)


def _hash_code(code: str) -> str:
    return sha256(code.encode()).hexdigest()
