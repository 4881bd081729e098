"""Envelopes: what every channel must say, and the names of sessions on Telegram."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.envelope import (
    Envelope,
    EnvelopeKind,
    TelegramSession,
    build_telegram_session,
    check_envelope,
    parse_telegram_session,
)
from gatepost.errors import Invalid

TEXT = {"telegram_chat_id": "-5", "telegram_message_id": "41"}
CALLBACK = {**TEXT, "telegram_callback_id": "9", "telegram_callback_data": "d:1"}
VOICE = {**TEXT, "telegram_file_id": "AwAD"}
RESET = {**TEXT, "reset_session": "true"}
METADATA = {
    EnvelopeKind.TEXT: TEXT,
    EnvelopeKind.EDIT: TEXT,
    EnvelopeKind.COMMAND: TEXT,
    EnvelopeKind.MEDIA: TEXT,
    EnvelopeKind.CALLBACK: CALLBACK,
    EnvelopeKind.VOICE: VOICE,
    EnvelopeKind.RESET: RESET,
    EnvelopeKind.EVENT: {"telegram_chat_id": "-5"},
}


def build_envelope(**fields: Any) -> Envelope:
    telegram_fields = {"channel": "telegram", "session": "chat--5:user-2", "kind": EnvelopeKind.TEXT, "content": "hi"}
    return Envelope(**{**telegram_fields, "metadata": TEXT, **fields})


@pytest.mark.parametrize("kind", EnvelopeKind)
def test_an_envelope_from_telegram_has_the_ids_of_its_kind(kind: EnvelopeKind) -> None:
    envelope = build_envelope(kind=kind, metadata=METADATA[kind], display="Ana", user="2", chat="-5")
    assert check_envelope(envelope) is envelope


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, metadata in METADATA.items() for name in metadata])
def test_a_missing_id_is_named_and_not_guessed(kind: EnvelopeKind, name: str) -> None:
    metadata = {key: value for key, value in METADATA[kind].items() if key != name}
    with pytest.raises(Invalid, match=f"^'{name}' is missing in the metadata of the {kind} from telegram$"):
        check_envelope(build_envelope(kind=kind, metadata=metadata, user="2", chat="-5"))
    with pytest.raises(Invalid, match=name):
        check_envelope(build_envelope(kind=kind, metadata={**metadata, name: ""}))


def test_a_trigger_can_require_more() -> None:
    envelope = build_envelope(channel="github", session="pr-7", kind=EnvelopeKind.EVENT, metadata={"repository": "a/b"})
    assert check_envelope(envelope, ["repository"]) is envelope
    with pytest.raises(Invalid, match=r"^'branch' is missing in the metadata of the event from github$"):
        check_envelope(envelope, ["repository", "branch"])


def test_another_channel_needs_no_ids_of_telegram() -> None:
    envelope = build_envelope(channel="cli", session="cli-main", metadata={})
    assert check_envelope(envelope) is envelope


@pytest.mark.parametrize("value", ["false", "True", "1"])
def test_a_reset_says_true_on_every_channel(value: str) -> None:
    with pytest.raises(Invalid, match="reset_session is '"):
        check_envelope(build_envelope(kind=EnvelopeKind.RESET, metadata={**TEXT, "reset_session": value}))
    with pytest.raises(Invalid, match="'reset_session' is missing"):
        check_envelope(build_envelope(channel="cli", kind=EnvelopeKind.RESET, metadata={}))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"channel": ""}, "the envelope has no channel"),
        ({"session": ""}, "the envelope has no session"),
        ({"session": "x" * 257}, "the session of the envelope has 257 characters, over the limit of 256"),
        ({"session": "a\x00"}, "the session of the envelope has a NUL"),
        ({"content": "\ud800"}, "the content of the envelope is not valid Unicode"),
        ({"display": "\x00"}, "the display of the envelope has a NUL"),
        ({"user": "\x00"}, "the user of the envelope has a NUL"),
        ({"chat": "\x00"}, "the chat of the envelope has a NUL"),
        ({"metadata": {**TEXT, "n": 5}}, "'n' in the metadata must be a string, not 5"),
        ({"metadata": {**TEXT, "n": None}}, "'n' in the metadata must be a string, not null"),
        ({"metadata": {5: "n"}}, "5 in the metadata must be a string, not 'n'"),
        ({"metadata": {**TEXT, "n": "\x00"}}, "the metadata 'n' has a NUL"),
        ({"metadata": {**TEXT, "\x00": "n"}}, "the name of the metadata has a NUL"),
    ],
)
def test_a_wrong_envelope_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as error:
        check_envelope(build_envelope(**fields))
    assert error.value.message.startswith(message)


ids = st.integers(-(2**63) + 1, 2**63 - 1)
counts = st.integers(1, 2**63 - 1)


@given(ids, ids, st.none() | counts, st.just(0) | counts)
def test_a_session_comes_back_from_its_name(chat: int, user: int, thread: int | None, generation: int) -> None:
    name = build_telegram_session(chat, user, thread, generation)
    assert parse_telegram_session(name) == TelegramSession(chat=chat, user=user, thread=thread, generation=generation)
    assert len(name) <= 256


def test_every_reset_makes_another_session() -> None:
    assert build_telegram_session(-100, 7) == "chat--100:user-7"
    assert build_telegram_session(-100, 7, 3) == "chat--100:topic-3:user-7"
    assert build_telegram_session(-100, 7, 3, 2) == "chat--100:topic-3:user-7:reset-2"
    assert len({build_telegram_session(1, 7, None, generation) for generation in range(5)}) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cli-main",
        "chat-1",
        "chat-1:user-",
        "chat-01:user-2",
        "chat--0:user-2",
        "chat-1:user-2:reset-0",
        "chat-1:user-2:reset--1",
        "chat-1:user-2\n",
        "telegram:chat-1:user-2",
        "chat-\u0661:user-2",
        "chat-1:topic-0:user-2",
        "chat-9223372036854775808:user-1",
        f"chat-{'9' * 5000}:user-1",
    ],
)
def test_another_text_is_not_a_session_on_telegram(text: str) -> None:
    with pytest.raises(Invalid, match="is not a session on Telegram"):
        parse_telegram_session(text)
