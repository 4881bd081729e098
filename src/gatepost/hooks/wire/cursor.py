"""
Cursor. Its events are written small, a session is a conversation, and an agent goes on with a `followup_message` after
`stop`: the next user message. It counts those, and ignores them past the `loop_limit` of the entry; so nothing is taken
from an inbox once the count is at the limit an entry has that names none. Nor after a turn that a person broke off, or
that failed: whoever did that does not want it to go on by itself.

A prompt can be refused, but has no place for context.
"""

from typing import Any, Final

from gatepost.hooks.occasion import Answer, Occasion, Verdict
from gatepost.hooks.wire import words

#: its name of an event, and ours
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
#: how many follow-ups in a row it makes if an entry does not say
LOOPS: Final = 5
_SHOWN: Final = frozenset({"SessionStart", "PostToolUse"})
_STOPS: Final = frozenset({"Stop", "SubagentStop"})


def parse(event: str, payload: object) -> Occasion:
    told = words.fields(payload)
    roots = told.get("workspace_roots")
    root = {"root": roots[0]} if isinstance(roots, list) and roots else {}
    return Occasion(
        host="cursor",
        event=words.known(event, EVENTS),
        session=words.text(told, "conversation_id", "session_id") or "",
        cwd=words.text(told, "cwd") or words.text(root, "root") or "",
        stop_hook_active=_loops(told) > 0,
        is_failed=words.text(told, "status") not in {None, "completed"},
        prompt=words.text(told, "prompt"),
        tool=words.text(told, "tool_name"),
        tool_input=words.mapping(told, "tool_input"),
        reason=words.text(told, "reason"),
        subagent=words.text(told, "subagent_id", "agent_id"),
        raw=told,
    )


def can_show(occasion: Occasion) -> bool:
    if occasion.subagent is not None:
        return False
    return occasion.event in _SHOWN or (occasion.event == "Stop" and _goes_on(occasion))


def render(occasion: Occasion, verdict: Verdict) -> Answer:
    event, block, context = occasion.event, verdict.block, verdict.context
    answer: dict[str, Any] = {}
    if block and event in _STOPS and not occasion.is_failed:
        answer = {"followup_message": block}
    elif block and event == "UserPromptSubmit":
        answer = {"continue": False, "user_message": block}
    elif block and event == "PreToolUse":
        answer = {"permission": "deny", "agent_message": block, "user_message": block}
    elif context and event == "Stop" and verdict.continues and can_show(occasion):
        answer = {"followup_message": context}
    elif context and event in _SHOWN and can_show(occasion):
        answer = {"additional_context": context}
    aside = words.aside(verdict, said=bool(answer))
    if event == "PreCompact":
        answer["user_message"], aside = aside, ""
    spoken, written = words.spoken(aside), words.reply(answer)
    return Answer(stdout=written.stdout, stderr=spoken.stderr)


def _goes_on(occasion: Occasion) -> bool:
    return not occasion.is_failed and _loops(occasion.raw) < LOOPS


def _loops(told: Any) -> int:
    count = told.get("loop_count")
    return count if isinstance(count, int) and not isinstance(count, bool) else 0
