"""Envelopes: what every channel must say, and the names of sessions."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.conversation import build_session, parse_base
from gatepost.channels.envelope import Envelope, EnvelopeKind, check_envelope, find_missing
from gatepost.channels.provider import build_chat_session
from gatepost.errors import Invalid

TEXT = {"telegram_chat_id": "-5", "telegram_message_id": "41"}


def build_envelope(**fields: Any) -> Envelope:
    telegram_fields = {"channel": "telegram", "session": "chat--5:user-2", "kind": EnvelopeKind.TEXT, "content": "hi"}
    return Envelope(**{**telegram_fields, "metadata": TEXT, **fields})


@pytest.mark.parametrize("kind", EnvelopeKind)
def test_an_envelope_of_every_kind_is_valid(kind: EnvelopeKind) -> None:
    metadata = {**TEXT, "reset_session": "true"} if kind is EnvelopeKind.RESET else TEXT
    envelope = build_envelope(kind=kind, metadata=metadata, display="Ana", user="2", chat="-5")
    assert check_envelope(envelope) is envelope


def test_a_trigger_can_require_more() -> None:
    envelope = build_envelope(channel="github", session="pr-7", kind=EnvelopeKind.EVENT, metadata={"repository": "a/b"})
    assert find_missing(envelope, ["channel", "session_id", "repository"]) is None
    assert find_missing(envelope, ["repository", "branch", "tag"]) == "branch"
    assert find_missing(build_envelope(metadata={"branch": ""}), ["branch"]) == "branch"
    payload = {"issue": {"number": 0, "title": "", "labels": [{"name": "bug"}]}}
    hook = build_envelope(channel="webhook", kind=EnvelopeKind.EVENT, metadata={}, payload=payload)
    assert find_missing(hook, ["issue.number", "issue.labels[0].name"]) is None
    assert find_missing(hook, ["issue.title"]) == "issue.title"
    assert find_missing(hook, ["issue.labels[1]"]) == "issue.labels[1]"


@pytest.mark.parametrize("value", ["false", "True", "1"])
def test_a_reset_says_true_on_every_channel(value: str) -> None:
    with pytest.raises(Invalid, match="reset_session is '"):
        check_envelope(build_envelope(kind=EnvelopeKind.RESET, metadata={**TEXT, "reset_session": value}))
    with pytest.raises(Invalid, match="reset_session is null"):
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


ids = st.integers(-(2**63) + 1, 2**63 - 1).map(str)


@given(ids, ids, st.none() | ids, st.integers(0, 2**63 - 1))
def test_every_chat_thread_user_and_generation_is_a_session_of_its_own(
    chat: str, user: str, thread: str | None, generation: int
) -> None:
    base = build_chat_session(chat, user, thread)
    name = build_session(base, generation)
    assert parse_base(name) == base
    assert len(name) <= 256


def test_every_reset_makes_another_session() -> None:
    assert build_chat_session("-100", "7") == "chat--100:user-7"
    assert build_chat_session("-100", "7", "3") == "chat--100:topic-3:user-7"
    assert build_session("chat--100:topic-3:user-7", 2) == "chat--100:topic-3:user-7:reset-2"
    assert len({build_session("chat-1:user-7", generation) for generation in range(5)}) == 5
