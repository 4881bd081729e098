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

from gatepost.core.guest import IDLE, WORKING
from gatepost.core.times import SECOND, WEEK
from gatepost.hooks.context import HookOptions
from gatepost.hooks.gates import SessionGate, register
from tests.visits import Guest

WINDOW = 120 * SECOND


class Stops(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        # what was shown does not lapse meanwhile: that is another test's (test_proof.py)
        self.guest = Guest(Path(self.folder.name), rules=HookOptions(agent="ann", proof_timeout=WEEK))
        register(self.guest.home, SessionGate(name="tested"))
        register(self.guest.home, SessionGate(name="summed-up", hook="SubagentStop"))
        self.guest.hook("SessionStart", source="startup")
        #: what has to come of the next stop, told another way
        self.blocked: list[int] = []
        self.continued = 0
        self.waiting: list[str] = []
        #: what was shown and no model has answered yet, and whether a tool's hook showed it
        self.unproved: list[tuple[str, bool]] = []
        self.numbers = count()
        #: the blocked stops of each helper
        self.helpers: dict[str, list[int]] = {"h-1": [], "h-2": []}
        #: what was said at the last stop, until a prompt comes
        self.said: str | None = None

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
        texts = [f"line {next(self.numbers)}" for _ in range(lines)]
        self.guest.spooled(*texts)
        self.waiting += texts

    @rule()
    def speak(self) -> None:
        self.waiting += [text for text, _ in self.unproved]
        self.unproved = []
        self._shown(self.guest.hook("UserPromptSubmit", prompt="Go on.").context)
        self.blocked, self.continued, self.said = [], 0, None
        self.helpers = {helper: [] for helper in self.helpers}

    @rule(rewrite=st.sampled_from([str, str.strip, lambda text: f" {text}\n", lambda text: text.replace("<", "&lt;")]))
    @precondition(lambda self: self.said is not None)
    def echo(self, rewrite: Callable[[str], str]) -> None:
        assert self.said is not None
        self._shown(self.guest.hook("UserPromptSubmit", prompt=rewrite(self.said)).context)
        self.said = None

    @rule(helper=st.sampled_from(["h-1", "h-2"]))
    def instruct_helper(self, helper: str) -> None:
        self.guest.hook("UserPromptSubmit", prompt="Look it up.", subagent=helper)

    @rule(helper=st.sampled_from(["h-1", "h-2"]))
    def stop_helper(self, helper: str) -> None:
        now = self.guest.clock.now()
        recent = [at for at in self.helpers[helper] if now - at < WINDOW]
        verdict = self.guest.hook("SubagentStop", subagent=helper)
        assert verdict.context is None
        if len(recent) >= 3:
            assert verdict.block is None
            assert any("lets the helper stop" in each for each in verdict.warnings)
            self.helpers[helper] = []
        else:
            assert (verdict.block or "").startswith("summed-up: it is not marked. When it is done, run: ")
            self.helpers[helper] = [*recent, now]

    @rule()
    def tx(self) -> None:
        self.unproved = [(text, by_tool) for text, by_tool in self.unproved if by_tool]
        self._shown(self.guest.hook("PostToolUse").context, by_tool=True)

    @rule(active=st.booleans())
    def stop(self, active: bool) -> None:
        now = self.guest.clock.now()
        recent = [at for at in self.blocked if now - at < WINDOW]
        verdict = self.guest.stop(stop_hook_active=active)
        self.unproved = []
        if len(recent) >= 3:
            assert (verdict.block, verdict.context) == (None, None), "everything lets it go"
            assert any("lets the agent stop" in each for each in verdict.warnings)
            self.blocked, self.continued = [], 0
        elif not self.guest.session.is_marked("tested"):
            assert (verdict.block or "").startswith("tested: it is not marked. When it is done, run: ")
            assert verdict.context is None
            self.blocked = [*recent, now]
        elif self.waiting and self.continued < 5:
            assert verdict.block is None
            assert verdict.continues
            self._shown(verdict.context)
            self.continued += 1
        else:
            assert (verdict.block, verdict.context, verdict.continues) == (None, None, False)
            self.continued = 0
        self.said = verdict.block or verdict.context
        goes_on = verdict.block is not None or verdict.continues
        assert self.guest.session.read().state == (WORKING if goes_on else IDLE)

    @rule()
    def compact(self) -> None:
        assert self.guest.hook("PreCompact").is_silent

    @invariant()
    def nothing_is_lost(self) -> None:
        assert [entry.content for entry in self.guest.spool.peek(self.guest.id)] == self.waiting

    def _shown(self, context: str | None, *, by_tool: bool = False) -> None:
        """All that waits is shown, each once and in order."""
        shown = [line.split('"')[1] for line in (context or "").splitlines()[1:]]
        assert shown == self.waiting[: len(shown)]
        assert shown or not self.waiting
        self.waiting = self.waiting[len(shown) :]
        self.unproved += [(text, by_tool) for text in shown]


TestStops = Stops.TestCase
