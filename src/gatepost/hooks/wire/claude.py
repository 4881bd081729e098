"""
Claude Code. What the model is shown goes into `hookSpecificOutput.additionalContext`, and only on the events below;
on Stop that makes the agent go on. PreCompact has no such place: what was printed there would be read by nobody. After
a tool that failed comes PostToolUseFailure, and no PostToolUse.

Cursor runs the hooks of Claude Code too, beside those in its own dialect, and drops most of what they say. So under
Cursor these name no session and say nothing: whatever is to be done is done once, by the others.

A helper inside a session (`agent_id`) has events of its own. They never show the agent's inbox: it would be the helper
who reads it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gatepost.hooks.occasion import READABLE, Answer, Occasion, Verdict
from gatepost.hooks.wire import words

_NAMES: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"),
    *("PreCompact", "PostCompact", "Notification", "SessionEnd"),
)
EVENTS: Final = dict(zip(_NAMES, _NAMES, strict=True))
_BLOCKABLE: Final = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"})


def parse(event: str, payload: object, *, host: str = "claude", events: Mapping[str, str] = EVENTS) -> Occasion:
    told = words.fields(payload)
    occasion = Occasion(
        host=host,
        event=words.known(event, events),
        session=words.text(told, "session_id") or "",
        cwd=words.text(told, "cwd") or "",
        turn=words.text(told, "prompt_id", "turn_id"),
        source=words.text(told, "source"),
        stop_hook_active=told.get("stop_hook_active") is True,
        prompt=words.text(told, "prompt"),
        tool=words.text(told, "tool_name"),
        tool_input=words.mapping(told, "tool_input"),
        reason=words.text(told, "reason"),
        subagent=words.text(told, "agent_id"),
        raw=told,
    )
    under_cursor = host == "claude" and "cursor_version" in told
    return replace(occasion, session="", spare=True) if under_cursor else occasion


def can_show(occasion: Occasion) -> bool:
    return occasion.event in READABLE and occasion.subagent is None and not occasion.spare


def render(occasion: Occasion, verdict: Verdict) -> Answer:
    if occasion.spare:
        return Answer()
    event = occasion.event
    answer: dict[str, Any] = {}
    if verdict.block:
        answer = words.blocked(event, verdict.block, _BLOCKABLE)
    elif verdict.context and can_show(occasion) and (verdict.continues or event != "Stop"):
        answer = words.shown(event, verdict.context)
    return words.told(answer, verdict, read=event != "SessionEnd")  # where nobody is there any more
