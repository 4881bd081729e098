"""What the Hedera adapter reads from a mirror node, which may lag, repeat itself, refuse or answer nonsense."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from gatepost.errors import Unavailable
from gatepost.ledger.hedera import import_key
from gatepost.ledger.hedera.mirror import MirrorNode
from gatepost.ledger.public_ledger import (
    CreateAccount,
    CreateTopic,
    LedgerReceipt,
    LedgerTransaction,
    SubmitMessage,
    TransactionBody,
    TransactionExpired,
    TransactionId,
    TransactionRefused,
)
from gatepost.ledger.running_hash import Proof, verify
from gatepost.ledger.topic import NANOSECONDS, LedgerId
from gatepost.ledger.topic_json import format_timestamp
from tests.ledger.hedera.ledgers import MovingClock, Sender, open_ledger
from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.mirror import MirrorServer
from tests.ledger.hedera.network.node import HBAR, HederaNetwork
from tests.support.servers.private_servers import find_free_port
from tests.support.waits import LAST_RESORT

TOPIC = LedgerId(0, 0, 7)
PAYER = LedgerId(0, 0, 2)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
def network(clock: MovingClock) -> Iterator[HederaNetwork]:
    with HederaNetwork(clock) as network:
        yield network


@pytest.fixture
async def sender(network: HederaNetwork, clock: MovingClock, tmp_path: Path) -> AsyncIterator[Sender]:
    async with open_ledger(network, tmp_path, clock) as ledger:
        yield Sender(ledger, network, clock)


class ScriptedMirror:
    """A server that gives the answers set for a path, the last one again and again, and notes what it is asked for."""

    def __init__(self) -> None:
        #: status, content and headers, by the beginning of the path
        self._answers: dict[str, list[tuple[int, str, dict[str, str]]]] = {}
        self.paths: list[str] = []
        self.port = find_free_port()
        self.server = MirrorServer(self, self.port)

    def answer(self, path: str, content: Any, status: int = 200, *, is_next: bool = False, **headers: str) -> None:
        """With `is_next`, the answers that were set before come first."""
        text = content if isinstance(content, str) else json.dumps(content)
        earlier_answers = self._answers.get(path, []) if is_next else []
        self._answers[path] = [*earlier_answers, (status, text, headers)]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = Request(scope).url.path.removeprefix("/api/v1/")
        self.paths.append(path)
        matches = [answers for beginning, answers in self._answers.items() if path.startswith(beginning)]
        answers = matches[0] if matches else [(404, "{}", {})]
        status, text, headers = answers.pop(0) if len(answers) > 1 else answers[0]
        named_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        await Response(text, status, named_headers)(scope, receive, send)


@pytest.fixture
def scripted_mirror() -> Iterator[ScriptedMirror]:
    mirror = ScriptedMirror()
    yield mirror
    mirror.server.stop()


@pytest.fixture
async def mirror_node(scripted_mirror: ScriptedMirror, clock: MovingClock) -> AsyncIterator[MirrorNode]:
    url = f"http://127.0.0.1:{scripted_mirror.port}/api/v1/"
    node = MirrorNode(url, clock=clock, max_requests=2, timeout=LAST_RESORT)
    yield node
    await node.close()


async def test_all_messages_of_a_long_topic_are_read_page_by_page(sender: Sender) -> None:
    account, key = sender.network.create_account(100 * HBAR)
    topic = sender.network.create_topic()
    for number in range(1, 251):
        sender.network.submit_as(account, key, topic, str(number))
    id = LedgerId.parse(topic)
    messages = await sender.ledger.read_messages(id, after=0, limit=1_000)
    assert [message.content for message in messages] == [str(number).encode() for number in range(1, 251)]
    assert {verdict.proof for verdict in verify(messages)} == {Proof.PROVED}
    assert sender.network.requests["mirror:messages"] == 3

    assert [message.sequence for message in await sender.ledger.read_messages(id, after=248)] == [249, 250]
    assert len(await sender.ledger.read_messages(id, after=0)) == 100
    assert len(await sender.ledger.read_messages(id, after=0, limit=120)) == 120
    assert await sender.ledger.read_messages(id, after=250) == []


async def test_messages_that_come_twice_or_out_of_order_are_put_in_order(sender: Sender) -> None:
    account, key = sender.network.create_account()
    topic = sender.network.create_topic()
    for number in range(1, 11):
        sender.network.submit_as(account, key, topic, str(number))
    sender.network.mirror.repeat_pages(2)
    for after in (0, 5):
        messages = await sender.ledger.read_messages(LedgerId.parse(topic), after=after)
        assert [message.sequence for message in messages] == list(range(after + 1, 11))


@pytest.mark.parametrize(
    "fields",
    [{"running_hash": "not base64"}, {"sequence_number": None}, {"topic_id": "0.0.5"}, {"consensus_timestamp": "now"}],
)
async def test_reading_stops_before_a_message_that_cannot_be_read(sender: Sender, fields: dict[str, Any]) -> None:
    account, key = sender.network.create_account()
    topic = sender.network.create_topic()
    for number in range(1, 6):
        sender.network.submit_as(account, key, topic, str(number))
    sender.network.mirror.tamper(topic, 4, **fields)
    messages = await sender.ledger.read_messages(LedgerId.parse(topic), after=0)
    assert [message.sequence for message in messages] == [1, 2, 3]
    sender.network.mirror.show(topic, 4)
    assert len(await sender.ledger.read_messages(LedgerId.parse(topic), after=3)) == 2


async def test_topics_and_accounts_are_read_and_unknown_ones_are_none(sender: Sender) -> None:
    ledger = sender.ledger
    public_key = ledger.make_key("ada")
    account = await sender.create_account("ada", 3 * HBAR)
    info = await ledger.read_account(account)
    assert info is not None
    assert (info.id, info.memo, info.public_key, info.balance) == (account, "", public_key, 3 * HBAR)

    topic = await sender.create_topic(public_key)
    topic_info = await ledger.read_topic(topic)
    assert topic_info is not None
    assert (topic_info.memo, topic_info.has_submit_key, topic_info.has_admin_key) == ("a topic", True, False)
    foreign_topic = sender.network.create_topic(admin_key=str(SigningKey.generate()))
    foreign_info = await ledger.read_topic(LedgerId.parse(foreign_topic))
    assert foreign_info is not None
    assert (foreign_info.has_submit_key, foreign_info.has_admin_key) == (False, True)

    unknown = LedgerId(0, 0, 999_999)
    assert await ledger.read_topic(unknown) is None
    assert await ledger.read_account(unknown) is None
    assert await ledger.read_messages(unknown, after=0) == []


async def test_the_public_key_of_an_ecdsa_account_has_the_form_of_an_imported_key(
    sender: Sender, tmp_path: Path
) -> None:
    account, key = sender.network.create_account(kind="ecdsa")
    source = tmp_path / "key"
    source.touch(mode=0o600)
    source.write_text(key)
    info = await sender.ledger.read_account(LedgerId.parse(account))
    assert info is not None
    assert info.public_key == import_key(tmp_path / "keys", "bob", source)
    assert sender.ledger.make_key("bob") == info.public_key


async def test_a_limit_of_requests_says_when_to_ask_again(sender: Sender) -> None:
    sender.network.mirror.limit(1, retry_after=17)
    with pytest.raises(Unavailable, match="has a limit of requests") as failure:
        await sender.ledger.read_topic(TOPIC)
    assert failure.value.retry_after == 17
    assert await sender.ledger.read_topic(TOPIC) is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
        ("0", 0),
        ("-5", 0),
        ("1000000000000", 3_600),
        ("soon", None),
        ("", None),
    ],
)
async def test_the_time_to_ask_again_may_be_a_date(
    header: str, seconds: float | None, scripted_mirror: ScriptedMirror, mirror_node: MirrorNode, clock: MovingClock
) -> None:
    clock.now = 1_700_000_000 * NANOSECONDS
    scripted_mirror.answer("topics", {}, 429, retry_after=header)
    with pytest.raises(Unavailable) as failure:
        await mirror_node.read_topic(TOPIC)
    assert failure.value.retry_after == seconds


async def test_a_mirror_that_fails_or_is_down_is_unavailable(sender: Sender) -> None:
    sender.network.mirror.fail(1)
    with pytest.raises(Unavailable, match="the status 503"):
        await sender.ledger.read_messages(TOPIC, after=0)
    sender.network.mirror.fail(1, broken_json=True)
    with pytest.raises(Unavailable, match="cannot be read"):
        await sender.ledger.read_messages(TOPIC, after=0)
    sender.network.mirror.stop()
    with pytest.raises(Unavailable, match="the mirror node cannot be reached"):
        await sender.ledger.read_account(TOPIC)
    sender.network.mirror.start()
    assert await sender.ledger.read_account(TOPIC) is None


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("", 200),
        ("null", 200),
        ("[]", 200),
        ('{"messages": {}}', 200),
        ('{"messages": ' + "[" * 100_000, 200),
        ("\ud800".encode("utf-16", "surrogatepass").decode("latin-1"), 200),
        ('{"messages": []}' + " " * 3_000_000, 200),
        ("{}", 302),
        ("{}", 400),
        ("{}", 500),
    ],
    ids=["empty", "null", "list", "type", "deep", "encoding", "long", "redirect", "wrong", "failed"],
)
async def test_an_answer_that_is_not_as_documented_is_unavailable(
    content: str, status: int, scripted_mirror: ScriptedMirror, mirror_node: MirrorNode
) -> None:
    scripted_mirror.answer("topics", content, status, location="/elsewhere")
    with pytest.raises(Unavailable, match="the mirror node"):
        await mirror_node.read_messages(TOPIC, after=0, limit=100)
    assert len(scripted_mirror.paths) == 1


async def test_entries_that_are_no_messages_are_left_out(
    scripted_mirror: ScriptedMirror, mirror_node: MirrorNode
) -> None:
    scripted_mirror.answer("topics", {"messages": [5, None, {}]})
    assert await mirror_node.read_messages(TOPIC, after=0, limit=100) == []


async def test_pages_that_were_read_are_returned_if_the_next_one_fails(
    scripted_mirror: ScriptedMirror, mirror_node: MirrorNode
) -> None:
    messages = [
        {
            "topic_id": str(TOPIC),
            "sequence_number": sequence,
            "consensus_timestamp": f"1700000000.{sequence:09}",
            "payer_account_id": "0.0.2",
            "message": "aGVsbG8=",
            "running_hash": b64encode(bytes(48)).decode(),
            "running_hash_version": 3,
            "chunk_info": None,
        }
        for sequence in range(1, 101)
    ]
    scripted_mirror.answer("topics", {"messages": messages})
    scripted_mirror.answer("topics", {}, 503, is_next=True)
    assert len(await mirror_node.read_messages(TOPIC, after=0, limit=150)) == 100
    with pytest.raises(Unavailable):
        await mirror_node.read_messages(TOPIC, after=100, limit=150)


def build_entry(result: str, *, entity: str | None = None, nonce: int = 0, scheduled: bool = False) -> dict[str, Any]:
    return {
        "result": result,
        "entity_id": entity,
        "nonce": nonce,
        "scheduled": scheduled,
        "consensus_timestamp": "1700000001.000000002",
        "name": "CONSENSUSSUBMITMESSAGE",
    }


def build_transaction(body: TransactionBody, valid_start: int = 1_700_000_000_000_000_001) -> LedgerTransaction:
    return LedgerTransaction(id=TransactionId(PAYER, valid_start), body=body, signers=(None,))


async def test_the_entry_that_counts_is_found_among_duplicates_and_consequences(
    scripted_mirror: ScriptedMirror, mirror_node: MirrorNode
) -> None:
    entries = [
        build_entry("DUPLICATE_TRANSACTION"),
        build_entry("SUCCESS", entity="0.0.5", nonce=1),
        build_entry("SUCCESS", entity="0.0.6", scheduled=True),
        build_entry("SUCCESS", entity="0.0.9"),
    ]
    scripted_mirror.answer("transactions/0.0.2-1700000000-000000001", {"transactions": entries})
    create = CreateAccount(public_key="", balance=0)
    outcome = await mirror_node.find_outcome(build_transaction(create))
    assert outcome is not None
    assert outcome.account == LedgerId(0, 0, 9)

    scripted_mirror.answer("transactions/0.0.2-1700000000-000000001", {"transactions": entries[:3]})
    with pytest.raises(Unavailable, match="a duplicate of it"):
        await mirror_node.find_outcome(build_transaction(create))
    scripted_mirror.answer("transactions/0.0.2-1700000000-000000001", {"transactions": entries[1:3]})
    assert await mirror_node.find_outcome(build_transaction(create)) is None


async def test_the_number_of_a_message_must_be_known_and_of_its_topic(
    scripted_mirror: ScriptedMirror, mirror_node: MirrorNode
) -> None:
    transaction = build_transaction(SubmitMessage(topic=TOPIC, content=b"x"))
    scripted_mirror.answer("transactions", {"transactions": [build_entry("SUCCESS", entity=str(TOPIC))]})
    with pytest.raises(Unavailable, match="does not yet have the message"):
        await mirror_node.find_outcome(transaction)
    path = "topics/messages/1700000001.000000002"
    scripted_mirror.answer(path, {"topic_id": "0.0.8", "sequence_number": 4})
    with pytest.raises(Unavailable, match="does not yet have the message"):
        await mirror_node.find_outcome(transaction)
    scripted_mirror.answer(path, {"topic_id": str(TOPIC), "sequence_number": 4})
    outcome = await mirror_node.find_outcome(transaction)
    assert outcome is not None
    assert outcome.sequence == 4


async def test_the_mirror_is_asked_how_far_it_has_got_before_it_is_asked_for_a_transaction(
    scripted_mirror: ScriptedMirror, network: HederaNetwork, clock: MovingClock, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{scripted_mirror.port}"
    async with open_ledger(network, tmp_path, clock, mirror=url) as ledger:
        transaction = build_transaction(CreateTopic(memo=""), clock() - 200 * NANOSECONDS)
        end = transaction.id.valid_start + 120 * NANOSECONDS
        for seconds, error in ((-1, Unavailable), (4, Unavailable), (6, TransactionExpired)):
            times = {"from": "1.000000000", "to": format_timestamp(end + seconds * NANOSECONDS)}
            scripted_mirror.answer("blocks", {"blocks": [{"timestamp": times}]})
            with pytest.raises(error):
                await ledger.execute(transaction)
        assert [path.partition("/")[0] for path in scripted_mirror.paths] == ["blocks", "transactions"] * 3

        scripted_mirror.answer("transactions", {"transactions": [build_entry("SUCCESS", entity="0.0.9")]})
        assert await ledger.execute(transaction) == LedgerReceipt(topic=LedgerId(0, 0, 9))
        scripted_mirror.answer("transactions", {"transactions": [build_entry("SUCCESS")]})
        with pytest.raises(Unavailable, match="does not say what it made"):
            await ledger.execute(transaction)
        scripted_mirror.answer("transactions", {"transactions": [build_entry("TRANSACTION_EXPIRED")]})
        with pytest.raises(TransactionExpired):
            await ledger.execute(transaction)
        scripted_mirror.answer("transactions", {"transactions": [build_entry("THROTTLED_AT_CONSENSUS")]})
        with pytest.raises(TransactionRefused) as refusal:
            await ledger.execute(transaction)
        assert refusal.value.code == "THROTTLED_AT_CONSENSUS"
        scripted_mirror.answer("blocks", {"blocks": []})
        with pytest.raises(Unavailable, match="has no blocks"):
            await ledger.execute(transaction)
