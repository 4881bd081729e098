"""The server as a bot meets it: access, parameters, updates, files, faults, and the recorded samples."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.channels.telegram.bot_api.bot_client import FAKE, BotClient
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.support.waits import LAST_RESORT

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/channels/telegram/bot_api/test_server.py")

SAMPLES = Path(__file__).parents[5] / "shared/samples/telegram"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def start_poll(threads: ThreadPoolExecutor, telegram: TelegramServer, client: BotClient) -> Future[httpx2.Response]:
    """Begin a long poll in another thread, and return it when the server waits."""
    poll = threads.submit(client.post, "getUpdates", timeout=50)
    telegram.wait_for(telegram.is_polling)
    return poll


def list_ids(updates: list[Any]) -> list[int]:
    return [update["update_id"] for update in updates]


def read_sample(name: str) -> Any:
    return json.loads((SAMPLES / "teloxide-anon" / name).read_text())


def read_samples() -> list[Any]:
    official = json.loads((SAMPLES / "official-webhooks-guide-updates.json").read_text())["updates"].values()
    recorded = [read_sample(file.name) for file in sorted((SAMPLES / "teloxide-anon").glob("*.json"))]
    return [*official, *recorded]


def test_a_wrong_token_is_unauthorized(telegram: TelegramServer, client: BotClient) -> None:
    old = telegram.token
    telegram.revoke_token()
    answer = client.http.get(f"{telegram.url}/bot{old}/getMe")
    assert answer.status_code == 401
    assert answer.json() == {"ok": False, "error_code": 401, "description": "Unauthorized"}
    assert client.http.get(f"{telegram.url}/file/bot{old}/voice/x").status_code == 401
    assert client.call("getMe")["username"] == "gatepost_bot"


def test_an_unknown_method_and_path_are_not_found(telegram: TelegramServer, client: BotClient) -> None:
    for method in ("sendTelepathy", "deleteMessage", "setMyCommands"):
        assert client.refuse(method, 404) == "Not Found: method not found"
    assert client.http.get(telegram.url).status_code == 404


def test_methods_are_case_insensitive_and_take_parameters_as_json(
    telegram: TelegramServer, client: BotClient, ana: User
) -> None:
    url = f"{telegram.url}/bot{telegram.token}/SENDmessage"
    markup = {"inline_keyboard": [[{"text": "A", "callback_data": "a"}]]}
    client.http.post(url, json={"chat_id": "11", "text": "1", "reply_markup": markup})
    telegram.advance(1)
    client.http.post(url, json={"chat_id": 11, "text": "2", "reply_markup": json.dumps(markup)})
    assert [(message.text, message.markup) for message in telegram.sent(ana)] == [(text, markup) for text in "12"]
    assert telegram.requests == {"sendMessage": 2}
    values = {"chat_id": "11", "text": "3"}
    for answer in (client.http.get(url, params=values), client.http.post(url, data=values)):
        assert answer.status_code == 400
        assert "the test server does not read" in answer.json()["description"]
    for body, error in ((b"[]", "JSON object expected"), (b"{", "can't parse object"), (b'"\xff"', "in UTF-8")):
        answer = client.http.post(url, content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, error in answer.json()["description"]) == (400, True)


def test_parameters_that_do_not_exist_or_do_not_fit_are_refused(client: BotClient, ana: User) -> None:
    for name, value in (
        ("disable_web_page_preview", True),
        ("parse_mode", "MarkdownV2"),
        ("parse_mode", "HTML"),
        ("reply_parameters", {"message_id": 1}),
    ):
        error = client.refuse("sendMessage", 400, chat_id=11, text="x", **{name: value})
        assert error == f'Bad Request: unknown parameter "{name}" of sendMessage'
    assert "limit must be between 1 and 100" in client.refuse("getUpdates", 400, limit=0)
    assert "limit must be between 1 and 100" in client.refuse("getUpdates", 400, limit=101)
    assert "offset must be an Integer" in client.refuse("getUpdates", 400, offset="next")
    assert "offset must be between 0" in client.refuse("getUpdates", 400, offset=-1)
    for kind in ("mesage", "poll"):
        assert "unknown kind of update" in client.refuse("getUpdates", 400, allowed_updates=[kind])
    # A null is the text "null", and not a parameter that is missing.
    assert "object expected as reply markup" in client.refuse(
        "sendMessage", 400, chat_id=11, text="x", reply_markup=None
    )


def test_an_offset_confirms_all_lower_updates(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    for text in "abcd":
        telegram.send_text(ana, text)
    first, second, third, fourth = list_ids(client.poll())
    assert second == first + 1
    assert list_ids(client.poll(limit=2)) == [first, second]
    assert list_ids(client.poll(offset=third)) == [third, fourth]
    assert list_ids(client.poll()) == [third, fourth]
    assert client.poll(offset=fourth + 1) == []
    assert telegram.bot.queue.pending == []


def test_updates_are_kept_for_a_day(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.send_text(ana, "old")
    telegram.advance(23 * 3600)
    telegram.send_text(ana, "new")
    assert len(client.poll()) == 2
    telegram.advance(3600)
    assert [update["message"]["text"] for update in client.poll()] == ["new"]


def test_a_numbering_that_restarts_lower_is_delivered_to_an_old_offset(
    telegram: TelegramServer, client: BotClient, ana: User
) -> None:
    telegram.send_text(ana, "before")
    [last] = list_ids(client.poll())
    client.poll(offset=last + 1)
    telegram.restart_numbering(5_000)
    for text in "ab":
        telegram.send_text(ana, text)
    assert list_ids(client.poll(offset=last + 1)) == [5_000, 5_001]
    assert list_ids(client.poll(offset=5_001)) == [5_001]


def test_an_offset_a_little_too_high_loses_updates(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.restart_numbering(100)
    telegram.send_text(ana, "lost")
    assert client.poll(offset=108) == []
    assert client.poll() == []


def test_a_long_poll_ends_as_soon_as_there_is_an_update(
    telegram: TelegramServer, client: BotClient, ana: User, threads: ThreadPoolExecutor
) -> None:
    poll = start_poll(threads, telegram, client)
    telegram.send_text(ana, "hello")
    assert [update["message"]["text"] for update in poll.result(LAST_RESORT).json()["result"]] == ["hello"]
    assert not telegram.is_polling()


def test_a_long_poll_without_updates_waits_for_its_time(
    telegram: TelegramServer, client: BotClient, threads: ThreadPoolExecutor
) -> None:
    poll = start_poll(threads, telegram, client)
    telegram.advance(49)
    assert telegram.is_polling()
    telegram.advance(1)
    assert poll.result(LAST_RESORT).json() == {"ok": True, "result": []}


def test_a_client_that_gives_up_polls_no_more(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    client.http.timeout = httpx2.Timeout(LAST_RESORT, read=0.05)
    with pytest.raises(httpx2.ReadTimeout):
        client.poll(timeout=50)
    client.http.timeout = LAST_RESORT
    telegram.wait_for(lambda: telegram.requests["getUpdates"] and not telegram.is_polling())
    telegram.send_text(ana, "not lost")
    assert len(client.poll()) == 1
    assert telegram.refusals == []


def test_a_second_poll_ends_the_first(telegram: TelegramServer, client: BotClient, threads: ThreadPoolExecutor) -> None:
    poll = start_poll(threads, telegram, client)
    assert client.poll() == []
    assert poll.result(LAST_RESORT).status_code == 409
    assert poll.result().json()["description"] == (
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    )


def test_a_webhook_ends_polling(telegram: TelegramServer, client: BotClient, threads: ThreadPoolExecutor) -> None:
    poll = start_poll(threads, telegram, client)
    client.call("setWebhook", url="https://example.org/hook", max_connections=1)
    assert poll.result(LAST_RESORT).json()["description"] == "Conflict: terminated by setWebhook request"
    assert client.refuse("getUpdates", 409).startswith("Conflict: can't use getUpdates method while webhook is active")
    client.call("deleteWebhook")
    assert client.poll() == []


def test_a_bot_gets_the_kinds_of_updates_it_asked_for(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    client.poll(allowed_updates=["edited_message"])
    message = telegram.send_text(ana, "unseen")
    telegram.edit_text(message, "seen")
    assert [set(update) for update in client.poll()] == [{"update_id", "edited_message"}]  # and it is remembered
    client.poll(allowed_updates=[])
    telegram.send_text(ana, "seen")
    assert "message" in client.poll()[-1]


def test_bots_have_updates_of_their_own(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    other = telegram.add_bot("other_bot")
    other_client = BotClient(telegram, other)
    telegram.send_text(ana, "for the other", bot=other)
    assert client.poll() == []
    assert len(other_client.poll()) == 1
    other_client.call("sendMessage", chat_id=11, text="from the other")
    assert telegram.sent(ana) == []
    assert [message.text for message in telegram.sent(ana, other)] == ["from the other"]
    other_client.http.close()


def test_a_file_is_downloaded_by_the_path_of_get_file(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.send_voice(ana, b"OggS voice", duration=7)
    voice = client.poll()[0]["message"]["voice"]
    assert (voice["duration"], voice["mime_type"], voice["file_size"]) == (7, "audio/ogg", 10)
    file = client.call("getFile", file_id=voice["file_id"])
    assert {name: file[name] for name in ("file_id", "file_unique_id", "file_size")} == {
        name: voice[name] for name in ("file_id", "file_unique_id", "file_size")
    }
    assert client.download(file["file_path"]).content == b"OggS voice"
    assert client.download("voice/file_0.oga").status_code == 404
    telegram.advance(3600)
    assert client.download(file["file_path"]).status_code == 404
    client.call("getFile", file_id=voice["file_id"])
    assert client.download(file["file_path"]).content == b"OggS voice"


def test_files_that_are_too_big_or_of_another_bot_are_refused(
    telegram: TelegramServer, client: BotClient, ana: User
) -> None:
    for size in (20 * 1024 * 1024, 20 * 1024 * 1024 + 1):
        telegram.send_audio(ana, b"", size=size)
    fits, too_big = [update["message"]["audio"]["file_id"] for update in client.poll()]
    assert client.call("getFile", file_id=fits)["file_size"] == 20 * 1024 * 1024
    assert client.refuse("getFile", 400, file_id=too_big) == "Bad Request: file is too big"
    other_client = BotClient(telegram, telegram.add_bot("other_bot"))
    assert other_client.refuse("getFile", 400, file_id=fits) == "Bad Request: invalid file_id"
    assert client.refuse("getFile", 400) == "Bad Request: file_id not specified"
    other_client.http.close()


def test_an_answer_of_the_test_replaces_the_method(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.answer("sendMessage", 2, status=429, description="Too Many Requests: retry after 7", retry_after=7)
    for _ in range(2):
        answer = client.post("sendMessage", chat_id=11, text="x").json()
        assert answer["parameters"] == {"retry_after": 7}
    telegram.answer("*", body=b"<h1>Bad Gateway</h1>", status=502)
    assert client.post("getMe").text == "<h1>Bad Gateway</h1>"
    assert telegram.sent(ana) == []
    client.call("sendMessage", chat_id=11, text="x")
    assert telegram.refusals == []


def test_a_dropped_reply_is_done_all_the_same(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    telegram.drop_replies("sendMessage")
    with pytest.raises(httpx2.RemoteProtocolError):
        client.post("sendMessage", chat_id=11, text="done")
    telegram.cut_replies("getMe")
    with pytest.raises(httpx2.RemoteProtocolError, match="complete message body"):
        client.post("getMe")
    assert [message.text for message in telegram.sent(ana)] == ["done"]
    assert client.call("getMe")["is_bot"] is True


def test_a_held_request_waits_for_the_test(
    telegram: TelegramServer, client: BotClient, ana: User, threads: ThreadPoolExecutor
) -> None:
    hold = telegram.hold("sendMessage")
    sending = threads.submit(client.call, "sendMessage", chat_id=11, text="late")
    hold.wait_until_reached()
    client.call("getMe")
    assert telegram.sent(ana) == []
    hold.release()
    assert sending.result(LAST_RESORT)["text"] == "late"


def test_a_stopped_server_starts_again_on_its_port_and_knows_everything(
    telegram: TelegramServer, client: BotClient, ana: User, threads: ThreadPoolExecutor
) -> None:
    url, poll = telegram.url, start_poll(threads, telegram, client)
    telegram.stop()
    with pytest.raises(httpx2.TransportError):
        poll.result(LAST_RESORT)
    telegram.send_text(ana, "meanwhile")
    with pytest.raises(httpx2.ConnectError):
        client.post("getMe")
    telegram.start()
    assert telegram.url == url
    assert [update["message"]["text"] for update in client.poll()] == ["meanwhile"]


async def test_a_test_waits_without_holding_up_its_loop(telegram: TelegramServer, ana: User) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http:
        url = f"{telegram.url}/bot{telegram.token}/sendMessage"
        await http.post(url, json={"chat_id": 11, "text": "x"})
        await telegram.wait_until(lambda: telegram.sent(ana))
    with pytest.raises(TimeoutError, match="sendMessage"):
        telegram.wait_for(lambda: len(telegram.sent(ana)) == 2, timeout=0.01)


@needs_samples
def test_the_samples_come_back_unchanged(telegram: TelegramServer, client: BotClient) -> None:
    samples = read_samples()
    assert len(samples) == 68
    for sample in samples:
        telegram.inject(sample)
    assert client.poll() == samples


@needs_samples
def test_our_updates_have_the_fields_of_recorded_ones(telegram: TelegramServer, client: BotClient, ana: User) -> None:
    forum = telegram.add_supergroup("Team", ana, is_forum=True)
    topic = telegram.add_topic(forum, "Plans", ana)
    telegram.send_text(ana, "blah", forum, thread=topic)
    telegram.send_text(ana, "4")
    telegram.block(ana)
    created, in_topic, private, blocked = client.poll()
    assert set(created["message"]) == set(read_sample("19-message-topic_created.json"))
    assert set(in_topic["message"]) == set(read_sample("20-message-topic_message.json"))
    assert set(in_topic["message"]["reply_to_message"]) == set(created["message"])
    assert set(private["message"]) == set(read_sample("46-update-de_private_chat_text_message.json")["message"])
    recorded = read_sample("50-update-issue_523.json")["my_chat_member"]
    assert set(blocked["my_chat_member"]) == set(recorded)
    assert set(blocked["my_chat_member"]["new_chat_member"]) == set(recorded["new_chat_member"])
