"""
Remind a resident, once in a cycle, of people who wrote on a channel and have no answer yet.

A person who writes on a channel waits there. A cycle that was woken by such a prompt ends with `reply`, with a question
on the same route (`ask_decision` with `event`), or with `skip`; one that ends without is told once, and may then end.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from gatepost.core.quoting import render_session
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, Turn

#: the first words of a reminder
HEADING: Final = "[NO REPLY YET]"
#: the tools that answer a prompt; each names it as `event`
_ANSWERING_TOOLS: Final = ("reply", "ask_decision")
#: prompts that a reminder names
_MAX_PROMPTS: Final = 20


def build_reminder(turns: Sequence[Turn]) -> Prompt | None:
    """Return the reminder for a cycle with these turns; None if all channel sessions have answers, or it is there."""
    prompts = [turn for turn in turns if isinstance(turn, Prompt)]
    if any(prompt.text.startswith(HEADING) for prompt in prompts):
        return None
    user_prompts = [user_prompt for prompt in prompts for user_prompt in prompt.user_prompts]
    if not user_prompts:
        return None
    answered_names = set(_list_answered(turns))
    answered_sessions = {session for event, session in user_prompts if answered_names & {event, session}}
    #: by channel session: its last prompt
    unanswered = {session: event for event, session in user_prompts if session not in answered_sessions}
    if not unanswered:
        return None
    people = "A person waits" if len(unanswered) == 1 else f"{len(unanswered)} people wait"
    lines = [
        f"- event {event} (session {render_session(session)})"
        for session, event in list(unanswered.items())[:_MAX_PROMPTS]
    ]
    head = f"{HEADING} {people} for an answer. Use reply with the event, or end the cycle; you are not told again."
    return Prompt("\n".join([head, *lines]))


def _list_answered(turns: Sequence[Turn]) -> Iterator[str]:
    """Return the events and channel sessions that were answered in these turns."""
    calls = {call.id: call for turn in turns if isinstance(turn, ModelReply) for call in turn.calls}
    for turn in turns:
        if not isinstance(turn, CallResult) or not turn.ok or turn.tool not in _ANSWERING_TOOLS:
            continue
        try:
            arguments = json.loads(calls[turn.call].arguments)
        except (KeyError, ValueError, RecursionError):
            continue
        if isinstance(arguments, dict) and isinstance(event := arguments.get("event"), str):
            yield event
