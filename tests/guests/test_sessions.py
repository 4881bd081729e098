"""The sessions of guests in the store: whose they are, what they do, and the chains that go on in them."""

from pathlib import Path

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, Invalid, NotFound, Refused, UnknownAddress
from gatepost.guests import session_actions as sessions
from gatepost.guests.session import ENDED, IDLE, WORKING
from gatepost.inbox import claim_actions as inbox
from gatepost.spaces import actions as spaces
from tests.guests.hook_guest import HookGuest
from tests.support.store_context import StoreContext


def begin_session(ctx: StoreContext, id: str = "s-1", agent: str = "ann") -> None:
    ctx.store.run_sync(sessions.begin, id, agent=agent, host="claude")


class TestRegistering:
    def test_it_is_registered_with_its_agent(self, ctx: StoreContext) -> None:
        begin_session(ctx)
        session = ctx.store.read_sync(sessions.find, "s-1")
        assert (session.agent, session.host, session.state) == ("ann", "claude", IDLE)

    def test_a_misspelt_name_makes_no_new_agent(self, ctx: StoreContext) -> None:
        with pytest.raises(UnknownAddress, match="there is no entity 'annn'") as error:
            begin_session(ctx, agent="annn")
        assert error.value.hint == "did you mean 'ann'?"
        with pytest.raises(UnknownAddress):
            ctx.store.read_sync(directory.find, "annn")

    def test_it_may_come_back_and_as_somebody_else(self, ctx: StoreContext) -> None:
        begin_session(ctx)
        started_at = ctx.clock.now()
        ctx.clock.advance("1 hour")
        ctx.store.run_sync(sessions.note_activity, "s-1", ENDED)
        assert ctx.store.read_sync(sessions.find, "s-1").state == ENDED
        ctx.store.run_sync(sessions.begin, "s-1", agent="bob", host="codex", doing=WORKING)
        session = ctx.store.read_sync(sessions.find, "s-1")
        assert (session.agent, session.state, session.started_at) == ("bob", WORKING, started_at)
        assert session.seen_at == ctx.clock.now()

    def test_its_model_is_the_one_that_its_program_said_last(self, ctx: StoreContext, tmp_path: Path) -> None:
        ann = ctx.store.read_sync(directory.find, "ann").number
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        assert ctx.store.read_sync(sessions.find_model, ann) is None
        guest.run_hook("SessionStart", source="startup", raw={"model": "claude-sonnet-5"})
        guest.run_hook("UserPromptSubmit", prompt="Go on")
        assert ctx.store.read_sync(sessions.find_model, ann) == "claude-sonnet-5"
        for model in ("a\x00b", "", None, {"id": "x"}):
            guest.run_hook("SessionStart", source="resume", raw={"model": model})
        assert ctx.store.read_sync(sessions.find_model, ann) == "claude-sonnet-5", "that is no name of one"
        guest.run_hook("SessionStart", source="resume", raw={"model": "claude-opus-5"})
        assert ctx.store.read_sync(sessions.find_model, ann) == "claude-opus-5"

    @pytest.mark.parametrize(
        ("id", "agent", "error"),
        [("s-1", "husam", Refused), ("s-1", "no name", Invalid), ("", "ann", Invalid), ("a\x00", "ann", Invalid)],
    )
    def test_not_everybody_is_a_guest(self, ctx: StoreContext, id: str, agent: str, error: type[GatepostError]) -> None:
        with pytest.raises(error):
            begin_session(ctx, id, agent)
        with pytest.raises((NotFound, Invalid)):
            ctx.store.read_sync(sessions.find, id)

    def test_one_agent_does_not_see_anothers(self, ctx: StoreContext) -> None:
        begin_session(ctx)
        assert ctx.store.read_sync(sessions.find, "s-1", agent="ann").agent == "ann"
        with pytest.raises(NotFound, match="no guest session 's-1'"):
            ctx.store.read_sync(sessions.find, "s-1", agent="bob")

    def test_what_nothing_is_heard_of_is_forgotten(self, ctx: StoreContext) -> None:
        begin_session(ctx, "old")
        ctx.clock.advance("20 days")
        begin_session(ctx, "later")
        ctx.clock.advance("11 days")
        begin_session(ctx, "new")
        with pytest.raises(NotFound):
            ctx.store.read_sync(sessions.find, "old")
        assert ctx.store.read_sync(sessions.find, "later").session == "later"


class TestHooks:
    """What hooks note."""

    def test_working_and_idle(self, ctx: StoreContext, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)

        def read_states() -> tuple[str, str]:
            return ctx.store.read_sync(sessions.find, "s-1").state, guest.session.read().state

        for event, source, state in (
            ("SessionStart", "startup", IDLE),
            ("UserPromptSubmit", None, WORKING),
            ("PostToolUse", None, WORKING),
            ("SessionStart", "compact", WORKING),
            ("Stop", None, IDLE),
            ("Notification", None, IDLE),
            ("PostToolUse", None, WORKING),
            ("SessionEnd", None, ENDED),
        ):
            guest.run_hook(event, source=source)
            assert read_states() == (state, state), event

    def test_a_blocked_stop_is_no_rest(self, ctx: StoreContext, tmp_path: Path) -> None:
        from gatepost.guests.hooks.session_gates import SessionGate, register

        register(tmp_path, SessionGate(name="tested"))
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        guest.run_hook("UserPromptSubmit")
        assert guest.run_stop().block
        assert ctx.store.read_sync(sessions.find, "s-1").state == WORKING

    def test_an_alias_is_found_out_once(self, ctx: StoreContext, tmp_path: Path) -> None:
        ctx.register("cleo", aliases=["bead-7"])
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        guest.options = guest.options._replace(agent="bead-7")
        guest.run_hook("SessionStart", source="startup")
        assert guest.session.read().agent == "cleo"
        seen_at = ctx.store.read_sync(sessions.find, "s-1").seen_at
        ctx.clock.advance("1 minute")
        guest.run_hook("PostToolUse")
        guest.run_hook("Stop")
        ctx.clock.advance("1 minute")
        guest.run_hook("Stop")
        assert ctx.store.read_sync(sessions.find, "s-1").seen_at < ctx.clock.now(), "nothing new was noted"
        assert ctx.store.read_sync(sessions.find, "s-1").seen_at > seen_at
        assert guest.session.read().agent == "cleo"

    def test_a_session_that_began_while_the_store_was_away_is_made_up_for(
        self, ctx: StoreContext, tmp_path: Path
    ) -> None:
        guest = HookGuest(tmp_path, None, ctx.clock)
        guest.run_hook("SessionStart", source="startup")
        assert guest.notes == ["the store is out of reach"]
        guest.store = ctx.store
        guest.run_hook("PostToolUse")
        guest.run_hook("UserPromptSubmit")
        assert ctx.store.read_sync(sessions.find, "s-1").agent == "ann"

    def test_an_agent_that_cannot_be_is_said_and_the_rest_goes_on(self, ctx: StoreContext, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        guest.options = guest.options._replace(agent="husam")
        assert "'husam' is a person, not an agent" in guest.run_hook("SessionStart", source="startup").warnings[0]
        assert "'husam' is a person, not an agent" in guest.notes[0]

    def test_a_misspelt_name_is_told_the_person_once_a_session(self, ctx: StoreContext, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        guest.options = guest.options._replace(agent="annn")
        guest.append_lines("tea")
        verdict = guest.run_hook("SessionStart", source="startup")
        assert verdict.warnings == (
            "Gatepost cannot find the agent of this session: there is no entity 'annn' (hint: did you mean 'ann'?)",
        )
        assert "tea" in (verdict.context or ""), "the spool is shown all the same"
        assert guest.run_hook("UserPromptSubmit").warnings == ()
        assert guest.run_stop().warnings == ()
        guest.options = guest.options._replace(agent="anm")
        assert "'anm'" in guest.run_hook("PostToolUse").warnings[0], "it is another name"
        ctx.register("anm")
        assert guest.run_hook("UserPromptSubmit").is_silent
        assert ctx.store.read_sync(sessions.find, "s-1").agent == "anm"

    def test_without_an_agent_the_person_is_told_once(self, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path)
        guest.options = guest.options._replace(agent=None)
        assert "which agent this is" in guest.run_hook("SessionStart", source="startup").warnings[0]
        assert guest.run_hook("UserPromptSubmit").is_silent
        assert guest.run_stop().is_silent
        assert guest.notes == []


class TestChains:
    """I13: what a guest pushes continues the longest chain that reached its inbox, whether a hook showed it or not."""

    def test_a_guests_push_goes_on_with_what_reached_it(self, ctx: StoreContext, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        assert self._count_hops(ctx) == 0, "nothing has reached it"
        ctx.push("one", hops=3)
        ctx.push("two", hops=5)
        assert self._count_hops(ctx) == 6, "it may have read the items through another door"
        assert "two" in (guest.run_hook("SessionStart", source="startup").context or "")
        assert self._count_hops(ctx) == 6
        guest.run_hook("UserPromptSubmit")
        assert self._count_hops(ctx) == 6, "a prompt may be a nudge: only what a person sends begins a new chain"
        ctx.push("three", sender="husam")
        assert self._count_hops(ctx) == 1

    def test_what_it_says_in_a_space_goes_on_too(self, ctx: StoreContext, tmp_path: Path) -> None:
        guest = HookGuest(tmp_path, ctx.store, ctx.clock)
        ctx.store.run_sync(spaces.create, name="tea", id="tea", members=["ann", "bob"])
        ctx.push("one", hops=15)
        guest.run_hook("SessionStart", source="startup")
        ctx.store.run_sync(spaces.post, "tea", sender="ann", content="hello")
        [item] = ctx.store.read_sync(inbox.peek, "bob")
        assert item.event.hops == 16

    def _count_hops(self, ctx: StoreContext) -> int:
        return ctx.show_item(ctx.push_event("on", "bob", sender="ann"), "bob").event.hops
