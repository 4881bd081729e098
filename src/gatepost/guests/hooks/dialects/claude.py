"""
Claude Code. Text for the model goes into `hookSpecificOutput.additionalContext`, and only on the events in
`READABLE_EVENTS`; on Stop it makes the agent continue. PreCompact has no such field: nobody would read the text. After
a tool that failed the host calls PostToolUseFailure, and not PostToolUse.

Cursor runs the hooks of Claude Code too, beside those in its own dialect, and drops most of their output. So under
Cursor these hooks have no session and print nothing: the others do the work, once.

A subagent (`agent_id`) has events of its own. They never show the agent's inbox, because the subagent would read it.
"""

from collections.abc import Mapping
from typing import Any, Final

from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.hook_events import READABLE_EVENTS, HookEvent, HookOutput, Verdict

_NAMES: Final = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop"),
    *("PreCompact", "PostCompact", "Notification", "SessionEnd"),
)
EVENTS: Final = dict(zip(_NAMES, _NAMES, strict=True))
_BLOCKABLE_EVENTS: Final = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"})


def parse(
    event_name: str, payload: object, *, host: str = "claude", event_names: Mapping[str, str] = EVENTS
) -> HookEvent:
    fields = dialects.as_object(payload)
    event = HookEvent(
        host=host,
        name=dialects.normalize_event_name(event_name, event_names),
        session=dialects.read_text(fields, "session_id") or "",
        cwd=dialects.read_text(fields, "cwd") or "",
        turn=dialects.read_text(fields, "prompt_id", "turn_id"),
        source=dialects.read_text(fields, "source"),
        stop_hook_active=fields.get("stop_hook_active") is True,
        prompt=dialects.read_text(fields, "prompt"),
        tool=dialects.read_text(fields, "tool_name"),
        tool_input=dialects.as_object(fields.get("tool_input")),
        reason=dialects.read_text(fields, "reason"),
        subagent=dialects.read_text(fields, "agent_id"),
        raw=fields,
    )
    is_under_cursor = host == "claude" and "cursor_version" in fields
    return event._replace(session="", is_duplicate=True) if is_under_cursor else event


def can_show(event: HookEvent) -> bool:
    return event.name in READABLE_EVENTS and event.subagent is None and not event.is_duplicate


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    if event.is_duplicate:
        return HookOutput()
    name = event.name
    fields: dict[str, Any] = {}
    if verdict.block:
        fields = dialects.build_block(name, verdict.block, _BLOCKABLE_EVENTS)
    elif verdict.context and can_show(event) and (verdict.continues or name != "Stop"):
        fields = dialects.build_context(name, verdict.context)
    # At the end of a session the host reads no JSON any more.
    return dialects.build_host_output(fields, verdict, reads_json=name != "SessionEnd")
