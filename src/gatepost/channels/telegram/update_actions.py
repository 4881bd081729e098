"""
Take in what happens in the chats of a Telegram bot.

An update is taken in one transaction, once, whatever becomes of it: the same transaction moves the cursor of the bot.
Telegram forgets an update only when it is confirmed, which is after the commit. So nothing is lost or done twice if a
process dies in between.

    a number above the last one                        a new update
    another one, a day or more after the last update   a new update: Telegram has begun to number anew (a new epoch)
    another one before that                            it was taken before if its number is stored; else it is a new
                                                       update, which another one has overtaken on the way to a webhook

A message of a user is taken as on every channel (`channels/user_message_actions.py`), and what has to be sent back is
written as a message. Only the answer to the press of a button is an effect, which callers perform after the commit: the
user waits for it, and a late one is worth nothing.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import asdict, replace

from gatepost.channels import (
    conversation_actions as conversations,
    outgoing_message_actions as outgoing,
    user_message_actions as user_messages,
)
from gatepost.channels.provider import UserMessage
from gatepost.channels.telegram import button_press_actions as telegram_presses, update as telegram_update
from gatepost.channels.telegram.bot_port import BotKeys
from gatepost.channels.telegram.button_press_actions import PressAnswer
from gatepost.channels.telegram.update import (
    BotIdentity,
    ButtonPress,
    ChatMigration,
    Ignored,
    Membership,
    MembershipChange,
    TelegramUpdate,
    UpdateContent,
)
from gatepost.channels.triggers import rows as trigger_rows
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.user_message_actions import IntakeOutcome, TakenMessage
from gatepost.core.json_limits import Json
from gatepost.core.ports import Transaction, needs_disk_space
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY
from gatepost.errors import Invalid
from gatepost.jobs import idempotency_actions as idempotency

#: why a chat keeps its id
NO_GROUP: Final = "only a group gets another id"
#: how the name of every bot ends
_BOT: Final = "bot"


class TakenUpdate(TakenMessage, frozen=True, kw_only=True):
    #: None if it cannot be read
    update_id: int | None = None
    answer: PressAnswer | None = None


class BotProfile(Struct, frozen=True):
    """What verbs need to know about a bot."""

    identity: BotIdentity
    keys: BotKeys


@needs_disk_space()
def take_updates(
    tx: Transaction, name: str, updates: Sequence[Json], bot: BotProfile, *, random_bits: int
) -> list[TakenUpdate]:
    """
    Take updates of the bot of a trigger, in their order. `random_bits` are new for each call: codes are made of them.
    """
    outcomes = []
    for update in updates:
        try:
            parsed_update = telegram_update.parse_update(update, bot.identity)
        except Invalid as error:
            outcomes.append(TakenUpdate(outcome=IntakeOutcome.IGNORED, reason=error.message))
            continue
        trigger = user_messages.lock_trigger(tx, name)  # an update may have changed the lists
        outcome = take_update(tx, trigger, parsed_update, bot, random_bits=random_bits)
        outcomes.append(replace(outcome, update_id=parsed_update.update_id))
    return outcomes


def skip_update(tx: Transaction, name: str, update: Json, bot: BotProfile, reason: str) -> TakenUpdate:
    """Move the cursor over an update that cannot be taken, and tell the owner of the bot."""
    trigger = user_messages.lock_trigger(tx, name)
    skipped = telegram_update.parse_update(update, bot.identity)
    _advance(tx, trigger, skipped.update_id)
    text = f"an update of the bot {name!r} could not be taken: {reason}"
    outgoing.tell_owners(tx, trigger, text, f"update:{name}:{skipped.update_id}")
    return TakenUpdate(
        outcome=IntakeOutcome.IGNORED,
        reason=reason,
        update_id=skipped.update_id,
        answer=_build_empty_answer(skipped.content),
    )


def take_update(
    tx: Transaction, trigger: Trigger, update: TelegramUpdate, bot: BotProfile, *, random_bits: int
) -> TakenUpdate:
    """Take an update of a bot whose trigger is locked. A press that comes again is answered again."""
    content = update.content
    epoch = _advance(tx, trigger, update.update_id)
    if epoch is None:
        return TakenUpdate(outcome=IntakeOutcome.REPEATED, answer=_build_empty_answer(content))
    bits = int.from_bytes(sha256(f"{random_bits}:{update.update_id}".encode()).digest())
    key = build_dedup_key(bot.identity.id, update.update_id, epoch)
    match content:
        case UserMessage():
            message = user_messages.take_message(tx, trigger, content, dedup_key=key, random_bits=bits)
            return TakenUpdate(**asdict(message))
        case ButtonPress():
            button_key = bot.keys.button_key
            answer = telegram_presses.take(tx, trigger, content, button_key, dedup_key=key, random_bits=bits)
            return TakenUpdate(outcome=IntakeOutcome.PRESS, answer=answer)
        case MembershipChange():
            if content.membership is not Membership.JOINED:
                reason = "its user has blocked it" if content.membership is Membership.BLOCKED else "it was removed"
                outgoing.close_chat(tx, trigger, str(content.chat), reason)
            return TakenUpdate(outcome=IntakeOutcome.CHAT, reason=content.membership.value)
        case ChatMigration():
            if not move_chat(tx, trigger, content.old_chat, content.new_chat):
                return TakenUpdate(outcome=IntakeOutcome.IGNORED, reason=NO_GROUP)
            return TakenUpdate(outcome=IntakeOutcome.CHAT, reason=f"{content.old_chat} is {content.new_chat} now")
        case Ignored():
            empty_answer = _build_empty_answer(content)
            return TakenUpdate(outcome=IntakeOutcome.IGNORED, reason=content.reason, answer=empty_answer)
        case other:
            assert_never(other)


def _build_empty_answer(content: UpdateContent) -> PressAnswer | None:
    """Return what only ends the spinner on a button; None if the update is no press."""
    query_id = content.query_id if isinstance(content, ButtonPress | Ignored) else None
    return PressAnswer(query_id=query_id) if query_id is not None else None


def _advance(tx: Transaction, trigger: Trigger, update_id: int) -> int | None:
    """Move the cursor of a bot to an update; return the epoch of the update, or None if it was taken before."""
    last_update, epoch, last_at = conversations.read_cursor(tx, trigger.number) or (-1, 0, tx.now)
    if update_id <= last_update and tx.now - last_at > DAY:
        last_update, epoch = -1, epoch + 1
    is_new = idempotency.insert_key(tx, f"telegram {trigger.id}", f"{epoch}:{update_id}", "")
    if not is_new and update_id <= last_update:
        return None
    conversations.set_cursor(tx, trigger.number, max(update_id, last_update), epoch)
    return epoch


def build_dedup_key(bot: int, update_id: int, epoch: int) -> str:
    """Return the dedup key of the event of an update."""
    return f"telegram:{bot}:{epoch}:{update_id}" if epoch else f"telegram:{bot}:{update_id}"


def move_chat(tx: Transaction, trigger: Trigger, old_chat: int, new_chat: int) -> bool:
    """
    Give a chat its new id: in the lists of the bot, and in sessions, pairings and messages. Return False, and change
    nothing, if it is not a group: the ids of groups are negative.
    """
    if max(old_chat, new_chat) >= 0:
        return False
    config = trigger.config
    lists = {
        name: tuple(dict.fromkeys(new_chat if id == old_chat else id for id in ids))
        for name, ids in (("allow", config.allow), ("block", config.block))
    }
    if old_chat in (*config.allow, *config.block):
        trigger_rows.update(tx, replace(trigger, config=replace(config, **lists)))
        tx.after_commit(Signal(Topic("trigger", trigger.name), "changed", wakes=False))
        if trigger.is_from_file:
            text = f"the group {old_chat} of the bot {trigger.name!r} is {new_chat} now: change it in gatepost.toml"
            outgoing.tell_owners(tx, trigger, text, f"moved:{trigger.name}:{old_chat}")
    conversations.move_chat(tx, trigger.number, str(old_chat), str(new_chat))
    return True


def try_update(tx: Transaction, trigger: Trigger, update: Json) -> TakenMessage | str:
    """
    Take an update, whether it was taken before or not, and return what became of it, or a sentence about what is no
    message; callers roll back. Which bot it is, only Telegram knows: so it is the bot that the update names.
    """
    content = telegram_update.parse_update(update, _guess_bot(update)).content
    match content:
        case UserMessage():
            return user_messages.take_message(tx, trigger, content, dedup_key=tx.new_id("evt"), random_bits=0)
        case ButtonPress():
            return "it is the press of a button, which the bot answers at once"
        case MembershipChange():
            return f"the bot notes its membership of a chat: {content.membership}"
        case ChatMigration():
            if not move_chat(tx, trigger, content.old_chat, content.new_chat):
                return f"it is ignored: {NO_GROUP}"
            return f"the chat {content.old_chat} becomes {content.new_chat} in lists, pairings and sessions"
        case Ignored():
            return f"it is ignored: {content.reason}"
        case other:
            assert_never(other)


def _guess_bot(update: Json) -> BotIdentity:
    """Return the bot that an update is about, as far as the update says."""
    message: Any = (update.get("message") or update.get("edited_message")) if isinstance(update, dict) else None
    if not isinstance(message, dict):
        return BotIdentity(0, "")
    replied: Any = message.get("reply_to_message")
    author: Any = replied.get("from") if isinstance(replied, dict) else None
    id = author.get("id") if isinstance(author, dict) and author.get("is_bot") is True else None
    text = message.get("text") or message.get("caption")
    words = text.replace("@", " @").split() if isinstance(text, str) else []
    names = [word[1:].rstrip(",.:;!?") for word in words if word.startswith("@")]
    name = next((name for name in names if name.lower().endswith(_BOT)), "")
    return BotIdentity(id if isinstance(id, int) else 0, name)
