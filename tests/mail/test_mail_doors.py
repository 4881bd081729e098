"""The same priorities and texts of mail, through every door."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.executor import LocalExecutor
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation_tool import load_tools
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.tools import ToolContext, call_tool
from tests.mail.mail_setup import MailSetup, open_mail_setup

POSTGRES_BY_NIGHT = True

NAMES: Final = ("critical", "high", "normal", "low", "fyi")


@pytest.fixture
async def setup(url: str) -> AsyncIterator[MailSetup]:
    async with open_mail_setup(url) as setup:
        yield setup


async def send_by_http(setup: MailSetup, fields: Mapping[str, Any]) -> str:
    """Send as the analyst; return the id of the event."""
    event: str = (await setup.send(**fields))["eventId"]
    return event


async def send_by_tool(setup: MailSetup, fields: Mapping[str, Any]) -> str:
    """Use the tool of a resident as the analyst."""
    arguments = {"to": "designer", "text": "tea?"} | dict(fields)

    def use(tx: Transaction) -> Any:
        entity = directory.find_live(tx, "analyst")
        run = Run(
            number=1,
            id=tx.new_id("run"),
            agent="analyst",
            status=RunStatus.RUNNING,
            cycle=1,
            cause="event",
            claim=tx.new_id("clm"),
            claim_fence=1,
            events=0,
            hops=0,
            started_at=tx.now,
        )
        return call_tool(ToolContext(tx=tx, agent=entity, run=run, call=f"{run.id}/1"), "send_mail", arguments)

    event: str = (await setup.gateway.store.run(use))["eventId"]
    return event


async def send_by_mcp(setup: MailSetup, fields: Mapping[str, Any]) -> str:
    """Use the tool of the MCP server as the analyst; its text is the payload."""
    arguments = {"to_agent": "designer", "payload": "tea?"} | dict(fields)
    request = load_tools()["send_message"].decode(arguments, "analyst")
    executor = LocalExecutor(setup.gateway.store, Caller(CallerKind.ENTITY, "analyst"))
    event: str = (await asyncio.to_thread(executor.send, request)).event_id
    return event


#: a door, how mail goes through it, and the words of its priorities, the highest first
DOORS: Final = {
    "http, by name": (send_by_http, NAMES),
    "http, by number": (send_by_http, (0, 1, 2, 3, 4)),
    "http, by number as text": (send_by_http, ("0", "1", "2", "3", "4")),
    "tool, by name": (send_by_tool, NAMES),
    "tool, by number as text": (send_by_tool, ("0", "1", "2", "3", "4")),
    "mcp, by number": (send_by_mcp, (1, 2, 3, 4, 5)),
    "mcp, by number as text": (send_by_mcp, ("1", "2", "3", "4", "5")),
}


@pytest.mark.parametrize("door", DOORS)
async def test_each_priority_through_each_door(setup: MailSetup, door: str) -> None:
    """1 to 5 is said to the MCP tool and in the record for a ledger only."""
    send, words = DOORS[door]
    for number, word in enumerate(words):
        event = await send(setup, {"priority": word})
        [item] = [item for item in await setup.list_inbox("designer") if item["eventId"] == event]
        [sent] = [entry for entry in (await setup.list_mail())["items"] if entry["eventId"] == event]
        assert (item["priority"], sent["priority"]) == (number, number)
        assert (await read_record(setup, sent["id"]))["priority"] == number + 1


@pytest.mark.parametrize(
    ("door", "priority"),
    [
        *(("http, by name", priority) for priority in ("5", "urgent", "-1", "")),
        *(("tool, by name", priority) for priority in ("5", "urgent", "-1", "")),
        *(("mcp, by number", priority) for priority in ("6", "0", "urgent", "")),
    ],
)
async def test_other_priorities_are_refused_at_each_door(setup: MailSetup, door: str, priority: str) -> None:
    before = await setup.count_rows()
    with pytest.raises((AssertionError, Invalid)):
        await DOORS[door][0](setup, {"priority": priority})
    assert await setup.count_rows() == before


@pytest.mark.parametrize("door", ["http, by name", "tool, by name"])
async def test_the_text_is_in_the_payload_at_each_door(setup: MailSetup, door: str) -> None:
    send, _ = DOORS[door]
    cases: tuple[tuple[dict[str, Any], str, dict[str, Any]], ...] = (
        ({"text": "plain"}, "plain", {"text": "plain"}),
        ({"text": "and", "payload": {"n": 1}}, "and", {"n": 1, "text": "and"}),
        ({"text": None, "payload": {"text": "in it"}}, "in it", {"text": "in it"}),
        ({"text": None, "payload": {"n": [1, {}]}}, '{"n":[1,{}]}', {"n": [1, {}]}),
    )
    for fields, content, payload in cases:
        event = await send(setup, fields)
        [item] = [item for item in await setup.list_inbox("designer") if item["eventId"] == event]
        [sent] = [entry for entry in (await setup.list_mail())["items"] if entry["eventId"] == event]
        assert (item["content"], sent["text"], sent["payload"]) == (content, content, payload)
        assert (await read_record(setup, sent["id"]))["payload"] == payload


async def test_mail_is_answered_and_found_by_the_id_in_its_line_at_each_door(setup: MailSetup) -> None:
    first = await setup.send(messageType="review.request")
    answer = await setup.call("designer", "POST", f"/events/{first['id']}/reply", 201, json={"text": "yes"})
    executor = LocalExecutor(setup.gateway.store, Caller(CallerKind.ENTITY, "designer"))
    by_tool = load_tools()["reply"].decode({"event": first["id"], "text": "now"}, "designer")
    second = await asyncio.to_thread(executor.send, by_tool)
    by_mail = load_tools()["send_message"].decode({"reply_to": first["id"], "payload": "or later"}, "designer")
    third = await asyncio.to_thread(executor.send, by_mail)
    for id in (first["id"], first["eventId"], answer["id"]):
        thread = await setup.list_mail(box="thread", thread=id)
        assert [mail["id"] for mail in thread["items"]] == [third.id, second.id, answer["id"], first["id"]]
    assert (await setup.call("designer", "GET", f"/events/{first['id']}", 200))["eventId"] == first["eventId"]
    assert (await setup.show(first["eventId"]))["id"] == first["id"]
    await setup.call("admin", "GET", f"/events/{'mail_' + '0' * 32}", 404)
    read = load_tools()["read_inbox"].decode({"message_type": "review.request"}, "designer")
    assert [item.event_id for item in (await asyncio.to_thread(executor.send, read)).items] == [first["eventId"]]
    assert [item["eventId"] for item in await setup.list_inbox("designer", messageType="review.request")] == [
        first["eventId"]
    ]


async def read_record(setup: MailSetup, id: str) -> Any:
    """The data that a ledger posts."""

    def read(tx: Reader) -> Any:
        row = tx.fetch_one("mail/outgoing/find", id=id)
        assert row is not None
        assert row.posted_at == row.created_at
        return json.loads(row.data)

    return await setup.gateway.store.read(read)
