"""
D1 and D4: what a hook printed counts as delivered when a model has answered, and every hook that may show something
looks into the store. On both stores, with a clock that is moved.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatepost.actions import gates, inbox, maintenance
from gatepost.core import spool_line as spool_lines
from gatepost.core.event import ItemState, Priority
from gatepost.core.gate import GateSpec
from gatepost.core.spool_line import SpoolLine
from gatepost.core.times import MINUTE, SECOND
from gatepost.hooks import wire
from gatepost.hooks.drain import drain
from gatepost.ports import Store
from tests.unit.conftest import House
from tests.visits import Guest


@pytest.fixture
def guest(house: House, tmp_path: Path) -> Guest:
    """Ann, in a session that has begun and has been given a prompt; her gates have nothing to say."""
    guest = Guest(tmp_path, house.store, house.clock)
    guest.session.record_warning("work-update")
    guest.hook("SessionStart", source="startup")
    guest.hook("UserPromptSubmit")
    return guest


def show(guest: Guest, event: str, **more: Any) -> str:
    """Run a hook; return what the model is shown."""
    return guest.hook(event, **more).context or ""


def state(house: House, event: str) -> ItemState:
    return house.show(event).state


def unproved(guest: Guest) -> int:
    return len(guest.spool.read_unproved(guest.id))


PRINTING = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")


class TestWhatWakesNobody:
    """I4 and I13: it is shown with something else, and is itself no reason to go on."""

    def test_it_does_not_keep_an_agent_from_stopping(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea", priority=Priority.FYI)
        verdict = guest.stop()
        assert (verdict.context, verdict.continues) == (None, False)
        assert state(house, tea) is ItemState.PENDING
        assert "tea" in show(guest, "UserPromptSubmit")

    def test_it_goes_along_with_what_does(self, house: House, guest: Guest) -> None:
        house.tell("tea", priority=Priority.FYI)
        house.tell("coffee")
        verdict = guest.stop()
        assert verdict.continues
        assert "tea" in (verdict.context or "")


class TestMarkedDeliveredUnseen:
    """Finding B2, each case; whichever hook printed it."""

    @pytest.mark.parametrize("event", PRINTING)
    def test_the_api_fails_and_the_person_tries_again(self, house: House, guest: Guest, event: str) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, event, source="compact")
        assert state(house, tea) is ItemState.CLAIMED
        if event == "SessionStart":
            assert show(guest, "UserPromptSubmit") == "", "it may be in that request"
        assert "tea" in show(guest, "UserPromptSubmit"), "no reply came"
        guest.stop()
        assert state(house, tea) is ItemState.DELIVERED

    @pytest.mark.parametrize("event", PRINTING)
    def test_the_program_is_left_without_a_reply(self, house: House, guest: Guest, event: str) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, event, source="compact")
        guest.hook("SessionEnd", reason="other")
        assert state(house, tea) is ItemState.PENDING
        assert "tea" in show(guest, "SessionStart", source="resume")

    @pytest.mark.parametrize("event", PRINTING)
    def test_the_host_dies(self, house: House, guest: Guest, event: str) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, event, source="compact")
        assert "tea" in show(guest, "SessionStart", source="resume")
        assert state(house, tea) is ItemState.CLAIMED

    def test_another_hook_blocks_the_prompt(self, house: House, guest: Guest) -> None:
        """No request is made, so no tool event and no Stop comes before the next prompt."""
        tea = house.tell("tea")
        assert "tea" in show(guest, "UserPromptSubmit")
        assert "tea" in show(guest, "UserPromptSubmit")
        show(guest, "PostToolUse")
        assert state(house, tea) is ItemState.DELIVERED

    def test_a_line_that_only_the_spool_has_comes_again(self, guest: Guest) -> None:
        guest.spooled("tea")
        assert "tea" in show(guest, "UserPromptSubmit")
        assert guest.spool.is_empty(guest.id)
        assert "tea" in show(guest, "UserPromptSubmit")
        guest.stop()
        assert show(guest, "UserPromptSubmit") == ""
        assert unproved(guest) == 0


class TestProof:
    @pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
    @pytest.mark.parametrize("proof", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"])
    def test_a_tool_event_or_a_stop_follows_a_reply(self, house: House, guest: Guest, event: str, proof: str) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, event, source="compact")
        assert show(guest, proof) == ""
        assert (state(house, tea), unproved(guest)) == (ItemState.DELIVERED, 0)
        receipt = house.show(tea).receipt
        assert receipt is not None
        assert (receipt.kind, receipt.owner) == ("session", "s-1")
        assert show(guest, "UserPromptSubmit") == ""

    def test_what_a_tool_event_printed_needs_a_stop(self, house: House, guest: Guest) -> None:
        """Tools that run side by side belong to one reply."""
        tea = house.tell("tea")
        assert "tea" in show(guest, "PostToolUse")
        for event in ("PostToolUse", "PreToolUse", "PostToolUseFailure"):
            assert show(guest, event) == ""
            assert state(house, tea) is ItemState.CLAIMED
        guest.stop()
        assert state(house, tea) is ItemState.DELIVERED

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "SubagentStop", "Notification"])
    def test_events_of_helpers_say_nothing(self, house: House, guest: Guest, event: str) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        assert show(guest, event, subagent="h-1") == ""
        assert state(house, tea) is ItemState.CLAIMED
        guest.stop()
        assert state(house, tea) is ItemState.DELIVERED

    def test_the_echo_of_what_was_said_at_a_stop_is_no_prompt(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        said = show(guest, "Stop")
        assert "tea" in said
        assert show(guest, "UserPromptSubmit", prompt=said) == ""
        assert state(house, tea) is ItemState.CLAIMED
        guest.stop()
        assert state(house, tea) is ItemState.DELIVERED

    def test_a_blocked_stop_is_a_reply_too(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        house.store.call(gates.add, GateSpec(name="Sign-off", owner="ann"), by="admin")
        assert guest.stop().block
        assert state(house, tea) is ItemState.DELIVERED

    def test_a_stop_without_a_reply_releases(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        assert "tea" in show(guest, "Stop", is_failed=True)
        assert state(house, tea) is ItemState.CLAIMED

    def test_a_stop_that_tells_of_no_new_reply_releases(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, "Stop", replies=5)
        assert "tea" in show(guest, "Stop", replies=5)
        assert show(guest, "Stop", replies=11) == ""
        assert state(house, tea) is ItemState.DELIVERED

    def test_what_the_proving_hook_shows_is_proved_by_the_next(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        cake = house.tell("cake")
        assert "cake" in show(guest, "PostToolUse")
        assert (state(house, tea), state(house, cake)) == (ItemState.DELIVERED, ItemState.CLAIMED)
        guest.stop()
        assert state(house, cake) is ItemState.DELIVERED

    def test_two_sessions_prove_each_their_own(self, house: House, guest: Guest) -> None:
        other = replace(guest, id="s-2")
        other.session.record_warning("work-update")
        other.hook("SessionStart", source="startup")
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        cake = house.tell("cake")
        assert "cake" in show(other, "UserPromptSubmit")
        other.stop()
        assert (state(house, tea), state(house, cake)) == (ItemState.CLAIMED, ItemState.DELIVERED)

    @pytest.mark.parametrize("host", ["gemini", "cursor"])
    def test_hosts_that_call_stop_without_a_reply(self, host: str) -> None:
        told = {"gemini": {"prompt_response": "[no response text]"}, "cursor": {"status": "error"}}[host]
        ended = {"gemini": {"prompt_response": "Done."}, "cursor": {"status": "completed"}}[host]
        assert wire.parse(host, "Stop", {"session_id": "s", **told}).is_failed
        assert not wire.can_show(wire.parse(host, "Stop", {"session_id": "s", **told}))
        assert not wire.parse(host, "Stop", {"session_id": "s", **ended}).is_failed
        assert wire.can_show(wire.parse(host, "Stop", {"session_id": "s", **ended}))

    def test_gemini_takes_nothing_where_its_text_may_be_dropped(self) -> None:
        assert not wire.can_show(wire.parse("gemini", "AfterTool", {"session_id": "s"}))
        prompt = wire.parse("gemini", "BeforeAgent", {"session_id": "s", "prompt": "tea?"})
        assert wire.can_show(prompt)
        assert not wire.can_show(replace(prompt, is_program_prompt=True))
        assert wire.parse("gemini", "AfterAgent", {"session_id": "s", "prompt_response": "Done."}).replies == 5


class TestTime:
    def test_without_a_sign_the_claim_lapses_and_another_session_is_shown_it(self, house: House, guest: Guest) -> None:
        house.tell("tea")
        show(guest, "UserPromptSubmit")
        other = replace(guest, id="s-2")
        house.clock.advance(29 * MINUTE)
        assert show(other, "SessionStart", source="startup") == ""
        house.clock.advance(MINUTE)
        assert "tea" in show(other, "UserPromptSubmit")

    def test_tool_events_renew_it_however_long_the_turn_takes(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        assert "tea" in show(guest, "PostToolUse")
        other = replace(guest, id="s-2")
        for _ in range(12):
            house.clock.advance(10 * MINUTE)
            assert show(guest, "PostToolUse") == ""
            assert show(other, "SessionStart", source="startup") == ""
        guest.stop()
        assert state(house, tea) is ItemState.DELIVERED

    def test_a_late_proof_counts_also_when_the_claim_was_taken_back(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        house.clock.advance(40 * MINUTE)
        house.store.call(maintenance.lapse_claims)
        assert state(house, tea) is ItemState.PENDING
        assert show(guest, "PostToolUse") == "", "it was read here"
        assert state(house, tea) is ItemState.DELIVERED

    def test_lines_that_only_the_spool_has_are_released_by_a_drain(self, guest: Guest) -> None:
        guest.spooled("tea")
        show(guest, "UserPromptSubmit")

        def drained() -> str:
            now = guest.clock.now()
            return drain(None, guest.spool, session=guest.id, agent=None, now=now, include_pending=False).text

        assert drained() == ""
        guest.clock.advance(30 * MINUTE)
        assert "tea" in drained()


class TestOutages:
    """The store is out of reach when a batch is printed, proved or released."""

    def test_printed_without_the_store(self, house: House, guest: Guest) -> None:
        tea = self.spooled(house, guest, "tea")
        alone = replace(guest, store=None)
        assert "tea" in show(alone, "UserPromptSubmit")
        assert show(guest, "Notification") == ""
        assert show(guest, "PostToolUse") == "", "the store is back, and it was shown"
        assert show(guest, "UserPromptSubmit") == ""
        assert state(house, tea) is ItemState.DELIVERED

    def test_what_was_printed_without_the_store_is_not_shown_twice_before_its_proof(
        self, house: House, guest: Guest
    ) -> None:
        tea = self.spooled(house, guest, "tea")
        cake = house.tell("cake")
        assert "tea" in show(replace(guest, store=None), "PostToolUse")
        shown = show(guest, "PostToolUse")
        assert ("tea" in shown, "cake" in shown) == (False, True)
        assert "more waiting" not in shown
        guest.stop()
        show(guest, "UserPromptSubmit")
        assert (state(house, tea), state(house, cake)) == (ItemState.DELIVERED, ItemState.DELIVERED)

    def test_printed_and_released_without_the_store(self, house: House, guest: Guest) -> None:
        tea = self.spooled(house, guest, "tea")
        alone = replace(guest, store=None)
        assert "tea" in show(alone, "UserPromptSubmit")
        assert "tea" in show(alone, "UserPromptSubmit")
        assert show(alone, "Stop") == ""
        show(guest, "UserPromptSubmit")
        assert state(house, tea) is ItemState.DELIVERED

    def test_proved_without_the_store(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        replace(guest, store=None).stop()
        assert (state(house, tea), unproved(guest)) == (ItemState.CLAIMED, 1)
        assert show(guest, "Notification") == ""
        assert (state(house, tea), unproved(guest)) == (ItemState.DELIVERED, 0)

    def test_released_without_the_store(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        alone = replace(guest, store=None)
        alone.hook("SessionEnd", reason="other")
        assert (state(house, tea), unproved(guest)) == (ItemState.CLAIMED, 1)
        assert "tea" in show(guest, "SessionStart", source="resume")

    @pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
    def test_settled_twice_is_settled_once(self, house: House, guest: Guest, event: str) -> None:
        """As after a kill: the store and the files have heard it, and the note is still there."""
        guest.spooled("cake")
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        note = guest.home / "spool" / "s-1.jsonl.unproved"
        before = note.read_bytes()
        guest.hook(event, printed=False)
        note.write_bytes(before)
        guest.hook(event, printed=False)
        assert unproved(guest) == 0
        shown = show(guest, "SessionStart", source="resume")
        assert (shown.count("tea"), shown.count("cake")) == ((0, 0) if event == "Stop" else (1, 1))
        assert state(house, tea) is (ItemState.DELIVERED if event == "Stop" else ItemState.CLAIMED)

    def spooled(self, house: House, guest: Guest, content: str) -> str:
        """Push something, in the store and as a line of the spool."""
        event = house.tell(content)
        guest.spool.append(guest.id, [spool_lines.from_event(house.show(event).event)])
        return event


class TestNotes:
    def test_a_copy_that_comes_late_is_dropped(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        guest.spool.append(guest.id, [spool_lines.from_event(house.show(tea).event)])
        assert show(guest, "PostToolUse") == ""
        assert guest.spool.is_empty(guest.id)

    def test_the_same_line_written_again_without_a_key_is_another_one(self, guest: Guest) -> None:
        red = SpoolLine(id="ci", content="main is red")
        for event in ("UserPromptSubmit", "PostToolUse", "PostToolUse", "Stop"):
            guest.spool.append(guest.id, [red])
            assert "main is red" in show(guest, event)

    def test_a_line_is_put_back_byte_for_byte(self, guest: Guest) -> None:
        odd = b'{"id": "1", "content": "caf\xe9 \\u00e9", "more": [1,  2]}'
        (guest.home / "spool").mkdir(exist_ok=True)
        (guest.home / "spool" / "s-1.jsonl").write_bytes(odd + b"\n")
        assert "caf" in show(guest, "PostToolUse")
        guest.hook("SessionEnd")
        assert (guest.home / "spool" / "s-1.jsonl").read_bytes() == odd + b"\n"

    @pytest.mark.parametrize("damage", [b"{", b'{"event": 1}', b"[]", b"nonsense", b'{"event": "Stop", "keys": 5}'])
    def test_a_note_that_cannot_be_read_proves_nothing(self, house: House, guest: Guest, damage: bytes) -> None:
        tea = house.tell("tea")
        show(guest, "UserPromptSubmit")
        (guest.home / "spool" / "s-1.jsonl.unproved").write_bytes(damage + b"\n")
        guest.stop()
        assert state(house, tea) is ItemState.CLAIMED
        house.clock.advance(30 * MINUTE)
        assert "tea" in show(guest, "UserPromptSubmit")

    def test_where_nothing_can_be_noted_the_claim_lapses(self, house: House, guest: Guest) -> None:
        tea = house.tell("tea")
        shutil.rmtree(guest.home / "spool", ignore_errors=True)
        (guest.home / "spool").write_text("not a folder")
        assert "tea" in show(guest, "UserPromptSubmit")
        guest.stop()
        assert state(house, tea) is ItemState.CLAIMED
        house.clock.advance(30 * MINUTE)
        assert "tea" in show(guest, "UserPromptSubmit")


class TestFoundInTheStore:
    """Finding B3, each case: nothing but the store knows of them, and the session has begun."""

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
    def test_what_did_not_fit_comes_with_the_next_hooks(self, house: House, guest: Guest, event: str) -> None:
        for number in range(50):
            house.tell(f"<{number}>")
        shown = []
        for _ in range(4):
            shown.append(show(guest, event))
            guest.hook("PreToolUse")  # the model has answered
        assert "30 more waiting" in shown[0]
        assert "10 more waiting" in shown[1]
        assert shown[3] == ""
        assert all("".join(shown).count(f"\\u003c{number}>") == 1 for number in range(50))

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
    def test_a_push_that_reached_no_spool(self, house: House, guest: Guest, event: str) -> None:
        """The spool was locked, the gateway was killed, or it was pushed on another gateway."""
        house.tell("tea")
        assert "tea" in show(guest, event)

    def test_a_push_of_the_agent_to_itself(self, house: House, guest: Guest) -> None:
        house.tell("tea", sender="ann")
        assert "tea" in show(guest, "PostToolUse")

    def test_a_broadcast_but_not_its_own(self, house: House, guest: Guest) -> None:
        house.push("mine", to="*", sender="ann")
        assert not guest.desk().has_items()
        house.push("tea", to="*", sender="bob")
        assert guest.desk().has_items()
        assert "tea" in show(guest, "PostToolUse")
        assert not guest.desk().has_items()

    def test_an_fyi_item_goes_along(self, house: House, guest: Guest) -> None:
        house.tell("tea", priority=Priority.FYI)
        assert "tea" in show(guest, "UserPromptSubmit")

    def test_what_a_dead_drain_had_claimed(self, house: House, guest: Guest) -> None:
        house.tell("tea")
        house.take(owner="dead")
        assert not guest.desk().has_items()
        house.clock.advance(MINUTE)
        assert guest.desk().has_items()
        assert "tea" in show(guest, "PostToolUse")

    def test_what_is_past_its_time_does_not_count(self, house: House, guest: Guest) -> None:
        house.tell("tea", ttl=SECOND)
        house.clock.advance(MINUTE)
        assert not guest.desk().has_items()

    def test_an_alias_is_the_agent_too(self, house: House, guest: Guest) -> None:
        house.register("cleo", aliases=["bead-42"])
        house.tell(to="cleo")
        found = {}
        for name in ("cleo", "bead-42", "nobody"):
            desk = guest.desk()
            desk.agent = name
            found[name] = desk.has_items()
        assert found == {"cleo": True, "bead-42": True, "nobody": False}


class TestExtending:
    """The claim that holds what was printed."""

    def test_it_becomes_a_sessions_and_lapses_later(self, house: House) -> None:
        house.tell()
        claim = house.take()
        self.extend(house.store, claim.id, claim.owner, claim.fence)
        house.clock.advance(29 * MINUTE)
        assert house.claim(owner="other").claim is None
        self.extend(house.store, claim.id, claim.owner, claim.fence)
        house.clock.advance(29 * MINUTE)
        assert house.claim(owner="other").claim is None
        house.clock.advance(MINUTE)
        assert house.claim(owner="other").claim is not None

    def extend(self, store: Store, id: str, owner: str, fence: int) -> None:
        store.call(inbox.extend, id, owner=owner, fence=fence, hold=30 * MINUTE)
