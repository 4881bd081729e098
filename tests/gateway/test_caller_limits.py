"""One caller does not hold the others up: batches, pages and limits for each entity (X6)."""

import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import Question
from gatepost.gates.gate import GateSpec
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Item, Push, PushResult
from gatepost.inbox.push import actions as push_actions
from gatepost.operations import pagination as handler_pages
from gatepost.operations.pagination import limit_page
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents, goal_and_memory_actions as memories
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.model_port import ModelReply
from gatepost.residents.runs import resume_actions as run_resume, rows as runs
from gatepost.spaces import actions as spaces
from tests.plans.plan_specs import parse_spec
from tests.support.gateways.local_gateways import Gateway

MIB = 1024 * 1024
LARGE_TEXT = "x" * 250_000


def register_team(store: Store, team: str, count: int) -> None:
    """Register so many agents of a team, in one commit."""

    def register(tx: Transaction) -> None:
        for number in range(count):
            directory.register(tx, EntitySpec(name=f"{team}-{number}", kind=EntityKind.AGENT, team=team))

    store.run_sync(register)


class TestBatches:
    def build_batch(self, count: int, *, to: str = "team:web", **fields: Any) -> dict[str, Any]:
        return {"pushes": [{"to": to, "content": str(number), **fields} for number in range(count)]}

    async def test_one_that_would_make_too_many_items_is_refused_whole(self, gateway: Gateway) -> None:
        register_team(gateway.store, "web", 11)
        async with gateway.open_client(x_secret_key=gateway.create_key(entity="analyst")) as analyst:
            answer = await analyst.post("/api/inbox/batch", json=self.build_batch(999))
            assert (answer.status_code, answer.json()["type"]) == (413, "urn:gatepost:problem:too-large")
            assert answer.json()["detail"] == "the batch would make 10989 items, over the limit of 10000"
            assert answer.json()["hint"] == "send smaller batches"
        assert gateway.store.read_sync(inbox.list_page, "web-0") == []

    async def test_what_is_for_one_agent_each_is_no_such_batch(self, gateway: Gateway) -> None:
        async with gateway.open_client() as admin:
            answer = await admin.post("/api/inbox/batch", json=self.build_batch(50, to="analyst"))
        assert [item["status"] for item in answer.json()["items"]] == [201] * 50

    async def test_one_event_for_a_large_team_is_exempt(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push_actions, "MAX_BATCH_ITEMS", 3)
        register_team(gateway.store, "web", 4)
        async with gateway.open_client() as admin:
            one_answer = await admin.post("/api/inbox/batch", json=self.build_batch(1))
            two_answer = await admin.post("/api/inbox/batch", json=self.build_batch(2))
            own_answer = await admin.post(
                "/api/inbox/batch", json={"pushes": [{"to": "analyst"}, {"to": "team:empty"}]}
            )
        assert (one_answer.status_code, two_answer.status_code, own_answer.status_code) == (200, 413, 200)
        assert len(gateway.store.read_sync(inbox.list_page, "web-3")) == 1

    async def test_cloud_events_of_one_request_are_a_batch_too(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push_actions, "MAX_BATCH_ITEMS", 5)
        register_team(gateway.store, "web", 3)
        events = [{"specversion": "1.0", "id": str(n), "source": "/x", "type": "t", "data": n} for n in range(2)]
        async with gateway.open_client() as admin:
            hook = {"name": "ce", "scheme": "bearer", "secret": "s" * 32, "target": "team:web"}
            assert (await admin.post("/api/triggers", json=hook)).status_code == 201
            headers = {"authorization": "Bearer " + "s" * 32, "content-type": "application/cloudevents-batch+json"}
            answer = await admin.post("/hooks/ce", content=json.dumps(events), headers=headers)
        assert answer.status_code == 413
        assert gateway.store.read_sync(inbox.list_page, "web-0") == []


async def read_all_pages(
    caller: httpx2.AsyncClient, path: str, cursor: str = "after", *, max_bytes: int = 4 * MIB, **query: Any
) -> list[Any]:
    """Return every row of a list, page by page; each page has a row, and is no larger than it may be."""
    rows: list[Any] = []
    after: dict[str, Any] = {}
    pages = 0
    while True:
        answer = await caller.get(path, params={"limit": 1000, **query, **after})
        assert answer.status_code == 200, answer.text[:200]
        assert len(answer.content) <= max_bytes
        page, pages = answer.json(), pages + 1
        rows += page["items"] if cursor != "beforeSeq" else page["items"][::-1]
        if page["next"] is None:
            assert pages > 1, "one page held it all"
            return rows
        assert page["items"]
        after = {cursor: page["next"]}


class TestPages:
    """Lists of twenty rows of 250 KB, which are two pages."""

    @pytest.fixture
    def contents(self, gateway: Gateway) -> list[str]:
        pushes = [Push(to="analyst", source="test", content=f"{number:2} {LARGE_TEXT}") for number in range(20)]
        gateway.store.run_sync(push_actions.push_all, pushes)
        return [large_push.content[:2] for large_push in pushes]

    @pytest.fixture
    def small_pages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let pages be small, so that what fills them is written soon."""
        for module in (handler_pages, handler_pages):
            monkeypatch.setattr(module, "PAGE_SIZE", 4_000)

    @pytest.mark.parametrize("path", ["/api/inbox/analyst", "/api/inbox", "/api/inbox/analyst/peek"])
    async def test_inboxes(self, gateway: Gateway, contents: Sequence[str], path: str) -> None:
        async with gateway.open_client() as admin:
            assert [row["content"][:2] for row in await read_all_pages(admin, path)] == list(contents)

    async def test_what_is_written_longer_than_it_is_stored(self, gateway: Gateway) -> None:
        """A control character is one byte at rest and six on the wire."""
        pushes = [Push(to="analyst", source="test", content=f"{number}" + "\x01" * 250_000) for number in range(4)]
        gateway.store.run_sync(push_actions.push_all, pushes)
        async with gateway.open_client() as admin:
            assert [row["content"][0] for row in await read_all_pages(admin, "/api/inbox/analyst")] == [*"0123"]

    async def test_messages_forwards_and_backwards(self, gateway: Gateway) -> None:
        def post(tx: Transaction) -> None:
            for _ in range(20):
                spaces.post(tx, "q4-report", sender="husam", content=LARGE_TEXT)

        gateway.store.run_sync(post)
        path, all_seqs = "/api/spaces/q4-report/messages", [*range(1, 21)]
        async with gateway.open_client() as admin:
            assert [row["seq"] for row in await read_all_pages(admin, path, "afterSeq", afterSeq=0)] == all_seqs
            assert [row["seq"] for row in await read_all_pages(admin, path, "beforeSeq")] == all_seqs[::-1]

    async def test_lists_of_what_agents_wait_for(self, gateway: Gateway, small_pages: None) -> None:
        def fill(tx: Transaction) -> None:
            for number in range(9):
                plans.set_plan(tx, "analyst", parse_spec({"name": "p", "instruction": "y" * 900, "runAfter": "1h"}))
                gates.add(tx, GateSpec(name="g", owner="analyst", awaits="husam", instruction="y" * 900), by="admin")
                question = Question(question="y" * 900, free_text=True, respondents=("husam",))
                decisions.withdraw(tx, decisions.ask(tx, question, by="designer").id, by="designer")
                directory.register(tx, EntitySpec(name=f"a-{number}", kind=EntityKind.SERVICE, display="y" * 200))

        gateway.store.run_sync(fill)
        async with gateway.open_client() as admin:
            for path, key, count in (
                ("/api/plans", "id", 9),
                ("/api/gates", "id", 18),
                ("/api/decisions", "id", 9),
                ("/api/entities", "name", 14),
            ):
                rows = [row[key] for row in await read_all_pages(admin, path, max_bytes=4_000)]
                assert len(set(rows)) == len(rows) == count

    async def test_what_a_resident_did_and_remembers(self, gateway: Gateway, small_pages: None) -> None:
        def think(tx: Transaction) -> None:
            agents.make_resident(tx, EntitySpec(name="ana", kind=EntityKind.AGENT), AgentConfig())
            memories.set_memories(tx, "ana", {f"key-{number}": "z" * 900 for number in range(9)})
            push_actions.push_event(tx, Push(to="ana", source="test", content="hello"))

        gateway.store.run_sync(think)
        run_state = gateway.store.run_sync(run_resume.take_run, "ana", "here")
        assert run_state is not None
        run = run_state.run_lease.run

        def journalise(tx: Transaction) -> None:
            for number in range(2, 22):
                runs.insert_step(tx, run.number, number, ModelReply("x" * 500))

        gateway.store.run_sync(journalise)
        async with gateway.open_client() as admin:
            step_rows = await read_all_pages(admin, f"/api/runs/{run.id}/steps", max_bytes=4_000)
            assert [step["number"] for step in step_rows] == [*range(1, 22)]
            memory_rows = await read_all_pages(admin, "/api/agents/ana/memories", max_bytes=4_000)
            assert len({memory["key"] for memory in memory_rows}) == len(memory_rows) == 9
            assert (await admin.get("/api/agents/ana/memories?after=x")).status_code == 422

    async def test_a_stream_reads_so_much_at_a_time(self, gateway: Gateway, contents: Sequence[str]) -> None:
        received: list[str] = []
        async with await gateway.open_stream("/api/inbox/analyst/stream", last_event_id="0-0") as stream:
            async for frame in stream:
                received += [frame.data["content"][:2]] if frame.event == "inbox.item" else []
                if len(received) == len(contents):
                    break
        assert received == list(contents)

    def test_rows_past_the_end_of_a_page_are_not_read(self, gateway: Gateway, contents: Sequence[str]) -> None:
        def read_rows(tx: Reader) -> tuple[list[Item], bool]:
            return limit_page(inbox.list_page)(tx, "analyst", limit=1_000), tx.is_truncated

        rows, is_truncated = gateway.store.read_sync(read_rows)
        assert is_truncated
        assert len(rows) == 16
        assert len(gateway.store.read_sync(inbox.list_page, "analyst", limit=1_000)) == 20

    async def test_an_event_of_many_recipients_is_read_once(self, gateway: Gateway) -> None:
        register_team(gateway.store, "web", 30)
        [push_result] = gateway.store.run_sync(
            push_actions.push_all, [Push(to="team:web", source="t", content=LARGE_TEXT, data=[LARGE_TEXT])]
        )
        assert isinstance(push_result, PushResult)
        items = gateway.store.read_sync(inbox_items.show, push_result.event)
        assert {(item.event.content, item.event.data[0]) for item in items} == {(LARGE_TEXT, LARGE_TEXT)}
        assert len({id(item.event.content) for item in items}) == 1
        assert len(items) == 30
