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

from gatepost.hooks.events import HookEvent, HookOutput, Verdict
from gatepost.hooks.wire import claude, hook_json

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
_BLOCKABLE_EVENTS: Final = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"})
#: how a prompt begins that Gemini writes itself, after a reply without text
_PROGRAM_PROMPT_PREFIX: Final = "[System: You successfully executed a tool"
_HOST_NAMES: Final = {our_name: host_name for host_name, our_name in EVENTS.items()}

#: what an AfterAgent tells in place of a reply that did not come
_NO_REPLY: Final = "[no response text]"


def parse(event_name: str, payload: object) -> HookEvent:
    event = claude.parse(event_name, payload, host="gemini", event_names=EVENTS)
    replies = hook_json.read_text(event.raw, "prompt_response") or ""
    return replace(
        event,
        is_program_prompt=(event.prompt or "").startswith(_PROGRAM_PROMPT_PREFIX),
        is_failed=event.name == "Stop" and replies.rstrip().endswith(_NO_REPLY),
        replies=len(replies),
    )


def can_show(event: HookEvent) -> bool:
    is_reliable = event.name != "PostToolUse" and not event.is_failed and not event.is_program_prompt
    return is_reliable and event.name in _HOST_NAMES and claude.can_show(event)


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    name = event.name
    has_place = name in _HOST_NAMES and claude.can_show(event)  # for text that need not be sure to be read
    fields: dict[str, Any] = {}
    if verdict.block and name in _BLOCKABLE_EVENTS:
        fields = {"decision": "deny", "reason": verdict.block}
    elif verdict.context and name == "Stop" and verdict.continues and has_place:
        fields = {"decision": "deny", "reason": verdict.context}
    elif verdict.context and name != "Stop" and has_place:
        fields = hook_json.build_context(_HOST_NAMES[name], verdict.context)
    if "reason" in fields:
        person_output = hook_json.build_stderr_output(hook_json.build_person_text(verdict, has_answer=True))
        return replace(hook_json.build_output(fields), stderr=person_output.stderr)
    return hook_json.build_host_output(
        fields, verdict, reads_json=name in _HOST_NAMES
    )  # those of the model itself take nothing of this
