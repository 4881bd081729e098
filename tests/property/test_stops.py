"""
Stops, again and again, with time passing as it likes: three blocked ones within two minutes are the most there can be,
a blocked one reads nothing, and five continuations in a row are the most there can be.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gatepost.core.guest import IDLE, WORKING
from gatepost.core.instants import SECOND
from gatepost.hooks.gates import SessionGate, register
from tests.visits import Guest

WINDOW = 120 * SECOND


class Stops(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.guest = Guest(Path(self.folder.name))
        register(self.guest.home, SessionGate(name="tested"))
        self.guest.hook("SessionStart", source="startup")
        #: what has to come of the next stop, told another way
        self.blocked: list[int] = []
        self.continued = 0
        self.waiting: list[str] = []

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
        self.guest.session.clear("tested")

    @rule(count=st.integers(1, 3))
    def tell(self, count: int) -> None:
        texts = [f"line {self.guest.clock.now()} {len(self.waiting) + at}" for at in range(count)]
        self.guest.spooled(*texts)
        self.waiting += texts

    @rule()
    def speak(self) -> None:
        self._shown(self.guest.hook("UserPromptSubmit").context)
        self.blocked, self.continued = [], 0

    @rule()
    def work(self) -> None:
        self._shown(self.guest.hook("PostToolUse").context)

    @rule(active=st.booleans())
    def stop(self, active: bool) -> None:
        now = self.guest.clock.now()
        recent = [at for at in self.blocked if now - at < WINDOW]
        verdict = self.guest.stop(stop_hook_active=active)
        if len(recent) >= 3:
            assert (verdict.block, verdict.context) == (None, None), "everything lets it go"
            assert any("lets the agent stop" in each for each in verdict.warnings)
            self.blocked, self.continued = [], 0
        elif not self.guest.session.marked("tested"):
            assert verdict.block == "tested: it is not marked"
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
        goes_on = verdict.block is not None or verdict.continues
        assert self.guest.session.read().state == (WORKING if goes_on else IDLE)

    @rule()
    def compact(self) -> None:
        assert self.guest.hook("PreCompact").silent

    @invariant()
    def nothing_is_lost(self) -> None:
        assert [entry.content for entry in self.guest.spool.waiting(self.guest.id)] == self.waiting

    def _shown(self, context: str | None) -> None:
        """All that waits is shown, each once and in order."""
        shown = [line.split('"')[1] for line in (context or "").splitlines()[1:]]
        assert shown == self.waiting[: len(shown)]
        assert shown or not self.waiting
        self.waiting = self.waiting[len(shown) :]


TestStops = Stops.TestCase
