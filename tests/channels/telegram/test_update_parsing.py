"""Updates of Telegram: every sample is understood, or ignored with a reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from gatepost.channels.provider import Recording, UserMessage
from gatepost.channels.telegram.update import (
    BotIdentity,
    ButtonPress,
    ChatMigration,
    Ignored,
    Membership,
    MembershipChange,
    UpdateContent,
    parse_update,
)
from gatepost.errors import Invalid

SAMPLES = Path(__file__).parents[4] / "shared/samples/telegram"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

BOT = BotIdentity(99, "gate_bot")
ANA = {"id": 7, "is_bot": False, "first_name": "Ana", "last_name": "Li", "username": "ana"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Ana"}
GROUP = {"id": -100, "type": "supergroup", "title": "Team"}


def parse_message(kind: str = "message", /, **fields: Any) -> UpdateContent:
    message = {"message_id": 5, "date": 1_700_000_000, "from": ANA, "chat": PRIVATE, **fields}
    return parse_update({"update_id": 1, kind: message}, BOT).content


def read_message(kind: str = "message", /, **fields: Any) -> UserMessage:
    content = parse_message(kind, **fields)
    assert isinstance(content, UserMessage), content
    return content


def read_official(name: str) -> UpdateContent:
    updates = json.loads((SAMPLES / "official-webhooks-guide-updates.json").read_text())["updates"]
    return parse_update(updates[name], BOT).content


def read_teloxide(number: int, kind: str = "message") -> UpdateContent:
    """Return what a sample says; a message, or another part of an update, is put into one."""
    document = json.loads(next((SAMPLES / "teloxide-anon").glob(f"{number:02}-*.json")).read_text())
    return parse_update(document if "update_id" in document else {"update_id": 1, kind: document}, BOT).content


@needs_samples
def test_every_official_sample_is_understood() -> None:
    person = ("1111111", "Test Firstname Test Lastname", "Testusername")
    for name in ("text", "forwarded", "forwarded_channel", "reply", "edited_message", "entities", "document"):
        message = read_official(name)
        assert isinstance(message, UserMessage)
        assert (message.user, message.display, message.handle) == person
        assert (message.chat, message.id) == (None, "1365")
        assert message.is_forwarded == name.startswith("forwarded")
        assert message.replaces == ("1365" if name == "edited_message" else None)
        assert message.command == ("start" if name in ("text", "reply") else None)
        assert message.reply_to is None, "it does not reply to the bot"
        assert message.media == ("document" if name == "document" else None)
    assert isinstance(audio := read_official("audio"), UserMessage)
    assert audio.recording == Recording(file="AwADBAADbXXXXXXXXXXXGBdhD2l6_XX", size=3897500, mime_type="audio/mpeg")
    assert isinstance(voice := read_official("voice"), UserMessage)
    assert voice.recording == Recording(file="AwADBAADbXXXXXXXXXXXGBdhD2l6_XX", size=23000, mime_type="audio/ogg")
    assert read_official("callback_query") == ButtonPress(
        query_id="4382bfdwdsb323b2d9",
        user=1111111,
        data="Data from button callback",
        chat=None,
        message_id=None,
        display="Test Firstname Test Lastname",
        handle="Testusername",
    )


@needs_samples
def test_every_sample_is_understood_or_ignored_with_a_reason() -> None:
    files = sorted((SAMPLES / "teloxide-anon").glob("*.json"))
    kinds = ("message", "edited_message", "channel_post", "callback_query", "my_chat_member", "message_reaction")
    for file in files:
        document = json.loads(file.read_text())
        updates = [document] if "update_id" in document else [{"update_id": 1, kind: document} for kind in kinds]
        if isinstance(document.get("result"), list):
            updates += document["result"]
        for update in updates:
            content = parse_update(update, BOT).content
            assert not isinstance(content, Ignored) or content.reason
    assert len(files) == 58


@needs_samples
@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (13, None),  # an anonymous administrator writes
        (16, "a message without a sender"),
        (17, "a message of the kind 'video_chat_started'"),
        (19, "a message of the kind 'forum_topic_created'"),
        (21, "a message without a sender"),
        (22, "a message of the kind 'forum_topic_closed'"),
        (23, "a post in a channel"),
        (38, "it does not have the form that Telegram describes: Object missing required field `chat`"),
        (47, "a message of the kind 'pinned_message'"),
        (49, "an update of the kind 'new_update_kind'"),
        (51, "an update of the kind 'message_reaction'"),
        (56, "an update of the kind 'purchased_paid_media'"),
    ],
)
def test_the_reason_says_what_it_was(number: int, reason: str | None) -> None:
    content = read_teloxide(number)
    assert content == Ignored(reason) if reason else isinstance(content, UserMessage)


@needs_samples
@pytest.mark.parametrize(
    ("number", "media"), [(7, "video"), (11, "sticker"), (12, "photo"), (44, "story"), (48, "dice"), (37, "photo")]
)
def test_media_are_named(number: int, media: str) -> None:
    message = read_teloxide(number)
    assert isinstance(message, UserMessage)
    assert (message.media, message.recording) == (media, None)


@needs_samples
def test_samples_of_topics_migrations_and_blocks() -> None:
    topic = read_teloxide(20)
    assert isinstance(topic, UserMessage)
    assert (topic.text, topic.thread, topic.reply_to) == ("blah", "4", None)
    thread_of_replies = read_teloxide(45)
    assert isinstance(thread_of_replies, UserMessage)
    assert (thread_of_replies.thread, thread_of_replies.command) == (None, "report")
    assert read_teloxide(14) == ChatMigration(old_chat=-825428095, new_chat=-1001555296434)
    assert read_teloxide(15) == ChatMigration(old_chat=-599075523, new_chat=-1000787247238)
    blocked = read_teloxide(50)
    assert isinstance(blocked, MembershipChange)
    assert blocked.membership is Membership.BLOCKED
    inline = read_teloxide(4, "callback_query")
    assert isinstance(inline, ButtonPress)
    assert (inline.data, inline.chat) == ("some_data", None)


def test_a_text_has_a_sender_and_a_place() -> None:
    message = read_message(text="hi 😀", chat=GROUP, message_thread_id=3, is_topic_message=True)
    assert (message.chat, message.thread, message.id) == ("-100", "3", "5")
    assert (message.user, message.display, message.handle, message.text) == ("7", "Ana Li", "ana", "hi 😀")
    assert not message.is_addressed
    private = read_message(text="hi")
    assert (private.is_addressed, private.user, private.chat) == (True, "7", None)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/start", "start"),
        ("/start@Gate_Bot", "start"),
        ("/ASK  two\nlines ", "ask"),
        ("/ask@gate_bot what", "ask"),
        ("/path/to", None),
        ("see /start", None),
        ("/", None),
        ("/é", None),
    ],
)
def test_a_command_is_read(text: str, command: str | None) -> None:
    message = read_message(text=text, chat=GROUP)
    assert message.command == command
    assert message.is_addressed == (command is not None)


def test_a_command_for_another_bot_is_ignored() -> None:
    assert parse_message(text="/start@other_bot") == Ignored("a command for another bot")


@pytest.mark.parametrize(
    "fields",
    [
        {"entities": [{"type": "code", "offset": 0, "length": 6}]},
        {"forward_origin": {"type": "hidden_user"}},
        {"forward_date": 5},
    ],
)
def test_quoted_commands_are_not_given(fields: dict[str, Any]) -> None:
    assert read_message(text="/reset", **fields).command is None
    assert read_message("edited_message", text="/reset").command is None
    assert read_message(photo=[{}], caption="/reset").command is None


@pytest.mark.parametrize(
    ("text", "entity", "is_mention"),
    [
        ("😀 @gate_BOT hi", {"type": "mention", "offset": 3, "length": 9}, True),
        ("😀 @gate_bots", {"type": "mention", "offset": 3, "length": 10}, False),
        ("@gate_bot", {"type": "code", "offset": 0, "length": 9}, False),
        ("Gate", {"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 99, "is_bot": True}}, True),
        ("Gate", {"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 98}}, False),
        ("@gate_bot", {"type": "mention", "offset": 0, "length": 10}, False),
    ],
)
def test_a_mention_of_the_bot_is_found(text: str, entity: dict[str, Any], is_mention: bool) -> None:
    message = read_message(text=text, entities=[entity], chat=GROUP)
    assert message.is_addressed == is_mention
    caption = read_message(caption=text, caption_entities=[entity], photo=[{}], chat=GROUP)
    assert (caption.is_addressed, caption.media) == (is_mention, "photo")


def test_a_reply_to_the_bot_is_for_the_bot() -> None:
    bot_message = {"message_id": 4, "from": {"id": 99, "is_bot": True, "first_name": "Gate"}}
    reply = read_message(text="yes", chat=GROUP, reply_to_message=bot_message)
    assert (reply.reply_to, reply.is_addressed) == ("4", True)
    other = read_message(text="yes", chat=GROUP, reply_to_message={**bot_message, "from": ANA})
    assert (other.reply_to, other.is_addressed) == (None, False)
    first_of_topic = read_message(
        text="yes", chat=GROUP, reply_to_message=bot_message, message_thread_id=4, is_topic_message=True
    )
    assert (first_of_topic.reply_to, first_of_topic.is_addressed) == (None, False)


def test_who_writes_as_a_chat_is_that_chat() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    message = read_message(text="hi", chat=GROUP, sender_chat=GROUP, **{"from": anonymous})
    assert (message.user, message.display, message.handle, message.is_anonymous) == ("-100", "Team", None, True)
    assert not read_message(text="hi", chat=GROUP).is_anonymous


def test_messages_of_bots_and_channels_are_ignored() -> None:
    assert parse_message(text="hi", **{"from": {**ANA, "is_bot": True}}) == Ignored("a message of a bot")
    assert parse_message(text="hi", chat={"id": -1, "type": "channel"}) == Ignored("a post in a channel")
    forwarded = parse_message(text="hi", chat=GROUP, sender_chat=GROUP, is_automatic_forward=True)
    assert forwarded == Ignored("a post of a channel that Telegram has forwarded to its group")
    assert parse_update({"update_id": 1, "channel_post": {}}, BOT).content == Ignored(
        "an update of the kind 'channel_post'"
    )
    assert parse_update({"update_id": 1}, BOT).content == Ignored("an update without a kind")
    assert parse_message() == Ignored("a message with nothing in it")


def test_a_round_video_can_be_heard() -> None:
    message = read_message(video_note={"file_id": "f", "duration": 3, "length": 240})
    assert message.recording == Recording(file="f")
    assert message.media is None


def test_the_more_exact_kind_of_media_counts() -> None:
    assert read_message(document={"file_id": "f"}, animation={"file_id": "f"}).media == "animation"
    assert read_message(location={}, venue={}).media == "venue"
    assert read_message(paid_media={}).media == "paid media"


def test_a_press_says_where_the_button_is() -> None:
    message = {"message_id": 8, "date": 0, "chat": GROUP, "message_thread_id": 3, "is_topic_message": True}
    query = {"id": "q", "from": ANA, "data": "d\x00", "message": message}
    press = parse_update({"update_id": 1, "callback_query": query}, BOT).content
    assert isinstance(press, ButtonPress)
    assert (press.chat, press.message_id, press.user) == (-100, 8, 7)
    assert press.data == "d\ufffd"
    game = {"id": "q", "from": ANA, "game_short_name": "g"}
    assert parse_update({"update_id": 1, "callback_query": game}, BOT).content == Ignored(
        "a press of a button without data", "q"
    )


@pytest.mark.parametrize(
    ("chat", "old", "new", "membership"),
    [
        (GROUP, "member", "restricted", Membership.REMOVED),
        (PRIVATE, "member", "kicked", Membership.BLOCKED),
        (PRIVATE, "kicked", "member", Membership.JOINED),
        (GROUP, "left", "member", Membership.JOINED),
        (GROUP, "member", "kicked", Membership.REMOVED),
        (GROUP, "administrator", "left", Membership.REMOVED),
        (GROUP, "member", "administrator", None),
        (GROUP, "left", "kicked", None),
    ],
)
def test_the_bot_hears_where_it_belongs(
    chat: dict[str, Any], old: str, new: str, membership: Membership | None
) -> None:
    change = {"chat": chat, "from": ANA, "old_chat_member": {"status": old}}
    change["new_chat_member"] = {"status": new, "is_member": False}
    content = parse_update({"update_id": 1, "my_chat_member": change}, BOT).content
    if membership is None:
        assert isinstance(content, Ignored)
    else:
        assert isinstance(content, MembershipChange)
        assert content.membership is membership


def test_text_that_cannot_be_stored_is_cleaned_and_keeps_its_length() -> None:
    message = read_message(
        text="a\x00\ud800@gate_bot", entities=[{"type": "mention", "offset": 3, "length": 9}], chat=GROUP
    )
    assert (message.text, message.is_addressed) == ("a\ufffd\ufffd@gate_bot", True)


@pytest.mark.parametrize("update", [None, [], "x", 5, {}, {"update_id": "5"}, {"update_id": True}, {"update_id": -1}])
def test_an_update_without_an_id_is_refused(update: Any) -> None:
    with pytest.raises(Invalid, match="has no update_id"):
        parse_update(update, BOT)


@pytest.mark.parametrize("message", [None, [], 5, {}, {"chat": 5}, {"message_id": 2**70}])
def test_a_message_of_another_form_is_ignored(message: Any) -> None:
    content = parse_update({"update_id": 1, "message": message}, BOT).content
    assert isinstance(content, Ignored)
    assert content.reason.startswith("it does not have the form that Telegram describes: ")
