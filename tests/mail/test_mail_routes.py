"""Mail over HTTP: sending it, reading it, answering it, and hearing of it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions
from gatepost.inbox.event import Ref
from gatepost.mail import mail_actions as mail, read_receipt_actions as read_receipts
from gatepost.mail.sent_record import MESSAGE_TYPES, MailSpec
from gatepost.spaces import actions as spaces
from gatepost.testing import FakeClock
from tests.faults.conftest import NIGHTLY
from tests.gateway.test_requests import assert_problem
from tests.mail.mail_setup import MailSetup, open_mail_setup
from tests.support.gateways.local_gateways import create_entities, open_gateway

#: the databases are the same to it: what differs is tested with the actions
POSTGRES_BY_NIGHT = True


@pytest.fixture
async def setup(url: str) -> AsyncIterator[MailSetup]:
    async with open_mail_setup(url) as setup:
        yield setup


class TestSending:
    async def test_all_fields_go_and_come_back(self, setup: MailSetup) -> None:
        fields: dict[str, Any] = {
            "to": "husam",
            "subject": "Blocked on schema",
            "text": "Which one?",
            "payload": {"options": ["a", "b"]},
            "messageType": "task.blocked",
            "context": ["any", {"json": None}],
            "ref": {"type": "task", "id": "0.0.123"},
            "priority": "high",
            "ack": "required",
            "ackWithin": "2h",
        }
        sent = await setup.send(**fields)
        assert {
            name: sent[name] for name in ("to", "subject", "text", "messageType", "context", "ref", "priority")
        } == {
            "to": "husam",
            "subject": "Blocked on schema",
            "text": "Which one?",
            "messageType": "task.blocked",
            "context": ["any", {"json": None}],
            "ref": {"type": "task", "id": "0.0.123"},
            "priority": 1,
        }
        assert (sent["sender"], sent["threadId"], sent["replyTo"], sent["postedAt"]) == (
            "analyst",
            sent["id"],
            None,
            "2026-02-18T09:00:00Z",
        )
        assert (sent["ack"], sent["createdAt"], sent["ackDeadline"]) == (
            "pending",
            "2026-02-18T09:00:00Z",
            "2026-02-18T11:00:00Z",
        )
        assert sent["recipients"] == [{"name": "husam", "state": "pending", "seenAt": None, "endedAt": None}]
        assert await setup.show(sent["id"]) == sent
        [item] = await setup.list_inbox("husam")
        assert (item["eventId"], item["type"], item["sender"]) == (sent["eventId"], "mail", "analyst")
        assert item["data"]["payload"] == {"options": ["a", "b"], "text": "Which one?"}

    async def test_a_payload_may_be_a_text(self, setup: MailSetup) -> None:
        sent = await setup.send(text=None, payload="as text")
        assert (sent["text"], sent["payload"]) == ("as text", {"text": "as text"})
        answer = await setup.send(text="one", payload={"text": "two"}, status=422)
        assert answer["detail"] == "the payload has a text of its own"

    async def test_to_a_name_an_alias_a_team_everybody_and_a_person(self, setup: MailSetup) -> None:
        setup.gateway.store.run_sync(directory.update, "developer", aliases=["bead-7"])
        for to, names in (
            ("developer", ["developer"]),
            ("bead-7", ["developer"]),
            ("husam", ["husam"]),
            ("team:red", ["designer", "tester"]),
            ("ALL", []),
            ("*", []),
        ):
            sent = await setup.send(to=to)
            assert [recipient["name"] for recipient in sent["recipients"]] == names
        assert len(await setup.list_inbox("developer")) == 4
        assert len(await setup.list_inbox("husam")) == 1
        assert await setup.list_inbox("analyst") == []

    @pytest.mark.parametrize("message_type", MESSAGE_TYPES)
    async def test_every_type_of_the_list(self, setup: MailSetup, message_type: str) -> None:
        assert (await setup.send(messageType=message_type))["messageType"] == message_type

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"subject": "x" * 1_001}, 413),
            ({"text": "x" * 262_145}, 413),
            ({"text": "é" * 131_073}, 413),
            ({"payload": {"n": "x" * 262_145}, "text": None}, 413),
            ({"payload": {"n": "x" * 1_048_000, "m": "x" * 1_000}}, 413),
            ({"context": "x" * 1_048_576}, 413),
            ({"messageType": "x" * 65}, 413),
            ({"ref": {"type": "task", "id": "x" * 1_000}}, 413),
            ({"text": ""}, 422),
            ({"text": None}, 422),
            ({"text": "\u0000"}, 422),
            ({"payload": [1]}, 422),
            ({"messageType": "No type"}, 422),
            ({"ackWithin": "soon", "ack": "required"}, 422),
            ({"ackWithin": "1h"}, 422),
            ({"ackWithin": "0s", "ack": "required"}, 422),
            ({"ack": "perhaps"}, 422),
            ({"to": "ALL", "ack": "required"}, 422),
            ({"to": ""}, 422),
            ({"to": None}, 422),
            ({"to": "analyst"}, 403),
            ({"to": "nobody"}, 404),
            ({"to": "team:nobody"}, 404),
            ({"sender": "husam"}, 403),
            ({"replyTo": "evt_" + "0" * 32}, 404),
            ({"replyTo": "nonsense"}, 422),
            ({"unknown": 1}, 422),
        ],
    )
    async def test_what_is_refused_changes_nothing(self, setup: MailSetup, fields: dict[str, Any], status: int) -> None:
        before = await setup.count_rows()
        answer = await setup.clients["analyst"].post("/api/mail", json={"to": "designer", "text": "x"} | fields)
        assert_problem(answer, status)
        assert await setup.count_rows() == before
        assert setup.gateway.store.read_sync(account_actions.find_unbalanced)[0] == []

    async def test_an_unknown_name_gets_the_nearest(self, setup: MailSetup) -> None:
        answer = await setup.send(to="desinger", status=404)
        assert answer["detail"] == "there is no entity 'desinger'"
        assert answer["hint"] == "did you mean 'designer'?"
        answer = await setup.send(to="red", status=404)
        assert answer["hint"] == "did you mean the team, 'team:red'?"

    async def test_only_names_that_the_caller_may_see_are_suggested(self, setup: MailSetup) -> None:
        """An agent's key may list the entities; a name that it cannot list there is not suggested either."""
        setup.gateway.store.run_sync(directory.register, EntitySpec(name="quinn", kind=EntityKind.AGENT))
        setup.gateway.store.run_sync(directory.retire, "quinn")
        listed = await setup.call("analyst", "GET", "/entities", 200)
        visible_names = {entity["name"] for entity in listed["items"]}
        for misspelt in ("quin", "desinger", "husan", "admim", "analist"):
            answer = await setup.send(to=misspelt, status=404)
            hint = answer["hint"]
            assert "quinn" not in hint
            suggested_names = set(hint.split("'")[1::2]) if "did you mean" in hint else set()
            assert suggested_names <= visible_names


class TestKeys:
    async def test_a_repeat_with_the_same_key_sends_once(self, setup: MailSetup) -> None:
        body = {"to": "designer", "text": "tea?"}
        headers = {"Idempotency-Key": "k-1"}
        first = await setup.call("analyst", "POST", "/mail", 201, json=body, headers=headers)
        assert await setup.call("analyst", "POST", "/mail", 201, json=body, headers=headers) == first
        await setup.drain("designer")
        assert await setup.call("analyst", "POST", "/mail", 201, json=body, headers=headers) == first
        other = body | {"text": "coffee?"}
        await setup.call("analyst", "POST", "/mail", 422, json=other, headers=headers)
        husams = await setup.call("husam", "POST", "/mail", 201, json=body, headers=headers)
        assert husams["id"] != first["id"]
        assert (await setup.count_rows())["outgoing"] == 2

    async def test_repeats_at_once_send_once(self, setup: MailSetup) -> None:
        body = {"to": "team:red", "text": "tea?"}
        answers = await asyncio.gather(
            *(setup.clients["analyst"].post("/api/mail", json=body, headers={"Idempotency-Key": "k"}) for _ in range(8))
        )
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
        assert (await setup.count_rows())["outgoing"] == 1


class TestReading:
    async def test_states_from_sending_to_long_after(self, setup: MailSetup) -> None:
        sent = await setup.send(to="team:red")
        assert sent["states"] == {"pending": 2}
        await setup.drain("designer")
        assert (await setup.show(sent["id"]))["states"] == {"pending": 1, "delivered": 1}
        await setup.call("admin", "POST", f"/events/{sent['eventId']}/discard", 200, json={"name": "tester"})
        shown = await setup.show(sent["id"])
        assert [(entry["name"], entry["state"]) for entry in shown["recipients"]] == [
            ("designer", "delivered"),
            ("tester", "discarded"),
        ]
        await setup.reap()
        assert (await setup.count_rows())["events"] == 0
        later = await setup.show(sent["id"])
        assert (later["states"], later["recipients"]) == (shown["states"], shown["recipients"])
        [listed] = (await setup.list_mail())["items"]
        assert listed == later

    async def test_a_broadcast(self, setup: MailSetup) -> None:
        sent = await setup.send(to="ALL")
        assert (sent["to"], sent["recipients"], sent["states"]) == ("ALL", [], {})
        for name in ("designer", "tester"):
            await setup.drain(name)
        assert (await setup.show(sent["id"]))["states"] == {"delivered": 2}
        await setup.reap()
        shown = await setup.show(sent["id"])
        assert [(entry["name"], entry["state"]) for entry in shown["recipients"]] == [
            ("designer", "delivered"),
            ("tester", "delivered"),
        ]

    async def test_a_person(self, setup: MailSetup) -> None:
        sent = await setup.send(to="husam", ack="required")
        await setup.call("husam", "POST", f"/events/{sent['eventId']}/done", 200, json={})
        shown = await setup.show(sent["id"])
        assert (shown["states"], shown["ack"]) == ({"delivered": 1}, "read")
        assert await setup.list_notices() == ["your mail to husam was read by husam"]

    async def test_only_the_sender_and_the_administrator_see_it(self, setup: MailSetup) -> None:
        sent = await setup.send()
        assert await setup.show(sent["id"], "admin") == sent
        for caller in ("designer", "husam"):
            answer = await setup.call(caller, "GET", f"/mail/{sent['id']}", 404)
            unknown_id = "mail_" + "0" * 32
            unknown = await setup.call(caller, "GET", f"/mail/{unknown_id}", 404)
            assert answer["detail"].replace(sent["id"], "ID") == unknown["detail"].replace(unknown_id, "ID")
        assert (await setup.list_mail("husam"))["items"] == []

    async def test_pages_are_newest_first(self, setup: MailSetup) -> None:
        ids = [(await setup.send(text=str(number)))["id"] for number in range(7)][::-1]
        await setup.send("husam")
        for limit in (1, 2, 3, 7, 8):
            walked: list[str] = []
            query: dict[str, Any] = {"limit": limit}
            while True:
                page = await setup.list_mail(**query)
                walked += [entry["id"] for entry in page["items"]]
                if page["next"] is None:
                    break
                query["after"] = page["next"]
            assert walked == ids


class TestThreads:
    async def test_a_thread_of_replies(self, setup: MailSetup) -> None:
        first = await setup.send(subject="Schema", ref={"type": "task", "id": "7"})
        body = {"replyTo": first["eventId"], "text": "The second"}
        answer = await setup.call("designer", "POST", "/mail", 201, json=body)
        assert (answer["to"], answer["subject"], answer["ref"], answer["threadId"]) == (
            "analyst",
            "Schema",
            {"type": "task", "id": "7"},
            first["id"],
        )
        reply = await setup.call(
            "analyst", "POST", f"/events/{answer['eventId']}/reply", 201, json={"text": "Thank you"}
        )
        assert reply["kind"] == "mail"
        ids = [reply["id"], answer["id"], first["id"]]
        for caller in ("analyst", "designer", "admin"):
            page = await setup.list_mail(caller, box="thread", thread=first["id"])
            assert [entry["id"] for entry in page["items"]] == ids
            by_ref = await setup.list_mail(caller, box="thread", ref="task:7")
            assert by_ref == page
        assert (await setup.list_mail("husam", box="thread", thread=first["id"]))["items"] == []
        page = await setup.list_mail("designer", box="thread", thread=first["id"])
        assert [entry["states"] for entry in page["items"]] == [{}, {"pending": 1}, {}]
        await setup.call("analyst", "GET", "/mail", 422, params={"box": "thread"})

    async def test_the_administrator_reads_the_threads_of_others_as_they_do(self, setup: MailSetup) -> None:
        first = await setup.send(to="husam")
        as_designer = await setup.list_mail("admin", box="thread", thread=first["id"], sender="designer")
        as_husam = await setup.list_mail("admin", box="thread", thread=first["id"], sender="husam")
        assert (len(as_designer["items"]), len(as_husam["items"])) == (0, 1)
        assert as_husam["items"][0]["recipients"] == []

    async def test_a_reply_to_what_is_not_there_or_not_ones_own(self, setup: MailSetup) -> None:
        sent = await setup.send(to="husam")
        for event in (sent["eventId"], "evt_" + "0" * 32):
            answer = await setup.call("designer", "POST", f"/events/{event}/reply", 404, json={"text": "x"})
            assert answer["detail"] == f"there is no event {event!r} for 'designer'"
        await setup.call("husam", "POST", f"/events/{sent['eventId']}/reply", 422, json={"text": " "})
        await setup.call("husam", "POST", f"/events/{sent['eventId']}/reply", 413, json={"text": "x" * 262_145})

    async def test_a_reply_in_a_space(self, setup: MailSetup) -> None:
        for name in ("designer", "developer"):
            setup.gateway.store.run_sync(spaces.join, "q4-report", name)
        await setup.call("husam", "POST", "/spaces/q4-report/messages", 201, json={"content": "Ready?"})
        [item] = await setup.list_inbox("designer")
        reply = await setup.call("designer", "POST", f"/events/{item['eventId']}/reply", 201, json={"text": "Yes"})
        assert reply["kind"] == "message"
        page = await setup.call("husam", "GET", "/spaces/q4-report/messages", 200)
        assert [message["content"] for message in page["items"]] == ["Ready?", "Yes"]


class TestAcknowledgements:
    async def test_read_in_time(self, setup: MailSetup) -> None:
        sent = await setup.send(to="team:red", subject="Tea", ack="required", ackWithin="1h")
        await setup.drain("designer")
        assert await setup.list_notices() == []
        await setup.drain("tester")
        assert await setup.list_notices() == ["your mail 'Tea' to team:red was read by designer, tester"]
        assert (await setup.show(sent["id"]))["ack"] == "read"

    async def test_read_too_late(self, setup: MailSetup) -> None:
        sent = await setup.send(ack="required", ackWithin="90m")
        setup.clock.advance("89 minutes")
        assert await setup.gateway.store.run(read_receipts.report_overdue) == 0
        setup.clock.advance("1 minute")
        assert await setup.gateway.store.run(read_receipts.report_overdue) == 1
        assert (await setup.show(sent["id"]))["ack"] == "overdue"
        await setup.drain("designer")
        assert await setup.list_notices() == [
            "your mail to designer was not read by designer within 90m",
            "your mail to designer was read by designer",
        ]
        assert (await setup.show(sent["id"]))["ack"] == "read"


#: several pages
MAIL_COUNT: Final = 3_000 if NIGHTLY else 500


async def test_many_mails_are_paged_and_counted(tmp_path: Path) -> None:
    """Each page is as short a walk as the first: what it reads is found by indexes (`test_statements.py`)."""
    async with open_gateway(f"sqlite:///{tmp_path}/office.db", clock=FakeClock()) as gateway:
        create_entities(gateway.store)

        def send_many(tx: Transaction) -> None:
            for number in range(MAIL_COUNT):
                text, sender = str(number), "analyst" if number % 3 else "designer"
                spec = MailSpec(to="developer", payload=text, ref=Ref("task", str(number % 7)))
                mail.send(tx, spec, sender=sender)

        await gateway.store.run(send_many)
        async with gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst:
            texts: list[int] = []
            query: dict[str, Any] = {"limit": 100}
            while query["limit"]:
                page = (await analyst.get("/api/mail", params=query)).json()
                texts += [int(entry["text"]) for entry in page["items"]]
                query = {"limit": 100, "after": page["next"]} if page["next"] else {"limit": 0}
            about = (await analyst.get("/api/mail", params={"box": "thread", "ref": "task:3", "limit": 1000})).json()
        assert texts == [number for number in reversed(range(MAIL_COUNT)) if number % 3]
        assert [int(entry["text"]) for entry in about["items"]] == [
            number for number in reversed(range(MAIL_COUNT)) if number % 3 and number % 7 == 3
        ]
        assert gateway.store.read_sync(account_actions.find_unbalanced)[0] == []
