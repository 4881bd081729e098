"""The accounts of all inboxes and the topics of the ledger over HTTP: what was lost or changed in the store shows."""

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as claims
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.mail import mail_actions as mail
from gatepost.mail.sent_record import MailSpec
from gatepost.stores.statements import Sql
from gatepost.testing import Kit
from tests.gateway.test_requests import assert_problem
from tests.support.gateways.local_gateways import Gateway

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


def tamper(gateway: Gateway, sql: str) -> None:
    gateway.store.run_sync(lambda tx: tx.execute(Sql(sql)))


async def test_an_account_that_does_not_balance_comes_first(gateway: Gateway) -> None:
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
    ):
        for number in range(3):
            await admin.post("/api/inbox", json={"to": "analyst", "content": str(number)})
        await admin.post("/api/inbox", json={"to": "husam", "content": "x"})
        page = (await admin.get("/api/health/accounts")).json()
        total = page["total"]
        assert (total["accepted"], total["pending"], total["unbalanced"]) == (4, 4, 0)
        assert page["items"][0] | {"name": "analyst", "pending": 3, "balanced": True} == page["items"][0]
        assert (len(page["items"]), page["next"]) == (total["inboxes"], None)
        first = (await admin.get("/api/health/accounts?limit=1")).json()
        second = (await admin.get(f"/api/health/accounts?limit=1&after={first['next']}")).json()
        assert [first["items"][0]["name"], second["items"][0]["name"]] == ["analyst", "husam"]
        check = (await admin.get("/api/health/check")).json()
        assert (check["accepted"], check["unbalanced"], check["orphans"]) == (4, [], [])

        tamper(gateway, "DELETE FROM pending WHERE recipient = (SELECT number FROM entities WHERE name = 'husam')")
        page = (await admin.get("/api/health/accounts?unbalanced=true")).json()
        assert [(account["name"], account["accepted"], account["pending"]) for account in page["items"]] == [
            ("husam", 1, 0)
        ]
        assert page["total"]["unbalanced"] == 1
        check = (await admin.get("/api/health/check")).json()
        assert check["unbalanced"] == ["husam"]
        assert check["orphans"][0].startswith("events in no inbox: 1")
        for path in ("/api/health/accounts", "/api/health/check"):
            assert_problem(await analyst.get(path), 403)


def test_the_sums_are_those_of_all_accounts_whatever_is_listed(kit: Kit) -> None:
    accounts, total = kit.store.read_sync(account_actions.list_page, limit=10)
    assert (accounts, total.inboxes, total.accepted) == ([], 0, 0)
    for name in ("ana", "ben", "eva"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    kit.store.run_sync(push.push_all, [Push(to=name, source="test") for name in ("ben", "eva", "eva")])
    kit.store.run_sync(claims.claim, "eva", owner="test", limit=1)

    listed, total = kit.store.read_sync(account_actions.list_page, limit=2)
    _, total_of_none = kit.store.read_sync(account_actions.list_page, after=3, limit=2)
    unbalanced, total_of_unbalanced = kit.store.read_sync(account_actions.find_unbalanced)

    assert [(account.name, account.pending, account.claimed) for account in listed] == [("eva", 1, 1), ("ben", 1, 0)]
    assert (total.inboxes, total.accepted, total.pending, total.claimed, total.unbalanced) == (3, 3, 2, 1, 0)
    assert total == total_of_none == total_of_unbalanced
    assert unbalanced == []


async def test_a_message_that_was_changed_in_the_store_is_named(gateway: Gateway) -> None:
    for number in range(4):
        gateway.store.run_sync(mail.send, MailSpec(to="husam", payload={"text": str(number)}), sender="analyst")
    async with gateway.open_client() as admin:
        [topic] = [
            topic for topic in (await admin.get("/api/ledger/topics?kind=inbound")).json()["items"] if topic["messages"]
        ]
        path = f"/api/ledger/topics/{topic['id']}"
        proof = (await admin.get(f"{path}/verify")).json()
        assert (proof["messages"], proof["proved"], proof["firstFault"]) == (4, 4, None)
        tamper(gateway, "UPDATE topic_messages SET content = 'Pay 900' WHERE sequence = 2")
        proof = (await admin.get(f"{path}/verify")).json()
        assert (proof["proved"], proof["wrong"]) == (3, 1)
        assert proof["firstFault"] == {
            "topicId": topic["id"],
            "sequenceNumber": 2,
            "reason": "its running hash does not match",
        }
        assert (await admin.get(f"{path}/messages")).json()["items"][1]["text"] == "Pay 900"
        assert (await admin.get(f"{path}/verify?after=2")).json()["proved"] == 2
