"""The objects of the Bot API in JSON, as a bot gets them."""

from typing import Any

from tests.channels.telegram.bot_api.state import Bot, CallbackQuery, Chat, Message, StoredFile, User

Json = dict[str, Any]


def format_user(user: User) -> Json:
    fields = {
        "id": user.id,
        "is_bot": user.is_bot,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "username": user.username,
        "language_code": user.language_code,
    }
    return {name: value for name, value in fields.items() if value is not None}


def format_me(bot: Bot) -> Json:
    return {
        **format_user(bot),
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def format_chat(chat: Chat) -> Json:
    if chat.user is not None:
        user = format_user(chat.user)
        names = user.keys() & {"first_name", "last_name", "username"}
        return {"id": chat.id, **{name: user[name] for name in sorted(names)}, "type": chat.type}
    fields: Json = {"id": chat.id, "title": chat.title, "type": chat.type}
    if chat.type == "group":
        fields["all_members_are_administrators"] = True
    if chat.is_forum:
        fields["is_forum"] = True
    return fields


def format_message(message: Message, bot: Bot, *, with_reply: bool = True) -> Json:
    """Return a message, with the ids that its files have for the bot. What it replies to shows no reply itself."""
    fields: Json = {
        "message_id": message.id,
        "from": format_user(message.sender),
        "chat": format_chat(message.chat),
        "date": message.date,
    }
    if message.edit_date is not None:
        fields["edit_date"] = message.edit_date
    if message.thread is not None:
        fields["message_thread_id"] = message.thread
    if message.is_topic_message:
        fields["is_topic_message"] = True
    if with_reply and message.reply_to is not None:
        fields["reply_to_message"] = format_message(message.reply_to, bot, with_reply=False)
    fields |= message.fields
    text_field, entities_field = "text", "entities"
    if message.media is not None:
        fields[message.media.field] = {**message.media.values, **format_file(message.media.file, bot)}
        text_field, entities_field = "caption", "caption_entities"
    if message.text:
        fields[text_field] = message.text
    if message.entities:
        fields[entities_field] = message.entities
    if message.preview is not None:
        fields["link_preview_options"] = message.preview
    if message.markup:
        fields["reply_markup"] = message.markup
    return fields


def format_file(file: StoredFile, bot: Bot) -> Json:
    return {"file_id": file.find_id(bot), "file_unique_id": file.unique_id, "file_size": file.size}


def format_query(query: CallbackQuery) -> Json:
    return {
        "id": query.id,
        "from": format_user(query.user),
        "message": format_message(query.message, query.bot),
        "chat_instance": str(-3_000_000_000_000_000_000 - query.message.chat.id),
        "data": query.data,
    }
