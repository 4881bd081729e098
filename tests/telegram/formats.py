"""The objects of the Bot API in JSON, as a bot gets them."""

from typing import Any

from tests.telegram.markup import Entity
from tests.telegram.rules import DEFAULT_KINDS
from tests.telegram.state import Bot, CallbackQuery, Chat, Media, Message, StoredFile, User, World

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
        "can_read_all_group_messages": bot.can_read_all_group_messages,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def format_chat(chat: Chat) -> Json:
    if chat.user is not None:
        user = format_user(chat.user)
        names = user.keys() & {"first_name", "last_name", "username"}
        return {"id": chat.id, **{name: user[name] for name in sorted(names)}, "type": chat.type}
    fields: Json = {"id": chat.id, "title": chat.title}
    if chat.username:
        fields["username"] = chat.username
    fields["type"] = chat.type
    if chat.type == "group":
        fields["all_members_are_administrators"] = True
    if chat.is_forum:
        fields["is_forum"] = True
    return fields


def format_message(world: World, message: Message, bot: Bot, *, with_reply: bool = True) -> Json:
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
    if with_reply and message.reply_to is not None and not message.reply_to.is_deleted:
        fields["reply_to_message"] = format_message(world, message.reply_to, bot, with_reply=False)
    fields |= message.fields
    text_field, entities_field = "text", "entities"
    if message.media is not None:
        fields[message.media.field] = _format_media(message.media, bot)
        text_field, entities_field = "caption", "caption_entities"
    if message.text:
        fields[text_field] = message.text
    if message.entities:
        fields[entities_field] = [format_entity(world, entity) for entity in message.entities]
    if message.preview is not None:
        fields["link_preview_options"] = message.preview
    if message.markup:
        fields["reply_markup"] = message.markup
    return fields


def format_entity(world: World, entity: Entity) -> Entity:
    if entity["type"] != "text_mention":
        return entity
    return {**entity, "user": format_user(world.users[entity["user"]["id"]])}


def format_inaccessible(message: Message) -> Json:
    return {"chat": format_chat(message.chat), "message_id": message.id, "date": 0}


def format_file(file: StoredFile, bot: Bot) -> Json:
    return {"file_id": file.find_id(bot), "file_unique_id": file.unique_id, "file_size": file.size}


def _format_media(media: Media, bot: Bot) -> Any:
    if not media.sizes:
        return {**media.values, **format_file(media.file, bot)}
    return [{**format_file(file, bot), "width": width, "height": height} for file, width, height in media.sizes]


def format_query(world: World, query: CallbackQuery, *, is_inaccessible: bool) -> Json:
    message = query.message
    return {
        "id": query.id,
        "from": format_user(query.user),
        "message": format_inaccessible(message) if is_inaccessible else format_message(world, message, query.bot),
        "chat_instance": str(-3_000_000_000_000_000_000 - message.chat.id),
        "data": query.data,
    }


def format_webhook_info(bot: Bot) -> Json:
    webhook = bot.webhook
    fields: Json = {
        "url": webhook.url if webhook else "",
        "has_custom_certificate": False,
        "pending_update_count": len(bot.queue.pending),
    }
    if webhook is not None:
        if webhook.last_error is not None:
            fields["last_error_date"], fields["last_error_message"] = int(webhook.last_error[0]), webhook.last_error[1]
        fields |= {"max_connections": webhook.max_connections, "ip_address": webhook.ip_address or "127.0.0.1"}
    if bot.allowed_updates != DEFAULT_KINDS:
        fields["allowed_updates"] = sorted(bot.allowed_updates)
    return fields
