"""The sessions of guests in the store: whose they are, what they do, and the chains that go on in them."""

from pathlib import Path

import pytest

from gatepost.actions import directory, inbox, sessions, spaces
from gatepost.core.guest import ENDED, IDLE, WORKING
from gatepost.errors import GatepostError, Invalid, NotFound, Refused, UnknownAddress
from tests.unit.conftest import House
from tests.visits import Guest


def begun(house: House, id: str = "s-1", agent: str = "ann") -> None:
    house.store.call(sessions.begin, id, agent=agent, host="claude")


class TestWhose:
    def test_it_is_registered_with_its_agent(self, house: House) -> None:
        begun(house)
        found = house.store.query(sessions.find, "s-1")
        assert (found.agent, found.host, found.state) == ("ann", "claude", IDLE)

    def test_a_misspelt_name_makes_no_new_agent(self, house: House) -> None:
        with pytest.raises(UnknownAddress, match="nobody is called 'annn'") as error:
            begun(house, agent="annn")
        assert error.value.hint == "did you mean 'ann'?"
        with pytest.raises(UnknownAddress):
            house.store.query(directory.find, "annn")

    def test_it_may_come_back_and_as_somebody_else(self, house: House) -> None:
        begun(house)
        started = house.clock.now()
        house.clock.advance("1 hour")
        house.store.call(sessions.note_activity, "s-1", ENDED)
        assert house.store.query(sessions.find, "s-1").state == ENDED
        house.store.call(sessions.begin, "s-1", agent="bob", host="codex", doing=WORKING)
        found = house.store.query(sessions.find, "s-1")
        assert (found.agent, found.state, found.started_at) == ("bob", WORKING, started)
        assert found.seen_at == house.clock.now()

    @pytest.mark.parametrize(
        ("id", "agent", "error"),
        [("s-1", "husam", Refused), ("s-1", "no name", Invalid), ("", "ann", Invalid), ("a\x00", "ann", Invalid)],
    )
    def test_not_everybody_is_a_guest(self, house: House, id: str, agent: str, error: type[GatepostError]) -> None:
        with pytest.raises(error):
            begun(house, id, agent)
        with pytest.raises((NotFound, Invalid)):
            house.store.query(sessions.find, id)

    def test_one_agent_does_not_see_anothers(self, house: House) -> None:
        begun(house)
        assert house.store.query(sessions.find, "s-1", agent="ann").agent == "ann"
        with pytest.raises(NotFound, match="no session 's-1'"):
            house.store.query(sessions.find, "s-1", agent="bob")

    def test_what_nothing_is_heard_of_is_forgotten(self, house: House) -> None:
        begun(house, "old")
        house.clock.advance("20 days")
        begun(house, "later")
        house.clock.advance("11 days")
        begun(house, "new")
        with pytest.raises(NotFound):
            house.store.query(sessions.find, "old")
        assert house.store.query(sessions.find, "later").session == "later"


class TestHooks:
    """What hooks note."""

    def test_working_and_idle(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, house.store, house.clock)

        def doing() -> tuple[str, str]:
            return house.store.query(sessions.find, "s-1").state, guest.session.read().state

        for event, source, now in (
            ("SessionStart", "startup", IDLE),
            ("UserPromptSubmit", None, WORKING),
            ("PostToolUse", None, WORKING),
            ("SessionStart", "compact", WORKING),
            ("Stop", None, IDLE),
            ("Notification", None, IDLE),
            ("PostToolUse", None, WORKING),
            ("SessionEnd", None, ENDED),
        ):
            guest.hook(event, source=source)
            assert doing() == (now, now), event

    def test_a_blocked_stop_is_no_rest(self, house: House, tmp_path: Path) -> None:
        from gatepost.hooks.gates import SessionGate, register

        register(tmp_path, SessionGate(name="tested"))
        guest = Guest(tmp_path, house.store, house.clock)
        guest.hook("UserPromptSubmit")
        assert guest.stop().block
        assert house.store.query(sessions.find, "s-1").state == WORKING

    def test_an_alias_is_found_out_once(self, house: House, tmp_path: Path) -> None:
        house.register("cleo", aliases=["bead-7"])
        guest = Guest(tmp_path, house.store, house.clock)
        guest.rules = guest.rules._replace(agent="bead-7")
        guest.hook("SessionStart", source="startup")
        assert guest.session.read().agent == "cleo"
        seen = house.store.query(sessions.find, "s-1").seen_at
        house.clock.advance("1 minute")
        guest.hook("PostToolUse")
        guest.hook("Stop")
        house.clock.advance("1 minute")
        guest.hook("Stop")
        assert house.store.query(sessions.find, "s-1").seen_at < house.clock.now(), "nothing new was noted"
        assert house.store.query(sessions.find, "s-1").seen_at > seen
        assert guest.session.read().agent == "cleo"

    def test_a_session_that_began_while_the_store_was_away_is_made_up_for(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, None, house.clock)
        guest.hook("SessionStart", source="startup")
        assert guest.notes == ["the store is out of reach"]
        guest.store = house.store
        guest.hook("PostToolUse")
        guest.hook("UserPromptSubmit")
        assert house.store.query(sessions.find, "s-1").agent == "ann"

    def test_an_agent_that_cannot_be_is_said_and_the_rest_goes_on(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, house.store, house.clock)
        guest.rules = guest.rules._replace(agent="husam")
        assert "'husam' is a human, not an agent" in guest.hook("SessionStart", source="startup").warnings[0]
        assert "'husam' is a human, not an agent" in guest.notes[0]

    def test_a_misspelt_name_is_told_the_person_once_a_session(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, house.store, house.clock)
        guest.rules = guest.rules._replace(agent="annn")
        guest.spooled("tea")
        verdict = guest.hook("SessionStart", source="startup")
        assert verdict.warnings == (
            "Gatepost cannot find the agent of this session: nobody is called 'annn' (hint: did you mean 'ann'?)",
        )
        assert "tea" in (verdict.context or ""), "the spool is shown all the same"
        assert guest.hook("UserPromptSubmit").warnings == ()
        assert guest.stop().warnings == ()
        guest.rules = guest.rules._replace(agent="anm")
        assert "'anm'" in guest.hook("PostToolUse").warnings[0], "it is another name"
        house.register("anm")
        assert guest.hook("UserPromptSubmit").is_silent
        assert house.store.query(sessions.find, "s-1").agent == "anm"

    def test_without_an_agent_the_person_is_told_once(self, tmp_path: Path) -> None:
        guest = Guest(tmp_path)
        guest.rules = guest.rules._replace(agent=None)
        assert "which agent this is" in guest.hook("SessionStart", source="startup").warnings[0]
        assert guest.hook("UserPromptSubmit").is_silent
        assert guest.stop().is_silent
        assert guest.notes == []


class TestChains:
    """I13: what a guest pushes continues the longest chain that reached its inbox, whether a hook showed it or not."""

    def test_a_guests_push_goes_on_with_what_reached_it(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, house.store, house.clock)
        assert self._hops(house) == 0, "nothing has reached it"
        house.push("one", hops=3)
        house.push("two", hops=5)
        assert self._hops(house) == 6, "it may have read the items through another door"
        assert "two" in (guest.hook("SessionStart", source="startup").context or "")
        assert self._hops(house) == 6
        guest.hook("UserPromptSubmit")
        assert self._hops(house) == 6, "a prompt may be a nudge: only what a person sends begins a new chain"
        house.push("three", sender="husam")
        assert self._hops(house) == 1

    def test_what_it_says_in_a_space_goes_on_too(self, house: House, tmp_path: Path) -> None:
        guest = Guest(tmp_path, house.store, house.clock)
        house.store.call(spaces.create, name="tea", id="tea", members=["ann", "bob"])
        house.push("one", hops=15)
        guest.hook("SessionStart", source="startup")
        house.store.call(spaces.post, "tea", sender="ann", content="hello")
        [item] = house.store.query(inbox.peek, "bob")
        assert item.event.hops == 16

    def _hops(self, house: House) -> int:
        return house.show(house.tell("on", "bob", sender="ann"), "bob").event.hops
