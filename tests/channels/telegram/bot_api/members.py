"""Who is on Telegram: bots, people, and the chats they share."""

from collections.abc import Sequence

from tests.channels.telegram.bot_api import formats
from tests.channels.telegram.bot_api.formats import Json
from tests.channels.telegram.bot_api.state import SUPERGROUP_BASE, Bot, BotStatus, Chat, ChatType, Message, User, World
from tests.channels.telegram.bot_api.updates import UpdateQueue

#: the id of the first update of a bot
FIRST_UPDATE = 100_000_001


class Members:
    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def bot(self) -> Bot:
        """The first bot."""
        return next(iter(self._world.bots.values()))

    @property
    def token(self) -> str:
        return self.bot.token

    def add_bot(self, username: str = "gatepost_bot") -> Bot:
        """Add a bot that gets every message of a group."""
        with self._world.change():
            id = 700_000_000 + self._world.take_number()
            bot = Bot(
                id=id,
                first_name="Gatepost",
                username=username,
                is_bot=True,
                token=f"{id}:AAF{username:x<32}"[:45],
                queue=UpdateQueue(FIRST_UPDATE),
            )
            self._world.bots[bot.token] = bot
            self._world.users[bot.id] = bot
            return bot

    def revoke_token(self, bot: Bot | None = None) -> str:
        """Give a bot another token: the old one is unauthorized from now on."""
        bot = bot or self.bot
        with self._world.change():
            tokens = {old: other for old, other in self._world.bots.items() if other is not bot}
            bot.token = f"{bot.id}:AAG{self._world.take_number():032}"
            self._world.bots = {bot.token: bot, **tokens}
        return bot.token

    def add_user(
        self,
        id: int,
        first_name: str = "Ana",
        username: str | None = None,
        *,
        last_name: str | None = None,
        language_code: str | None = "en",
    ) -> User:
        """Add a person. Bots cannot write to a person who has never written to them."""
        assert id > 0, "the id of a person is positive"
        user = User(id=id, first_name=first_name, last_name=last_name, username=username, language_code=language_code)
        with self._world.change():
            self._world.users[id] = user
        return user

    def add_group(self, title: str, *members: User, id: int | None = None) -> Chat:
        """Add a group of these people and all bots."""
        return self._add_chat("group", title, members, id or -(5_000_000 + self._world.take_number()))

    def add_supergroup(
        self,
        title: str,
        *members: User,
        id: int | None = None,
        is_forum: bool = False,
    ) -> Chat:
        """Add a supergroup of these people and all bots; a forum has topics."""
        chat = self._add_chat(
            "supergroup", title, members, id or -(SUPERGROUP_BASE + 1_500_000_000 + self._world.take_number())
        )
        chat.is_forum = is_forum
        return chat

    def _add_chat(self, type: ChatType, title: str, members: Sequence[User], id: int) -> Chat:
        assert id < 0, "the id of a group is negative"
        with self._world.change():
            chat = Chat(id=id, type=type, title=title, members={user.id: user for user in members})
            chat.bots = dict.fromkeys((bot.id for bot in self._world.bots.values()), "member")
            self._world.groups[id] = chat
            return chat

    def open_chat(self, user: User, bot: Bot | None = None) -> Chat:
        """Return the private chat of a person and a bot, as after the first message of the person."""
        bot = bot or self.bot
        with self._world.change():
            chat = bot.private_chats.get(user.id)
            if chat is None:
                chat = Chat(id=user.id, type="private", user=user, members={user.id: user}, bots={bot.id: "member"})
                bot.private_chats[user.id] = chat
            return chat

    def block(self, user: User, bot: Bot | None = None) -> None:
        """Block a bot: it is told, and cannot write to the person any more."""
        self._set_status(self.open_chat(user, bot), "kicked", user, bot)

    def unblock(self, user: User, bot: Bot | None = None) -> None:
        self._set_status(self.open_chat(user, bot), "member", user, bot)

    def kick(self, chat: Chat, user: User, bot: Bot | None = None) -> None:
        """Remove a bot from a group: it is told, and cannot write to the group any more."""
        self._set_status(chat, "kicked", user, bot)

    def _set_status(self, chat: Chat, status: BotStatus, user: User, bot: Bot | None) -> None:
        bot = bot or self.bot
        with self._world.change():
            before = chat.bots[bot.id]
            chat.bots[bot.id] = status
            value = {
                "chat": formats.format_chat(chat),
                "from": formats.format_user(user),
                "date": int(self._world.now()),
                "old_chat_member": _format_member(bot, before),
                "new_chat_member": _format_member(bot, status),
            }
            self._world.push_update(bot, "my_chat_member", value)

    def find_chat(self, chat: Chat | User | int, bot: Bot | None) -> Chat:
        if isinstance(chat, Chat):
            return chat
        id = chat.id if isinstance(chat, User) else chat
        found = self._world.find_chat(bot or self.bot, id)
        assert found is not None, f"there is no chat {id}"
        return found

    def publish(self, message: Message, kind: str = "message") -> None:
        """Tell the bots of a chat about a message."""
        for bot in self._world.bots.values():
            if message.chat.bots.get(bot.id) == "member":
                self._world.push_update(bot, kind, formats.format_message(message, bot))


def _format_member(bot: Bot, status: BotStatus) -> Json:
    fields: Json = {"user": formats.format_user(bot), "status": status}
    return {**fields, "until_date": 0} if status == "kicked" else fields
