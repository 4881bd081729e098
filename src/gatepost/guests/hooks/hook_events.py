"""
The values that a hook passes on, the same for every host.

    the host's JSON -> dialects.parse -> HookEvent -> chain -> Verdict -> dialects.render -> HookOutput

Only `dialects` knows the format of a host. Everywhere else an event has the name that Claude Code gives it, also when
Gemini or Cursor sent it under another name. They are named tuples, because dataclasses take a hook longer to import
than to answer.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

#: Events whose output reaches the model (G6): an inbox is shown only on these. PreCompact is not one of them.
READABLE_EVENTS = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"})

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class HookEvent(NamedTuple):
    """One hook event. A field that the host did not send is empty; `raw` is everything that it sent."""

    host: str
    name: str
    #: The host's own id of the session. It can be any text: never use it as a file name.
    session: str = ""
    cwd: str = ""
    #: The host's id of the turn: a prompt, and everything that follows until the next prompt.
    turn: str | None = None
    #: SessionStart: startup, resume, clear, compact, fork.
    source: str | None = None
    #: The agent continues because an earlier Stop hook made it continue.
    stop_hook_active: bool = False
    prompt: str | None = None
    tool: str | None = None
    tool_input: Mapping[str, Any] = _NOTHING
    #: Stop: the turn ended without a reply of the model. It failed, or a person interrupted it.
    is_failed: bool = False
    #: Stop: characters of all replies to the prompt so far, if the host sends them.
    replies: int = 0
    #: SessionEnd: the reason.
    reason: str | None = None
    #: The id of the subagent that the event is about (SubagentStop, a tool that it uses); None for the agent itself.
    subagent: str | None = None
    #: UserPromptSubmit: a program wrote the prompt, not a person. Gemini sends our text at a stop as a prompt.
    is_program_prompt: bool = False
    #: UserPromptSubmit: the prompt wakes the session, because of an item that could have been shown since then.
    woken_for: int | None = None
    #: The host calls another hook of ours for the same event, in its own format: this hook has nothing to do.
    is_duplicate: bool = False
    raw: Mapping[str, Any] = _NOTHING

    @property
    def is_person_prompt(self) -> bool:
        """Return True if a person wrote this prompt; prompts of subagents and programs do not count."""
        return self.name == "UserPromptSubmit" and self.subagent is None and not self.is_program_prompt


def do_nothing() -> None:
    """Do nothing: the callback of a verdict that took nothing from an inbox."""


class Verdict(NamedTuple):
    """
    The result of a handler, or of all of them. An empty verdict means: continue, there is nothing to say.

    `printed` is called after the output is written and flushed, `unprinted` if that failed; never both.
    """

    #: Why the agent may not do this (stop, use the tool). If it is set, `context` is empty.
    block: str | None = None
    #: Text for the model.
    context: str | None = None
    #: On Stop: `context` is a reason to continue.
    continues: bool = False
    #: Sentences for the person at the host, each shown once.
    warnings: tuple[str, ...] = ()
    #: `block` holds even if the session cannot record it: the user has asked for that.
    is_fail_closed: bool = False
    #: No handler after this one is called.
    final: bool = False
    printed: Callable[[], None] = do_nothing
    unprinted: Callable[[], None] = do_nothing

    @property
    def block_reason(self) -> str | None:
        """Return `block` without outer spaces, never empty: a host ignores a block that has no reason."""
        return None if self.block is None else self.block.strip() or "this is held by a gate that does not say why"

    @property
    def is_silent(self) -> bool:
        """Return True if there is nothing to say to the host."""
        return self.block is None and not self.context and not self.warnings

    def add_warnings(self, *sentences: str) -> "Verdict":
        """Return this verdict with more warnings."""
        return self._replace(warnings=self.warnings + sentences)


class HookOutput(NamedTuple):
    """What the process of the hook writes, and its exit code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
