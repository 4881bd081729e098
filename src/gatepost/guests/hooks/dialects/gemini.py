"""
Gemini CLI. Its events have names of their own, a block is called `deny`, and stdout is JSON or nothing. A denied
AfterAgent sends its reason to the agent as a new prompt: this makes the agent continue, with its pending items. No
event follows a compression of the history, so the next prompt shows what the agent misses after it.

The host shows a `systemMessage` instead of the reason, so with a reason there is none; and it escapes tags in context.

In these cases an inbox would lose items, so nothing is taken from it:

- after a tool: if another hook denies the result, the host drops our text and continues, and an AfterAgent follows as
  always; also, the tools of a subagent look like those of the agent, so the subagent would read the items;
- at an AfterAgent without a reply (the request failed for good, or a person interrupted it): the host sends a
  placeholder instead of the reply;
- at a BeforeAgent that no person started, such as the one that repeats our reason: the AfterAgent that follows also
  contains the replies before it. That of a wake begins anew, as that of a person does.
"""

from typing import Any, Final

from gatepost.guests.hooks import dialects
from gatepost.guests.hooks.dialects import claude
from gatepost.guests.hooks.hook_events import HookEvent, HookOutput, Verdict

#: the host's name of an event, and ours
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
#: the beginning of a prompt that Gemini writes itself, after a reply without text
_PROGRAM_PROMPT_PREFIX: Final = "[System: You successfully executed a tool"
#: what an AfterAgent has instead of a missing reply
_NO_REPLY: Final = "[no response text]"
_HOST_NAMES: Final = {our_name: host_name for host_name, our_name in EVENTS.items()}


def parse(event_name: str, payload: object) -> HookEvent:
    event = claude.parse(event_name, payload, host="gemini", event_names=EVENTS)
    replies = dialects.read_text(event.raw, "prompt_response") or ""
    return event._replace(
        is_program_prompt=(event.prompt or "").startswith(_PROGRAM_PROMPT_PREFIX),
        is_failed=event.name == "Stop" and replies.rstrip().endswith(_NO_REPLY),
        replies=len(replies),
    )


def can_show(event: HookEvent) -> bool:
    is_repeat = event.is_program_prompt and event.woken_for is None
    is_reliable = event.name != "PostToolUse" and not event.is_failed and not is_repeat
    return is_reliable and event.name in _HOST_NAMES and claude.can_show(event)


def render(event: HookEvent, verdict: Verdict) -> HookOutput:
    name = event.name
    has_field = name in _HOST_NAMES and claude.can_show(event)  # for text that may get lost
    fields: dict[str, Any] = {}
    if verdict.block and name in _BLOCKABLE_EVENTS:
        fields = {"decision": "deny", "reason": verdict.block}
    elif verdict.context and name == "Stop" and verdict.continues and has_field:
        fields = {"decision": "deny", "reason": verdict.context}
    elif verdict.context and name != "Stop" and has_field:
        fields = dialects.build_context(_HOST_NAMES[name], verdict.context)
    if "reason" in fields:
        return dialects.build_output(fields, dialects.build_person_text(verdict, has_answer=True))
    # Events of the model itself (BeforeModel and others) have none of these fields.
    return dialects.build_host_output(fields, verdict, reads_json=name in _HOST_NAMES)
