"""
Codex, which took its hooks from Claude Code and reads them more strictly: a field that an event does not have makes it
throw away the whole answer. Stop has no place for context, so what is shown there is the reason to go on; SessionEnd
has no answer at all, and a Notification does not exist.
"""

from typing import Any, Final

from gatepost.hooks.occasion import Answer, Occasion, Verdict
from gatepost.hooks.wire import claude, words

_BLOCKABLE: Final = frozenset({"UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"})
_ANSWERED: Final = (
    frozenset({"SessionStart", "PreToolUse", "PreCompact", "PostCompact", "SubagentStart", "PermissionRequest"})
    | _BLOCKABLE
)


def can_show(occasion: Occasion) -> bool:
    return claude.can_show(occasion) and occasion.event in _ANSWERED


def parse(event: str, payload: object) -> Occasion:
    return claude.parse(event, payload, host="codex")


def render(occasion: Occasion, verdict: Verdict) -> Answer:
    event = occasion.event
    answer: dict[str, Any] = {}
    if verdict.block:
        answer = words.blocked(event, verdict.block, _BLOCKABLE)
    elif verdict.context and event == "Stop" and verdict.continues and can_show(occasion):
        answer = {"decision": "block", "reason": verdict.context}
    elif verdict.context and event != "Stop" and can_show(occasion):
        answer = words.shown(event, verdict.context)
    return words.told(answer, verdict, read=event in _ANSWERED)
