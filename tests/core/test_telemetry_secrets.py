"""What looks like a secret is hidden in log lines, and a long text costs no more than its length."""

import pytest

from gatepost.channels.provider import BoundTrigger
from gatepost.channels.telegram.bot_port import derive_keys
from gatepost.channels.telegram.client import TelegramClient
from gatepost.channels.telegram.update import BotIdentity
from gatepost.channels.telegram.update_actions import BotProfile
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.api import AddTrigger
from gatepost.channels.triggers.trigger import check_token_reference
from gatepost.errors import Invalid
from gatepost.telemetry import hide_secrets


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://gatepost:s3cret@db/office", "postgresql://gatepost:***@db/office"),
        ("?api_key=abc&limit=1", "?api_key=***&limit=1"),
        ("MY_SECRET_TOKEN=abc", "MY_SECRET_TOKEN=***"),
        ("tool --api-token abc --limit 1", "tool --api-token *** --limit 1"),
        ("x-secret-key: sk_abc", "x-secret-key: ***"),
        ("proxy-authorization: Basic YTpi", "proxy-authorization: Basic ***"),
        ("set-cookie: sid=1", "set-cookie: ***"),
        ("the key sk_abcdefghij was sent", "the key sk_*** was sent"),
        ("Bearer abcdefghij", "Bearer ***"),
        ("eyJhbGciOi.eyJzdWIi.c2ln", "eyJ***"),
        (f"https://api.telegram.org/bot123456:{'Aa-_' * 9}/getMe", "https://api.telegram.org/bot123456:***/getMe"),
        (f"/file/bot123456%3A{'Aa-_' * 9}/voice/1", "/file/bot123456%3A***/voice/1"),
        ("at 2026-02-18 09:00:00 in a chat 123456: nothing", "at 2026-02-18 09:00:00 in a chat 123456: nothing"),
        ("tokens=5 and a plain sentence", "tokens=5 and a plain sentence"),
    ],
)
def test_a_secret_is_hidden(text: str, hidden: str) -> None:
    assert hide_secrets(text) == hidden


TOKEN = "123456:AAFabcdefghijklmnopqrstuvwxyz0123456"


def test_nothing_that_holds_a_token_shows_it() -> None:
    """What is printed of an object goes to logs and to errors."""
    spec = TriggerSpec(name="desk", provider="telegram", secret=TOKEN)
    keys = derive_keys(TOKEN)
    client = TelegramClient(TOKEN, url="https://api.telegram.org")
    request = AddTrigger(name="desk", provider="telegram", token=TOKEN)
    bound = BoundTrigger(name="desk", options={}, secret=TOKEN)
    profile = BotProfile(BotIdentity(123456, "desk_bot"), keys)
    for shown in (spec, keys, client, request, bound, profile):
        text = f"{shown!r} {shown}"
        assert "AAFabc" not in text
        assert keys.webhook_secret not in text
        assert keys.button_key.hex() not in text
        assert repr(keys.button_key) not in text


@pytest.mark.parametrize("text", [f"env:{TOKEN}", TOKEN, f"file:{TOKEN}"])
def test_a_token_in_the_wrong_place_is_not_in_the_error(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_token_reference(text)
    assert "AAFabc" not in caught.value.message_with_hint


@pytest.mark.parametrize("piece", ["a", "-", "token", "--token", "eyJ-", "://a:", "x-key", "key=", '"', "a b-token "])
def test_a_long_text_is_searched_in_no_time(piece: str) -> None:
    """A search that is quadratic would take hours here."""
    text = piece * (300_000 // len(piece))
    assert len(hide_secrets(text)) > 0
