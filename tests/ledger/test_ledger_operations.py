"""The ledger over HTTP: profiles, the sync, connections with agents outside, and messages that do not count."""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import pytest
from msgspec.structs import replace

from gatepost.core.policy import Policy
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests import session_actions as sessions
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import profile_actions as ledger_profiles, topic_actions as ledger, topic_rows as topics
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.running_hash import compute_running_hash
from gatepost.ledger.topic import LedgerId, TopicKind, TopicMessage
from gatepost.ledger.topic_rows import NewMessage
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from tests.gateway.test_requests import assert_problem
from tests.support.gateways.local_gateways import Gateway, create_entities, open_gateway

POSTGRES_BY_NIGHT = True

UAID: Final = "uaid:aid:QmX;uid=0.0.9002@0.0.9001;registry=self;proto=hcs-10;nativeId=hedera:testnet:0.0.9001"
PEER: Final = OperatorId(LedgerId(0, 0, 9_002), LedgerId(0, 0, 9_001))
NOTHING_MADE: Final = {"accounts": 0, "topics": 0, "profiles": 0, "jobs": 0, "next": None}
UNKNOWN: Final = "con_" + "0" * 32


@pytest.fixture
async def local(url: str) -> AsyncIterator[Gateway]:
    """A gateway on the local ledger, with Husam and three agents."""
    policy = Policy(ledger_capabilities=(("lead", (4, 16)),), work_notify=())
    async with open_gateway(url, policy=policy) as gateway:
        create_entities(gateway.store)
        yield gateway


@pytest.fixture
async def public(url: str) -> AsyncIterator[Gateway]:
    """The same on a public ledger, without a worker: what is to be posted are jobs."""
    async with open_gateway(url, policy=Policy(ledger="hedera:testnet", work_notify=())) as gateway:
        create_entities(gateway.store)
        yield gateway


async def post(client: httpx2.AsyncClient, path: str, **fields: Any) -> Any:
    answer = await client.post(path, json=fields)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def get(client: httpx2.AsyncClient, path: str, **query: Any) -> Any:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestSync:
    async def test_makes_what_is_missing_page_by_page_and_only_once(self, local: Gateway) -> None:
        store = local.store
        store.run_sync(directory.register, EntitySpec(name="jira", kind=EntityKind.SERVICE))
        store.run_sync(mail.send, MailSpec(to="husam", payload={"text": "hello"}), sender="analyst")
        entity_count = len(store.read_sync(directory.list_page))
        async with local.open_client() as admin:
            pages = [await post(admin, "/api/ledger/sync", limit=2)]
            while pages[-1]["next"] is not None:
                pages.append(await post(admin, "/api/ledger/sync", after=pages[-1]["next"], limit=2))
            totals = {name: sum(page[name] for page in pages) for name in ("checked", "accounts", "topics", "profiles")}
            # the two that have mail have topics, and the service needs none; two topics belong to nobody
            assert totals == {
                "checked": entity_count,
                "accounts": entity_count - 3,
                "topics": 2 * (entity_count - 3) + 2,
                "profiles": entity_count - 1,
            }
            again = await post(admin, "/api/ledger/sync")
            assert again == NOTHING_MADE | {"checked": entity_count}
            assert await get(admin, "/api/ledger/sync") == {"pending": 0, "error": None}

    async def test_makes_the_topics_of_work_items(self, local: Gateway) -> None:
        for number in range(3):
            local.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id=f"t{number}"), by="analyst")
        async with local.open_client() as admin:
            first = await post(admin, "/api/ledger/sync", part="work", limit=2)
            assert (first["checked"], first["topics"]) == (2, 2)
            second = await post(admin, "/api/ledger/sync", part="work", after=first["next"])
            assert (second["checked"], second["topics"], second["next"]) == (1, 1, None)
            assert (await post(admin, "/api/ledger/sync", part="work"))["topics"] == 0
            found = await get(admin, "/api/ledger/topics", kind="work")
            assert [topic["workItem"]["id"] for topic in found["items"]] == ["t0", "t1", "t2"]
            assert {topic["network"] for topic in found["items"]} == {"local"}

    async def test_publishes_a_profile_that_has_changed(self, local: Gateway) -> None:
        async with local.open_client() as admin:
            await post(admin, "/api/ledger/sync")
            local.store.run_sync(directory.update, "analyst", display="Ana Lyst")
            assert (await get(admin, "/api/ledger/profiles/analyst"))["published"] is False
            assert (await post(admin, "/api/ledger/sync", name="husam"))["profiles"] == 0
            assert (await post(admin, "/api/ledger/sync", name="analyst"))["profiles"] == 1
            assert (await get(admin, "/api/ledger/profiles/analyst"))["published"] is True

    async def test_publishes_the_model_of_a_guest_when_its_program_has_said_it(self, local: Gateway) -> None:
        async with local.open_client() as admin:
            await post(admin, "/api/ledger/sync")
            profile = (await get(admin, "/api/ledger/profiles/analyst"))["profile"]
            assert profile["aiAgent"]["model"] == "unknown"
            local.store.run_sync(sessions.begin, "s-1", agent="analyst", host="claude", model="claude-sonnet-5")
            assert (await post(admin, "/api/ledger/sync", name="analyst"))["profiles"] == 1
            published = await get(admin, "/api/ledger/profiles/analyst")
            assert (published["published"], published["profile"]["aiAgent"]["model"]) == (True, "claude-sonnet-5")

    async def test_on_a_public_ledger_writes_jobs(self, public: Gateway) -> None:
        public.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="t1"), by="analyst")
        entity_count = len(public.store.read_sync(directory.list_page))
        async with public.open_client() as admin:
            page = await post(admin, "/api/ledger/sync")
            assert page == NOTHING_MADE | {"checked": entity_count, "jobs": entity_count + 1}
            assert (await post(admin, "/api/ledger/sync", part="work"))["jobs"] == 1
            assert await get(admin, "/api/ledger/sync") == {"pending": entity_count + 2, "error": None}
            public.store.run_sync(fail_job, "the operator has no money")
            state = await get(admin, "/api/ledger/sync")
            assert state == {"pending": entity_count + 2, "error": "the operator has no money"}

    async def test_takes_an_account_that_exists(self, public: Gateway) -> None:
        async with public.open_client() as admin:
            sync = "/api/ledger/sync"
            assert (await post(admin, sync, name="analyst", account="0.0.7001"))["jobs"] == 1
            assert (await post(admin, sync, name="analyst", account="0.0.7001"))["jobs"] == 1
            for status, fields, detail in (
                (409, {"name": "analyst", "account": "0.0.7002"}, "'analyst' has the account 0.0.7001 on testnet"),
                (409, {"name": "husam", "account": "0.0.7001"}, "the account 0.0.7001 belongs to 'analyst'"),
                (422, {"name": "husam", "account": "x"}, "account: 'x' is not the id of a topic or an account"),
                (422, {"account": "0.0.7001"}, "`name` is missing"),
                (422, {"part": "work", "name": "husam"}, "`name` is of an entity, and this part is about work items"),
                (404, {"name": "nobody", "account": "0.0.7001"}, "there is no entity 'nobody'"),
            ):
                answer = await admin.post(sync, json=fields)
                assert_problem(answer, status)
                assert answer.json()["detail"].startswith(detail)

    async def test_of_the_local_ledger_takes_no_account(self, local: Gateway) -> None:
        async with local.open_client() as admin:
            answer = await admin.post("/api/ledger/sync", json={"name": "analyst", "account": "0.0.7001"})
            assert_problem(answer, 403)

    async def test_needs_a_ledger(self, url: str) -> None:
        async with open_gateway(url, policy=Policy(ledger="off")) as gateway, gateway.open_client() as admin:
            for answer in (
                await admin.post("/api/ledger/sync", json={}),
                await admin.post("/api/ledger/sync", json={"part": "work"}),
                await admin.get("/api/ledger/profiles/admin"),
            ):
                assert_problem(answer, 422)
                assert answer.json()["detail"] == "the ledger is off"


class TestProfile:
    async def test_is_seen_by_everybody(self, local: Gateway) -> None:
        local.store.run_sync(directory.update, "analyst", team="web", role="lead")
        async with (
            local.open_client() as admin,
            local.open_client(x_secret_key=local.create_key("agent", "designer")) as designer,
        ):
            await post(admin, "/api/ledger/sync")
            view = await get(designer, "/api/ledger/profiles/analyst")
            profile = view.pop("profile")
            assert view == {
                "name": "analyst",
                "network": "local",
                "accountId": view["accountId"],
                "inboundTopicId": profile["inboundTopicId"],
                "outboundTopicId": profile["outboundTopicId"],
                "published": True,
                "fileId": None,
            }
            assert profile["type"] == 1
            assert profile["aiAgent"]["capabilities"] == [4, 16]
            husam = await get(designer, "/api/ledger/profiles/husam")
            assert (husam["profile"]["type"], husam["profile"]["display_name"]) == (0, "Husam")

    async def test_of_one_who_is_not_there_is_not_found(self, local: Gateway) -> None:
        async with local.open_client() as admin:
            for name, detail in (
                ("analyst", "'analyst' is not on the ledger yet"),
                ("nobody", "there is no entity 'nobody'"),
            ):
                answer = await admin.get(f"/api/ledger/profiles/{name}")
                assert_problem(answer, 404)
                assert answer.json()["detail"].startswith(detail)

    async def test_of_a_service_is_none(self, local: Gateway) -> None:
        local.store.run_sync(directory.register, EntitySpec(name="jira", kind=EntityKind.SERVICE))
        local.store.run_sync(mail.send, MailSpec(to="husam", payload={"text": "hello"}), sender="jira")
        async with local.open_client() as admin:
            view = await get(admin, "/api/ledger/profiles/jira")
            assert (view["profile"], view["published"]) == (None, False)


class TestConnections:
    async def test_are_asked_for_by_account_or_by_id(self, public: Gateway) -> None:
        async with public.open_client(x_secret_key=public.create_key("agent", "analyst")) as analyst:
            view = await post(analyst, "/api/ledger/connections", account="0.0.9009", note="Hello?")
            assert view == {
                "id": view["id"],
                "network": "testnet",
                "entity": "analyst",
                "peer": None,
                "peerAccountId": "0.0.9009",
                "peerInboundTopicId": None,
                "incoming": False,
                "state": "requested",
                "topicId": None,
                "note": "Hello?",
                "createdAt": view["createdAt"],
                "endedAt": None,
            }
            by_id = await post(analyst, "/api/ledger/connections", uaid=UAID)
            assert (by_id["peerAccountId"], by_id["peerInboundTopicId"]) == ("0.0.9001", "0.0.9002")
            own_id = UAID.replace("uid=0.0.9002@0.0.9001", "uid=0").replace("9001", "9003")
            without_topic = await post(analyst, "/api/ledger/connections", uaid=own_id)
            assert (without_topic["peerAccountId"], without_topic["peerInboundTopicId"]) == ("0.0.9003", None)
        assert public.store.read_sync(jobs.count_open, connections.CONNECTION_JOB) == 3

    @pytest.mark.parametrize(
        ("status", "fields", "detail"),
        [
            (422, {"note": "x"}, "give one of `account` and `uaid`"),
            (422, {"account": "0.0.9001", "uaid": UAID}, "give one of `account` and `uaid`"),
            (422, {"account": "analyst"}, "account: 'analyst' is not the id of a topic or an account"),
            (422, {"uaid": "0.0.9001"}, "uaid: '0.0.9001' is not the id of an agent"),
            (422, {"uaid": UAID.replace("testnet", "mainnet")}, "uaid: the agent is on 'mainnet', and the ledger is"),
            (422, {"uaid": "uaid:did:x;uid=0"}, "uaid: it names no account of Hedera"),
            (422, {"uaid": UAID.replace("@0.0.9001", "@0.0.9")}, "uaid: it names two accounts, 0.0.9001 and 0.0.9"),
            (422, {"account": "0.0.9001", "note": "two\nlines"}, "'two\\nlines' is not a note"),
            (403, {"account": "0.0.7001"}, "0.0.7001 is an account of this Gatepost"),
            (409, {"account": "0.0.9009"}, "there is a connection of 'analyst' with 0.0.9009 already"),
            (404, {"account": "0.0.9001", "sender": "nobody"}, "there is no entity 'nobody'"),
        ],
    )
    async def test_that_cannot_be_are_refused(
        self, public: Gateway, status: int, fields: dict[str, Any], detail: str
    ) -> None:
        public.store.run_sync(ledger_profiles.sync_entities, name="husam", account=LedgerId(0, 0, 7_001))
        public.store.run_sync(connections.connect, LedgerId(0, 0, 9_009), None, by="analyst")
        async with public.open_client() as admin:
            answer = await admin.post("/api/ledger/connections", json={"sender": "analyst", **fields})
            assert_problem(answer, status)
            assert answer.json()["detail"].startswith(detail)

    async def test_are_listed_to_their_owner_and_to_the_administrator(self, public: Gateway) -> None:
        asked = public.store.run_sync(receive_request, "analyst")
        public.store.run_sync(connections.connect, LedgerId(0, 0, 9_009), None, by="husam")
        async with (
            public.open_client() as admin,
            public.open_client(x_secret_key=public.create_key("agent", "analyst")) as analyst,
        ):

            async def list_entities(client: httpx2.AsyncClient, **query: Any) -> list[str]:
                return [item["entity"] for item in (await get(client, "/api/ledger/connections", **query))["items"]]

            assert await list_entities(admin) == ["analyst", "husam"]
            assert await list_entities(analyst) == ["analyst"]
            assert await list_entities(admin, incoming="true") == ["analyst"]
            assert await list_entities(admin, incoming="false") == ["husam"]
            assert await list_entities(admin, state="refused") == []
            await post(admin, f"/api/ledger/connections/{asked}/refuse")
            assert await list_entities(admin, state="refused") == ["analyst"]

    async def test_are_accepted_refused_and_closed(self, public: Gateway) -> None:
        first, second = (public.store.run_sync(receive_request, name) for name in ("analyst", "designer"))
        own = public.store.run_sync(connections.connect, LedgerId(0, 0, 9_009), None, by="husam").id
        async with public.open_client() as admin:

            async def change(id: str, verb: str) -> Any:
                return await post(admin, f"/api/ledger/connections/{id}/{verb}")

            assert (await change(first, "accept"))["state"] == "accepting"
            refused = await change(second, "refuse")
            assert (refused["state"], refused["endedAt"] is not None) == ("refused", True)
            assert (await change(own, "close"))["state"] == "closed"
            public.store.run_sync(connections.open_connection, first, LedgerId(0, 0, 7_009), memo="", display="Wolf")
            [view] = (await get(admin, "/api/ledger/connections", state="open"))["items"]
            assert (view["id"], view["peer"], view["topicId"]) == (first, "wolf-0.0.9001", "0.0.7009")
            assert (await change(first, "close"))["state"] == "closing"
            for id, verb, status in (
                (first, "accept", 409),
                (second, "accept", 409),
                (second, "refuse", 409),
                (second, "close", 409),
                (own, "accept", 403),
                (UNKNOWN, "accept", 404),
                (UNKNOWN, "close", 404),
                ("x", "refuse", 422),
            ):
                assert_problem(await admin.post(f"/api/ledger/connections/{id}/{verb}"), status)
        assert public.store.read_sync(jobs.count_open, connections.CONNECTION_JOB) == 3

    async def test_are_of_a_public_ledger_only(self, local: Gateway) -> None:
        async with local.open_client() as admin:
            for fields in ({"account": "0.0.9001"}, {"uaid": UAID}):
                answer = await admin.post("/api/ledger/connections", json=fields)
                assert_problem(answer, 403)
                assert answer.json()["detail"].startswith("only a public ledger has agents outside")
            assert await get(admin, "/api/ledger/connections") == {"items": [], "next": None}


async def test_messages_that_do_not_count_can_be_listed_alone(local: Gateway) -> None:
    local.store.run_sync(mail.send, MailSpec(to="husam", payload={"text": "hello"}), sender="analyst")
    topic = local.store.run_sync(append_foreign_message, "husam")
    async with local.open_client() as admin:
        path = f"/api/ledger/topics/{topic}/messages"
        messages = (await get(admin, path))["items"]
        assert [message["refused"] for message in messages] == [None, "0.0.9001 is a stranger"]
        assert (await get(admin, path, refused="true"))["items"] == messages[1:]
        assert (await get(admin, path, refused="true", after=2))["items"] == []


def fail_job(tx: Transaction, error: str) -> None:
    """Let a job of a sync fail, as a worker would."""
    [job, *_] = jobs.take(tx, [ledger_profiles.SYNC_JOB], "worker")
    jobs.fail(tx, job, "worker", error)


def receive_request(tx: Transaction, name: str) -> str:
    """Let an agent outside ask for a connection; return the id of the connection."""
    entity = directory.find(tx, name)
    id = LedgerId(0, 0, 7_100 + entity.number)
    topics.insert(tx, "testnet", id, TopicKind.INBOUND, "memo", entity=entity.number)
    assert connections.record_request(tx, ledger.find_topic(tx, str(id)), 1, PEER, "Let us talk") is None
    return connections.list_page(tx, state=None, viewer=name)[-1].id


def append_foreign_message(tx: Transaction, name: str) -> str:
    """Append a message that does not count to the inbound topic of an entity; return the topic."""
    [topic] = ledger.list_topics(tx, kind=TopicKind.INBOUND, viewer=name)
    sequence, timestamp, running_hash = topics.lock(tx, topic.number)
    message = TopicMessage(
        topic=topic.ledger_id,
        sequence=sequence + 1,
        timestamp=timestamp + 1,
        payer=PEER.account,
        content=b"{}",
        running_hash=b"",
    )
    message = replace(message, running_hash=compute_running_hash(message, running_hash))
    topics.append(tx, topic, [NewMessage(message, refused="0.0.9001 is a stranger")])
    return topic.id
