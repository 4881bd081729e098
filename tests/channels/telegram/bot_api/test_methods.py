"""What a bot may send, edit and answer, how often, and to whom."""

from typing import Any

import pytest

from tests.channels.telegram.bot_api.bot_client import FAKE, BotClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Chat, ChatAction, Message, User

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/channels/telegram/bot_api/test_methods.py")

KEYBOARD = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}]]}
NOT_MODIFIED = "Bad Request: message is not modified: "


def send(telegram: TelegramServer, client: BotClient, chat: User | Chat, text: str = "x", **values: Any) -> Message:
    """Send a message a second after the one before."""
    telegram.advance(3)
    sent = client.call("sendMessage", chat_id=chat.id, text=text, **values)
    message = telegram.sent(chat)[-1]
    assert sent["message_id"] == message.id
    return message


def test_a_message_is_returned_as_it_was_sent(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    sent = client.call(
        "sendMessage",
        chat_id=11,
        text="1.5 https://e.org",
        entities=[{"type": "bold", "offset": 0, "length": 3}],
        link_preview_options={"is_disabled": True},
        reply_markup=KEYBOARD,
    )
    assert (sent["text"], sent["date"]) == ("1.5 https://e.org", int(telegram.now()))
    assert sent["entities"] == [
        {"type": "bold", "offset": 0, "length": 3},
        {"type": "url", "offset": 4, "length": 13},
    ]
    assert (sent["link_preview_options"], sent["reply_markup"]) == ({"is_disabled": True}, KEYBOARD)
    [message] = telegram.sent(ana)
    assert (message.text, message.entities, message.markup) == (sent["text"], sent["entities"], KEYBOARD)
    assert [button["text"] for button in message.buttons] == ["Yes", "No"]


def test_text_is_refused_as_telegram_refuses_it(client: BotClient, ana: User) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": ""}, "message text is empty"),
        ({"text": " \n"}, "text must be non-empty"),
        ({"text": "x" * 4097}, "message is too long"),
        (
            {"text": "x", "link_preview_options": {"disabled": True}},
            "unknown fields ['disabled'] in link_preview_options",
        ),
    ]
    for values, error in cases:
        assert client.refuse("sendMessage", 400, chat_id=11, **values) == f"Bad Request: {error}"


def test_callback_data_has_1_to_64_bytes(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    def build(**button: Any) -> dict[str, Any]:
        return {"inline_keyboard": [[{"text": "A", **button}]]}

    send(telegram, client, ana, reply_markup=build(callback_data="é" * 32))
    telegram.advance(1)
    problem = "Bad Request: can't parse inline keyboard button: "
    for markup, error in [
        (build(callback_data="é" * 32 + "x"), "Bad Request: BUTTON_DATA_INVALID"),
        (build(callback_data=""), f"{problem}Text buttons are unallowed in the inline keyboard"),
        (build(), f"{problem}Text buttons are unallowed in the inline keyboard"),
        (build(callback_data="a", url="https://e.org"), "Bad Request: the test server has no buttons with url"),
        ({"inline_keyboard": [[{"callback_data": "a"}]]}, f'{problem}Can\'t find field "text"'),
        ({"keyboard": [["A"]]}, "Bad Request: inline keyboard expected"),
        ({"inline_keyboard": [{"text": "A"}]}, 'Bad Request: field "inline_keyboard" of the InlineKeyboardMarkup must'),
    ]:
        assert client.refuse("sendMessage", 400, chat_id=11, text="x", reply_markup=markup).startswith(error)


def test_an_edit_changes_a_message_and_is_remembered(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = send(telegram, client, ana, "one", reply_markup=KEYBOARD)
    target = {"chat_id": 11, "message_id": message.id}
    telegram.advance(1)
    edited = client.call("editMessageText", **target, text="two")
    assert (edited["text"], edited["edit_date"]) == ("two", int(telegram.now()))
    assert "reply_markup" not in edited  # an edit without a keyboard removes it
    assert [(version.text, version.markup) for version in message.edits] == [("one", KEYBOARD)]
    assert (message.text, message.markup) == ("two", None)


def test_an_edit_that_changes_nothing_is_refused(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = send(telegram, client, ana, "one", reply_markup=KEYBOARD)
    target = {"chat_id": 11, "message_id": message.id}
    client.call("editMessageText", **target, text="one")  # it loses its keyboard
    assert client.refuse("editMessageText", 400, **target, text="one").startswith(NOT_MODIFIED)


def test_only_own_messages_are_edited(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    theirs = telegram.send_text(ana, "mine")
    target = {"chat_id": 11, "message_id": theirs.id}
    assert client.refuse("editMessageText", 400, **target, text="x") == "Bad Request: message can't be edited"
    target["message_id"] = 999
    assert client.refuse("editMessageText", 400, **target, text="x") == "Bad Request: message to edit not found"
    assert "not specified" in client.refuse("editMessageText", 400, text="x")


def test_a_callback_query_is_answered_once_and_in_time(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = send(telegram, client, ana, reply_markup=KEYBOARD)
    first, second = telegram.press(ana, message, "Yes"), telegram.press(ana, message, 1)
    assert [query.data for query in telegram.unanswered_queries] == ["y", "n"]
    text = "é" * 201
    assert "MESSAGE_TOO_LONG" in client.refuse("answerCallbackQuery", 400, callback_query_id=first.id, text=text)
    assert client.call("answerCallbackQuery", callback_query_id=first.id, text=text[:200], show_alert=True) is True
    assert first.answer == {"text": text[:200], "show_alert": True}
    assert telegram.unanswered_queries == [second]
    telegram.advance(151)
    for id in (first.id, second.id, "12345", ""):
        assert client.refuse("answerCallbackQuery", 400, callback_query_id=id) == (
            "Bad Request: query is too old and response timeout expired or query ID is invalid"
        )
    assert telegram.unanswered_queries == [second]


def test_actions_and_reactions_are_seen(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    message = telegram.send_text(ana, "hello")
    client.call("sendChatAction", chat_id=11, action="typing")
    assert telegram.actions == [ChatAction(11, "typing", None)]
    assert "wrong parameter action" in client.refuse("sendChatAction", 400, chat_id=11, action="thinking")

    target = {"chat_id": 11, "message_id": message.id}
    client.call("setMessageReaction", **target, reaction=[{"type": "emoji", "emoji": "👀"}])
    assert telegram.reactions == {(11, message.id): ["👀"]}
    for reaction, error in [
        ([{"type": "emoji", "emoji": "🧿"}], "REACTION_INVALID"),
        ([{"type": "emoji", "emoji": "👍"}, {"type": "emoji", "emoji": "👎"}], "REACTIONS_TOO_MANY"),
        ([{"type": "paid"}], "REACTION_INVALID"),
    ]:
        assert client.refuse("setMessageReaction", 400, **target, reaction=reaction) == f"Bad Request: {error}"
    client.call("setMessageReaction", **target)
    assert telegram.reactions == {(11, message.id): []}
    target["message_id"] = 999
    assert "message to react not found" in client.refuse("setMessageReaction", 400, **target)


def test_a_bot_writes_only_to_whom_it_may(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    ben = telegram.add_user(12, "Ben")
    for chat_id in (13, -5, "@ana_b", "11x"):
        assert client.refuse("sendMessage", 400, chat_id=chat_id, text="x") == "Bad Request: chat not found"
    assert client.refuse("sendMessage", 400, text="x") == "Bad Request: chat_id is empty"
    assert client.refuse("sendMessage", 400, chat_id=12, text="x") == "Bad Request: chat not found"
    group = telegram.add_group("Team", ana, ben)
    assert client.refuse("sendMessage", 403, chat_id=12, text="x") == (
        "Forbidden: bot can't initiate conversation with a user"
    )
    telegram.block(ana)
    assert client.refuse("sendMessage", 403, chat_id=11, text="x") == "Forbidden: bot was blocked by the user"
    assert client.refuse("sendChatAction", 403, chat_id=11, action="typing")
    telegram.unblock(ana)
    send(telegram, client, ana)
    telegram.kick(group, ana)
    assert client.refuse("sendMessage", 403, chat_id=group.id, text="x") == (
        "Forbidden: bot was kicked from the group chat"
    )


def test_an_upgraded_group_names_its_supergroup(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    group = telegram.add_group("Team", ana)
    supergroup = telegram.upgrade_group(group)
    answer = client.post("sendMessage", chat_id=group.id, text="x")
    assert answer.status_code == 400
    assert answer.json() == {
        "ok": False,
        "error_code": 400,
        "description": "Bad Request: group chat was upgraded to a supergroup chat",
        "parameters": {"migrate_to_chat_id": supergroup.id},
    }
    client.call("sendMessage", chat_id=supergroup.id, text="x")


def test_one_message_a_second_goes_to_a_chat(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    client.call("sendMessage", chat_id=11, text="1")
    answer = client.post("sendMessage", chat_id=11, text="2")
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "1"
    assert answer.json() == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 1",
        "parameters": {"retry_after": 1},
    }
    telegram.advance(0.5)
    client.refuse("sendMessage", 429, chat_id=11, text="2")
    telegram.advance(0.5)
    client.call("sendMessage", chat_id=11, text="2")
    assert [call.status for call in telegram.refusals] == [429, 429]


def test_thirty_messages_a_second_go_to_all_chats(telegram: TelegramServer, client: BotClient) -> None:
    people = [telegram.add_user(100 + number) for number in range(31)]
    for person in people:
        telegram.open_chat(person)
    for person in people[:30]:
        client.call("sendMessage", chat_id=person.id, text="x")
    client.refuse("sendMessage", 429, chat_id=people[30].id, text="x")
    telegram.advance(1)
    client.call("sendMessage", chat_id=people[30].id, text="x")


@pytest.mark.parametrize("is_super", [False, True])
def test_twenty_messages_a_minute_go_to_a_group(
    telegram: TelegramServer, client: BotClient, ana: User, is_super: bool
) -> None:
    group = telegram.add_supergroup("Team", ana) if is_super else telegram.add_group("Team", ana)
    for _ in range(20):
        client.call("sendMessage", chat_id=group.id, text="x")
        telegram.advance(1)
    answer = client.post("sendMessage", chat_id=group.id, text="x").json()
    assert answer["parameters"] == {"retry_after": 40}
    telegram.advance(39)
    client.refuse("sendMessage", 429, chat_id=group.id, text="x")
    telegram.advance(1)
    client.call("sendMessage", chat_id=group.id, text="x")


def test_limits_can_be_switched_off() -> None:
    with TelegramServer(has_limits=False) as telegram:
        client = BotClient(telegram)
        telegram.open_chat(telegram.add_user(11))
        for _ in range(3):
            client.call("sendMessage", chat_id=11, text="x")
        client.http.close()
