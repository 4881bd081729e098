"""A flood: many updates at once, and an answer to each of them, within the limits of Telegram."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels import reply_actions as replies
from gatepost.channels.telegram.send_limits import MAX_PER_GROUP_MINUTE, MAX_PER_SECOND
from gatepost.channels.triggers.trigger import GroupMode
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.inbox.event import Event
from gatepost.testing import Kit
from tests.channels.telegram.bot_api.state import Chat, Message, User
from tests.channels.telegram.channel_setup import AGENT, TOKEN, VerbSetup, build_profile, set_up_store
from tests.channels.telegram.test_sending import open_sending

POSTGRES_BY_NIGHT = True

CHATS, UPDATES = 40, 1_000
#: a little more than a group may get in a minute
GROUP_UPDATES = 25


def test_a_thousand_updates_in_one_batch_are_events_in_their_order_and_once(kit: Kit) -> None:
    trigger = set_up_store(kit.store, TOKEN, allow=tuple(range(1, CHATS + 1)))
    setup = VerbSetup(store=kit.store, trigger=trigger, bot=build_profile())
    updates: list[Any] = [
        {
            "update_id": 2 * number,
            "message": {
                "message_id": number,
                "date": 1_700_000_000,
                "from": {"id": number % CHATS + 1, "first_name": f"User {number % CHATS}"},
                "chat": {"id": number % CHATS + 1, "type": "private"},
                "text": f"text {number}",
            },
        }
        for number in range(1, UPDATES + 1)
    ]
    # what is between them cannot be read, and holds up nothing
    batch: list[Any] = []
    for update in updates:
        is_between = update["update_id"] % 50 == 0
        broken = [{"update_id": None}, {"update_id": update["update_id"] + 1, "message": 7}] if is_between else []
        batch += [update, *broken]
    setup.take(*batch)
    setup.take(*batch[:100])

    events = setup.list_events()
    assert [event.content for event in events] == [f"text {number}" for number in range(1, UPDATES + 1)]
    by_session = defaultdict(list)
    for event in events:
        assert event.route is not None
        by_session[event.route.session].append(int(event.content.removeprefix("text ")))
    assert len(by_session) == CHATS
    assert all(numbers == sorted(numbers) for numbers in by_session.values())


@pytest.mark.parametrize("rounds", [4, pytest.param(25, marks=pytest.mark.nightly)])
async def test_updates_over_forty_chats_are_answered_within_the_limits(tmp_path: Path, rounds: int) -> None:
    """The server refuses what breaks a limit. What it has written down is counted here, too."""
    user_ids = tuple(range(1_000, 1_000 + CHATS))
    async with open_sending(tmp_path, allow=user_ids, groups=GroupMode.ALL) as sending:
        server, setup = sending.server, sending.setup
        people = [sending.add_user(id) for id in user_ids]
        *private_people, member = people
        group = server.add_group("Team", member)
        chats: list[User | Chat] = [*private_people, group]
        texts: dict[User | Chat, list[str]] = {chat: [] for chat in chats}
        for number in range(max(rounds, GROUP_UPDATES)):
            for person in private_people if number < rounds else ():
                texts[person].append(server.send_text(person, f"text {number} of {person.id}").text)
            if number < GROUP_UPDATES:
                texts[group].append(server.send_text(member, f"text {number} of the group", group).text)
        written = [update["message"]["text"] for update in server.bot.queue.history]
        while server.bot.queue.pending:
            await setup.channels.intake.read("helper")
        events = setup.list_events()
        assert [event.content for event in events] == written

        await setup.store.run(reply_to_all, events)
        await sending.run_all()

        for chat, prompts in texts.items():
            assert [message.text for message in server.sent(chat)] == [f"answer to {prompt}" for prompt in prompts]
        assert server.refusals == []
        messages = [message for chat in texts for message in server.sent(chat)]
        check_limits(messages, group.id)
        private = [message.date for message in messages if message.chat.id != group.id]
        duration = max(private) - min(private)
        assert duration < 1.8 * rounds, "the group, which may get fewer messages, does not hold up the others"


def reply_to_all(tx: Transaction, events: list[Event]) -> None:
    author = directory.find(tx, AGENT)
    for event in events:
        replies.reply_on_route(tx, event, f"answer to {event.content}", author)


def check_limits(messages: list[Message], group: int) -> None:
    by_second = Counter(message.date for message in messages)
    assert max(by_second.values()) <= MAX_PER_SECOND
    assert max(by_second.values()) > MAX_PER_SECOND // 2, "they are sent about as fast as they may be"
    by_chat_and_second = Counter((message.chat.id, message.date) for message in messages)
    assert max(by_chat_and_second.values()) == 1
    times = sorted(message.date for message in messages if message.chat.id == group)
    for first, later in zip(times, times[MAX_PER_GROUP_MINUTE:], strict=False):
        assert later - first >= 60
