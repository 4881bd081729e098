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

#: how often in a row a stop hook may make the model go on
CAP: Final = 8
#: UTF-8 bytes of a string that the model is shown: Codex counts these, Claude Code UTF-16 units (never more)
LONGEST: Final = 10_000
UNIVERSAL: Final = {"continue", "stopReason", "suppressOutput", "systemMessage"}
BLOCK: Final = {"decision", "reason"}
#: what may stand in `hookSpecificOutput` beside the name of the event
SPECIFIC: Final = {
    "SessionStart": {"additionalContext"},
    "UserPromptSubmit": {"additionalContext"},
    "PreToolUse": {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"},
    "PostToolUse": {"additionalContext", "updatedToolOutput"},
    "PostToolUseFailure": {"additionalContext"},
    "Stop": {"additionalContext"},
    "SubagentStop": {"additionalContext"},
}
BLOCKABLE: Final = {"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"}
#: where plain text is context
PLAIN: Final = {"SessionStart", "UserPromptSubmit"}


class Rejected(AssertionError):
    """What the host would not understand."""


@dataclass(frozen=True)
class Heard:
    """What an answer comes to: what the model is shown, why it may not do what it wanted, what the person is shown."""

    context: str = ""
    blocked: str = ""
    shown: str = ""


def hear(event: str, stdout: str, stderr: str = "", code: int = 0) -> Heard:
    """Read an answer to an event."""
    if code == 2:
        blocks = event in BLOCKABLE or event == "PreToolUse"
        return Heard(blocked=stderr.strip()) if blocks else Heard(shown=stderr.strip())
    if code != 0:
        return Heard(shown=stderr.partition("\n")[0])
    if not stdout.startswith("{"):
        return Heard(context=stdout.strip()) if event in PLAIN else Heard()
    try:
        document = json.loads(stdout)
    except ValueError:
        raise Rejected(f"half a JSON document on {event}: {stdout[:200]!r}") from None
    return _understood(event, document)


def _understood(event: str, document: dict[str, Any]) -> Heard:
    specific = document.get("hookSpecificOutput", {})
    strange = document.keys() - UNIVERSAL - (BLOCK if event in BLOCKABLE else set()) - {"hookSpecificOutput"}
    strange |= specific.keys() - SPECIFIC.get(event, set()) - {"hookEventName"}
    long = [each for each in _strings(document) if len(each.encode()) > LONGEST]
    if strange or long or (specific and specific.get("hookEventName") != event):
        raise Rejected(f"not an answer to {event}: {sorted(strange)} {document}"[:1_000])
    denied = specific.get("permissionDecision") == "deny"
    blocked = document.get("reason", "") if document.get("decision") == "block" else ""
    if ("decision" in document and not blocked.strip()) or (denied and not specific["permissionDecisionReason"]):
        raise Rejected(f"blocked without a reason on {event}: {document}")
    return Heard(
        context=specific.get("additionalContext", ""),
        blocked=specific["permissionDecisionReason"] if denied else blocked,
        shown=document.get("systemMessage", ""),
    )


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, str):
        yield value


#: what the model does with what it is shown, until it wants to stop
Model = Callable[[str], None]


@dataclass
class ClaudeCode:
    """One session."""

    settings: Path
    cwd: Path
    model: Model = field(default=lambda _: None)
    session: str = "7c1e6a52-0d0f-4a53-9d58-6f0b0c5d2a11"
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    #: all that the model was ever shown by hooks, in order
    context: list[str] = field(default_factory=list)
    #: all that it was told when it was blocked
    feedback: list[str] = field(default_factory=list)
    #: all that the person was shown
    shown: list[str] = field(default_factory=list)

    def start(self, source: str = "startup") -> Heard:
        return self._fire("SessionStart", source, source=source)

    def say(self, prompt: str) -> int:
        """A turn: the person says something, and the model works until it may stop. Returns how often it went on."""
        heard = self._fire("UserPromptSubmit", prompt=prompt)
        if heard.blocked:
            return 0
        self.model(heard.context)
        for continuation in range(CAP + 1):
            heard = self._fire("Stop", stop_hook_active=continuation > 0, last_assistant_message="Done.")
            if continuation == CAP or not (heard.blocked or heard.context):
                return continuation
            self.model(heard.blocked or heard.context)
        raise AssertionError("unreachable")

    def use(self, tool: str = "Bash", *, fails: bool = False, **given: Any) -> Heard:
        """The model uses a tool. After one that failed there is another event, and not this one."""
        heard = self._fire("PreToolUse", tool, tool_name=tool, tool_input=given, tool_use_id="toolu_1")
        if heard.blocked:
            return heard
        if fails:
            error = {"error": "Exit code 3", "is_interrupt": False}
            return self._fire("PostToolUseFailure", tool, tool_name=tool, tool_input=given, **error)
        return self._fire("PostToolUse", tool, tool_name=tool, tool_input=given, tool_use_id="toolu_1")

    def compact(self) -> Heard:
        """The context is made smaller: what the hooks before it print is read by nobody."""
        self._fire("PreCompact", "auto", trigger="auto", custom_instructions="")
        return self.start("compact")

    def rest(self) -> None:
        """Nobody says anything for a minute."""
        self._fire("Notification", "idle_prompt", message="waiting", notification_type="idle_prompt")

    def end(self) -> None:
        self._fire("SessionEnd", reason="other")

    def _fire(self, event: str, matched: str = "", **fields: Any) -> Heard:
        payload = {"session_id": self.session, "cwd": str(self.cwd), "hook_event_name": event, **fields}
        all_heard = [self._ran(event, hook, json.dumps(payload)) for hook in self._hooks(event, matched)]
        heard = Heard(*("\n".join(filter(None, each)) for each in _columns(all_heard)))
        self.context += [heard.context] if heard.context else []
        self.feedback += [heard.blocked] if heard.blocked else []
        self.shown += [heard.shown] if heard.shown else []
        return heard

    def _hooks(self, event: str, matched: str) -> Iterator[dict[str, Any]]:
        groups = json.loads(self.settings.read_text(encoding="utf-8-sig")).get("hooks", {}).get(event, [])
        for group in groups:
            if group.get("matcher", "") in ("", "*") or re.fullmatch(group["matcher"], matched):
                yield from group["hooks"]

    def _ran(self, event: str, hook: Mapping[str, Any], payload: str) -> Heard:
        try:
            ended = subprocess.run(
                ["sh", "-c", hook["command"]],
                input=payload,
                capture_output=True,
                text=True,
                cwd=self.cwd,
                env=self.environ,
                timeout=hook.get("timeout", 600),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Heard(shown=f"the hook of {event} took too long")
        return hear(event, ended.stdout, ended.stderr, ended.returncode)


def _columns(all_heard: list[Heard]) -> tuple[list[str], list[str], list[str]]:
    return (
        [each.context for each in all_heard],
        [each.blocked for each in all_heard],
        [each.shown for each in all_heard],
    )
