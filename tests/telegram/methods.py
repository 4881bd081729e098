"""The methods of the Bot API, but getUpdates, which waits, and those of webhooks."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.telegram import formats
from tests.telegram.formats import Json
from tests.telegram.rules import (
    CHAT_ACTIONS,
    DELETION_PERIOD,
    FILE_LINK_LIFETIME,
    MAX_COMMANDS,
    MAX_DOWNLOAD,
    MAX_NOTIFICATION,
    QUERY_LIFETIME,
    REACTIONS,
    Arguments,
    Refusal,
    read_markup,
)
from tests.telegram.state import Bot, Chat, ChatAction, Message, Version, World
from tests.telegram.text import FormattedText, read_text

_NOT_MODIFIED: Final = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content"
    " and reply markup of the message"
)
_PREVIEW_FIELDS: Final = frozenset(
    {"is_disabled", "url", "prefer_small_media", "prefer_large_media", "show_above_text"}
)
_REPLY_FIELDS: Final = frozenset(
    {"message_id", "chat_id", "allow_sending_without_reply", "quote", "quote_parse_mode", "quote_entities"}
    | {"quote_position", "checklist_task_id", "poll_option_id"}
)
_SCOPES: Final = frozenset({"default", "all_private_chats", "all_group_chats", "all_chat_administrators"})
_CHAT_SCOPES: Final = frozenset({"chat", "chat_administrators", "chat_member"})

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
            "editMessageReplyMarkup": self._edit_markup,
            "deleteMessage": self._delete_message,
            "answerCallbackQuery": self._answer_query,
            "sendChatAction": self._send_action,
            "setMessageReaction": self._set_reaction,
            "getFile": self._get_file,
            "setMyCommands": self._set_commands,
            "getMyCommands": self._get_commands,
        }

    def _send_message(self, bot: Bot, arguments: Arguments) -> Json:
        text = self._read_text(arguments)
        preview = _read_preview(arguments)
        reply = _read_reply(arguments)
        markup = read_markup(arguments)
        for flag in ("disable_notification", "protect_content", "allow_paid_broadcast"):
            arguments.get_flag(flag)
        chat = self._require_chat(bot, arguments)
        reply_to = self._find_replied(chat, reply)
        fields = {"quote": self._build_quote(reply_to, reply)} if reply_to is not None and reply.get("quote") else {}
        thread, is_topic = _find_thread(chat, arguments, reply_to)
        if self._has_limits:
            self._count_message(bot, chat, is_paid=arguments.get_flag("allow_paid_broadcast"))
        message = self._world.add_message(
            chat,
            bot,
            text=text.text,
            entities=text.entities,
            markup=markup if markup and "inline_keyboard" in markup else None,
            sent_markup=markup,
            thread=thread,
            is_topic_message=is_topic,
            reply_to=reply_to or (chat.topics[thread] if is_topic and thread else None),
            fields=fields,
            preview=preview,
        )
        return formats.format_message(self._world, message, bot)

    def _read_text(self, arguments: Arguments) -> FormattedText:
        entities = arguments.get_json("entities", list, "entities")
        text = read_text(arguments.get_text("text"), arguments.get_text("parse_mode"), entities)
        known = [
            entity
            for entity in text.entities
            if entity["type"] != "text_mention" or entity["user"]["id"] in self._world.users
        ]
        return FormattedText(text.text, known)

    def _require_chat(self, bot: Bot, arguments: Arguments) -> Chat:
        """Return the chat of a request if the bot may write to it."""
        value, world = arguments.get_text("chat_id"), self._world
        if not value:
            raise Refusal(400, "chat_id is empty")
        if value.startswith("@"):
            named = [group for group in world.groups.values() if group.username and f"@{group.username}" == value]
            chat = named[0] if named else None
        else:
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
            case "left":
                raise Refusal(403, f"bot is not a member of the {chat.type} chat")
            case _:
                return chat

    def _require_message(self, bot: Bot, arguments: Arguments, label: str) -> Message:
        if not arguments.get_text("chat_id") and not arguments.get_text("message_id"):
            raise Refusal(400, "message identifier is not specified")
        chat = self._require_chat(bot, arguments)
        message = chat.messages.get(arguments.get_integer("message_id"))
        if message is None or message.is_deleted:
            raise Refusal(400, f"message to {label} not found")
        return message

    def _find_replied(self, chat: Chat, reply: Json) -> Message | None:
        if not reply:
            return None
        if str(reply.get("chat_id", chat.id)) != str(chat.id):
            raise Refusal(400, "the test server has no replies to other chats")
        message = chat.messages.get(reply["message_id"])
        if message is not None and not message.is_deleted:
            return message
        if reply.get("allow_sending_without_reply") is True:
            return None
        raise Refusal(400, "message to be replied not found")

    def _build_quote(self, message: Message, reply: Json) -> Json:
        mode, entities = reply.get("quote_parse_mode", ""), reply.get("quote_entities")
        quote = read_text(reply["quote"], mode, entities, is_quote=True)
        if quote.text not in message.text:
            raise Refusal(400, "QUOTE_TEXT_INVALID")
        fields = {"text": quote.text, "position": message.text.index(quote.text), "is_manual": True}
        return {**fields, "entities": quote.entities} if quote.entities else fields

    def _count_message(self, bot: Bot, chat: Chat, *, is_paid: bool) -> None:
        limits = [("all", 1000 if is_paid else 30, 1.0), (f"chat {chat.id}", 1, 1.0)]
        if chat.type != "private":
            limits.append((f"group {chat.id}", 20, 60.0))
        bot.limits.admit(self._world.now(), limits)

    def _edit_text(self, bot: Bot, arguments: Arguments) -> Json:
        text = self._read_text(arguments)
        preview = _read_preview(arguments)
        markup = read_markup(arguments, is_inline_required=True)
        message = self._require_message(bot, arguments, "edit")
        return self._edit(bot, message, text, markup, preview)

    def _edit_markup(self, bot: Bot, arguments: Arguments) -> Json:
        markup = read_markup(arguments, is_inline_required=True)
        message = self._require_message(bot, arguments, "edit")
        return self._edit(bot, message, FormattedText(message.text, message.entities), markup, message.preview)

    def _edit(self, bot: Bot, message: Message, text: FormattedText, markup: Json | None, preview: Json | None) -> Json:
        """Edit a message. Without a keyboard it loses the one it had."""
        if message.sender is not bot:
            raise Refusal(400, "message can't be edited")
        before = (message.text, message.entities, message.markup, message.preview)
        if before == (text.text, text.entities, markup, preview):
            raise Refusal(400, _NOT_MODIFIED)
        message.edits.append(Version(message.text, message.entities, message.markup))
        message.text, message.entities = text.text, text.entities
        message.markup, message.preview = markup, preview
        message.edit_date = int(self._world.now())
        return formats.format_message(self._world, message, bot, with_reply=False)

    def _delete_message(self, bot: Bot, arguments: Arguments) -> bool:
        message = self._require_message(bot, arguments, "delete")
        chat = message.chat
        is_allowed = message.sender is bot or chat.type == "private" or chat.bots[bot.id] == "administrator"
        if not is_allowed:
            raise Refusal(400, "message can't be deleted")
        if self._world.now() - message.date > DELETION_PERIOD:
            raise Refusal(400, "message can't be deleted for everyone")
        message.is_deleted = True
        return True

    def _answer_query(self, bot: Bot, arguments: Arguments) -> bool:
        text = arguments.get_text("text")
        answer = {
            "text": text,
            "show_alert": arguments.get_flag("show_alert"),
            "url": arguments.get_text("url"),
            "cache_time": arguments.get_integer("cache_time", 0, 0),
        }
        query = self._world.queries.get(arguments.get_text("callback_query_id"))
        is_open = query is not None and query.bot is bot and not query.is_answered
        if query is None or not is_open or self._world.now() - query.created > QUERY_LIFETIME:
            raise Refusal(400, "query is too old and response timeout expired or query ID is invalid")
        if len(text) > MAX_NOTIFICATION:
            raise Refusal(400, "MESSAGE_TOO_LONG")
        if answer["url"]:
            raise Refusal(400, "URL_INVALID")
        query.is_answered, query.answer = True, answer
        return True

    def _send_action(self, bot: Bot, arguments: Arguments) -> bool:
        action = arguments.get_text("action")
        if action not in CHAT_ACTIONS:
            raise Refusal(400, "wrong parameter action in request")
        chat = self._require_chat(bot, arguments)
        thread, _ = _find_thread(chat, arguments, None)
        self._world.actions.append(ChatAction(chat.id, action, thread))
        return True

    def _set_reaction(self, bot: Bot, arguments: Arguments) -> bool:
        reactions = arguments.get_json("reaction", list, "reaction types") or []
        if not all(isinstance(reaction, dict) for reaction in reactions):
            raise Refusal(400, "can't parse reaction types: expected an Object")
        arguments.get_flag("is_big")
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

    def _set_commands(self, bot: Bot, arguments: Arguments) -> bool:
        commands = arguments.get_json("commands", list, "BotCommand") or []
        if len(commands) > MAX_COMMANDS:
            raise Refusal(400, "BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not isinstance(command, dict) or {"command", "description"} - command.keys():
                raise Refusal(400, "can't parse BotCommand: expected an Object with command and description")
            if not re.fullmatch(r"[a-z0-9_]{1,32}", str(command["command"])):
                raise Refusal(400, "BOT_COMMAND_INVALID")
            if not 1 <= len(str(command["description"])) <= 256:
                raise Refusal(400, "BOT_COMMAND_DESCRIPTION_INVALID")
        bot.commands[_read_scope(arguments)] = commands
        return True

    def _get_commands(self, bot: Bot, arguments: Arguments) -> list[dict[str, str]]:
        return bot.commands.get(_read_scope(arguments), [])


def _read_preview(arguments: Arguments) -> Json | None:
    options: Json | None = arguments.get_json("link_preview_options", dict, "link preview options")
    if unknown := (options or {}).keys() - _PREVIEW_FIELDS:
        raise Refusal(400, f"unknown fields {sorted(unknown)} in link_preview_options")
    return options


def _read_reply(arguments: Arguments) -> Json:
    reply: Json = arguments.get_json("reply_parameters", dict, "reply parameters") or {}
    if unknown := reply.keys() - _REPLY_FIELDS:
        raise Refusal(400, f"unknown fields {sorted(unknown)} in reply_parameters")
    if reply and type(reply.get("message_id")) is not int:
        raise Refusal(400, 'can\'t find field "message_id"')
    return reply


def _find_thread(chat: Chat, arguments: Arguments, reply_to: Message | None) -> tuple[int | None, bool]:
    """
    Return the thread of a new message, and whether it is a topic.

    In a supergroup without topics a reply is in the thread of the first message. Such a thread cannot be asked for.
    """
    asked = arguments.get_integer("message_thread_id")
    if asked:
        if asked in chat.topics:
            return asked, True
        if asked in chat.messages and chat.type == "supergroup" and not chat.is_forum:
            raise Refusal(400, "message thread is not a forum topic thread")
        raise Refusal(400, "message thread not found")
    return find_reply_thread(chat, reply_to)


def find_reply_thread(chat: Chat, reply_to: Message | None) -> tuple[int | None, bool]:
    """Return the thread of a reply, and whether it is a topic."""
    if reply_to is None or chat.type != "supergroup":
        return None, False
    if chat.is_forum:
        return reply_to.thread, reply_to.is_topic_message
    return reply_to.thread or reply_to.id, False


def _read_scope(arguments: Arguments) -> tuple[str, str]:
    """Return the key of a scope and a language."""
    scope = arguments.get_json("scope", dict, "BotCommandScope") or {"type": "default"}
    type = scope.get("type")
    if type not in _SCOPES | _CHAT_SCOPES:
        raise Refusal(400, "can't parse BotCommandScope: Unsupported type specified")
    if type in _CHAT_SCOPES and not scope.get("chat_id"):
        raise Refusal(400, "can't parse BotCommandScope: Empty chat_id specified")
    return str(sorted(scope.items())), arguments.get_text("language_code")
