"""What people do becomes the updates that a real bot would get."""

import pytest

from tests.channels.telegram.bot_api.bot_client import FAKE, BotClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Bot, Message, User

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/channels/telegram/bot_api/test_people.py")

KEYBOARD = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}], [{"text": "No", "callback_data": "n"}]]}


@pytest.fixture
def ben(telegram: TelegramServer) -> User:
    return telegram.add_user(12, "Ben", last_name="Okri", language_code=None)


def send(telegram: TelegramServer, client: BotClient, chat_id: int) -> Message:
    client.call("sendMessage", chat_id=chat_id, text="Approve?", reply_markup=KEYBOARD)
    return telegram.sent(chat_id)[-1]


def test_a_text_has_its_commands_and_mentions(telegram: TelegramServer, client: BotClient, ben: User) -> None:
    telegram.send_text(ben, "/ask@gatepost_bot 😀 @ana_b")
    [update] = client.poll()
    assert update == {
        "update_id": 100_000_001,
        "message": {
            "message_id": 1,
            "from": {"id": 12, "is_bot": False, "first_name": "Ben", "last_name": "Okri"},
            "chat": {"id": 12, "first_name": "Ben", "last_name": "Okri", "type": "private"},
            "date": int(telegram.now()),
            "text": "/ask@gatepost_bot 😀 @ana_b",
            "entities": [
                {"type": "bot_command", "offset": 0, "length": 17},
                {"type": "mention", "offset": 21, "length": 6},
            ],
        },
    }


def test_an_edit_and_a_reply_show_the_message(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = telegram.send_text(ana, "one")
    telegram.advance(60)
    telegram.edit_text(message, "two")
    telegram.send_text(ana, "three", reply_to=message)
    _, edited, reply = client.poll()
    assert (edited["edited_message"]["text"], edited["edited_message"]["edit_date"]) == ("two", int(telegram.now()))
    assert reply["message"]["reply_to_message"]["text"] == "two"


def test_files_have_the_fields_of_their_kind(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.send_voice(ana, b"v", caption="/note")
    telegram.send_audio(ana, b"a", duration=61)
    telegram.send_video_note(ana, b"n")
    voice, audio, note = [update["message"] for update in client.poll()]
    ids = {"file_id", "file_unique_id", "file_size"}
    assert set(voice["voice"]) == ids | {"duration", "mime_type"}
    assert voice["caption_entities"] == [{"type": "bot_command", "offset": 0, "length": 5}]
    assert audio["audio"]["duration"] == 61
    assert set(note["video_note"]) == ids | {"duration", "length"}
    assert ("caption" in audio, "text" in voice) == (False, False)
    file = client.call("getFile", file_id=note["video_note"]["file_id"])
    assert file["file_path"].endswith(".mp4")
    assert client.download(file["file_path"]).content == b"n"


def test_a_pressed_button_is_a_callback_query(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = send(telegram, client, ana.id)
    telegram.press(ana, message, "No")
    telegram.press(ana, message, 0, data="forged")
    plain, forged = [update["callback_query"] for update in client.poll()]
    assert set(plain) == {"id", "from", "message", "chat_instance", "data"}
    assert (plain["data"], plain["from"]["id"], plain["message"]["message_id"]) == ("n", 11, message.id)
    assert plain["message"]["reply_markup"] == KEYBOARD
    assert forged["data"] == "forged"
    assert plain["chat_instance"] == forged["chat_instance"]
    with pytest.raises(IndexError):
        telegram.press(ana, message, 2)


def test_groups_have_negative_ids_and_share_messages(
    telegram: TelegramServer, client: BotClient, ana: User, ben: User
) -> None:
    group, supergroup = telegram.add_group("Team", ana, ben), telegram.add_supergroup("All", ana)
    telegram.send_text(ben, "hello", group)
    telegram.send_text(ana, "hello", supergroup)
    in_group, in_supergroup = [update["message"] for update in client.poll()]
    assert in_group["chat"] == {
        "id": group.id,
        "title": "Team",
        "type": "group",
        "all_members_are_administrators": True,
    }
    assert in_supergroup["chat"] == {"id": supergroup.id, "title": "All", "type": "supergroup"}
    assert group.id < 0
    assert str(supergroup.id).startswith("-100")
    with pytest.raises(AssertionError, match="Ben is not in the chat"):
        telegram.send_text(ben, "hello", supergroup)


def test_the_thread_of_a_reply_is_no_topic(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    supergroup = telegram.add_supergroup("All", ana)
    first = telegram.send_text(ana, "one", supergroup)
    telegram.send_text(ana, "two", supergroup, reply_to=first)
    reply = client.poll()[-1]["message"]
    assert (reply["message_thread_id"], "is_topic_message" in reply) == (first.id, False)
    values = {"chat_id": supergroup.id, "text": "x", "message_thread_id": first.id}
    assert client.refuse("sendMessage", 400, **values) == "Bad Request: message thread is not a forum topic thread"


def test_a_forum_has_topics(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    forum = telegram.add_supergroup("Forum", ana, is_forum=True)
    plans = telegram.add_topic(forum, "Plans", ana)
    message = telegram.send_text(ana, "in plans", forum, thread=plans)
    telegram.send_text(ana, "in general", forum)
    _, in_topic, in_general = [update["message"] for update in client.poll()]
    assert in_topic["chat"]["is_forum"] is True
    assert (in_topic["message_thread_id"], in_topic["is_topic_message"]) == (plans, True)
    assert in_topic["reply_to_message"]["forum_topic_created"]["name"] == "Plans"
    assert "message_thread_id" not in in_general

    sent = client.call("sendMessage", chat_id=forum.id, text="x", message_thread_id=plans)
    assert (sent["message_thread_id"], sent["is_topic_message"]) == (plans, True)
    assert [sent.thread for sent in telegram.sent(forum)] == [plans]
    client.call("sendChatAction", chat_id=forum.id, action="typing", message_thread_id=plans)
    assert telegram.actions[-1].thread == plans
    values = {"chat_id": forum.id, "text": "x", "message_thread_id": message.id}
    assert client.refuse("sendMessage", 400, **values) == "Bad Request: message thread not found"


def test_a_bot_is_told_that_it_was_blocked_and_kicked(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    group = telegram.add_group("Team", ana)
    telegram.block(ana)
    telegram.kick(group, ana)
    telegram.unblock(ana)
    changes = [update["my_chat_member"] for update in client.poll()]
    assert [
        (change["chat"]["type"], change["old_chat_member"]["status"], change["new_chat_member"]["status"])
        for change in changes
    ] == [("private", "member", "kicked"), ("group", "member", "kicked"), ("private", "kicked", "member")]
    telegram.block(ana)
    with pytest.raises(AssertionError, match="blocked"):
        telegram.send_text(ana, "hello")


def test_an_upgraded_group_tells_both_ids(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    group = telegram.add_group("Team", ana)
    supergroup = telegram.upgrade_group(group)
    telegram.send_text(ana, "hello", supergroup)
    to, from_, hello = [update["message"] for update in client.poll()]
    assert (to["chat"]["id"], to["migrate_to_chat_id"]) == (group.id, supergroup.id)
    assert (from_["chat"]["id"], from_["migrate_from_chat_id"]) == (supergroup.id, group.id)
    assert hello["chat"]["type"] == "supergroup"
    assert hello["message_id"] == 2  # a supergroup has a numbering of its own


def test_malformed_updates_are_delivered_and_confirmed(telegram: TelegramServer, client: BotClient) -> None:
    bodies = [{"message": 7}, {"update_id": "x"}, [], {"update_id": 100_000_009, "unknown": {}}]
    for body in bodies:
        telegram.inject(body)
    assert client.poll() == bodies
    assert client.poll(offset=100_000_010) == []


def test_a_bot_does_not_get_its_own_messages(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    group = telegram.add_group("Team", ana)
    other: Bot = telegram.add_bot("late_bot")
    client.call("sendMessage", chat_id=group.id, text="x")
    assert client.poll() == []
    late = BotClient(telegram, other)
    assert late.refuse("sendMessage", 400, chat_id=group.id, text="x") == "Bad Request: chat not found"
    late.http.close()
