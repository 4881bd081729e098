"""Fifty conversations at a time, on two bots, in groups, in topics and on the command line: no answer crosses."""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gatepost.channels import chat_handlers as chat
from gatepost.channels.chat_api import SendChat
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import GroupMode, TriggerConfig
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Event
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Bot, Chat, User
from tests.channels.telegram.channel_setup import AGENT, ChannelSetup, open_channel_setup

POSTGRES_BY_NIGHT = True

STEPS = 240


@dataclass(eq=False, kw_only=True)
class Conversation:
    """A person in a chat with a bot; or, without a bot, in a session of the command line."""

    base: str
    user: User | None = None
    bot: Bot | None = None
    chat: Chat | None = None
    thread: int | None = None
    #: of the command line
    person: str = ""
    name: str | None = None
    resets: int = 0
    #: whether something was written since the last reset
    has_prompts: bool = False

    @property
    def session(self) -> str:
        return f"{self.base}:reset-{self.resets}" if self.resets else self.base

    @property
    def place(self) -> tuple[int, int, int | None]:
        """Where its answers are: the bot, the chat and the topic."""
        assert self.bot is not None
        assert self.user is not None
        return self.bot.id, self.chat.id if self.chat else self.user.id, self.thread

    async def write(self, setup: ChannelSetup, text: str) -> None:
        if self.user is not None:
            setup.telegram.send_text(self.user, text, self.chat, thread=self.thread, bot=self.bot)
        elif text == "/reset":
            await setup.store.run(chat.reset, SendChat(content="", session=self.name, to=AGENT), sender=self.person)
        else:
            spec = SendChat(content=text, session=self.name, to=AGENT)
            await setup.store.run(chat.send, spec, sender=self.person)


@dataclass
class Crowd:
    """The people of the test, and what they should read."""

    setup: ChannelSetup
    conversations: list[Conversation]
    #: by the text of a prompt: who wrote it, and in which session
    written: dict[str, tuple[Conversation, str]] = field(default_factory=dict)
    event_count: int = 0
    seen: set[str] = field(default_factory=set)
    unanswered: list[Event] = field(default_factory=list)
    #: the answers by place, in their order
    sent: defaultdict[tuple[int, int, int | None], list[str]] = field(default_factory=lambda: defaultdict(list))
    #: the answers by session of the command line
    typed: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    async def reset(self, conversation: Conversation) -> None:
        await conversation.write(self.setup, "/reset")
        conversation.resets += 1
        self.event_count += conversation.has_prompts or conversation.bot is None  # others tell who got prompts
        conversation.has_prompts = False

    async def write(self, conversation: Conversation, number: int) -> None:
        text = f"text {number}"
        await conversation.write(self.setup, text)
        self.written[text] = conversation, conversation.session
        conversation.has_prompts = True
        self.event_count += 1

    async def read_events(self) -> None:
        """Wait for all that was written, and check that each came from where it was written."""
        for event in await self.setup.wait_for_events(self.event_count):
            if event.id in self.seen:
                continue
            self.seen.add(event.id)
            if event.content in self.written:
                assert event.route is not None
                assert event.route.session == self.written[event.content][1]
                self.unanswered.append(event)

    def answer(self, event: Event) -> None:
        conversation, session = self.written[event.content]
        text = f"{session}: {event.content}"
        self.setup.reply(event, text)
        if conversation.bot is None:
            self.typed[session].append(text)
        else:
            self.sent[conversation.place].append(text)


def add_telegram_users(server: TelegramServer, first: Bot, second: Bot) -> Iterator[Conversation]:
    people = [server.add_user(1_000 + number, f"Person {number}") for number in range(20)]
    for user in people:
        yield Conversation(base=f"chat-{user.id}:user-{user.id}", user=user, bot=first)
    for user in people[:8]:
        yield Conversation(base=f"chat-{user.id}:user-{user.id}", user=user, bot=second)
    group = server.add_group("Team", *people[:6], id=-500)
    forum = server.add_supergroup("Forum", *people[:4], is_forum=True)
    for chat_with_one_bot in (group, forum):
        chat_with_one_bot.bots = {first.id: "member"}
    topics = [server.add_topic(forum, name, people[0]) for name in ("Sales", "News")]
    for user in people[:6]:
        yield Conversation(base=f"chat-{group.id}:user-{user.id}", user=user, bot=first, chat=group)
    for topic in topics:
        for user in people[:4]:
            base = f"chat-{forum.id}:topic-{topic}:user-{user.id}"
            yield Conversation(base=base, user=user, bot=first, chat=forum, thread=topic)


def add_typists(setup: ChannelSetup) -> Iterator[Conversation]:
    """People whose names look like other sessions."""
    for person in ("husam", "husam2", "chat-1000", "main"):
        if person != "husam":
            setup.store.run_sync(directory.register, EntitySpec(name=person, kind=EntityKind.HUMAN))
        own = "cli-@main" if person == "main" else f"cli-{person}"
        yield Conversation(base=own, person=person)
        yield Conversation(base=f"{own}@travel", person=person, name="travel")


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_fifty_conversations_with_resets_never_cross(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, seed: int
) -> None:
    dice = random.Random(seed)
    is_postgres = database == "postgres"
    url = request.getfixturevalue("empty_postgres_url") if is_postgres else f"sqlite:///{tmp_path}/gatepost.db"
    with TelegramServer(has_limits=False) as server:
        second = server.add_bot("second_bot")
        conversations = [*add_telegram_users(server, server.bot, second)]
        allow = tuple({conversation.user.id for conversation in conversations if conversation.user})
        async with open_channel_setup(server, url, allow=allow, groups=GroupMode.ALL) as setup:
            config = TriggerConfig(allow=allow)
            spec = TriggerSpec(name="shop", provider="telegram", secret=second.token, target=AGENT, config=config)
            await setup.store.run(triggers.add, spec)
            conversations += add_typists(setup)
            assert len({conversation.session for conversation in conversations}) == 50 - 8, "8 differ by the bot alone"
            assert len(conversations) == 50
            crowd = Crowd(setup, conversations)

            for number in range(STEPS):
                conversation = dice.choice(conversations)
                if dice.random() < 0.15:
                    await crowd.reset(conversation)
                else:
                    await crowd.write(conversation, number)
                if number % 20 == 19:
                    await crowd.read_events()
                    dice.shuffle(crowd.unanswered)
                    for _ in range(dice.randint(0, len(crowd.unanswered))):
                        crowd.answer(crowd.unanswered.pop())
            await crowd.read_events()
            while crowd.unanswered:
                crowd.answer(crowd.unanswered.pop())
            await server.wait_until(lambda: read_answers(server, conversations) == crowd.sent)

            responses = setup.store.read_sync(
                shared_inbox.list_page, kind=EntryKind.SYSTEM_RESPONSE, channel="cli", limit=1_000
            )
            typed = defaultdict(list)
            for entry in responses:
                typed[entry.session].append(entry.content)
            assert typed == crowd.typed
            assert sum(map(len, (*crowd.sent.values(), *crowd.typed.values()))) == len(crowd.written)
            assert server.refusals == []


def read_answers(
    server: TelegramServer, conversations: list[Conversation]
) -> dict[tuple[int, int, int | None], list[str]]:
    """Return what the server has in each chat, without what commands were answered with."""
    answers = defaultdict(list)
    for place in {conversation.place: conversation for conversation in conversations if conversation.bot}.values():
        assert place.user is not None
        texts = [
            message.text
            for message in server.sent(place.chat or place.user, place.bot)
            if message.thread == place.thread and not message.text.startswith("This is a new")
        ]
        if texts:
            answers[place.place] = texts
    return answers
