"""
Codex. Its hooks are those of Claude Code, read more strictly: because of one field that an event does not have, it
drops the whole output. Stop has no field for context, so the text goes into the reason to continue. SessionEnd has no
output at all, and there is no Notification.
"""

from typing import Any, Final

from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.dialects import claude
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, Verdict

_BLOCKABLE_EVENTS: Final = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"})
_EVENTS_WITH_OUTPUT: Final = (
    frozenset({"SessionStart", "PreToolUse", "PreCompact", "PostCompact", "SubagentStart", "PermissionRequest"})
    | _BLOCKABLE_EVENTS
)


def can_show(event: HookEvent) -> bool:
    return claude.can_show(event) and event.name in _EVENTS_WITH_OUTPUT


def parse(event_name: str, payload: object) -> HookEvent:
    return claude.parse(event_name, payload, host="codex")


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    name = event.name
    fields: dict[str, Any] = {}
    if verdict.block:
        fields = dialects.build_block(name, verdict.block, _BLOCKABLE_EVENTS)
    elif verdict.context and name == "Stop" and verdict.continues and can_show(event):
        fields = {"decision": "block", "reason": verdict.context}
    elif verdict.context and name != "Stop" and can_show(event):
        fields = dialects.build_context(name, verdict.context)
    return dialects.build_host_output(fields, verdict, reads_json=name in _EVENTS_WITH_OUTPUT)
