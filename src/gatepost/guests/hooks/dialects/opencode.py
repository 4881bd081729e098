"""
OpenCode. Its hooks are functions of a plugin, and ours (`guests/host_settings/opencode_plugin.js`) calls these hooks in
the words of Claude Code. What it reads is ours too:

    block     refuse the prompt or the tool; after a tool it is added to the result, at a stop it is the next prompt
    context   show it to the model; at a stop as the next prompt
    message   show it to the person

The plugin says of a stop whether the model has replied since it was shown something (`failed`), as OpenCode tells it.
A program that ends with its first stop (`ends`) can be shown nothing there. OpenCode has no event for a tool that
fails, and none for compaction that could show something.
"""

from typing import Final

from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.dialects import claude
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, Verdict

_READABLE_EVENTS: Final = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"})
_BLOCKABLE_EVENTS: Final = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"})


def parse(event_name: str, payload: object) -> HookEvent:
    event = claude.parse(event_name, payload, host="opencode")
    return event._replace(is_failed=event.name == "Stop" and event.raw.get("failed") is True)


def can_show(event: HookEvent) -> bool:
    is_over = event.is_failed or event.raw.get("ends") is True
    return event.name in _READABLE_EVENTS and not is_over and claude.can_show(event)


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    name = event.name
    fields: dict[str, str] = {}
    if verdict.block and name in _BLOCKABLE_EVENTS:
        fields = {"block": verdict.block}
    elif verdict.context and can_show(event) and (verdict.continues or name != "Stop"):
        fields = {"context": verdict.context}
    person_text = dialects.build_person_text(verdict, has_answer=bool(fields))
    if name == "SessionEnd":  # nobody reads it
        return dialects.build_output({}, person_text)
    return dialects.build_output(fields | {"message": person_text})
