"""
The other side of Telegram: what people write and press, and what a test does in their place.

A person is a `User` or an id; a chat is a `Chat` or an id, and by default the private chat of the person and the bot.
Where `bot` is left out it is the first one.
"""

from typing import Any

from tests.channels.telegram.bot_api import formats
from tests.channels.telegram.bot_api.formats import Json
from tests.channels.telegram.bot_api.members import Members
from tests.channels.telegram.bot_api.methods import find_reply_thread
from tests.channels.telegram.bot_api.state import Bot, CallbackQuery, Chat, Media, Message, User
from tests.channels.telegram.bot_api.text import find_entities


class People(Members):
    def add_topic(self, chat: Chat, name: str, user: User) -> int:
        """Create a topic of a forum, and return its thread id."""
        assert chat.is_forum, "only a forum has topics"
        with self._world.change():
            created = {"forum_topic_created": {"name": name, "icon_color": 7_322_096}}
            message = self._world.add_message(chat, user, fields=created, is_topic_message=True)
            message.thread = message.id
            chat.topics[message.id] = message
            self.publish(message)
            return message.id

    def send_text(
        self,
        user: User | int,
        text: str,
        chat: Chat | int | None = None,
        *,
        thread: int | None = None,
        reply_to: Message | None = None,
        bot: Bot | None = None,
    ) -> Message:
        """Write a message. Commands, mentions and the like become entities."""
        return self._post(user, chat, bot, thread, reply_to, text=text, entities=find_entities(text))

    def send_voice(
        self, user: User | int, content: bytes, duration: int = 3, mime: str = "audio/ogg", **options: Any
    ) -> Message:
        """Send a voice message. Options: `chat`, `reply_to`, `bot`, `caption`, and `size` if it is to be wrong."""
        values = {"duration": duration, "mime_type": mime}
        return self._send_file(user, content, "voice", "voice", ".oga", values, **options)

    def send_audio(
        self, user: User | int, content: bytes, duration: int = 200, mime: str = "audio/mpeg", **options: Any
    ) -> Message:
        values = {"duration": duration, "file_name": "song.mp3", "mime_type": mime, "title": "Song"}
        return self._send_file(user, content, "audio", "music", ".mp3", values, **options)

    def send_video_note(self, user: User | int, content: bytes, duration: int = 5, **options: Any) -> Message:
        values = {"duration": duration, "length": 240}
        return self._send_file(user, content, "video_note", "video_notes", ".mp4", values, **options)

    def _send_file(
        self,
        user: User | int,
        content: bytes,
        field: str,
        folder: str,
        ending: str,
        values: Json,
        *,
        chat: Chat | int | None = None,
        reply_to: Message | None = None,
        bot: Bot | None = None,
        caption: str = "",
        size: int | None = None,
    ) -> Message:
        with self._world.change():
            file = self._world.store_file(content, folder, ending, size)
            media = Media(field=field, values=values, file=file)
            shown = find_entities(caption)
            return self._post(user, chat, bot, None, reply_to, text=caption, entities=shown, media=media)

    def _post(
        self,
        user: User | int,
        chat: Chat | int | None,
        bot: Bot | None,
        thread: int | None,
        reply_to: Message | None,
        **values: Any,
    ) -> Message:
        with self._world.change():
            person = user if isinstance(user, User) else self._world.users[user]
            place = self.find_chat(chat, bot) if chat is not None else self.open_chat(person, bot)
            assert person.id in place.members, f"{person.first_name} is not in the chat"
            assert place.migrated_to is None, "the group was upgraded"
            assert place.type != "private" or "kicked" not in place.bots.values(), "the bot is blocked"
            assert thread is None or thread in place.topics, "there is no such topic"
            is_topic = thread is not None
            if thread is None:
                thread, is_topic = find_reply_thread(place, reply_to)
            shown = reply_to or (place.topics[thread] if thread is not None and is_topic else None)
            message = self._world.add_message(
                place, person, thread=thread, is_topic_message=is_topic, reply_to=shown, **values
            )
            self.publish(message)
            return message

    def edit_text(self, message: Message, text: str) -> Message:
        """Edit a message of a person."""
        with self._world.change():
            message.text, message.entities = text, find_entities(text)
            message.edit_date = int(self._world.now())
            self.publish(message, "edited_message")
            return message

    def press(
        self, user: User | int, message: Message, button: int | str = 0, *, data: str | None = None
    ) -> CallbackQuery:
        """
        Press a button of a message of a bot: by its index, row after row, or by its text.

        `data` replaces what the button says, as an altered client can do.
        """
        with self._world.change():
            person = user if isinstance(user, User) else self._world.users[user]
            bot = message.sender
            assert isinstance(bot, Bot), "only messages of bots have buttons"
            if data is None:
                buttons = message.buttons
                found = [entry for entry in buttons if entry["text"] == button] if isinstance(button, str) else buttons
                data = found[button if isinstance(button, int) else 0]["callback_data"]
            query = CallbackQuery(
                id=str(4_382_000_000_000_000_000 + self._world.take_number()),
                bot=bot,
                user=person,
                message=message,
                data=data,
                created=self._world.now(),
            )
            self._world.queries[query.id] = query
            self._world.push_update(bot, "callback_query", formats.format_query(query))
            return query

    def upgrade_group(self, chat: Chat, user: User | None = None) -> Chat:
        """Make a supergroup of a group, and return it. The group refuses every message from now on."""
        assert chat.type == "group", "only a group can be upgraded"
        with self._world.change():
            actor = user or next(iter(chat.members.values()))
            upgraded = self.add_supergroup(chat.title, *chat.members.values())
            upgraded.bots = dict(chat.bots)
            self.publish(self._world.add_message(chat, actor, fields={"migrate_to_chat_id": upgraded.id}))
            self.publish(self._world.add_message(upgraded, actor, fields={"migrate_from_chat_id": chat.id}))
            chat.migrated_to = upgraded
            return upgraded

    def inject(self, update: Any, bot: Bot | None = None) -> None:
        """Queue an update as it is, also one that Telegram would never send."""
        bot = bot or self.bot
        with self._world.change():
            bot.queue.inject(update, self._world.now())
            if bot.poll is not None:
                bot.poll.wake()

    def restart_numbering(self, at: int, bot: Bot | None = None) -> None:
        """Give the next update this id, higher or lower. Updates that wait are lost, as a week has passed."""
        with self._world.change():
            (bot or self.bot).queue.restart(at)
