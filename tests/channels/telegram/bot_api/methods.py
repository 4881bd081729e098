"""The methods of the Bot API, but getUpdates, which waits, and those of webhooks."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.channels.telegram.bot_api import formats
from tests.channels.telegram.bot_api.formats import Json
from tests.channels.telegram.bot_api.rules import (
    FILE_LINK_LIFETIME,
    MAX_DOWNLOAD,
    MAX_NOTIFICATION,
    QUERY_LIFETIME,
    REACTIONS,
    Arguments,
    Refusal,
    read_markup,
)
from tests.channels.telegram.bot_api.state import Bot, Chat, ChatAction, Message, Version, World
from tests.channels.telegram.bot_api.text import FormattedText, read_text

_NOT_MODIFIED: Final = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content"
    " and reply markup of the message"
)
_PREVIEW_FIELDS: Final = frozenset({"is_disabled"})

Method = Callable[[Bot, Arguments], Any]


class BotMethods:
    """What a bot may do. Each method is called inside `World.change` and returns the result, or raises a refusal."""

    def __init__(self, world: World, *, has_limits: bool) -> None:
        self._world = world
        self._has_limits = has_limits
        self.methods: Mapping[str, Method] = {
            "getMe": lambda bot, _: formats.format_me(bot),
            "sendMessage": self._send_message,
            "editMessageText": self._edit_text,
            "answerCallbackQuery": self._answer_query,
            "sendChatAction": self._send_action,
            "setMessageReaction": self._set_reaction,
            "getFile": self._get_file,
        }

    def _send_message(self, bot: Bot, arguments: Arguments) -> Json:
        text = _read_text(arguments)
        preview = _read_preview(arguments)
        markup = read_markup(arguments)
        chat = self._require_chat(bot, arguments)
        thread = _find_thread(chat, arguments)
        if self._has_limits:
            self._count_message(bot, chat)
        message = self._world.add_message(
            chat,
            bot,
            text=text.text,
            entities=text.entities,
            markup=markup,
            thread=thread,
            is_topic_message=thread is not None,
            reply_to=chat.topics[thread] if thread is not None else None,
            preview=preview,
        )
        return formats.format_message(message, bot)

    def _require_chat(self, bot: Bot, arguments: Arguments) -> Chat:
        """Return the chat of a request if the bot may write to it."""
        value, world = arguments.get_text("chat_id"), self._world
        if not value:
            raise Refusal(400, "chat_id is empty")
        chat = world.find_chat(bot, int(value)) if re.fullmatch(r"-?\d{1,18}", value) else None
        if chat is None or bot.id not in chat.bots:
            known = {str(id) for group in world.groups.values() if bot.id in group.bots for id in group.members}
            if value in known:
                raise Refusal(403, "bot can't initiate conversation with a user")
            raise Refusal(400, "chat not found")
        if chat.migrated_to is not None:
            raise Refusal(400, "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to.id)
        match chat.bots[bot.id]:
            case "kicked" if chat.type == "private":
                raise Refusal(403, "bot was blocked by the user")
            case "kicked":
                raise Refusal(403, f"bot was kicked from the {chat.type} chat")
            case _:
                return chat

    def _require_message(self, bot: Bot, arguments: Arguments, label: str) -> Message:
        if not arguments.get_text("chat_id") and not arguments.get_text("message_id"):
            raise Refusal(400, "message identifier is not specified")
        chat = self._require_chat(bot, arguments)
        message = chat.messages.get(arguments.get_integer("message_id"))
        if message is None:
            raise Refusal(400, f"message to {label} not found")
        return message

    def _count_message(self, bot: Bot, chat: Chat) -> None:
        limits = [("all", 30, 1.0), (f"chat {chat.id}", 1, 1.0)]
        if chat.type != "private":
            limits.append((f"group {chat.id}", 20, 60.0))
        bot.limits.admit(self._world.now(), limits)

    def _edit_text(self, bot: Bot, arguments: Arguments) -> Json:
        """Edit a message. It loses the keyboard that it had."""
        text = _read_text(arguments)
        preview = _read_preview(arguments)
        message = self._require_message(bot, arguments, "edit")
        if message.sender is not bot:
            raise Refusal(400, "message can't be edited")
        before = (message.text, message.entities, message.markup, message.preview)
        if before == (text.text, text.entities, None, preview):
            raise Refusal(400, _NOT_MODIFIED)
        message.edits.append(Version(message.text, message.entities, message.markup))
        message.text, message.entities = text.text, text.entities
        message.markup, message.preview = None, preview
        message.edit_date = int(self._world.now())
        return formats.format_message(message, bot, with_reply=False)

    def _answer_query(self, bot: Bot, arguments: Arguments) -> bool:
        text = arguments.get_text("text")
        answer = {"text": text, "show_alert": arguments.get_flag("show_alert")}
        query = self._world.queries.get(arguments.get_text("callback_query_id"))
        is_open = query is not None and query.bot is bot and not query.is_answered
        if query is None or not is_open or self._world.now() - query.created > QUERY_LIFETIME:
            raise Refusal(400, "query is too old and response timeout expired or query ID is invalid")
        if len(text) > MAX_NOTIFICATION:
            raise Refusal(400, "MESSAGE_TOO_LONG")
        query.is_answered, query.answer = True, answer
        return True

    def _send_action(self, bot: Bot, arguments: Arguments) -> bool:
        action = arguments.get_text("action")
        if action != "typing":
            raise Refusal(400, "wrong parameter action in request")
        chat = self._require_chat(bot, arguments)
        self._world.actions.append(ChatAction(chat.id, action, _find_thread(chat, arguments)))
        return True

    def _set_reaction(self, bot: Bot, arguments: Arguments) -> bool:
        reactions = arguments.get_json("reaction", list, "reaction types") or []
        if not all(isinstance(reaction, dict) for reaction in reactions):
            raise Refusal(400, "can't parse reaction types: expected an Object")
        message = self._require_message(bot, arguments, "react")
        if any(reaction.get("type") != "emoji" or reaction.get("emoji") not in REACTIONS for reaction in reactions):
            raise Refusal(400, "REACTION_INVALID")
        if len(reactions) > 1:
            raise Refusal(400, "REACTIONS_TOO_MANY")
        self._world.reactions[message.chat.id, message.id] = [reaction["emoji"] for reaction in reactions]
        return True

    def _get_file(self, bot: Bot, arguments: Arguments) -> Json:
        id = arguments.get_text("file_id")
        if not id:
            raise Refusal(400, "file_id not specified")
        file = next((file for file in self._world.files.values() if file.find_id(bot) == id), None)
        if file is None:
            raise Refusal(400, "invalid file_id")
        if file.size > MAX_DOWNLOAD:
            raise Refusal(400, "file is too big")
        path = f"{file.folder}/file_{file.number}{file.ending}"
        bot.links[path] = (file, self._world.now() + FILE_LINK_LIFETIME)
        return {**formats.format_file(file, bot), "file_path": path}


def _read_text(arguments: Arguments) -> FormattedText:
    return read_text(arguments.get_text("text"), arguments.get_json("entities", list, "entities") or [])


def _read_preview(arguments: Arguments) -> Json | None:
    options: Json | None = arguments.get_json("link_preview_options", dict, "link preview options")
    if unknown := (options or {}).keys() - _PREVIEW_FIELDS:
        raise Refusal(400, f"unknown fields {sorted(unknown)} in link_preview_options")
    return options


def _find_thread(chat: Chat, arguments: Arguments) -> int | None:
    """
    Return the topic of a new message.

    In a supergroup without topics a reply is in the thread of the first message. Such a thread cannot be asked for.
    """
    asked = arguments.get_integer("message_thread_id")
    if not asked or asked in chat.topics:
        return asked or None
    if asked in chat.messages and chat.type == "supergroup" and not chat.is_forum:
        raise Refusal(400, "message thread is not a forum topic thread")
    raise Refusal(400, "message thread not found")


def find_reply_thread(chat: Chat, reply_to: Message | None) -> tuple[int | None, bool]:
    """Return the thread of a reply, and whether it is a topic."""
    if reply_to is None or chat.type != "supergroup":
        return None, False
    if chat.is_forum:
        return reply_to.thread, reply_to.is_topic_message
    return reply_to.thread or reply_to.id, False
