"""The dialects read what the hooks of the real programs got; tests/fixtures/README.md says where it is from."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gatepost.guests.hooks import dialects as wire
from gatepost.guests.hooks.hook_events import HookEvent

FOLDER = Path(__file__).parents[2] / "fixtures/hooks"
HOSTS = ("claude", "codex", "gemini")


@cache
def load_payloads(host: str) -> dict[str, dict[str, Any]]:
    payloads: dict[str, dict[str, Any]] = json.loads((FOLDER / f"{host}.json").read_text(encoding="utf-8"))
    return payloads


def read_event(host: str, name: str) -> HookEvent:
    payload = load_payloads(host)[name]
    return wire.parse(host, payload["hook_event_name"], payload)


CASES = [(host, name) for host in HOSTS for name in load_payloads(host)]
#: our names of the events that Gemini calls otherwise
GEMINI_EVENTS = {
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
}


@pytest.mark.parametrize(("host", "name"), CASES, ids=[f"{host}: {name}" for host, name in CASES])
def test_every_payload_names_its_event_session_and_folder(host: str, name: str) -> None:
    payload, hook_event = load_payloads(host)[name], read_event(host, name)
    event = payload["hook_event_name"]
    assert hook_event.name == GEMINI_EVENTS.get(event, event)
    assert hook_event.session == payload["session_id"]
    assert hook_event.cwd == "/home/user/project"
    assert hook_event.subagent == payload.get("agent_id")


@pytest.mark.parametrize("host", HOSTS)
def test_where_the_agent_itself_is_shown_its_inbox(host: str) -> None:
    names = ["start", "start of a resumed session", "prompt", "after a tool", "stop", "second stop"]
    # Gemini CLI drops what is printed after a tool when another hook denies its result.
    silent_names = ["after a tool"] if host == "gemini" else []
    assert [name for name in names if not wire.can_show(read_event(host, name))] == silent_names
    assert not wire.can_show(read_event(host, "end"))


def test_a_failed_tool_of_claude_code_is_a_place_to_show_the_inbox() -> None:
    hook_event = read_event("claude", "after a failed tool")
    assert hook_event.name == "PostToolUseFailure"
    assert hook_event.tool == "Bash"
    assert wire.can_show(hook_event)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude", "after a helper's tool"),
        ("claude", "stop of a helper"),
        ("claude", "stop of the summarizer"),
        ("codex", "prompt of a helper"),
        ("codex", "after a helper's tool"),
        ("codex", "stop of a helper"),
    ],
)
def test_a_helper_is_never_shown_the_inbox(host: str, name: str) -> None:
    hook_event = read_event(host, name)
    assert hook_event.subagent is not None
    assert not wire.can_show(hook_event)


def test_a_helper_has_the_session_of_its_agent() -> None:
    for host in ("claude", "codex"):
        assert read_event(host, "stop of a helper").session == read_event(host, "after a helper's tool").session


@pytest.mark.parametrize("host", HOSTS)
def test_a_stop_after_a_blocked_stop_says_so(host: str) -> None:
    assert not read_event(host, "stop").stop_hook_active
    assert read_event(host, "second stop").stop_hook_active


def test_gemini_gives_the_reason_of_a_denied_stop_as_a_prompt() -> None:
    """Byte for byte; and the second stop names the prompt of the person, not the reason."""
    echo = read_event("gemini", "echoed reason")
    assert echo.name == "UserPromptSubmit"
    assert echo.session == read_event("gemini", "stop").session
    assert echo.prompt is not None
    assert echo.prompt.startswith("  INBOX (2 events")
    assert echo.prompt.endswith("--session 1\n\n")
    assert read_event("gemini", "second stop").prompt == read_event("gemini", "stop").prompt
