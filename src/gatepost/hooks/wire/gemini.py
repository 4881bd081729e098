"""
Gemini CLI. Its events have names of their own, a block is called `deny`, and stdout is JSON or nothing. A denied
AfterAgent sends its reason to the agent as a new prompt: that is how an agent is made to go on, with what waits for it.
Nothing tells a hook that the history was compressed, so what is missed then is made up for at the next prompt.

It shows a `systemMessage` in place of the reason, so beside a reason there is none; and it escapes tags in context.

Some of what it does would make an inbox lose items, so nothing is taken from one there:

- after a tool: if another hook denies the result, the host drops our text and goes on, and an AfterAgent follows as
  always; and the tools of a helper look like those of the agent, so that the helper would be the one who reads;
- at an AfterAgent without a reply (a request that failed for good, or that a person broke off), which the host calls
  with a placeholder in place of the reply;
- at a BeforeAgent that no person began, such as the one that repeats our reason: the AfterAgent that follows tells of
  the replies before it too.
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

#: what an AfterAgent tells in place of a reply that did not come
_NO_REPLY: Final = "[no response text]"


def parse(event: str, payload: object) -> Occasion:
    occasion = claude.parse(event, payload, host="gemini", events=EVENTS)
    replies = words.text(occasion.raw, "prompt_response") or ""
    return replace(
        occasion,
        is_program_prompt=(occasion.prompt or "").startswith(_OWN_PROMPT),
        is_failed=occasion.event == "Stop" and replies.rstrip().endswith(_NO_REPLY),
        replies=len(replies),
    )


def can_show(occasion: Occasion) -> bool:
    is_sure = occasion.event != "PostToolUse" and not occasion.is_failed and not occasion.is_program_prompt
    return is_sure and occasion.event in _THEIRS and claude.can_show(occasion)


def render(occasion: Occasion, verdict: Verdict) -> Answer:
    event = occasion.event
    has_place = event in _THEIRS and claude.can_show(occasion)  # for text that need not be sure to be read
    answer: dict[str, Any] = {}
    if verdict.block and event in _BLOCKABLE:
        answer = {"decision": "deny", "reason": verdict.block}
    elif verdict.context and event == "Stop" and verdict.continues and has_place:
        answer = {"decision": "deny", "reason": verdict.context}
    elif verdict.context and event != "Stop" and has_place:
        answer = words.shown(_THEIRS[event], verdict.context)
    if "reason" in answer:
        spoken = words.spoken(words.aside(verdict, said=True))
        return replace(words.reply(answer), stderr=spoken.stderr)
    return words.told(answer, verdict, read=event in _THEIRS)  # those of the model itself take nothing of this
