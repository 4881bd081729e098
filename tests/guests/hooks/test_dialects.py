"""
Every host gets, on every event, an answer it understands, whatever it sent and whatever there is to say. What a host
understands is written here a second time: Codex's own schemas, Claude Code by the scripted host, the others below.
"""

import json
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, strategies as st

from gatepost.errors import Invalid
from gatepost.guests.hook_entry import HookCall, HookEntry
from gatepost.guests.hooks import dialects as wire
from gatepost.guests.hooks.handler_chain import Handler
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import READABLE_EVENTS, HookEvent, HookOutput, Verdict
from tests.guests.claude_code import EVENT_FIELDS, parse_hook_output
from tests.support.collected_failures import CollectedFailures
from tests.support.texts import texts, values

SAMPLES = Path(__file__).parents[4] / "shared/samples"
CLAUDE, CODEX = SAMPLES / "claude-code-hooks", SAMPLES / "codex-hook-schemas"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

OUR_EVENTS = [*sorted(EVENT_FIELDS), "PreCompact", "PostCompact", "Notification", "SessionEnd"]
#: the events of each host, by its own names, and ours
EVENTS: Mapping[str, Mapping[str, str]] = {
    "claude": dict(zip(OUR_EVENTS, OUR_EVENTS, strict=True)),
    "codex": {name: name for name in OUR_EVENTS if name not in {"Notification", "PostToolUseFailure"}}
    | {"SubagentStart": "SubagentStart"},
    "gemini": {
        "SessionStart": "SessionStart",
        "BeforeAgent": "UserPromptSubmit",
        "BeforeTool": "PreToolUse",
        "AfterTool": "PostToolUse",
        "AfterAgent": "Stop",
        "PreCompress": "PreCompact",
        "Notification": "Notification",
        "SessionEnd": "SessionEnd",
    },
    "cursor": {
        "sessionStart": "SessionStart",
        "beforeSubmitPrompt": "UserPromptSubmit",
        "preToolUse": "PreToolUse",
        "postToolUse": "PostToolUse",
        "stop": "Stop",
        "subagentStop": "SubagentStop",
        "preCompact": "PreCompact",
        "sessionEnd": "SessionEnd",
    },
}
#: what the other two read on stdout; `hookSpecificOutput` holds additionalContext
READ_FIELDS: Mapping[str, Mapping[str, set[str]]] = {
    "gemini": {
        "SessionStart": {"systemMessage", "hookSpecificOutput"},
        "BeforeAgent": {"systemMessage", "hookSpecificOutput", "decision", "reason"},
        "BeforeTool": {"systemMessage", "decision", "reason"},
        "AfterTool": {"systemMessage", "hookSpecificOutput", "decision", "reason"},
        "AfterAgent": {"systemMessage", "decision", "reason"},
        "PreCompress": {"systemMessage"},
        "Notification": {"systemMessage"},
        "SessionEnd": {"systemMessage"},
    },
    "cursor": {
        "sessionStart": {"additional_context"},
        "beforeSubmitPrompt": {"continue", "user_message"},
        "preToolUse": {"permission", "user_message", "agent_message"},
        "postToolUse": {"additional_context"},
        "stop": {"followup_message"},
        "subagentStop": {"followup_message"},
        "preCompact": {"user_message"},
        "sessionEnd": set(),
    },
}
CASES = [(host, event) for host, events in EVENTS.items() for event in events]
#: one of everything there may be to say
VERDICTS = {
    "nothing": Verdict(),
    "an inbox": Verdict(context="INBOX (1 event)", continues=True),
    "a farewell": Verdict(context="INBOX (1 event)"),
    "a block": Verdict(block="Ask a decision first."),
    "a block and a warning": Verdict(block="Ask a decision first.", warnings=("The tree is not clean.",)),
    "warnings": Verdict(warnings=("The tree is not clean.", "Nothing was noted.")),
    "a block without a reason": Verdict(block=" \n"),
    "a long inbox": Verdict(context="x" * 30_000, continues=True),
    "a long block": Verdict(block="y" * 30_000),
    "a long warning": Verdict(warnings=("z" * 30_000,)),
    "a long inbox in Japanese": Verdict(context="\u5bdf" * 9_000, continues=True),
    "a long block of emoji": Verdict(block="\U0001f680" * 9_000),
}
#: what is in any payload of any host, whatever it should be
NAMES = [
    *("session_id", "conversation_id", "cwd", "workspace_roots", "source", "stop_hook_active", "loop_count", "status"),
    *("prompt", "tool_name", "tool_input", "reason", "agent_id", "hook_event_name", "cursor_version"),
]
payloads = st.dictionaries(st.sampled_from(NAMES) | texts, values, max_size=12) | values


@cache
def load_schema(event: str) -> jsonschema_rs.Validator | None:
    name = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in event).strip("-")
    file = CODEX / f"{name}.command.output.schema.json"
    return jsonschema_rs.validator_for(json.loads(file.read_text())) if file.exists() else None


def check_output(host: str, event: str, output: HookOutput) -> None:
    """Fail if the host would not understand its answer."""
    assert output.exit_code == 0
    document = json.loads(output.stdout) if output.stdout else {}
    match host:
        case "claude":
            assert not output.stdout or event != "SessionEnd"
            parse_hook_output(event, output.stdout)
        case "codex":
            if output.stdout and SAMPLES.exists():
                validator = load_schema(event)
                assert validator is not None, f"{event} has no answer: {output}"
                validator.validate(document)
            assert document.get("decision") != "block" or document["reason"].strip()
        case _:
            assert document.keys() <= READ_FIELDS[host][event], output
    assert all(len(text.encode()) <= 10_000 for text in list_strings(document))


def list_strings(document: Mapping[str, Any]) -> list[str]:
    inner = document.get("hookSpecificOutput", {})
    return [value for value in (*document.values(), *inner.values()) if isinstance(value, str)]


def render_texts(hook_event: HookEvent, verdict: Verdict) -> str:
    """All that anybody is told, wherever it is written."""
    output = wire.render(hook_event, verdict)
    return "\n".join([*list_strings(json.loads(output.stdout or "{}")), output.stderr])


def test_whatever_there_is_to_say_it_is_understood() -> None:
    with CollectedFailures() as failures:
        for (host, event), (name, verdict) in product(CASES, VERDICTS.items()):
            with failures.check(f"{name} on {event} of {host}"):
                check_verdict(host, event, verdict)


def check_verdict(host: str, event: str, verdict: Verdict) -> None:
    hook_event = wire.parse(host, event, {})
    assert hook_event.name == EVENTS[host][event]
    check_output(host, event, wire.render(hook_event, verdict))
    for text in (verdict.context, verdict.block, *verdict.warnings):
        assert not text or text.strip()[:1_000] in render_texts(hook_event, verdict), "it is said to nobody"


@given(
    case=st.sampled_from(CASES), payload=payloads, verdict=st.sampled_from(list(VERDICTS.values())), wrap=st.booleans()
)
def test_whatever_a_host_sends_it_is_understood(
    case: tuple[str, str], payload: object, verdict: Verdict, wrap: bool
) -> None:
    hook_event = wire.parse(*case, payload)
    for text in (hook_event.session, hook_event.cwd, hook_event.prompt or "", hook_event.tool or ""):
        text.encode()
    check_output(*case, wire.render(hook_event, verdict, wrap=wrap))


def test_what_is_shown_reaches_the_model_and_on_precompact_nothing_is() -> None:
    with CollectedFailures() as failures:
        for host, event in CASES:
            with failures.check(f"{event} of {host}"):
                check_place_of_inbox(host, event)


def check_place_of_inbox(host: str, event: str) -> None:
    hook_event = wire.parse(host, event, {})
    verdict = Verdict(context="INBOX (1 event)", continues=True)
    document = json.loads(wire.render(hook_event, verdict).stdout or "{}")
    places = [
        document.get("hookSpecificOutput", {}).get("additionalContext"),
        document.get("additional_context"),
        document.get("followup_message"),
        document.get("reason"),
    ]
    # What other handlers say after a tool of Gemini is passed on, but no inbox: it may be dropped there.
    is_reliable = (host, event) != ("gemini", "AfterTool")
    assert wire.can_show(hook_event) == ("INBOX (1 event)" in places and is_reliable)
    assert not wire.can_show(hook_event) or hook_event.name in READABLE_EVENTS
    assert hook_event.name != "PreCompact" or not wire.can_show(hook_event)


@pytest.mark.parametrize("host", wire.HOSTS)
def test_what_is_not_for_going_on_lets_the_agent_stop(host: str) -> None:
    document = json.loads(wire.render(wire.parse(host, "Stop", {}), Verdict(context="Farewell.")).stdout or "{}")
    assert not document.keys() & {"decision", "hookSpecificOutput", "followup_message"}


@pytest.mark.parametrize("host", wire.HOSTS)
@pytest.mark.parametrize("event", sorted(READABLE_EVENTS))
def test_a_helper_inside_a_session_never_reads_the_inbox_of_its_agent(host: str, event: str) -> None:
    assert not wire.can_show(wire.parse(host, event, {"agent_id": "agent-1"}))


@pytest.mark.parametrize("host", ["codex", "gemini", "cursor"])
def test_nothing_is_taken_for_an_event_that_a_host_does_not_have(host: str) -> None:
    hook_event = wire.parse(host, "PostToolUseFailure", {})
    assert not wire.can_show(hook_event)
    assert wire.render(hook_event, Verdict(context="INBOX (1 event)")).stdout == ""


def test_gemini_is_told_the_reason_alone_because_it_shows_a_message_in_its_place() -> None:
    hook_event = wire.parse("gemini", "AfterAgent", {})
    for verdict in (Verdict(block="Not yet."), Verdict(context="Not yet.", continues=True)):
        output = wire.render(hook_event, verdict.add_warnings("The tree is not clean."))
        assert json.loads(output.stdout) == {"decision": "deny", "reason": "Not yet."}
        assert "The tree is not clean." in output.stderr
        assert not wire.can_warn(hook_event, verdict)
    assert json.loads(wire.render(hook_event, Verdict(warnings=("Look.",))).stdout) == {"systemMessage": "Look."}
    assert wire.can_warn(hook_event, Verdict(warnings=("Look.",)))


@pytest.mark.parametrize("event", ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"])
def test_gemini_gets_no_tag_because_it_escapes_it(event: str) -> None:
    verdict = Verdict(context="INBOX (1 event)", continues=True)
    stdout = wire.render(wire.parse("gemini", event, {}), verdict, wrap=True).stdout
    assert "INBOX (1 event)" in stdout
    assert "system-reminder" not in stdout


def test_cursor_is_not_made_to_go_on_past_its_limit_or_after_a_person_broke_off() -> None:
    hook_events = {
        count: wire.parse("cursor", "stop", {"status": "completed", "loop_count": count}) for count in range(7)
    }
    assert [wire.can_show(hook_event) for hook_event in hook_events.values()] == [True] * 5 + [False] * 2
    assert [hook_event.stop_hook_active for hook_event in hook_events.values()] == [False] + [True] * 6
    for status in ("aborted", "error"):
        aborted_event = wire.parse("cursor", "stop", {"status": status})
        assert not wire.can_show(aborted_event)
        assert wire.render(aborted_event, Verdict(block="Not yet.")).stdout == ""


@pytest.mark.parametrize("event", ["UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"])
def test_cursor_runs_the_hooks_of_claude_code_too_and_those_do_nothing(event: str, tmp_path: Path) -> None:
    payload = {"session_id": "s-1", "cursor_version": "3.7.21"}
    hook_event = wire.parse("claude", event, payload)
    assert not wire.can_show(hook_event)
    assert wire.render(hook_event, Verdict(block="Not yet.", context="tea", warnings=("look",))) == HookOutput()
    assert wire.parse("codex", event, payload).session == "s-1"

    def handle(ctx: HookContext, hook_event: HookEvent, so_far: Verdict) -> Verdict:
        raise AssertionError("it is not asked")

    hook_entry = HookEntry(tmp_path, handlers=[Handler(name="asked", priority=1, events=None, handle=handle)])
    hook = HookCall(event=event, host="claude", stdin=json.dumps(payload), environ={}, cwd=str(tmp_path))
    with pytest.raises(StopIteration) as stop:
        next(hook_entry.receive(hook))
    assert stop.value.value.output == HookOutput()
    assert not (tmp_path / "sessions").exists()


def test_where_it_is_and_what_was_said_is_read_from_either_word() -> None:
    payload = {"session_id": "s1", "cwd": "/w", "prompt": "hi", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    for host, event in (("claude", "PostToolUse"), ("codex", "posttooluse"), ("gemini", "AfterTool")):
        hook_event = wire.parse(host, event, payload)
        assert (hook_event.host, hook_event.name, hook_event.session, hook_event.cwd) == (
            host,
            "PostToolUse",
            "s1",
            "/w",
        )
        assert (hook_event.prompt, hook_event.tool, hook_event.tool_input, hook_event.raw) == (
            "hi",
            "Bash",
            {"command": "ls"},
            payload,
        )
    cursor = wire.parse("cursor", "postToolUse", {"conversation_id": "c1", "workspace_roots": ["/w", "/v"]})
    assert (cursor.session, cursor.cwd) == ("c1", "/w")


@pytest.mark.parametrize("host", wire.HOSTS)
def test_what_no_file_could_be_named_after_is_made_fit_to_be_written(host: str) -> None:
    payload = {"session_id": "a\ud800b", "conversation_id": "a\ud800b", "cwd": "\udfff", "prompt": "\ud83d"}
    hook_event = wire.parse(host, "UserPromptSubmit", payload)
    assert (hook_event.session, hook_event.cwd, hook_event.prompt) == ("a?b", "?", "?")


def test_a_reminder_is_wrapped_if_wished() -> None:
    stdout = wire.render(wire.parse("claude", "SessionStart", {}), Verdict(context="INBOX (1 event)"), wrap=True).stdout
    context = json.loads(stdout)["hookSpecificOutput"]["additionalContext"]
    assert context == "<system-reminder>\nINBOX (1 event)\n</system-reminder>"


def test_an_unknown_host_is_named_with_those_that_are_known() -> None:
    with pytest.raises(Invalid, match="'emacs' is not a host") as error:
        wire.parse("emacs", "Stop", {})
    assert error.value.hint == "use one of claude, codex, gemini, cursor, opencode"


@needs_samples
def test_every_sample_of_claude_code_gets_an_answer_valid_for_its_event() -> None:
    with CollectedFailures() as failures:
        for file in sorted(CLAUDE.glob("*.json")):
            payload = json.loads(file.read_text())
            for name, verdict in VERDICTS.items():
                with failures.check(f"{name} after {file.stem}"):
                    check_sample(payload, verdict)


def check_sample(payload: dict[str, Any], verdict: Verdict) -> None:
    event = payload["hook_event_name"]
    hook_event = wire.parse("claude", event, payload)
    assert (hook_event.session, hook_event.cwd) == (payload["session_id"], "/home/dev/proj")
    assert hook_event.stop_hook_active == payload.get("stop_hook_active", False)
    assert hook_event.source == payload.get("source")
    check_output("claude", event, wire.render(hook_event, verdict))
    assert wire.can_show(hook_event) == (event in READABLE_EVENTS)


@needs_samples
def test_codex_has_an_answer_to_all_events_of_its_schemas_but_one() -> None:
    assert {event for event in EVENTS["codex"] if load_schema(event) is None} == {"SessionEnd"}
