"""The channel of Claude Code, at the level of its wire: what the host is told, and what it says."""

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar, cast

import anyio
import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.executor import AsyncExecutor
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision, DecisionStatus
from gatepost.gates.decision_api import AskDecision
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.mcp.claude_channel import ClaudeChannel, PromptParams
from gatepost.mcp.server_port import Context, Peer
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import Request
from gatepost.testing import Kit
from tests.mcp.mcp_setup import McpSetup
from tests.mcp.stdio_server import StdioServer, wait_until

R = TypeVar("R")


class ChannelHost(StdioServer):
    """Claude Code, as far as a channel goes."""

    def __init__(self, setup: McpSetup, *options: str) -> None:
        super().__init__(setup, *options)
        self.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "claude-code", "version": "2.1.325"},
                },
            }
        )
        self.capabilities = self.read()["result"]["capabilities"]
        self.notify("notifications/initialized", {})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, id: str = "abcde") -> None:
        self.notify(
            "notifications/claude/channel/permission_request",
            {
                "request_id": id,
                "tool_name": "Bash",
                "description": "Run the tests",
                "input_preview": '{"command": "make test"}',
            },
        )


def push_item(setup: McpSetup, **fields: Any) -> None:
    setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="the secret content", **fields))


def list_decisions(setup: McpSetup) -> list[Decision]:
    return setup.store.read_sync(decisions.page, limit=10)


async def test_only_initialize_announces_it_and_only_if_it_is_wanted(setup: McpSetup) -> None:
    with ChannelHost(setup) as host:
        assert "experimental" not in host.capabilities
    with ChannelHost(setup, "--channel") as host:
        assert host.capabilities["experimental"] == {"claude/channel": {}}
    with ChannelHost(setup, "--permissions") as host:
        assert host.capabilities["experimental"] == {"claude/channel": {}, "claude/channel/permission": {}}
    async with setup.open_stdio("--as", "analyst", "--permissions") as client:
        assert client.server_capabilities.experimental is None


async def test_a_nudge_has_counts_and_subjects_and_no_content(setup: McpSetup) -> None:
    push_item(setup, subject="Blocked\n<b>on schema</b>", sender="designer")
    with ChannelHost(setup, "--channel") as host:
        nudge = host.read()
        assert nudge["method"] == "notifications/claude/channel"
        assert nudge["params"] == {
            "content": (
                '1 new item in your inbox, 1 pending: event from designer "Blocked\\n\\u003cb>on schema\\u003c/b>".'
                " Call drain_inbox to read."
            ),
            "meta": {"new": "1", "pending": "1"},
        }
        assert all(re.fullmatch(r"\w+", name) for name in nudge["params"]["meta"])
        push_item(setup, priority=Priority.FYI)  # an fyi wakes nobody
        push_item(setup, subject="Second")
        nudge = host.read()
        assert nudge["params"]["content"].startswith('1 new item in your inbox, 3 pending: event "Second".')
        assert {item.state for item in setup.store.read_sync(inbox.page, "analyst")} == {ItemState.PENDING}


@pytest.mark.parametrize("option", ["allow", "deny"])
async def test_a_permission_prompt_is_a_decision_of_the_owner(setup: McpSetup, option: str) -> None:
    with ChannelHost(setup, "--permissions") as host:
        host.ask()
        await wait_until(lambda: len(list_decisions(setup)) == 1)
        [decision] = list_decisions(setup)
        assert (decision.asker, decision.respondents) == ("analyst", ("admin",))
        assert decision.question == "May Bash run? Run the tests"
        assert decision.context == '{"command": "make test"}'
        setup.store.run_sync(decisions.answer, decision.id, AnswerSpec(option=option), by="admin")
        verdict = host.read()
        assert verdict["method"] == "notifications/claude/channel/permission"
        assert verdict["params"] == {"request_id": "abcde", "behavior": option}


async def test_a_session_that_ends_while_it_asks_withdraws(kit: Kit) -> None:
    """The decision is stored before the server hears of it."""
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT, owner="admin"))
    executor = AsyncExecutor(kit.store, Caller(CallerKind.ENTITY, "analyst"))
    asked, may_answer = anyio.Event(), anyio.Event()

    async def send(request: Request[R]) -> R:
        answer = await executor.send(request)
        if isinstance(request, AskDecision):
            asked.set()
            await may_answer.wait()
        return answer

    class EndingHost:
        stopping = anyio.Event()

        async def identify(self, context: Any) -> Peer:
            return Peer(name="analyst", caller=Caller(CallerKind.ENTITY, "analyst"), send=send)

        def subscribe(self, listener: Any) -> AbstractContextManager[None]:
            return nullcontext()

    host: Any = EndingHost()
    channel, context = ClaudeChannel(host, relays_permissions=True), cast("Context", None)
    async with anyio.create_task_group() as channel.tasks:
        await channel._on_prompt(context, PromptParams(request_id="abcde", tool_name="Bash"))
        await asked.wait()
        channel.tasks.cancel_scope.cancel()
        may_answer.set()
    [decision] = kit.store.read_sync(decisions.page)
    assert decision.status is DecisionStatus.WITHDRAWN


async def test_a_prompt_that_is_open_when_the_session_ends_is_withdrawn(setup: McpSetup) -> None:
    with ChannelHost(setup, "--permissions") as host:
        host.ask()
        await wait_until(lambda: len(list_decisions(setup)) == 1)
        host.leave()
        assert [decision.status for decision in list_decisions(setup)] == [DecisionStatus.WITHDRAWN]
