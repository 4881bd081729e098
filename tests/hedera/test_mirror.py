"""The mirror node of the local network: its answers, its pages, and its faults."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gatepost.core.ledger import Proof, TopicMessage, verify
from gatepost.core.mirror import parse_message
from tests.hedera.keys import SigningKey
from tests.hedera.node import HBAR, HederaNetwork
from tests.hedera.prechecks import FEES
from tests.hedera.state import SECOND, Refusal, format_timestamp

SAMPLES = Path(__file__).parents[3] / "shared/samples/mirror-node"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

NOT_FOUND = {"_status": {"messages": [{"message": "Not found"}]}}


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

    def list_messages(self, query: str = "") -> list[TopicMessage]:
        """Read all pages."""
        messages, path = [], f"/api/v1/topics/{self.topic}/messages?{query}"
        while path:
            page = self.http.get(path).json()
            messages += [parse_message(row) for row in page["messages"]]
            path = page["links"]["next"]
        return messages

    def list_sequences(self, query: str = "") -> list[int]:
        return [message.sequence for message in self.list_messages(query)]


@pytest.fixture
def reader() -> Iterator[Reader]:
    now = time.time_ns()
    with HederaNetwork(lambda: now) as network, httpx2.Client(base_url=network.mirror_url) as http:
        yield Reader(network, http)


def test_a_long_message_is_read_back_in_chunks_that_are_proved(reader: Reader) -> None:
    content = "".join(f"{number:05}" for number in range(600))
    reader.post("before", content)
    messages = reader.list_messages("limit=2")
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
    row = reader.get(f"/topics/{reader.topic}/messages")["messages"][0]
    names = {name for name in real if not name.startswith("_")}
    assert names <= set(row)
    assert {name: type(row[name]) for name in names} == {name: type(real[name]) for name in names}


@pytest.mark.parametrize(
    ("query", "sequences"),
    [
        ("", list(range(1, 8))),
        ("limit=2", list(range(1, 8))),
        ("limit=3&order=desc", list(range(7, 0, -1))),
        ("sequencenumber=gt:5", [6, 7]),
        ("sequencenumber=gte:5&limit=1", [5, 6, 7]),
        ("sequencenumber=lt:3", [1, 2]),
        ("sequencenumber=lte:3&order=desc&limit=2", [3, 2, 1]),
        ("sequencenumber=gt:2&sequencenumber=lt:5", [3, 4]),
        ("sequencenumber=4", [4]),
        ("sequencenumber=eq:4", [4]),
        ("limit=100&sequencenumber=gt:7", []),
    ],
)
def test_messages_are_filtered_and_paged(reader: Reader, query: str, sequences: list[int]) -> None:
    reader.post(*"abcdefg")
    assert reader.list_sequences(query) == sequences


def test_messages_are_filtered_by_time(reader: Reader) -> None:
    reader.post(*"abcd")
    second, third = (format_timestamp(message.timestamp) for message in reader.network.messages(reader.topic)[1:3])
    assert reader.list_sequences(f"timestamp=gt:{second}") == [3, 4]
    assert reader.list_sequences(f"timestamp=gte:{second}&timestamp=lte:{third}&limit=1") == [2, 3]
    assert reader.list_sequences(f"timestamp={second}") == [2]
    assert reader.get(f"/topics/messages/{third}")["sequence_number"] == 3
    assert reader.get(f"/topics/{reader.topic}/messages/4?encoding=utf-8")["message"] == "d"
    assert reader.get(f"/topics/{reader.topic}/messages/5", 404) == NOT_FOUND
    assert reader.get("/topics/0.0.999999/messages") == {"links": {"next": None}, "messages": []}


def test_a_page_has_25_messages_and_at_most_100(reader: Reader) -> None:
    reader.post(*"x" * 101)
    page = reader.get(f"/topics/{reader.topic}/messages")
    assert (len(page["messages"]), len(reader.get(page["links"]["next"].removeprefix("/api/v1"))["messages"])) == (
        25,
        25,
    )
    assert len(reader.get(f"/topics/{reader.topic}/messages?limit=1000")["messages"]) == 100


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "order=up", "sequencenumber=ne:4", "timestamp=gt:x", "encoding=hex", "color=red"]
)
def test_wrong_parameters_are_refused(reader: Reader, query: str) -> None:
    name = query.partition("=")[0]
    [message] = reader.get(f"/topics/{reader.topic}/messages?{query}", 400)["_status"]["messages"]
    assert message["message"].endswith(f"parameter: {name}")


def test_topics_and_accounts_show_their_memos_and_keys(reader: Reader) -> None:
    account, key = reader.network.create_account(3 * HBAR, kind="ecdsa")
    topic = reader.network.create_topic("memo", submit_key=reader.key, admin_key=key)
    row = reader.get(f"/topics/{topic}")
    assert (row["topic_id"], row["memo"]) == (topic, "memo")
    assert row["submit_key"] == {"_type": "ED25519", "key": SigningKey.parse(reader.key).public_bytes.hex()}
    assert row["admin_key"] == {"_type": "ECDSA_SECP256K1", "key": SigningKey.parse(key).public_bytes.hex()}
    row = reader.get(f"/accounts/{account}")
    assert (row["account"], row["memo"], row["balance"]["balance"]) == (account, "", 3 * HBAR)
    assert row["key"] == {"_type": "ECDSA_SECP256K1", "key": SigningKey.parse(key).public_bytes.hex()}
    open_topic = reader.get(f"/topics/{reader.topic}")
    assert (open_topic["submit_key"], open_topic["admin_key"]) == (None, None)
    assert reader.get("/topics/0.0.999999", 404) == NOT_FOUND
    assert reader.get("/accounts/0.0.999999", 404) == NOT_FOUND


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
            [block] = http.get("/blocks?limit=1&order=desc").json()["blocks"]
            [transaction] = http.get("/transactions?limit=1&order=desc").json()["transactions"]
            newest = format_timestamp(times[0])
            assert (block["timestamp"]["to"], transaction["consensus_timestamp"]) == (newest, newest)
        assert http.get("/network/exchangerate").json()["current_rate"]["hbar_equivalent"] == 30_000
        assert len(http.get("/network/fees").json()["fees"]) == 3
        assert network.requests["mirror:blocks"] == 2


def test_a_mirror_that_lags_shows_nothing_new(reader: Reader) -> None:
    reader.post("a")
    reader.network.mirror.hold()
    newest = reader.get("/blocks?limit=1&order=desc")["blocks"][0]["timestamp"]["to"]
    balance = reader.get(f"/accounts/{reader.account}")["balance"]["balance"]
    reader.post("b")
    created = reader.network.create_topic("new")
    payer, _, start = reader.network.transactions[-1].id.partition("@")
    path = f"/transactions/{payer}-{start.replace('.', '-')}"
    assert reader.list_sequences() == [1]
    assert reader.get(path, 404) == NOT_FOUND
    assert reader.get(f"/topics/{created}", 404) == NOT_FOUND
    assert reader.get("/blocks?limit=1&order=desc")["blocks"][0]["timestamp"]["to"] == newest
    assert reader.get("/transactions?limit=1&order=desc")["transactions"][0]["consensus_timestamp"] == newest
    assert reader.get(f"/accounts/{reader.account}")["balance"]["balance"] == balance
    reader.network.mirror.release()
    assert reader.list_sequences() == [1, 2]
    assert reader.get(path)["transactions"][0]["result"] == "SUCCESS"
    assert reader.get(f"/topics/{created}")["memo"] == "new"
    assert reader.get(f"/accounts/{reader.account}")["balance"]["balance"] < balance


def test_a_mirror_repeats_itself_and_still_shows_everything(reader: Reader) -> None:
    reader.post(*"abcdefgh")
    reader.network.mirror.repeat_pages(1)
    sequences = reader.list_sequences("sequencenumber=gt:5")
    assert set(sequences) == {3, 4, 5, 6, 7, 8}
    assert len(sequences) == 7
    assert sequences != sorted(sequences)
    assert reader.list_sequences("sequencenumber=gt:5") == [6, 7, 8]
    reader.network.mirror.repeat_pages(3)
    assert set(reader.list_sequences("limit=3")) == set(range(1, 9))


def test_a_mirror_refuses_and_fails_as_often_as_it_should(reader: Reader) -> None:
    reader.network.mirror.limit(1, retry_after=7)
    answer = reader.http.get("/api/v1/blocks")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    reader.network.mirror.fail(1)
    reader.get("/blocks", 503)
    reader.network.mirror.fail(1, broken_json=True)
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        reader.get("/blocks")
    assert reader.get("/blocks")["blocks"]


def test_a_mirror_hides_and_forges_messages(reader: Reader) -> None:
    reader.post(*"abcd")
    mirror = reader.network.mirror
    mirror.hide(reader.topic, 2)
    assert reader.list_sequences() == [1, 3, 4]
    reader.get(f"/topics/{reader.topic}/messages/2", 404)
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
