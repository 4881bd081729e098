"""
A host that behaves as Claude Code documents, to run whole sessions with.

It runs the commands that stand in its settings file, gives them JSON on stdin, and reads what they answer as strictly
as the documentation is written: an answer that has no place on its event is an error here, where a real host would
drop it without a word. Its model is a function of the test's.

    exit 0   stdout that begins with { is JSON; any other text is context on SessionStart and UserPromptSubmit
    exit 2   blocks; stderr is fed back to the model, or shown to the person where there is nothing to block
    else     an error that blocks nothing, and so is a hook that takes longer than its time
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.waits import LAST_RESORT

#: how often in a row a stop hook may make the model go on
MAX_CONTINUATIONS: Final = 8
#: UTF-8 bytes of a string that the model is shown: Codex counts these, Claude Code UTF-16 units (never more)
MAX_TEXT_BYTES: Final = 10_000
COMMON_FIELDS: Final = {"continue", "stopReason", "suppressOutput", "systemMessage"}
BLOCK_FIELDS: Final = {"decision", "reason"}
#: what may stand in `hookSpecificOutput` beside the name of the event
EVENT_FIELDS: Final = {
    "SessionStart": {"additionalContext"},
    "UserPromptSubmit": {"additionalContext"},
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"},
    "PostToolUse": {"additionalContext", "updatedToolOutput"},
    "PostToolUseFailure": {"additionalContext"},
    "Stop": {"additionalContext"},
    "SubagentStop": {"additionalContext"},
}
BLOCKABLE_EVENTS: Final = {"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"}
#: where plain text is context
PLAIN_TEXT_EVENTS: Final = {"SessionStart", "UserPromptSubmit"}


class OutputRejected(AssertionError):
    """What the host would not understand."""


@dataclass(frozen=True)
class HookOutcome:
    """What an answer comes to: what the model is shown, why it may not do what it wanted, what the person is shown."""

    context: str = ""
    block_reason: str = ""
    person_text: str = ""


def parse_hook_output(event: str, stdout: str, stderr: str = "", exit_code: int = 0) -> HookOutcome:
    """Read an answer to an event."""
    if exit_code == 2:
        can_block = event in BLOCKABLE_EVENTS or event == "PreToolUse"
        return HookOutcome(block_reason=stderr.strip()) if can_block else HookOutcome(person_text=stderr.strip())
    if exit_code != 0:
        return HookOutcome(person_text=stderr.partition("\n")[0])
    if not stdout.startswith("{"):
        return HookOutcome(context=stdout.strip()) if event in PLAIN_TEXT_EVENTS else HookOutcome()
    try:
        document = json.loads(stdout)
    except ValueError:
        raise OutputRejected(f"half a JSON document on {event}: {stdout[:200]!r}") from None
    return _parse_document(event, document)


def _parse_document(event: str, document: dict[str, Any]) -> HookOutcome:
    event_output = document.get("hookSpecificOutput", {})
    unknown_fields = (
        document.keys()
        - COMMON_FIELDS
        - (BLOCK_FIELDS if event in BLOCKABLE_EVENTS else set())
        - {"hookSpecificOutput"}
    )
    unknown_fields |= event_output.keys() - EVENT_FIELDS.get(event, set()) - {"hookEventName"}
    long_texts = [text for text in _find_strings(document) if len(text.encode()) > MAX_TEXT_BYTES]
    if unknown_fields or long_texts or (event_output and event_output.get("hookEventName") != event):
        raise OutputRejected(f"not an answer to {event}: {sorted(unknown_fields)} {document}"[:1_000])
    is_denied = event_output.get("permissionDecision") == "deny"
    block_reason = document.get("reason", "") if document.get("decision") == "block" else ""
    if ("decision" in document and not block_reason.strip()) or (
        is_denied and not event_output["permissionDecisionReason"]
    ):
        raise OutputRejected(f"blocked without a reason on {event}: {document}")
    return HookOutcome(
        context=event_output.get("additionalContext", ""),
        block_reason=event_output["permissionDecisionReason"] if is_denied else block_reason,
        person_text=document.get("systemMessage", ""),
    )


def _find_strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _find_strings(inner)
    elif isinstance(value, str):
        yield value


#: what the model does with what it is shown, until it wants to stop
ModelFunction = Callable[[str], None]


@dataclass
class ClaudeCodeSession:
    """One session."""

    settings: Path
    cwd: Path
    model: ModelFunction = field(default=lambda _: None)
    session_id: str = "7c1e6a52-0d0f-4a53-9d58-6f0b0c5d2a11"
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    #: all that the model was ever shown by hooks, in order
    contexts: list[str] = field(default_factory=list)
    #: all that it was told when it was blocked
    feedback: list[str] = field(default_factory=list)
    #: all that the person was shown
    person_texts: list[str] = field(default_factory=list)

    def start(self, source: str = "startup") -> HookOutcome:
        return self._run_event("SessionStart", source, source=source)

    def submit_prompt(self, prompt: str) -> int:
        """A turn: the person says something, and the model works until it may stop. Returns how often it went on."""
        outcome = self._run_event("UserPromptSubmit", prompt=prompt)
        if outcome.block_reason:
            return 0
        self.model(outcome.context)
        for continuation in range(MAX_CONTINUATIONS + 1):
            outcome = self._run_event("Stop", stop_hook_active=continuation > 0, last_assistant_message="Done.")
            if continuation == MAX_CONTINUATIONS or not (outcome.block_reason or outcome.context):
                return continuation
            self.model(outcome.block_reason or outcome.context)
        raise AssertionError("unreachable")

    def use_tool(self, tool: str = "Bash", *, fails: bool = False, **tool_input: Any) -> HookOutcome:
        """The model uses a tool. After one that failed there is another event, and not this one."""
        outcome = self._run_event("PreToolUse", tool, tool_name=tool, tool_input=tool_input, tool_use_id="toolu_1")
        if outcome.block_reason:
            return outcome
        if fails:
            error = {"error": "Exit code 3", "is_interrupt": False}
            return self._run_event("PostToolUseFailure", tool, tool_name=tool, tool_input=tool_input, **error)
        return self._run_event("PostToolUse", tool, tool_name=tool, tool_input=tool_input, tool_use_id="toolu_1")

    def compact(self) -> HookOutcome:
        """The context is made smaller: what the hooks before it print is read by nobody."""
        self._run_event("PreCompact", "auto", trigger="auto", custom_instructions="")
        return self.start("compact")

    def notify_idle(self) -> None:
        """Nobody says anything for a minute."""
        self._run_event("Notification", "idle_prompt", message="waiting", notification_type="idle_prompt")

    def end(self) -> None:
        self._run_event("SessionEnd", reason="other")

    def _run_event(self, event: str, matcher_value: str = "", **fields: Any) -> HookOutcome:
        payload = {"session_id": self.session_id, "cwd": str(self.cwd), "hook_event_name": event, **fields}
        outcomes = [self._run_hook(event, hook, json.dumps(payload)) for hook in self._find_hooks(event, matcher_value)]
        outcome = HookOutcome(*("\n".join(filter(None, column)) for column in _split_columns(outcomes)))
        self.contexts += [outcome.context] if outcome.context else []
        self.feedback += [outcome.block_reason] if outcome.block_reason else []
        self.person_texts += [outcome.person_text] if outcome.person_text else []
        return outcome

    def _find_hooks(self, event: str, matcher_value: str) -> Iterator[dict[str, Any]]:
        groups = json.loads(self.settings.read_text(encoding="utf-8-sig")).get("hooks", {}).get(event, [])
        for group in groups:
            if group.get("matcher", "") in ("", "*") or re.fullmatch(group["matcher"], matcher_value):
                # One that may wake the session waits in the background for as long as the session.
                yield from (hook for hook in group["hooks"] if not hook.get("asyncRewake"))

    def _run_hook(self, event: str, hook: Mapping[str, Any], payload: str) -> HookOutcome:
        result = subprocess.run(
            ["sh", "-c", hook["command"]],
            input=payload,
            capture_output=True,
            text=True,
            cwd=self.cwd,
            env=self.environ,
            timeout=LAST_RESORT,  # the host gives up sooner, which depends on the machine
            check=False,
        )
        return parse_hook_output(event, result.stdout, result.stderr, result.returncode)


def _split_columns(outcomes: list[HookOutcome]) -> tuple[list[str], list[str], list[str]]:
    return (
        [outcome.context for outcome in outcomes],
        [outcome.block_reason for outcome in outcomes],
        [outcome.person_text for outcome in outcomes],
    )
