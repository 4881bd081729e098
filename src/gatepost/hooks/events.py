"""
What a host tells a hook, and what the hook tells it back, whichever host it is.

    the host's JSON -> wire.parse -> Occasion -> chain -> Verdict -> wire.render -> Answer

Only `wire` knows a host's own words. Here an event has the name Claude Code gives it, also when Gemini or
Cursor sent it under another.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: Events whose output reaches the model (G6): only on these is an inbox shown. PreCompact is not one.
READABLE_EVENTS = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One hook event. Whatever a host does not tell is empty; `raw` is all it told."""

    host: str
    name: str
    #: The host's own id of the session; any text at all, and not to be trusted as the name of a file.
    session: str = ""
    cwd: str = ""
    #: What the host calls the turn that this is part of: a prompt, and all that follows until the next one.
    turn: str | None = None
    #: SessionStart: startup, resume, clear, compact, fork.
    source: str | None = None
    #: The agent is going on because an earlier Stop hook made it.
    stop_hook_active: bool = False
    prompt: str | None = None
    tool: str | None = None
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    #: Stop: the turn has ended without an answer of the model; it failed, or a person broke it off.
    is_failed: bool = False
    #: Stop: characters of all replies to the prompt so far, where the host tells them.
    replies: int = 0
    #: SessionEnd: why.
    reason: str | None = None
    #: The helper inside the session that this is about (SubagentStop, a tool it uses), if not the agent itself.
    subagent: str | None = None
    #: UserPromptSubmit: the program wrote the prompt, not a person. Gemini sends what we said at a stop as a prompt.
    is_program_prompt: bool = False
    #: Another hook of ours is called for the same event in the host's own words: this one has nothing to do.
    is_duplicate: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_person_prompt(self) -> bool:
        """Return True if a person wrote this prompt; the prompts of helpers and of the program do not count."""
        return self.name == "UserPromptSubmit" and self.subagent is None and not self.is_program_prompt


def do_nothing() -> None:
    """Do nothing: what there is to confirm when nothing was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What is to be said. Empty means: go on, and nothing was to be told.

    `printed` is called once the answer is written out and flushed, `unprinted` if that failed; never both.
    """

    #: Why the agent may not do this (stop, use the tool); with one, `context` is empty.
    block: str | None = None
    #: Text for the model.
    context: str | None = None
    #: On Stop: `context` is a reason to go on, not a farewell.
    continues: bool = False
    #: Sentences for the person who watches, each shown once.
    warnings: tuple[str, ...] = ()
    #: `block` holds also when nothing can be remembered of it: the user has asked for that.
    is_fail_closed: bool = False
    #: Nobody after this handler is asked.
    final: bool = False
    printed: Callable[[], None] = do_nothing
    unprinted: Callable[[], None] = do_nothing

    @property
    def block_reason(self) -> str | None:
        """Return `block` without outer spaces, never empty: a host ignores a block that has no reason."""
        return None if self.block is None else self.block.strip() or "this is held by a gate that does not say why"

    @property
    def is_silent(self) -> bool:
        """Tell whether the host hears nothing at all."""
        return self.block is None and not self.context and not self.warnings

    def add_warnings(self, *sentences: str) -> "Verdict":
        """Return it with more to tell the person."""
        return replace(self, warnings=self.warnings + sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookOutput:
    """What the hook's process does: writes this out, and ends with that code."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
