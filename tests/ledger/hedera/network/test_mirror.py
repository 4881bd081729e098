"""The mirror node of the local network: its answers, its pages, and its faults."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gatepost.ledger.running_hash import Proof, verify
from gatepost.ledger.topic import TopicMessage
from gatepost.ledger.topic_json import parse_message
from tests.ledger.hedera.network.fake import FAKE
from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.node import HBAR, HederaNetwork
from tests.ledger.hedera.network.prechecks import FEES
from tests.ledger.hedera.network.state import SECOND, Refusal, format_timestamp

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/ledger/hedera/network/test_mirror.py")

SAMPLES = Path(__file__).parents[5] / "shared/samples/mirror-node"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

NOT_FOUND = {"_status": {"messages": [{"message": "Not found"}]}}
NEWEST_BLOCK = "/blocks?limit=1&order=desc"


class Reader:
    """A network whose clock stands still, somebody who posts, and a client of the mirror."""

    def __init__(self, network: HederaNetwork, http: httpx2.Client) -> None:
        self.network = network
        self.http = http
        self.account, self.key = network.create_account()
        self.topic = network.create_topic("hcs-10:0:60:0:0.0.7")

    def post(self, *contents: str) -> None:
        for content in contents:
            self.network.submit_as(self.account, self.key, self.topic, content)

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.http.get(f"/api/v1{path}")
        assert answer.status_code == status, answer.text
        return answer.json()

    def list_messages(self, *, after: int = 0, limit: int = 100) -> list[TopicMessage]:
        path = f"/topics/{self.topic}/messages?sequencenumber=gt:{after}&order=asc&limit={limit}"
        return [parse_message(row) for row in self.get(path)["messages"]]

    def list_sequences(self, *, after: int = 0, limit: int = 100) -> list[int]:
        return [message.sequence for message in self.list_messages(after=after, limit=limit)]

    def read_newest_time(self) -> str:
        [block] = self.get(NEWEST_BLOCK)["blocks"]
        return str(block["timestamp"]["to"])

    def read_balance(self) -> int:
        return int(self.get(f"/accounts/{self.account}?transactions=false")["balance"]["balance"])


@pytest.fixture
def reader() -> Iterator[Reader]:
    now = time.time_ns()
    with HederaNetwork(lambda: now) as network, httpx2.Client(base_url=network.mirror_url) as http:
        yield Reader(network, http)


def test_a_long_message_is_read_back_in_chunks_that_are_proved(reader: Reader) -> None:
    content = "".join(f"{number:05}" for number in range(600))
    reader.post("before", content)
    messages = reader.list_messages()
    assert [verdict.proof for verdict in verify(messages)] == [Proof.PROVED] * 4
    assert b"".join(message.content for message in messages[1:]).decode() == content
    assert messages[0].chunk is None
    chunks = [message.chunk for message in messages[1:]]
    assert [chunk and (chunk.number, chunk.total) for chunk in chunks] == [(1, 3), (2, 3), (3, 3)]
    assert {chunk and chunk.transaction for chunk in chunks} == {reader.network.transactions[1].id}


@needs_samples
def test_messages_have_the_fields_of_real_ones(reader: Reader) -> None:
    [*_, real] = json.loads((SAMPLES / "testnet-docs-tutorial-0.0.4603900.json").read_text())["messages"]
    reader.post("hello")
    [row] = reader.get(f"/topics/{reader.topic}/messages?sequencenumber=gt:0&order=asc&limit=1")["messages"]
    names = {name for name in real if not name.startswith("_")}
    assert names <= set(row)
    assert {name: type(row[name]) for name in names} == {name: type(real[name]) for name in names}


def test_messages_are_listed_after_one(reader: Reader) -> None:
    reader.post(*"abcdefg")
    assert reader.list_sequences() == list(range(1, 8))
    assert reader.list_sequences(after=5) == [6, 7]
    assert reader.list_sequences(after=2, limit=3) == [3, 4, 5]
    assert reader.list_sequences(after=7) == []
    third = reader.network.messages(reader.topic)[2]
    assert reader.get(f"/topics/messages/{format_timestamp(third.timestamp)}")["sequence_number"] == 3
    reader.topic = "0.0.999999"
    assert reader.list_sequences() == []


def test_a_page_has_at_most_100_messages(reader: Reader) -> None:
    reader.post(*"x" * 101)
    assert reader.list_sequences(limit=1_000) == list(range(1, 101))


def test_what_nobody_asks_for_is_refused(reader: Reader) -> None:
    messages = f"/topics/{reader.topic}/messages"
    for query, name in [
        ("sequencenumber=gt:0&order=asc&limit=0", "limit"),
        ("sequencenumber=gt:0&order=asc&limit=x", "limit"),
        ("sequencenumber=gt:0&order=desc&limit=1", "order"),
        ("sequencenumber=lt:4&order=asc&limit=1", "sequencenumber"),
        ("sequencenumber=gt:0&order=asc&limit=1&timestamp=gt:1", "timestamp"),
        ("sequencenumber=gt:0&order=asc&limit=1&encoding=utf-8", "encoding"),
    ]:
        [message] = reader.get(f"{messages}?{query}", 400)["_status"]["messages"]
        assert message["message"].endswith(f"parameter: {name}"), query
    for path in (messages, f"/accounts/{reader.account}", "/blocks", f"{messages}?order=asc&order=asc&limit=1"):
        assert reader.get(path, 400)["_status"]
    for path in ("/transactions", "/network/fees", f"{messages}/1"):
        assert reader.get(path, 404) == NOT_FOUND


def test_topics_and_accounts_show_their_memos_and_keys(reader: Reader) -> None:
    account, key = reader.network.create_account(3 * HBAR, kind="ecdsa")
    topic = reader.network.create_topic("memo", submit_key=reader.key, admin_key=key)
    row = reader.get(f"/topics/{topic}")
    assert (row["topic_id"], row["memo"]) == (topic, "memo")
    assert row["submit_key"] == {"_type": "ED25519", "key": SigningKey.parse(reader.key).public_bytes.hex()}
    assert row["admin_key"] == {"_type": "ECDSA_SECP256K1", "key": SigningKey.parse(key).public_bytes.hex()}
    row = reader.get(f"/accounts/{account}?transactions=false")
    assert (row["account"], row["memo"], row["balance"]["balance"]) == (account, "", 3 * HBAR)
    assert row["key"] == {"_type": "ECDSA_SECP256K1", "key": SigningKey.parse(key).public_bytes.hex()}
    open_topic = reader.get(f"/topics/{reader.topic}")
    assert (open_topic["submit_key"], open_topic["admin_key"]) == (None, None)
    assert reader.get("/topics/0.0.999999", 404) == NOT_FOUND
    assert reader.get("/accounts/0.0.999999?transactions=false", 404) == NOT_FOUND


def test_transactions_show_what_came_of_them(reader: Reader) -> None:
    closed = reader.network.create_topic(submit_key=str(SigningKey.generate()))
    with pytest.raises(Refusal):
        reader.network.submit_as(reader.account, reader.key, closed, "hello")
    [transaction] = reader.network.transactions
    payer, _, start = transaction.id.partition("@")
    path = f"{payer}-{start.replace('.', '-')}"
    [row] = reader.get(f"/transactions/{path}")["transactions"]
    assert row["transaction_id"] == path
    assert (row["result"], row["name"], row["entity_id"]) == ("INVALID_SIGNATURE", "CONSENSUSSUBMITMESSAGE", closed)
    assert (row["valid_start_timestamp"], row["charged_tx_fee"]) == (start, FEES["consensusSubmitMessage"])
    assert row["consensus_timestamp"] == format_timestamp(transaction.timestamp)
    assert reader.get(f"/transactions/{payer}-1700000000-000000001", 404) == NOT_FOUND
    assert reader.get("/transactions/x", 400)["_status"]


def test_the_network_goes_on_without_transactions() -> None:
    times = [1_700_000_000 * SECOND]
    with HederaNetwork(lambda: times[0]) as network, httpx2.Client(base_url=f"{network.mirror_url}/api/v1") as http:
        for _ in range(2):
            times[0] += 3 * SECOND
            [block] = http.get(NEWEST_BLOCK).json()["blocks"]
            assert block["timestamp"]["to"] == format_timestamp(times[0])
        assert network.requests["mirror:blocks"] == 2


def test_a_mirror_that_lags_shows_nothing_new(reader: Reader) -> None:
    reader.post("a")
    reader.network.mirror.hold()
    newest, balance = reader.read_newest_time(), reader.read_balance()
    reader.post("b")
    created = reader.network.create_topic("new")
    payer, _, start = reader.network.transactions[-1].id.partition("@")
    path = f"/transactions/{payer}-{start.replace('.', '-')}"
    assert reader.list_sequences() == [1]
    assert reader.get(path, 404) == NOT_FOUND
    assert reader.get(f"/topics/{created}", 404) == NOT_FOUND
    assert (reader.read_newest_time(), reader.read_balance()) == (newest, balance)
    reader.network.mirror.release()
    assert reader.list_sequences() == [1, 2]
    assert reader.get(path)["transactions"][0]["result"] == "SUCCESS"
    assert reader.get(f"/topics/{created}")["memo"] == "new"
    assert reader.read_balance() < balance


def test_a_mirror_repeats_itself_and_still_shows_everything(reader: Reader) -> None:
    reader.post(*"abcdefgh")
    reader.network.mirror.repeat_pages(1)
    sequences = reader.list_sequences(after=5)
    assert set(sequences) == {3, 4, 5, 6, 7, 8}
    assert len(sequences) == 7
    assert sequences != sorted(sequences)
    assert reader.list_sequences(after=5) == [6, 7, 8]


def test_a_mirror_refuses_and_fails_as_often_as_it_should(reader: Reader) -> None:
    reader.network.mirror.limit(1, retry_after=7)
    answer = reader.http.get(f"/api/v1{NEWEST_BLOCK}")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    reader.network.mirror.fail(1)
    reader.get(NEWEST_BLOCK, 503)
    reader.network.mirror.fail(1, broken_json=True)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        reader.get(NEWEST_BLOCK)
    assert reader.read_newest_time()


def test_a_mirror_hides_and_forges_messages(reader: Reader) -> None:
    reader.post(*"abcd")
    mirror = reader.network.mirror
    mirror.hide(reader.topic, 2)
    assert reader.list_sequences() == [1, 3, 4]
    hidden = reader.network.messages(reader.topic)[1]
    assert reader.get(f"/topics/messages/{format_timestamp(hidden.timestamp)}", 404) == NOT_FOUND
    mirror.show(reader.topic, 2)
    mirror.tamper(reader.topic, 3, message=b"forged")
    messages = reader.list_messages()
    assert messages[2].content == b"forged"
    assert [verdict.message.sequence for verdict in verify(messages) if verdict.proof is Proof.WRONG] == [3]
    mirror.show(reader.topic, 3)
    assert {verdict.proof for verdict in verify(reader.list_messages())} == {Proof.PROVED}


def test_a_mirror_comes_back_on_its_port(reader: Reader) -> None:
    reader.post("a")
    reader.network.mirror.stop()
    with pytest.raises(httpx2.ConnectError), httpx2.Client(base_url=reader.network.mirror_url) as http:
        http.get("/api/v1/blocks")
    reader.network.mirror.start()
    assert reader.list_sequences() == [1]
