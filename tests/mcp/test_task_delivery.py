"""
The answer of a task is read once: what the program of a session got is settled by the hooks of that session, and what
no program got comes to the inbox.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec
from gatepost.guests.hooks.hook_context import HookOptions
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Item, ItemState
from gatepost.stores.clock import SystemClock
from gatepost.testing import FakeClock
from tests.faults.crew_store import LaterClock
from tests.guests.hook_guest import HookGuest
from tests.mcp.mcp_setup import McpSetup
from tests.mcp.raw_clients import RawClient, RawStdioClient, open_raw_client
from tests.mcp.stdio_server import StdioServer
from tests.support.servers.private_servers import wait_until


@pytest.fixture
def later_store(setup: McpSetup) -> Iterator[Store]:
    """The store an hour later: nobody has asked for what is followed."""
    with closing(open_store(f"sqlite:///{setup.home}/gatepost.db", clock=LaterClock())) as store:
        yield store


@pytest.fixture
def guest(setup: McpSetup) -> HookGuest:
    """A session of the analyst that has begun."""
    guest = HookGuest(setup.home, setup.store, FakeClock(SystemClock().now()), HookOptions(agent="analyst"))
    guest.session.record_warning("work-update")
    guest.run_hook("SessionStart", source="startup")
    return guest


@pytest.fixture
def program(setup: McpSetup, guest: HookGuest) -> Iterator[RawClient]:
    """The program of the session, with a server on stdio."""
    with StdioServer(setup, environ={"CLAUDE_CODE_SESSION_ID": guest.session_id}) as server:
        yield RawStdioClient(server)


def ask_and_answer(setup: McpSetup, client: RawClient) -> str:
    arguments = {"question": "Ship it?", "options": [{"id": "ship", "label": "Ship it"}], "of": ["husam"]}
    id: str = client.send("tools/call", name="ask_decision", arguments=arguments)["result"]["taskId"]
    setup.store.run_sync(decisions.answer, id, AnswerSpec(option="ship"), by="husam")
    return id


def get_answer(client: RawClient, id: str) -> str:
    task = client.send("tasks/get", taskId=id)["result"]
    assert task["status"] == "completed"
    client.send("server/discover")  # answered after it is recorded that the first answer was handed over
    option: str = task["result"]["structuredContent"]["answer"]["option"]
    return option


def show_item(setup: McpSetup) -> Item:
    [item] = setup.store.read_sync(inbox.list_page, "analyst")
    return item


def run_hook(guest: HookGuest, event: str, **fields: Any) -> str:
    """Run a hook; return what the model is shown."""
    return guest.run_hook(event, **fields).context or ""


class TestIdle:
    """The program begins a turn with the answer."""

    @pytest.mark.parametrize("has_prompt", [True, False])
    def test_the_reply_proves_it(self, setup: McpSetup, guest: HookGuest, program: RawClient, has_prompt: bool) -> None:
        id = ask_and_answer(setup, program)
        assert get_answer(program, id) == "ship"
        item = show_item(setup)
        assert item.state is ItemState.CLAIMED
        assert item.receipt is not None
        assert (item.receipt.kind, item.receipt.owner) == ("session", guest.session_id)
        assert not has_prompt or run_hook(guest, "UserPromptSubmit") == ""
        assert run_hook(guest, "Stop") == ""
        assert show_item(setup).state is ItemState.DELIVERED
        assert run_hook(guest, "UserPromptSubmit") == ""

    def test_it_is_asked_for_again(self, setup: McpSetup, guest: HookGuest, program: RawClient) -> None:
        id = ask_and_answer(setup, program)
        assert [get_answer(program, id), get_answer(program, id)] == ["ship", "ship"]
        assert len(guest.spool.read_unproved(guest.session_id)) == 1
        assert run_hook(guest, "PostToolUse") == ""
        assert show_item(setup).state is ItemState.DELIVERED
        assert get_answer(program, id) == "ship"

    def test_the_session_ends_without_a_reply(self, setup: McpSetup, guest: HookGuest, program: RawClient) -> None:
        get_answer(program, ask_and_answer(setup, program))
        guest.run_hook("SessionEnd")
        assert show_item(setup).state is ItemState.PENDING
        guest.session_id = "s-2"
        assert "Ship it" in run_hook(guest, "SessionStart", source="startup")

    def test_its_turn_is_interrupted(self, setup: McpSetup, guest: HookGuest, program: RawClient) -> None:
        get_answer(program, ask_and_answer(setup, program))
        assert run_hook(guest, "UserPromptSubmit") == ""
        assert "Ship it" in run_hook(guest, "UserPromptSubmit")

    def test_no_reply_comes_in_time(
        self, setup: McpSetup, guest: HookGuest, program: RawClient, later_store: Store
    ) -> None:
        get_answer(program, ask_and_answer(setup, program))
        guest.store = later_store
        guest.session_id = "s-2"
        assert "Ship it" in run_hook(guest, "SessionStart", source="startup")


class TestDuringATurn:
    """The program shows the answer after the next tool, or in another turn."""

    @pytest.fixture(autouse=True)
    def id(self, setup: McpSetup, guest: HookGuest, program: RawClient) -> str:
        guest.run_hook("UserPromptSubmit")
        id = ask_and_answer(setup, program)
        assert get_answer(program, id) == "ship"
        return id

    def test_a_stop_after_a_tool_proves_it(self, setup: McpSetup, guest: HookGuest) -> None:
        assert run_hook(guest, "PostToolUse") == ""
        assert show_item(setup).state is ItemState.CLAIMED
        assert run_hook(guest, "Stop") == ""
        assert show_item(setup).state is ItemState.DELIVERED

    @pytest.mark.parametrize("has_prompt", [True, False])
    def test_the_reply_of_the_next_turn_proves_it(self, setup: McpSetup, guest: HookGuest, has_prompt: bool) -> None:
        assert run_hook(guest, "Stop") == ""
        assert show_item(setup).state is ItemState.CLAIMED
        assert not has_prompt or run_hook(guest, "UserPromptSubmit") == ""
        assert run_hook(guest, "Stop") == ""
        assert show_item(setup).state is ItemState.DELIVERED

    def test_the_turn_is_interrupted(self, guest: HookGuest) -> None:
        assert "Ship it" in run_hook(guest, "UserPromptSubmit")


class TestWithoutHooks:
    """What the program got counts as delivered soon after it has it, as after a drain."""

    def test_over_http(self, setup: McpSetup, guest: HookGuest) -> None:
        with open_raw_client(setup, "http") as client:
            get_answer(client, ask_and_answer(setup, client))
        wait_until(lambda: show_item(setup).state is ItemState.DELIVERED, "it is not delivered")
        assert run_hook(guest, "UserPromptSubmit") == ""

    def test_the_session_of_the_server_has_ended(self, setup: McpSetup, guest: HookGuest, program: RawClient) -> None:
        id = ask_and_answer(setup, program)
        guest.run_hook("SessionEnd")
        get_answer(program, id)
        wait_until(lambda: show_item(setup).state is ItemState.DELIVERED, "it is not delivered")

    def test_the_session_is_of_another_agent(self, setup: McpSetup, guest: HookGuest) -> None:
        with StdioServer(setup, "--as", "developer", environ={"CLAUDE_CODE_SESSION_ID": guest.session_id}) as server:
            client = RawStdioClient(server)
            id = ask_and_answer(setup, client)
            assert get_answer(client, id) == "ship"
        assert guest.spool.read_unproved(guest.session_id) == []
        [item] = setup.store.read_sync(inbox.list_page, "developer")
        assert item.state is ItemState.DELIVERED


def test_what_nobody_asks_for_comes_to_the_inbox(
    setup: McpSetup, guest: HookGuest, program: RawClient, later_store: Store
) -> None:
    guest.run_hook("SessionEnd")
    ask_and_answer(setup, program)
    guest.session_id = "s-2"
    assert run_hook(guest, "SessionStart", source="startup") == ""
    guest.store = later_store
    assert "Ship it" in run_hook(guest, "UserPromptSubmit")
