"""Lists over HTTP: page by page, each row once, none left out."""

import re
from collections.abc import Sequence
from typing import Any, Final

import httpx2

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig, TriggerSchedule
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import Question
from gatepost.gates.gate import GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Priority, Push, Ref, Route
from gatepost.inbox.push import actions as push
from gatepost.ledger import topic_actions as ledger
from gatepost.ledger.topic import TopicKind
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.plans import actions as plans
from gatepost.residents import goal_and_memory_actions as memories
from gatepost.spaces import actions as spaces
from tests.gateway.test_requests import assert_problem
from tests.operations.access_cases import add_connection, add_pairing, add_unrouted
from tests.plans.plan_specs import parse_spec
from tests.residents import resident_runs
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import Gateway, list_operations

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


TASK: Final = Ref("task", "0")


class ListFiller:
    """Every list, and how to fill it."""

    @staticmethod
    def fill(gateway: Gateway, count: int) -> None:
        for number in range(count):
            gateway.store.run_sync(push.push_event, Push(to="analyst", source="test", content=str(number)))
            gateway.store.run_sync(push.push_event, Push(to="husam", source="test", content=str(number)))
            gateway.store.run_sync(spaces.post, "q4-report", sender="husam", content=str(number))
            gateway.store.run_sync(spaces.create, name=f"space {number}", members=["analyst"])
            gateway.store.run_sync(plans.set_plan, "analyst", parse_spec({"name": f"plan {number}", "runAfter": "1h"}))
            gateway.store.run_sync(
                gates.add, GateSpec(name=f"gate {number}", owner="analyst", waiters=("husam",)), by=None
            )
            gateway.store.run_sync(
                decisions.ask, Question(question=str(number), free_text=True, respondents=("husam",)), by="analyst"
            )
            gateway.create_key("agent", "analyst")
            gateway.store.run_sync(mail.send, MailSpec(to="analyst", payload={"text": str(number)}), sender="admin")
            gateway.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id=str(number)), by="analyst")
            gateway.store.run_sync(work.post_note, TASK, str(number), by="analyst")
            gateway.store.run_sync(work.post_event, TASK, "started", by="analyst")
            gateway.store.run_sync(add_connection, "analyst", request=number)


ROUTE: Final = Route("cli", "cli-main")
PAGED_PATHS: Final = {
    "/api/entities": "name",
    "/api/agents": "name",
    "/api/inbox": "eventId",
    "/api/inbox?newestFirst=true": "eventId",
    "/api/inbox/analyst": "eventId",
    "/api/inbox/analyst?newestFirst=true&state=pending&priority=2": "eventId",
    "/api/inbox/analyst/peek": "eventId",
    "/api/spaces": "id",
    "/api/spaces?member=analyst": "id",
    "/api/plans": "id",
    "/api/plans?owner=analyst&status=pending": "id",
    "/api/plans/{plan}/fires": "eventId",
    "/api/triggers/nightly/fires": "eventId",
    "/api/fires": "id",
    "/api/gates": "id",
    "/api/gates?newestFirst=true": "id",
    "/api/gates?owner=analyst&waiter=husam&kind=human&pending=true": "id",
    "/api/decisions": "id",
    "/api/decisions?newestFirst=true": "id",
    "/api/decisions?asker=analyst&asked=husam&pending=true": "id",
    "/api/mail": "id",
    "/api/work": "id",
    "/api/work/task/0/notes": "id",
    "/api/work/task/0/events": "id",
    "/api/ledger/topics": "id",
    "/api/ledger/topics/{topic}/messages": "sequenceNumber",
    "/api/ledger/connections": "id",
    "/api/ledger/connections?state=requested&incoming=true": "id",
    "/api/triggers": "name",
    "/api/triggers?provider=webhook": "name",
    "/api/routes": "id",
    "/api/shared-inbox": "id",
    "/api/routes/dead-letters": "id",
    "/api/channels": "name",
    "/api/channels/sessions": "sessionId",
    "/api/channels/pairings": "id",
    "/api/channels/pairings?state=approved": "id",
    "/api/keys": "id",
    "/api/usage": "agent",
    "/api/usage/runs": "id",
    "/api/usage/budgets": "agent",
    "/api/health/accounts": "name",
    "/api/runs": "id",
    "/api/runs?agent=thinker&status=waiting_tool": "id",
    "/api/agents/thinker/runs": "id",
    "/api/agents/thinker/memories": "key",
    "/api/runs/{id}/steps": "number",
}


async def test_next_walks_every_list_without_gap_or_repeat(gateway: Gateway) -> None:
    ListFiller.fill(gateway, 7)
    resident_runs.create_resident(gateway.store)
    for _ in range(3):
        resident_runs.finish_run(gateway.store, resident_runs.begin_run(gateway.store))
    last_run = resident_runs.begin_run(gateway.store)
    resident_runs.finish_run(gateway.store, last_run)
    for number in range(3):
        resident_runs.create_resident(gateway.store, f"rich-{number}", budget={"tokens": 1000})
        resident_runs.finish_run(gateway.store, resident_runs.begin_run(gateway.store, f"rich-{number}"))
    plan = _fire_plan_and_trigger(gateway, 5)
    [topic] = gateway.store.read_sync(ledger.list_topics, kind=TopicKind.INBOUND, viewer="analyst")
    gateway.store.run_sync(memories.set_memories, "thinker", {f"key {number}": "x" for number in range(5)})
    async with gateway.open_client() as admin:
        for number in range(5):
            hook = {"name": f"hook-{number}", "scheme": "bearer", "secret": "x" * 20, "target": "analyst"}
            assert (await admin.post("/api/triggers", json=hook)).status_code == 201
            rule = {"name": f"rule {number}", "targets": ["analyst"]}
            assert (await admin.post("/api/routes", json=rule)).status_code == 201
            gateway.store.run_sync(add_unrouted, 1)
            bot = TriggerSpec(name=f"desk-{number}", provider="telegram", secret="7:a-token-of-a-bot")
            desk = gateway.store.run_sync(triggers.add, bot)
            gateway.store.run_sync(add_pairing, str(number), is_approved=True, bot=desk.name)
            gateway.store.run_sync(conversations.ensure_session, "telegram", f"chat-{number}:user-1", trigger=desk)
            gateway.store.run_sync(
                shared_inbox.record, EntryKind.USER_PROMPT, ROUTE, str(number), trigger=None, person=None
            )
        with CollectedFailures() as failures:
            for template, field in PAGED_PATHS.items():
                with failures.check(template):
                    path = template.format(id=last_run.run_id, topic=topic.id, plan=plan)
                    all_rows = await _walk(admin, path, field, 1000)
                    assert len(all_rows) >= 3
                    for limit in (1, 2, 3, len(all_rows), len(all_rows) + 1):
                        assert await _walk(admin, path, field, limit) == all_rows


def _fire_plan_and_trigger(gateway: Gateway, count: int) -> str:
    """Return a plan that has fired, as the trigger `nightly` has, by the events that this leaves."""
    plan = gateway.store.run_sync(plans.set_plan, "analyst", parse_spec({"name": "daily", "cron": "0 9 * * *"}))
    schedule = TriggerSchedule(cron="0 3 * * *")
    spec = TriggerSpec(name="nightly", provider="cron", target="analyst", config=TriggerConfig(schedule=schedule))
    trigger = gateway.store.run_sync(triggers.add, spec)
    for slot in range(count):
        for key in (plans.build_dedup_key(plan.id, slot), schedules.build_dedup_key(trigger, slot)):
            gateway.store.run_sync(push.push_event, Push(to="analyst", source="test", dedup_key=key))
    return plan.id


async def _walk(client: httpx2.AsyncClient, path: str, field: str, limit: int) -> Sequence[Any]:
    rows: list[Any] = []
    after: dict[str, str] = {}
    while True:
        answer = await client.get(
            path, params=dict(httpx2.QueryParams(path.partition("?")[2])) | after | {"limit": str(limit)}
        )
        page = answer.json()
        assert answer.status_code == 200, page
        assert len(page["items"]) <= limit
        rows += [(row[field], row.get("recipient")) for row in page["items"]]
        if page["next"] is None:
            assert len(set(rows)) == len(rows)
            return rows
        after = {"after": page["next"]}


def test_every_list_is_walked() -> None:
    """Those with a cursor; members are all there, and a check of a topic has no rows."""
    lists = {
        name.partition(" ")[2]
        for name, operation in list_operations().items()
        if any(
            parameter["name"] == "after" and parameter["in"] == "query" for parameter in operation.get("parameters", ())
        )
        and not name.endswith(("/stream", "/verify"))
    }
    paths = {re.sub("analyst|thinker|nightly", "{name}", path.partition("?")[0]) for path in PAGED_PATHS}
    assert lists == {
        path.replace("task/0", "{type}/{id}").replace("{topic}", "{id}").replace("{plan}", "{id}") for path in paths
    }


async def test_next_walks_the_check_of_a_topic(gateway: Gateway) -> None:
    ListFiller.fill(gateway, 7)
    [topic] = gateway.store.read_sync(ledger.list_topics, kind=TopicKind.INBOUND, viewer="analyst")
    assert topic.last_sequence >= 7
    async with gateway.open_client() as admin:
        for limit in (1, 2, 3, topic.last_sequence, topic.last_sequence + 1):
            counts: list[int] = []
            after: int | None = 0
            while after is not None:
                query = {"after": after, "limit": limit}
                answer = await admin.get(f"/api/ledger/topics/{topic.id}/verify", params=query)
                page = answer.json()
                assert answer.status_code == 200, page
                assert (page["proved"], page["firstFault"]) == (page["messages"], None)
                counts.append(page["messages"])
                after = page["next"]
            full_pages, rest = divmod(topic.last_sequence, limit)
            assert counts == [limit] * full_pages + [rest] * (rest > 0)


async def test_a_page_may_end_between_two_recipients_of_an_event(gateway: Gateway) -> None:
    for name in ("tester", "writer"):
        gateway.store.run_sync(directory.register, directory.EntitySpec(name=name, kind=EntityKind.AGENT, team="crew"))
    for number in range(3):
        gateway.store.run_sync(push.push_event, Push(to="team:crew", source="test", content=str(number)))
    async with gateway.open_client() as admin:
        all_rows = await _walk(admin, "/api/inbox", "content", 1000)
        assert len({recipient for _, recipient in all_rows}) >= 2
        assert await _walk(admin, "/api/inbox", "content", 1) == all_rows


async def test_messages_are_walked_both_ways(gateway: Gateway) -> None:
    ListFiller.fill(gateway, 11)
    path = "/api/spaces/q4-report/messages"
    async with gateway.open_client() as admin:
        for limit in (1, 2, 3, 5, 11, 12):
            forward: list[int] = []
            after: str | None = "0"
            while after is not None:
                page = (await admin.get(path, params={"afterSeq": after, "limit": limit})).json()
                forward += [row["seq"] for row in page["items"]]
                after = page["next"]
            assert forward == list(range(1, 12))
            backward: list[int] = []
            page = (await admin.get(path, params={"limit": limit})).json()
            backward = [row["seq"] for row in page["items"]]
            while page["next"] is not None:
                page = (await admin.get(path, params={"beforeSeq": page["next"], "limit": limit})).json()
                backward = [row["seq"] for row in page["items"]] + backward
            assert backward == list(range(1, 12))
        assert_problem(await admin.get(path, params={"afterSeq": 1, "beforeSeq": 5}), 422)


async def test_a_page_of_an_inbox_goes_on_where_it_ended_while_more_comes(gateway: Gateway) -> None:
    ListFiller.fill(gateway, 5)
    async with gateway.open_client() as admin:
        first = (await admin.get("/api/inbox/analyst", params={"limit": 3})).json()
        gateway.store.run_sync(
            push.push_event, Push(to="analyst", source="test", content="later", priority=Priority.CRITICAL)
        )
        rest = (await admin.get("/api/inbox/analyst", params={"after": first["next"]})).json()
        event_ids = [row["eventId"] for row in (*first["items"], *rest["items"])]
        assert (
            len(set(event_ids))
            == len(event_ids)
            == len(gateway.store.read_sync(inbox.list_page, "analyst", limit=1000))
        )
        assert gateway.store.read_sync(keys.list_page)
