"""What looks like a secret is hidden in log lines, and a long text costs no more than its length."""

import pytest

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


@pytest.mark.parametrize("piece", ["a", "-", "token", "--token", "eyJ-", "://a:", "x-key", "key=", '"', "a b-token "])
def test_a_long_text_is_searched_in_no_time(piece: str) -> None:
    """A search that is quadratic would take hours here."""
    text = piece * (300_000 // len(piece))
    assert len(hide_secrets(text)) > 0
