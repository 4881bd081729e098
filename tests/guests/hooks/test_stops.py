"""
Stops, again and again, with time passing as it likes: three blocked ones within two minutes are the most there can be,
a blocked one reads nothing, and five continuations in a row are the most there can be. Only a person's prompt begins
anew: what was said at a stop may come back as a prompt, and helpers have prompts and stops of their own.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gatepost.core.times import SECOND, WEEK
from gatepost.guests.hooks.hook_context import HookOptions
from gatepost.guests.hooks.session_gates import SessionGate, register
from gatepost.guests.session import IDLE, WORKING
from tests.guests.hook_guest import HookGuest
from tests.property.run_machine import run_machine

LOOP_WINDOW = 120 * SECOND


class StopMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        # what was shown does not lapse meanwhile: that is another test's (test_proof.py)
        self.guest = HookGuest(Path(self.folder.name), options=HookOptions(agent="ann", proof_timeout=WEEK))
        register(self.guest.home, SessionGate(name="tested"))
        register(self.guest.home, SessionGate(name="summed-up", hook="SubagentStop"))
        self.guest.run_hook("SessionStart", source="startup")
        #: what has to come of the next stop, told another way
        self.blocked_at: list[int] = []
        self.continuation_count = 0
        self.waiting_texts: list[str] = []
        #: what was shown and no model has answered yet, and whether a tool's hook showed it
        self.unproved_texts: list[tuple[str, bool]] = []
        self.line_numbers = count()
        #: the blocked stops of each helper
        self.helper_blocks: dict[str, list[int]] = {"h-1": [], "h-2": []}
        #: what was said at the last stop, until a prompt comes
        self.stop_text: str | None = None

    def teardown(self) -> None:
        self.folder.cleanup()

    @rule(seconds=st.sampled_from([1, 39, 40, 60, 119, 120, 121, 600]))
    def wait(self, seconds: int) -> None:
        self.guest.clock.advance(seconds * SECOND)

    @rule()
    def mark(self) -> None:
        self.guest.session.mark("tested")

    @rule()
    def clear(self) -> None:
        self.guest.session.clear_mark("tested")

    @rule(lines=st.integers(1, 3))
    def tell(self, lines: int) -> None:
        texts = [f"line {next(self.line_numbers)}" for _ in range(lines)]
        self.guest.append_lines(*texts)
        self.waiting_texts += texts

    @rule()
    def speak(self) -> None:
        self.waiting_texts += [text for text, _ in self.unproved_texts]
        self.unproved_texts = []
        self._check_shown(self.guest.run_hook("UserPromptSubmit", prompt="Go on.").context)
        self.blocked_at, self.continuation_count, self.stop_text = [], 0, None
        self.helper_blocks = {helper: [] for helper in self.helper_blocks}

    @rule(rewrite=st.sampled_from([str, str.strip, lambda text: f" {text}\n", lambda text: text.replace("<", "&lt;")]))
    @precondition(lambda self: self.stop_text is not None)
    def echo(self, rewrite: Callable[[str], str]) -> None:
        assert self.stop_text is not None
        self._check_shown(self.guest.run_hook("UserPromptSubmit", prompt=rewrite(self.stop_text)).context)
        self.stop_text = None

    @rule(helper=st.sampled_from(["h-1", "h-2"]))
    def instruct_helper(self, helper: str) -> None:
        self.guest.run_hook("UserPromptSubmit", prompt="Look it up.", subagent=helper)

    @rule(helper=st.sampled_from(["h-1", "h-2"]))
    def stop_helper(self, helper: str) -> None:
        now = self.guest.clock.now()
        recent_blocks = [instant for instant in self.helper_blocks[helper] if now - instant < LOOP_WINDOW]
        verdict = self.guest.run_hook("SubagentStop", subagent=helper)
        assert verdict.context is None
        if len(recent_blocks) >= 3:
            assert verdict.block is None
            assert any("lets the helper stop" in warning for warning in verdict.warnings)
            self.helper_blocks[helper] = []
        else:
            assert (verdict.block or "").startswith("summed-up: it is not marked. When it is done, run: ")
            self.helper_blocks[helper] = [*recent_blocks, now]

    @rule()
    def tx(self) -> None:
        self.unproved_texts = [(text, by_tool) for text, by_tool in self.unproved_texts if by_tool]
        self._check_shown(self.guest.run_hook("PostToolUse").context, by_tool=True)

    @rule(active=st.booleans())
    def stop(self, active: bool) -> None:
        now = self.guest.clock.now()
        recent_blocks = [instant for instant in self.blocked_at if now - instant < LOOP_WINDOW]
        verdict = self.guest.run_stop(stop_hook_active=active)
        self.unproved_texts = []
        if len(recent_blocks) >= 3:
            assert (verdict.block, verdict.context) == (None, None), "everything lets it go"
            assert any("lets the agent stop" in warning for warning in verdict.warnings)
            self.blocked_at, self.continuation_count = [], 0
        elif not self.guest.session.is_marked("tested"):
            assert (verdict.block or "").startswith("tested: it is not marked. When it is done, run: ")
            assert verdict.context is None
            self.blocked_at = [*recent_blocks, now]
        elif self.waiting_texts and self.continuation_count < 5:
            assert verdict.block is None
            assert verdict.continues
            self._check_shown(verdict.context)
            self.continuation_count += 1
        else:
            assert (verdict.block, verdict.context, verdict.continues) == (None, None, False)
            self.continuation_count = 0
        self.stop_text = verdict.block or verdict.context
        continues = verdict.block is not None or verdict.continues
        assert self.guest.session.read().state == (WORKING if continues else IDLE)

    @rule()
    def compact(self) -> None:
        assert self.guest.run_hook("PreCompact").is_silent

    @invariant()
    def nothing_is_lost(self) -> None:
        assert [entry.content for entry in self.guest.spool.peek(self.guest.session_id)] == self.waiting_texts

    def _check_shown(self, context: str | None, *, by_tool: bool = False) -> None:
        """All that waits is shown, each once and in order."""
        shown_texts = [line.split('"')[1] for line in (context or "").splitlines()[1:]]
        assert shown_texts == self.waiting_texts[: len(shown_texts)]
        assert shown_texts or not self.waiting_texts
        self.waiting_texts = self.waiting_texts[len(shown_texts) :]
        self.unproved_texts += [(text, by_tool) for text in shown_texts]


def test_stops() -> None:
    run_machine(StopMachine, examples=10, steps=50)
