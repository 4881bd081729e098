"""Hosts are told that a resource has changed, if they may read it, and only while they may."""

import asyncio
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import ResourceUpdatedNotification

from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.inbox.event import Push, Ref
from gatepost.inbox.push import actions as push
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.spaces import actions as spaces
from tests.mcp.mcp_setup import MODES, TRANSPORTS, McpSetup
from tests.support.waits import LAST_RESORT


def push_item(setup: McpSetup) -> None:
    setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content="hello"))


def ask(setup: McpSetup) -> str:
    question = Question(question="Ship?", options=(Option(id="yes", label="Yes"),), respondents=("designer",))
    return setup.store.run_sync(decisions.ask, question, by="analyst").id


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_listener_hears_of_every_kind(setup: McpSetup, transport: str) -> None:
    decision = ask(setup)
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="0.0.7"), by="designer")
    uris = ["inbox://analyst", "space://q4-report", f"decision://{decision}", "work://task/0.0.7"]
    async with setup.open_client(transport) as client:
        with anyio.fail_after(LAST_RESORT):
            async with client.listen(resource_subscriptions=uris) as events:
                heard = aiter(events)

                async def hear() -> str:
                    event = await anext(heard)
                    assert isinstance(event, ResourceUpdated)
                    return event.uri

                push_item(setup)
                assert await hear() == uris[0]
                setup.store.run_sync(spaces.post, "q4-report", sender="husam", content="hello")
                assert {await hear(), await hear()} == {uris[0], uris[1]}
                setup.store.run_sync(decisions.answer, decision, AnswerSpec(option="yes"), by="designer")
                assert {await hear(), await hear()} == {uris[0], uris[2]}
                setup.store.run_sync(work.post_event, Ref("task", "0.0.7"), "blocked", by="designer")
                assert await hear() == uris[3]


async def test_a_listener_hears_of_a_work_item_by_its_topic(setup: McpSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.mcp.subscriptions._RECHECK_INTERVAL", 2 * LAST_RESORT)
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7", topic="0.0.8"), by="designer")
    async with setup.open_client("http") as client:
        with anyio.fail_after(LAST_RESORT):
            async with client.listen(resource_subscriptions=["work://task/0.0.8"]) as events:
                setup.store.run_sync(work.post_event, Ref("task", "7"), "blocked", by="designer")
                assert await anext(aiter(events)) == ResourceUpdated(uri="work://task/0.0.8")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_what_one_may_not_read_is_refused_first(setup: McpSetup, transport: str) -> None:
    async with setup.open_client(transport) as client:
        for uri, sentence in (
            ("inbox://designer", "cannot act as 'designer'"),
            ("space://other", "not a member of the space 'other'"),
            ("mailbox://analyst", "there is no resource 'mailbox://analyst'"),
        ):
            with pytest.raises(MCPError, match=sentence):
                async with client.listen(resource_subscriptions=["inbox://analyst", uri]):
                    pass
            with pytest.raises(MCPError, match=sentence):
                await client.read_resource(uri)


async def test_a_stream_ends_when_the_rights_are_gone(setup: McpSetup) -> None:
    async with setup.open_client("http") as client:
        with anyio.fail_after(LAST_RESORT):
            async with client.listen(resource_subscriptions=["space://q4-report"]) as events:
                setup.store.run_sync(spaces.leave, "q4-report", "analyst")
                setup.store.run_sync(spaces.post, "q4-report", sender="husam", content="for members")
                assert [event async for event in events] == []


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed", "ignore:resources/unsubscribe is removed")
async def test_the_older_revision_subscribes_on_stdio(setup: McpSetup) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def on_message(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.put_nowait(message.params.uri)

    async with setup.open_client("stdio", "2025-11-25", message_handler=on_message) as client:
        with anyio.fail_after(LAST_RESORT):
            await client.subscribe_resource("inbox://analyst")
            push_item(setup)
            assert await heard.get() == "inbox://analyst"
            with pytest.raises(MCPError, match="cannot act as 'designer'"):
                await client.subscribe_resource("inbox://designer")
            await client.unsubscribe_resource("inbox://analyst")
            await client.unsubscribe_resource("inbox://analyst")
            await client.subscribe_resource("space://q4-report")
            push_item(setup)
            setup.store.run_sync(spaces.post, "q4-report", sender="husam", content="hello")
            assert await heard.get() == "space://q4-report"


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_the_older_revision_does_not_subscribe_over_http(setup: McpSetup) -> None:
    async with setup.open_client("http", "2025-11-25") as client:
        with pytest.raises(MCPError, match="Method not found"):
            await client.subscribe_resource("inbox://analyst")


class TestResources:
    @pytest.mark.parametrize("revision", MODES)
    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_everything_listed_can_be_read(self, setup: McpSetup, transport: str, revision: str) -> None:
        decision = ask(setup)
        push_item(setup)
        async with setup.open_client(transport, revision) as client:
            templates = (await client.list_resource_templates()).resource_templates
            assert [template.uri_template for template in templates] == [
                "inbox://{name}", "space://{id}", "decision://{id}", "work://{type}/{id}",
            ]  # fmt: skip
            resources = (await client.list_resources()).resources
            uris = ["inbox://analyst", "space://q4-report", f"decision://{decision}"]
            assert [resource.uri for resource in resources] == uris
            texts = {uri: (await client.read_resource(uri)).contents[0].model_dump()["text"] for uri in uris}
            assert '"content":"hello"' in texts[uris[0]]
            assert texts[uris[1]] == '{"items":[],"next":null}'
            assert '"question":"Ship?"' in texts[uris[2]]

    async def test_prompts_are_texts_for_the_model(self, setup: McpSetup) -> None:
        async with setup.open_client("http") as client:
            names = [prompt.name for prompt in (await client.list_prompts()).prompts]
            assert names == ["check-inbox", "ask-before-stopping"]
            for name in names:
                [message] = (await client.get_prompt(name)).messages
                assert message.role == "user"
            with pytest.raises(MCPError, match="there is no prompt 'nothing'"):
                await client.get_prompt("nothing")


async def test_no_caller_uses_up_the_subscriptions_of_the_others(
    setup: McpSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.mcp.subscriptions._MAX_OF_CALLER", 1)
    async with setup.open_client("http") as client, setup.open_client("http", name="designer") as other:
        with anyio.fail_after(LAST_RESORT):
            async with client.listen(resource_subscriptions=["inbox://analyst"]):
                with pytest.raises(MCPError, match="'analyst' has 1 subscriptions"):
                    async with client.listen(resource_subscriptions=["inbox://analyst"]):
                        pass
                async with other.listen(resource_subscriptions=["inbox://designer"]):
                    pass
