"""
D1 and D4: what a hook printed counts as delivered when a model has answered, and every hook that may show something
looks into the store. On both stores, with a clock that is moved.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatepost.core.ports import Store
from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.attention_actions import set_attention
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import GateSpec
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.hooks import dialects as wire
from gatepost.guests.hooks.drain import drain
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import claim_actions as inbox, expiry_actions as expiry
from gatepost.inbox.event import ItemState, Priority
from tests.guests.hook_guest import HookGuest
from tests.support.store_context import StoreContext


@pytest.fixture
def guest(ctx: StoreContext, tmp_path: Path) -> HookGuest:
    """Ann, in a session that has begun and has been given a prompt; her gates have nothing to say."""
    guest = HookGuest(tmp_path, ctx.store, ctx.clock)
    guest.session.record_warning("work-update")
    guest.run_hook("SessionStart", source="startup")
    guest.run_hook("UserPromptSubmit")
    return guest


def run_hook(guest: HookGuest, event: str, **fields: Any) -> str:
    """Run a hook; return what the model is shown."""
    return guest.run_hook(event, **fields).context or ""


def get_state(ctx: StoreContext, event: str) -> ItemState:
    return ctx.show_item(event).state


def count_unproved(guest: HookGuest) -> int:
    return len(guest.spool.read_unproved(guest.session_id))


PRINTING_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")


class TestWhatWakesNobody:
    """I4 and I13: it is shown with something else, and is itself no reason to go on."""

    def test_it_does_not_keep_an_agent_from_stopping(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea", priority=Priority.FYI)
        verdict = guest.run_stop()
        assert (verdict.context, verdict.continues) == (None, False)
        assert get_state(ctx, tea) is ItemState.PENDING
        assert "tea" in run_hook(guest, "UserPromptSubmit")

    def test_it_goes_along_with_what_does(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push_event("tea", priority=Priority.FYI)
        ctx.push_event("coffee")
        verdict = guest.run_stop()
        assert verdict.continues
        assert "tea" in (verdict.context or "")


class TestAttention:
    """What an agent keeps back is no reason to go on; a turn that runs shows it."""

    def test_focus_lets_an_agent_stop_unless_an_item_is_critical(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.store.run_sync(set_attention, "ann", AttentionLevel.FOCUS, length=HOUR)
        ctx.push_event("tea", priority=Priority.HIGH)
        assert guest.run_stop().context is None
        ctx.push_event("fire", priority=Priority.CRITICAL)
        verdict = guest.run_stop()
        assert verdict.continues
        assert "tea" in (verdict.context or "")

    def test_a_prompt_shows_what_was_kept_back(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.store.run_sync(set_attention, "ann", AttentionLevel.DO_NOT_DISTURB, length=HOUR)
        ctx.push_event("fire", priority=Priority.CRITICAL)
        assert guest.run_stop().context is None
        assert "fire" in run_hook(guest, "UserPromptSubmit")


class TestMarkedDeliveredUnseen:
    """Finding B2, each case; whichever hook printed it."""

    @pytest.mark.parametrize("event", PRINTING_EVENTS)
    def test_the_api_fails_and_the_person_tries_again(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, event, source="compact")
        assert get_state(ctx, tea) is ItemState.CLAIMED
        if event == "SessionStart":
            assert run_hook(guest, "UserPromptSubmit") == "", "it may be in that request"
        assert "tea" in run_hook(guest, "UserPromptSubmit"), "no reply came"
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.DELIVERED

    @pytest.mark.parametrize("event", PRINTING_EVENTS)
    def test_the_program_is_left_without_a_reply(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, event, source="compact")
        guest.run_hook("SessionEnd", reason="other")
        assert get_state(ctx, tea) is ItemState.PENDING
        assert "tea" in run_hook(guest, "SessionStart", source="resume")

    @pytest.mark.parametrize("event", PRINTING_EVENTS)
    def test_the_host_dies(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, event, source="compact")
        assert "tea" in run_hook(guest, "SessionStart", source="resume")
        assert get_state(ctx, tea) is ItemState.CLAIMED

    def test_another_hook_blocks_the_prompt(self, ctx: StoreContext, guest: HookGuest) -> None:
        """No request is made, so no tool event and no Stop comes before the next prompt."""
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, "UserPromptSubmit")
        assert "tea" in run_hook(guest, "UserPromptSubmit")
        run_hook(guest, "PostToolUse")
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_a_line_that_only_the_spool_has_comes_again(self, guest: HookGuest) -> None:
        guest.append_lines("tea")
        assert "tea" in run_hook(guest, "UserPromptSubmit")
        assert guest.spool.is_empty(guest.session_id)
        assert "tea" in run_hook(guest, "UserPromptSubmit")
        guest.run_stop()
        assert run_hook(guest, "UserPromptSubmit") == ""
        assert count_unproved(guest) == 0


class TestProof:
    @pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "Stop"])
    @pytest.mark.parametrize("proof", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"])
    def test_a_tool_event_or_a_stop_follows_a_reply(
        self, ctx: StoreContext, guest: HookGuest, event: str, proof: str
    ) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, event, source="compact")
        assert run_hook(guest, proof) == ""
        assert (get_state(ctx, tea), count_unproved(guest)) == (ItemState.DELIVERED, 0)
        receipt = ctx.show_item(tea).receipt
        assert receipt is not None
        assert (receipt.kind, receipt.owner) == ("session", "s-1")
        assert run_hook(guest, "UserPromptSubmit") == ""

    def test_what_a_tool_event_printed_needs_a_stop(self, ctx: StoreContext, guest: HookGuest) -> None:
        """Tools that run side by side belong to one reply."""
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, "PostToolUse")
        for event in ("PostToolUse", "PreToolUse", "PostToolUseFailure"):
            assert run_hook(guest, event) == ""
            assert get_state(ctx, tea) is ItemState.CLAIMED
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.DELIVERED

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "SubagentStop", "Notification"])
    def test_events_of_helpers_say_nothing(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        assert run_hook(guest, event, subagent="h-1") == ""
        assert get_state(ctx, tea) is ItemState.CLAIMED
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_the_echo_of_what_was_said_at_a_stop_is_no_prompt(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        text = run_hook(guest, "Stop")
        assert "tea" in text
        assert run_hook(guest, "UserPromptSubmit", prompt=text) == ""
        assert get_state(ctx, tea) is ItemState.CLAIMED
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_a_blocked_stop_is_a_reply_too(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        ctx.store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ann"), by="admin")
        assert guest.run_stop().block
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_a_stop_without_a_reply_releases(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        assert "tea" in run_hook(guest, "Stop", is_failed=True)
        assert get_state(ctx, tea) is ItemState.CLAIMED

    def test_a_stop_that_tells_of_no_new_reply_releases(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, "Stop", replies=5)
        assert "tea" in run_hook(guest, "Stop", replies=5)
        assert run_hook(guest, "Stop", replies=11) == ""
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_what_the_proving_hook_shows_is_proved_by_the_next(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        cake = ctx.push_event("cake")
        assert "cake" in run_hook(guest, "PostToolUse")
        assert (get_state(ctx, tea), get_state(ctx, cake)) == (ItemState.DELIVERED, ItemState.CLAIMED)
        guest.run_stop()
        assert get_state(ctx, cake) is ItemState.DELIVERED

    def test_two_sessions_prove_each_their_own(self, ctx: StoreContext, guest: HookGuest) -> None:
        other_guest = replace(guest, session_id="s-2")
        other_guest.session.record_warning("work-update")
        other_guest.run_hook("SessionStart", source="startup")
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        cake = ctx.push_event("cake")
        assert "cake" in run_hook(other_guest, "UserPromptSubmit")
        other_guest.run_stop()
        assert (get_state(ctx, tea), get_state(ctx, cake)) == (ItemState.CLAIMED, ItemState.DELIVERED)

    @pytest.mark.parametrize("host", ["gemini", "cursor"])
    def test_hosts_that_call_stop_without_a_reply(self, host: str) -> None:
        failed_payload = {"gemini": {"prompt_response": "[no response text]"}, "cursor": {"status": "error"}}[host]
        completed_payload = {"gemini": {"prompt_response": "Done."}, "cursor": {"status": "completed"}}[host]
        assert wire.parse(host, "Stop", {"session_id": "s", **failed_payload}).is_failed
        assert not wire.can_show(wire.parse(host, "Stop", {"session_id": "s", **failed_payload}))
        assert not wire.parse(host, "Stop", {"session_id": "s", **completed_payload}).is_failed
        assert wire.can_show(wire.parse(host, "Stop", {"session_id": "s", **completed_payload}))

    def test_gemini_takes_nothing_where_its_text_may_be_dropped(self) -> None:
        assert not wire.can_show(wire.parse("gemini", "AfterTool", {"session_id": "s"}))
        prompt_event = wire.parse("gemini", "BeforeAgent", {"session_id": "s", "prompt": "tea?"})
        assert wire.can_show(prompt_event)
        assert not wire.can_show(prompt_event._replace(is_program_prompt=True))
        assert wire.parse("gemini", "AfterAgent", {"session_id": "s", "prompt_response": "Done."}).replies == 5


class TestTime:
    def test_without_a_sign_the_claim_lapses_and_another_session_is_shown_it(
        self, ctx: StoreContext, guest: HookGuest
    ) -> None:
        ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        other_guest = replace(guest, session_id="s-2")
        ctx.clock.advance(29 * MINUTE)
        assert run_hook(other_guest, "SessionStart", source="startup") == ""
        ctx.clock.advance(MINUTE)
        assert "tea" in run_hook(other_guest, "UserPromptSubmit")

    def test_tool_events_renew_it_however_long_the_turn_takes(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        assert "tea" in run_hook(guest, "PostToolUse")
        other_guest = replace(guest, session_id="s-2")
        for _ in range(12):
            ctx.clock.advance(10 * MINUTE)
            assert run_hook(guest, "PostToolUse") == ""
            assert run_hook(other_guest, "SessionStart", source="startup") == ""
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_a_late_proof_counts_also_when_the_claim_was_taken_back(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        ctx.clock.advance(40 * MINUTE)
        ctx.store.run_sync(expiry.lapse_claims)
        assert get_state(ctx, tea) is ItemState.PENDING
        assert run_hook(guest, "PostToolUse") == "", "it was read here"
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_lines_that_only_the_spool_has_are_released_by_a_drain(self, guest: HookGuest) -> None:
        guest.append_lines("tea")
        run_hook(guest, "UserPromptSubmit")

        def drain_text() -> str:
            now = guest.clock.now()
            return drain(None, guest.spool, session=guest.session_id, agent=None, now=now, include_pending=False).text

        assert drain_text() == ""
        guest.clock.advance(30 * MINUTE)
        assert "tea" in drain_text()


class TestOutages:
    """The store is out of reach when a batch is printed, proved or released."""

    def test_printed_without_the_store(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = self.push_and_spool(ctx, guest, "tea")
        offline_guest = replace(guest, store=None)
        assert "tea" in run_hook(offline_guest, "UserPromptSubmit")
        assert run_hook(guest, "Notification") == ""
        assert run_hook(guest, "PostToolUse") == "", "the store is back, and it was shown"
        assert run_hook(guest, "UserPromptSubmit") == ""
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_what_was_printed_without_the_store_is_not_shown_twice_before_its_proof(
        self, ctx: StoreContext, guest: HookGuest
    ) -> None:
        tea = self.push_and_spool(ctx, guest, "tea")
        cake = ctx.push_event("cake")
        assert "tea" in run_hook(replace(guest, store=None), "PostToolUse")
        text = run_hook(guest, "PostToolUse")
        assert ("tea" in text, "cake" in text) == (False, True)
        assert "more waiting" not in text
        guest.run_stop()
        run_hook(guest, "UserPromptSubmit")
        assert (get_state(ctx, tea), get_state(ctx, cake)) == (ItemState.DELIVERED, ItemState.DELIVERED)

    def test_printed_and_released_without_the_store(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = self.push_and_spool(ctx, guest, "tea")
        offline_guest = replace(guest, store=None)
        assert "tea" in run_hook(offline_guest, "UserPromptSubmit")
        assert "tea" in run_hook(offline_guest, "UserPromptSubmit")
        assert run_hook(offline_guest, "Stop") == ""
        run_hook(guest, "UserPromptSubmit")
        assert get_state(ctx, tea) is ItemState.DELIVERED

    def test_proved_without_the_store(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        replace(guest, store=None).run_stop()
        assert (get_state(ctx, tea), count_unproved(guest)) == (ItemState.CLAIMED, 1)
        assert run_hook(guest, "Notification") == ""
        assert (get_state(ctx, tea), count_unproved(guest)) == (ItemState.DELIVERED, 0)

    def test_released_without_the_store(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        offline_guest = replace(guest, store=None)
        offline_guest.run_hook("SessionEnd", reason="other")
        assert (get_state(ctx, tea), count_unproved(guest)) == (ItemState.CLAIMED, 1)
        assert "tea" in run_hook(guest, "SessionStart", source="resume")

    @pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
    def test_settled_twice_is_settled_once(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        """As after a kill: the store and the files have heard it, and the note is still there."""
        guest.append_lines("cake")
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        file = guest.home / "spool" / "s-1.jsonl.unproved"
        before = file.read_bytes()
        guest.run_hook(event, printed=False)
        file.write_bytes(before)
        guest.run_hook(event, printed=False)
        assert count_unproved(guest) == 0
        text = run_hook(guest, "SessionStart", source="resume")
        assert (text.count("tea"), text.count("cake")) == ((0, 0) if event == "Stop" else (1, 1))
        assert get_state(ctx, tea) is (ItemState.DELIVERED if event == "Stop" else ItemState.CLAIMED)

    def push_and_spool(self, ctx: StoreContext, guest: HookGuest, content: str) -> str:
        """Push something, in the store and as a line of the spool."""
        event = ctx.push_event(content)
        guest.spool.append(guest.session_id, [spool_lines.from_event(ctx.show_item(event).event)])
        return event


class TestNotes:
    def test_a_copy_that_comes_late_is_dropped(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        guest.spool.append(guest.session_id, [spool_lines.from_event(ctx.show_item(tea).event)])
        assert run_hook(guest, "PostToolUse") == ""
        assert guest.spool.is_empty(guest.session_id)

    def test_the_same_line_written_again_without_a_key_is_another_one(self, guest: HookGuest) -> None:
        line = SpoolLine(id="ci", content="main is red")
        for event in ("UserPromptSubmit", "PostToolUse", "PostToolUse", "Stop"):
            guest.spool.append(guest.session_id, [line])
            assert "main is red" in run_hook(guest, event)

    def test_a_line_is_put_back_byte_for_byte(self, guest: HookGuest) -> None:
        line = b'{"id": "1", "content": "caf\xe9 \\u00e9", "more": [1,  2]}'
        (guest.home / "spool").mkdir(exist_ok=True)
        (guest.home / "spool" / "s-1.jsonl").write_bytes(line + b"\n")
        assert "caf" in run_hook(guest, "PostToolUse")
        guest.run_hook("SessionEnd")
        assert (guest.home / "spool" / "s-1.jsonl").read_bytes() == line + b"\n"

    @pytest.mark.parametrize("damage", [b"{", b'{"event": 1}', b"[]", b"nonsense", b'{"event": "Stop", "keys": 5}'])
    def test_a_note_that_cannot_be_read_proves_nothing(
        self, ctx: StoreContext, guest: HookGuest, damage: bytes
    ) -> None:
        tea = ctx.push_event("tea")
        run_hook(guest, "UserPromptSubmit")
        (guest.home / "spool" / "s-1.jsonl.unproved").write_bytes(damage + b"\n")
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.CLAIMED
        ctx.clock.advance(30 * MINUTE)
        assert "tea" in run_hook(guest, "UserPromptSubmit")

    def test_where_nothing_can_be_noted_the_claim_lapses(self, ctx: StoreContext, guest: HookGuest) -> None:
        tea = ctx.push_event("tea")
        shutil.rmtree(guest.home / "spool", ignore_errors=True)
        (guest.home / "spool").write_text("not a folder")
        assert "tea" in run_hook(guest, "UserPromptSubmit")
        guest.run_stop()
        assert get_state(ctx, tea) is ItemState.CLAIMED
        ctx.clock.advance(30 * MINUTE)
        assert "tea" in run_hook(guest, "UserPromptSubmit")


class TestFoundInTheStore:
    """Finding B3, each case: nothing but the store knows of them, and the session has begun."""

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
    def test_what_did_not_fit_comes_with_the_next_hooks(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        for number in range(50):
            ctx.push_event(f"<{number}>")
        texts = []
        for _ in range(4):
            texts.append(run_hook(guest, event))
            guest.run_hook("PreToolUse")  # the model has answered
        assert "30 more waiting" in texts[0]
        assert "10 more waiting" in texts[1]
        assert texts[3] == ""
        assert all("".join(texts).count(f"\\u003c{number}>") == 1 for number in range(50))

    @pytest.mark.parametrize("event", ["UserPromptSubmit", "PostToolUse", "Stop"])
    def test_a_push_that_reached_no_spool(self, ctx: StoreContext, guest: HookGuest, event: str) -> None:
        """The spool was locked, the gateway was killed, or it was pushed on another gateway."""
        ctx.push_event("tea")
        assert "tea" in run_hook(guest, event)

    def test_a_push_of_the_agent_to_itself(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push_event("tea", sender="ann")
        assert "tea" in run_hook(guest, "PostToolUse")

    def test_a_broadcast_but_not_its_own(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push("mine", to="*", sender="ann")
        assert not guest.create_context().has_items()
        ctx.push("tea", to="*", sender="bob")
        assert guest.create_context().has_items()
        assert "tea" in run_hook(guest, "PostToolUse")
        assert not guest.create_context().has_items()

    def test_an_fyi_item_goes_along(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push_event("tea", priority=Priority.FYI)
        assert "tea" in run_hook(guest, "UserPromptSubmit")

    def test_what_a_dead_drain_had_claimed(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push_event("tea")
        ctx.take_claim(owner="dead")
        assert not guest.create_context().has_items()
        ctx.clock.advance(MINUTE)
        assert guest.create_context().has_items()
        assert "tea" in run_hook(guest, "PostToolUse")

    def test_what_is_past_its_time_does_not_count(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.push_event("tea", ttl=SECOND)
        ctx.clock.advance(MINUTE)
        assert not guest.create_context().has_items()

    def test_an_alias_is_the_agent_too(self, ctx: StoreContext, guest: HookGuest) -> None:
        ctx.register("cleo", aliases=["bead-42"])
        ctx.push_event(to="cleo")
        has_items = {}
        for name in ("cleo", "bead-42", "nobody"):
            hook_ctx = guest.create_context()
            hook_ctx.agent = name
            has_items[name] = hook_ctx.has_items()
        assert has_items == {"cleo": True, "bead-42": True, "nobody": False}


class TestExtending:
    """The claim that holds what was printed."""

    def test_it_becomes_a_sessions_and_lapses_later(self, ctx: StoreContext) -> None:
        ctx.push_event()
        claim = ctx.take_claim()
        self.extend(ctx.store, claim.id, claim.owner, claim.fence)
        ctx.clock.advance(29 * MINUTE)
        assert ctx.claim(owner="other").claim is None
        self.extend(ctx.store, claim.id, claim.owner, claim.fence)
        ctx.clock.advance(29 * MINUTE)
        assert ctx.claim(owner="other").claim is None
        ctx.clock.advance(MINUTE)
        assert ctx.claim(owner="other").claim is not None

    def extend(self, store: Store, id: str, owner: str, fence: int) -> None:
        store.run_sync(inbox.extend, id, owner=owner, fence=fence, hold=30 * MINUTE)
