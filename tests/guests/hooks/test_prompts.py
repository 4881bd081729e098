"""Which prompts are a person's. Only these begin a new turn: they reset the counters and the mark of a decision."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests.hook_entry import HookCall, HookEntry
from gatepost.guests.hooks.handler_chain import normalize_text
from gatepost.guests.hooks.session_gates import SessionGate, register
from gatepost.guests.hooks.session_state import Session
from gatepost.inbox import claim_actions as inbox
from gatepost.testing import Kit
from tests.guests.hook_guest import HookGuest


class HostProgram:
    """One session of an agent program that calls our hooks by its own names of the events."""

    def __init__(self, home: Path, kit: Kit, host: str) -> None:
        self._hook_entry = HookEntry(home, store=kit.store, handlers=())
        self._home = home
        self._host = host

    def call(self, event: str, **fields: object) -> dict[str, str]:
        """Call a hook and return its answer."""
        payload = json.dumps({"session_id": "s-1", "cwd": str(self._home), **fields})
        environ = {"GATEPOST_AGENT": "ann"}
        hook = HookCall(event=event, host=self._host, stdin=payload, environ=environ, cwd=str(self._home))
        with pytest.raises(StopIteration) as end:
            next(self._hook_entry.receive(hook))
        end.value.value.on_printed()
        answer: dict[str, str] = json.loads(end.value.value.output.stdout or "{}")
        return answer


def escape(reason: str) -> str:
    return reason.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def count_denials(gemini: HostProgram, rewrite: Callable[[str], str], limit: int = 20) -> int:
    """Let the agent stop as Gemini does, with each reason sent back as a prompt, and count the denied stops."""
    for count in range(limit):
        answer = gemini.call("AfterAgent", stop_hook_active=count > 0)
        if answer.get("decision") != "deny":
            return count
        gemini.call("BeforeAgent", prompt=rewrite(answer["reason"]))
    return limit


@pytest.fixture
def gemini(tmp_path: Path, kit: Kit) -> HostProgram:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
    program = HostProgram(tmp_path, kit, "gemini")
    program.call("SessionStart", source="startup")
    return program


@pytest.mark.parametrize("rewrite", [str, str.strip, escape, lambda reason: f"\n{reason}  \n"])
@pytest.mark.parametrize("hint", ["run the tests", 'say <done> & "go"', "x" * 990])
def test_a_reason_that_gemini_sends_back_does_not_reset_the_loop_detector(
    gemini: HostProgram, tmp_path: Path, kit: Kit, rewrite: Callable[[str], str], hint: str
) -> None:
    register(tmp_path, SessionGate(name="tested", hint=hint))
    gemini.call("BeforeAgent", prompt="Do it.")
    assert count_denials(gemini, rewrite) == 3
    assert "lets the agent stop" not in json.dumps(gemini.call("BeforeAgent", prompt="And now?"))
    assert len(kit.store.read_sync(inbox.peek, "admin")) == 1, "the owner is told of the loop"


def test_a_long_reason_that_was_cut_is_known_too(gemini: HostProgram, tmp_path: Path) -> None:
    for number in range(20):
        register(tmp_path, SessionGate(name=f"gate-{number}", hint="\u8a66" * 900))
    assert count_denials(gemini, str) == 3


@pytest.mark.parametrize("join", ["{ours}\nTheir reason.", "Their reason.\n{ours}"])
def test_reasons_of_two_programs_that_gemini_joins_reset_nothing(
    gemini: HostProgram, tmp_path: Path, join: str
) -> None:
    register(tmp_path, SessionGate(name="tested", hint="run the tests"))
    assert count_denials(gemini, lambda reason: join.format(ours=reason)) == 3


def test_a_prompt_that_gemini_writes_itself_resets_nothing(gemini: HostProgram, tmp_path: Path) -> None:
    register(tmp_path, SessionGate(name="tested"))
    for _ in range(3):
        assert gemini.call("AfterAgent")["decision"] == "deny"
        own_prompt = "[System: You successfully executed a tool but returned an empty response. Please analyze it."
        gemini.call("BeforeAgent", prompt=own_prompt)
    assert "decision" not in gemini.call("AfterAgent")


def test_a_warning_that_gemini_did_not_show_comes_again(gemini: HostProgram, tmp_path: Path) -> None:
    register(tmp_path, SessionGate(name="tested"))
    register(tmp_path, SessionGate(name="said", soft=True))
    assert gemini.call("AfterAgent").keys() == {"decision", "reason"}
    mark = Session(tmp_path, "s-1").mark
    mark("tested")
    assert gemini.call("AfterAgent")["systemMessage"] == "said: it is not marked"
    assert gemini.call("AfterAgent") == {}


def test_an_inbox_that_gemini_sends_back_does_not_reset_the_continuations(tmp_path: Path) -> None:
    guest = HookGuest(tmp_path)
    guest.run_hook("SessionStart", source="startup")
    for number in range(5):
        guest.append_lines(f"line {number}")
        verdict = guest.run_stop()
        assert verdict.continues
        guest.run_hook("UserPromptSubmit", prompt=verdict.context)
    guest.append_lines("one more")
    assert guest.run_stop().is_silent
    assert "one more" in (guest.run_hook("UserPromptSubmit", prompt="Go on.").context or "")


def test_an_echo_keeps_the_mark_of_a_decision_and_a_person_clears_it(tmp_path: Path) -> None:
    guest = HookGuest(tmp_path)
    register(tmp_path, SessionGate(name="tested"))
    reason = guest.run_stop().block
    guest.session.mark("decision")
    turn = guest.session.read().turn
    guest.clock.advance(1)
    guest.run_hook("UserPromptSubmit", prompt=reason)
    assert guest.session.is_marked("decision")
    assert guest.session.read().turn == turn
    guest.run_hook("UserPromptSubmit", prompt="Go on.")
    assert not guest.session.is_marked("decision")
    assert guest.session.read().turn > turn


def test_a_person_may_say_the_same_as_we_did(tmp_path: Path) -> None:
    """The host sends a reason back once; whoever says it again is a person, and so is whoever quotes it."""
    guest = HookGuest(tmp_path)
    register(tmp_path, SessionGate(name="tested"))
    reason = guest.run_stop().block
    guest.run_hook("UserPromptSubmit", prompt=reason)
    assert guest.session.read().stops
    guest.run_hook("UserPromptSubmit", prompt=reason)
    assert not guest.session.read().stops
    guest.run_stop()
    guest.run_hook("UserPromptSubmit", prompt=f"What does this mean: {reason}")
    assert not guest.session.read().stops


def test_a_prompt_of_a_helper_resets_nothing(tmp_path: Path) -> None:
    guest = HookGuest(tmp_path)
    register(tmp_path, SessionGate(name="tested"))
    for _ in range(3):
        assert guest.run_stop().block
        guest.session.mark("decision")
        guest.run_hook("UserPromptSubmit", prompt="Look it up.", subagent="h-1")
        assert guest.session.is_marked("decision")
    assert guest.run_stop().block is None


def test_a_helper_is_let_go_after_three_blocked_stops(tmp_path: Path, kit: Kit) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
    guest = HookGuest(tmp_path, kit.store, kit.clock)
    guest.run_hook("SessionStart", source="startup")
    register(tmp_path, SessionGate(name="summed-up", hook="SubagentStop"))
    for helper in ("h-1", "h-2"):  # each is counted apart
        for _ in range(3):
            block = guest.run_hook("SubagentStop", subagent=helper).block or ""
            assert block.startswith("summed-up: it is not marked. When it is done, run: ")
    assert guest.run_stop().block is None, "the agent itself is not held by the stops of its helpers"
    verdict = guest.run_hook("SubagentStop", subagent="h-1")
    assert (verdict.block, verdict.final) == (None, True)
    assert "lets the helper stop" in verdict.warnings[0]
    (alert,) = kit.store.read_sync(inbox.peek, "admin")
    assert "the last 3 stops of its helper 'h-1' were blocked" in alert.event.content
    assert guest.run_hook("SubagentStop", subagent="h-1").block, "it begins anew"


def test_normalized_texts_stay_different() -> None:
    texts = ["", "tested: it is not marked", "tested: it is marked", "Tested: it is not marked"]
    assert len({normalize_text(text) for text in texts}) == len(texts)
