"""
Gemini CLI. Its events have names of their own, a block is called `deny`, and stdout is JSON or nothing. A denied
AfterAgent sends its reason to the agent as a new prompt: that is how an agent is made to go on, with what waits for it.
Nothing tells a hook that the history was compressed, so what is missed then is made up for at the next prompt.

It shows a `systemMessage` in place of the reason, so beside a reason there is none; and it escapes tags in context.
"""

from dataclasses import replace
from typing import Any, Final

from gatepost.hooks.occasion import Answer, Occasion, Verdict
from gatepost.hooks.wire import claude, words

#: its name of an event, and ours
EVENTS: Final = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "BeforeTool": "PreToolUse",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "PreCompress": "PreCompact",
    "Notification": "Notification",
    "SessionEnd": "SessionEnd",
}
_BLOCKABLE: Final = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"})
#: how a prompt begins that Gemini writes itself, after a reply without text
_OWN_PROMPT: Final = "[System: You successfully executed a tool"
_THEIRS: Final = {ours: theirs for theirs, ours in EVENTS.items()}


def can_show(occasion: Occasion) -> bool:
    return claude.can_show(occasion) and occasion.event in _THEIRS


def parse(event: str, payload: object) -> Occasion:
    occasion = claude.parse(event, payload, host="gemini", events=EVENTS)
    return replace(occasion, is_program_prompt=(occasion.prompt or "").startswith(_OWN_PROMPT))


def render(occasion: Occasion, verdict: Verdict) -> Answer:
    event = occasion.event
    answer: dict[str, Any] = {}
    if verdict.block and event in _BLOCKABLE:
        answer = {"decision": "deny", "reason": verdict.block}
    elif verdict.context and event == "Stop" and verdict.continues and can_show(occasion):
        answer = {"decision": "deny", "reason": verdict.context}
    elif verdict.context and event != "Stop" and can_show(occasion):
        answer = words.shown(_THEIRS[event], verdict.context)
    if "reason" in answer:
        spoken = words.spoken(words.aside(verdict, said=True))
        return replace(words.reply(answer), stderr=spoken.stderr)
    return words.told(answer, verdict, read=event in _THEIRS)  # those of the model itself take nothing of this
