"""
Cursor. Names of events begin with a small letter, a session is a conversation, and a `followup_message` after `stop`
makes the agent continue: it becomes the next user message. Cursor counts these messages and ignores them past the
`loop_limit` of the entry, so nothing is taken from an inbox once the count has reached the default limit. Nothing is
taken either after a turn that failed or that a person interrupted: then the agent should not continue by itself.

A prompt can be refused, but has no field for context.
"""

from typing import Any, Final

from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, Verdict

#: the host's name of an event, and ours
EVENTS: Final = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "stop": "Stop",
    "subagentStop": "SubagentStop",
    "preCompact": "PreCompact",
    "sessionEnd": "SessionEnd",
}
#: the `loop_limit` of an entry that has none: follow-up messages in a row
DEFAULT_LOOP_LIMIT: Final = 5
_CONTEXT_EVENTS: Final = frozenset({"SessionStart", "PostToolUse"})
_STOP_EVENTS: Final = frozenset({"Stop", "SubagentStop"})


def parse(event_name: str, payload: object) -> HookEvent:
    fields = dialects.as_object(payload)
    roots = fields.get("workspace_roots")
    root = {"root": roots[0]} if isinstance(roots, list) and roots else {}
    return HookEvent(
        host="cursor",
        name=dialects.normalize_event_name(event_name, EVENTS),
        session=dialects.read_text(fields, "conversation_id", "session_id") or "",
        cwd=dialects.read_text(fields, "cwd") or dialects.read_text(root, "root") or "",
        stop_hook_active=_get_loop_count(fields) > 0,
        is_failed=dialects.read_text(fields, "status") not in {None, "completed"},
        prompt=dialects.read_text(fields, "prompt"),
        tool=dialects.read_text(fields, "tool_name"),
        tool_input=dialects.as_object(fields.get("tool_input")),
        reason=dialects.read_text(fields, "reason"),
        subagent=dialects.read_text(fields, "subagent_id", "agent_id"),
        raw=fields,
    )


def can_show(event: HookEvent) -> bool:
    if event.subagent is not None:
        return False
    can_continue = not event.is_failed and _get_loop_count(event.raw) < DEFAULT_LOOP_LIMIT
    return event.name in _CONTEXT_EVENTS or (event.name == "Stop" and can_continue)


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    name, block, context = event.name, verdict.block, verdict.context
    fields: dict[str, Any] = {}
    if block and name in _STOP_EVENTS and not event.is_failed:
        fields = {"followup_message": block}
    elif block and name == "UserPromptSubmit":
        fields = {"continue": False, "user_message": block}
    elif block and name == "PreToolUse":
        fields = {"permission": "deny", "agent_message": block, "user_message": block}
    elif context and name == "Stop" and verdict.continues and can_show(event):
        fields = {"followup_message": context}
    elif context and name in _CONTEXT_EVENTS and can_show(event):
        fields = {"additional_context": context}
    person_text = dialects.build_person_text(verdict, has_answer=bool(fields))
    if name == "PreCompact":
        fields["user_message"], person_text = person_text, ""
    return dialects.build_output(fields, person_text)


def _get_loop_count(fields: Any) -> int:
    count = fields.get("loop_count")
    return count if isinstance(count, int) and not isinstance(count, bool) else 0
