"""The real SDK against the nodes of the local network: what they accept, refuse, and do under faults."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
from hiero_sdk_python import (  # type: ignore[import-untyped]
    AccountCreateTransaction,
    AccountId,
    AccountUpdateTransaction,
    Client,
    Hbar,
    PrivateKey,
    ResponseCode,
    TopicCreateTransaction,
    TopicId,
    TopicMessageSubmitTransaction,
    TransactionGetReceiptQuery,
    TransactionId,
    TransferTransaction,
)
from hiero_sdk_python.crypto.key_list import KeyList  # type: ignore[import-untyped]
from hiero_sdk_python.exceptions import MaxAttemptsError, PrecheckError  # type: ignore[import-untyped]

from gatepost.ledger.running_hash import Proof, verify
from gatepost.ledger.topic import Chunk
from gatepost.ledger.topic_json import parse_messages
from tests.ledger.hedera.network.fake import FAKE
from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.node import HBAR, HederaNetwork
from tests.ledger.hedera.network.prechecks import FEES
from tests.ledger.hedera.network.protobufs import consensus_service_pb2_grpc, grpc, response_code_pb2, timestamp_pb2
from tests.ledger.hedera.network.state import SECOND, Refusal, compute_running_hash
from tests.ledger.hedera.network.transactions import build_account_id, build_body, build_topic_id, sign
from tests.support.waits import LAST_RESORT

pytestmark = pytest.mark.nightly_unless_changed(*FAKE, "tests/ledger/hedera/network/test_node.py")

NODE = "0.0.3"


class MovingClock:
    def __init__(self) -> None:
        self.now = time.time_ns()

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


class Office:
    """A network, and clients of the SDK that do not wait long."""

    def __init__(self, stack: ExitStack, node_count: int = 1) -> None:
        self._stack = stack
        self.clock = MovingClock()
        self.network = stack.enter_context(HederaNetwork(self.clock, node_count=node_count))
        self.client = self.open_client(self.network.operator_id, self.network.operator_key)

    def open_client(self, account: str, key: str) -> Any:
        nodes = {address: AccountId.from_string(id) for address, id in self.network.nodes.items()}
        client = Client.for_network(nodes)
        client.set_operator(AccountId.from_string(account), PrivateKey.from_string(key))
        client.set_max_attempts(3).set_min_backoff(0.001).set_max_backoff(0.002)
        self._stack.callback(client.close)
        return client

    def make_id(self, account: str | None = None, *, ago: float = 0) -> Any:
        """Return an id of a transaction that is valid since `ago` seconds."""
        seconds, nanos = divmod(self.clock.now - int(ago * SECOND), SECOND)
        stamp = timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos)
        return TransactionId(AccountId.from_string(account or self.network.operator_id), stamp)

    def build_message(self, topic: str, content: str = "hello", **id_options: Any) -> Any:
        """Return a message of the operator, which no SDK has changed after this."""
        message = TopicMessageSubmitTransaction(TopicId.from_string(topic), content)
        message.set_transaction_id(self.make_id(**id_options))
        return message.freeze_with(self.client).sign(self.client.operator_private_key)

    def build_update(self, account: str, memo: str) -> Any:
        update = AccountUpdateTransaction().set_account_id(AccountId.from_string(account)).set_account_memo(memo)
        return update.set_auto_renew_period(None)  # else the SDK changes it

    def send(self, body: Any, key: str | None = None) -> str:
        """Send a transaction to the node without the SDK; return the answer."""
        transaction = sign(body, SigningKey.parse(key or self.network.operator_key))
        [address] = self.network.nodes
        with grpc.insecure_channel(address) as channel:
            stub = consensus_service_pb2_grpc.ConsensusServiceStub(channel)
            code = stub.submitMessage(transaction, timeout=LAST_RESORT).nodeTransactionPrecheckCode
        return str(response_code_pb2.ResponseCodeEnum.Name(code))

    def build_raw_message(self, topic: str, content: bytes = b"hello") -> Any:
        body = build_body(self.network.operator_id, NODE, self.clock.now)
        body.consensusSubmitMessage.topicID.CopyFrom(build_topic_id(topic))
        body.consensusSubmitMessage.message = content
        return body

    def find_balance(self) -> int:
        return self.network.accounts[self.network.operator_id].balance


@pytest.fixture
def setup() -> Iterator[Office]:
    with ExitStack() as stack:
        yield Office(stack)


def name_of(status: int) -> str:
    return str(ResponseCode(status).name)


def refuse(transaction: Any, client: Any) -> str:
    """Execute what a node refuses; return the code."""
    with pytest.raises(PrecheckError) as caught:
        transaction.execute(client)
    return name_of(caught.value.status)


def test_the_running_hash_of_a_real_message_is_computed() -> None:
    first, second = (
        "bca9d6f1b6128e162d1ed30d3895ab91fcafefb90a738111103c9c284d8bdfb694d12625c7e83a1c1f5a87b093152c65",
        "24cf0ba6647051573ec22c33447060702bfcb8991b7da9fc055d903c2d2104c81703d288bf2f13c0ea17b2e92099e0be",
    )
    place = {"topic": "0.0.4603900", "payer": "0.0.2617920"}
    running_hash = compute_running_hash(
        bytes(48), **place, timestamp=1_683_553_059_977_315_003, sequence=1, content=b"Message 1"
    )
    assert running_hash.hex() == first
    running_hash = compute_running_hash(
        running_hash, **place, timestamp=1_683_553_060_092_158_003, sequence=2, content=b"Message 2"
    )
    assert running_hash.hex() == second


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
def test_an_account_is_made_and_pays(setup: Office, kind: str) -> None:
    before = setup.find_balance()
    key = PrivateKey.generate(kind)
    create = AccountCreateTransaction().set_key_without_alias(key.public_key()).set_initial_balance(Hbar(3))
    receipt = create.execute(setup.client)
    assert name_of(receipt.status) == "SUCCESS"
    account = str(receipt.account_id)
    assert setup.find_balance() == before - 3 * HBAR - FEES["cryptoCreateAccount"]

    own_client = setup.open_client(account, key.to_string_der())
    assert name_of(setup.build_update(account, "hcs-11:hcs://1/0.0.7").execute(own_client).status) == "SUCCESS"
    entry = setup.network.accounts[account]
    assert (entry.memo, SigningKey.parse(key.to_string_der()).public_key) == ("hcs-11:hcs://1/0.0.7", entry.key)
    assert entry.balance == 3 * HBAR - FEES["cryptoUpdateAccount"]


def test_another_account_is_not_changed_without_its_key(setup: Office) -> None:
    account, key = setup.network.create_account()
    assert name_of(setup.build_update(account, "mine").execute(setup.client).status) == "INVALID_SIGNATURE"
    update = setup.build_update(account, "mine")
    update.freeze_with(setup.client).sign(PrivateKey.from_string(key))
    assert name_of(update.execute(setup.client).status) == "SUCCESS"
    assert setup.network.accounts[account].memo == "mine"


def test_tinybars_are_moved_and_none_is_lost(setup: Office) -> None:
    network = setup.network
    account, _ = network.create_account(0)
    total = sum(account.balance for account in network.accounts.values())
    stranger, operator = AccountId.from_string(account), AccountId.from_string(network.operator_id)
    transfer = TransferTransaction().add_hbar_transfer(operator, -5).add_hbar_transfer(stranger, 5)
    assert name_of(transfer.execute(setup.client).status) == "SUCCESS"
    assert network.accounts[account].balance == 5
    theft = TransferTransaction().add_hbar_transfer(stranger, -5).add_hbar_transfer(operator, 5)
    assert name_of(theft.execute(setup.client).status) == "INVALID_SIGNATURE"
    assert network.accounts[account].balance == 5
    assert sum(account.balance for account in network.accounts.values()) == total


def test_a_topic_with_a_threshold_key_takes_messages_of_each_key_and_of_no_other(setup: Office) -> None:
    keys = [PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()]
    submit_key = KeyList([key.public_key() for key in keys], threshold=1)
    receipt = TopicCreateTransaction(memo="hcs-10:1:60:2:0.0.5:9", submit_key=submit_key).execute(setup.client)
    topic = receipt.topic_id
    made = setup.network.topics[str(topic)]
    assert (made.memo, made.messages, made.admin_key) == ("hcs-10:1:60:2:0.0.5:9", [], None)
    for key in keys:
        message = TopicMessageSubmitTransaction(topic, "hello").freeze_with(setup.client).sign(key)
        assert name_of(message.execute(setup.client).status) == "SUCCESS"
    unsigned = TopicMessageSubmitTransaction(topic, "hello").execute(setup.client)
    assert name_of(unsigned.status) == "INVALID_SIGNATURE"
    assert [len(found.messages) for found in setup.network.topics.values()] == [2]


def test_what_nobody_asks_for_is_refused(setup: Office) -> None:
    key = PrivateKey.generate_ed25519().public_key()
    assert refuse(TopicCreateTransaction(admin_key=key), setup.client) == "NOT_SUPPORTED"
    update = AccountUpdateTransaction().set_account_id(AccountId.from_string(setup.network.operator_id)).set_key(key)
    assert refuse(update.set_auto_renew_period(None), setup.client) == "NOT_SUPPORTED"
    create = AccountCreateTransaction().set_key_without_alias(key).set_receiver_signature_required(True)
    assert refuse(create, setup.client) == "NOT_SUPPORTED"
    all_keys = TopicCreateTransaction(submit_key=KeyList([key])).execute(setup.client)
    assert name_of(all_keys.status) == "INVALID_SUBMIT_KEY"
    assert setup.network.topics == {}


def test_a_long_message_is_sent_in_chunks_and_read_back(setup: Office) -> None:
    topic = setup.network.create_topic()
    content = "".join(f"{number:05}" for number in range(600))
    receipts = TopicMessageSubmitTransaction(TopicId.from_string(topic), content).execute_all(setup.client)
    assert [name_of(receipt.status) for receipt in receipts] == ["SUCCESS"] * 3
    query = "sequencenumber=gt:0&order=asc&limit=100"
    url = f"{setup.network.mirror_url}/api/v1/topics/{topic}/messages?{query}"
    messages = parse_messages(httpx2.get(url).content)
    assert [verdict.proof for verdict in verify(messages)] == [Proof.PROVED] * 3
    assert b"".join(message.content for message in messages).decode() == content
    first_id = setup.network.transactions[0].id
    assert [message.chunk for message in messages] == [Chunk(first_id, number, 3) for number in (1, 2, 3)]


def test_an_id_is_executed_once(setup: Office) -> None:
    topic = setup.network.create_topic()
    message = setup.build_message(topic)
    first = message.execute(setup.client)
    assert refuse(message, setup.client) == "DUPLICATE_TRANSACTION"
    again = TransactionGetReceiptQuery(first.transaction_id).execute(setup.client)
    assert (name_of(again.status), len(setup.network.messages(topic))) == ("SUCCESS", 1)


def test_a_busy_node_is_asked_again(setup: Office) -> None:
    topic = setup.network.create_topic()
    setup.network.answer_busy(2)
    assert name_of(setup.build_message(topic).execute(setup.client).status) == "SUCCESS"
    assert (setup.network.requests["submitMessage"], len(setup.network.messages(topic))) == (3, 1)


@pytest.mark.parametrize("hang", [False, True])
def test_a_transaction_whose_reply_is_lost_is_a_duplicate_and_has_a_receipt(setup: Office, hang: bool) -> None:
    topic = setup.network.create_topic()
    message = setup.build_message(topic)
    setup.network.drop_replies(1, hang=hang)
    with pytest.raises(MaxAttemptsError):
        message.set_max_attempts(1).set_grpc_deadline(0.2).execute(setup.client)
    setup.network.wait_for(lambda: len(setup.network.messages(topic)) == 1, "the message is there")
    # The SDK asks a node that has failed no more for seconds, so somebody else asks.
    other = setup.open_client(setup.network.operator_id, setup.network.operator_key)
    assert refuse(message, other) == "DUPLICATE_TRANSACTION"
    assert name_of(TransactionGetReceiptQuery(message.transaction_id).execute(other).status) == "SUCCESS"
    assert len(setup.network.messages(topic)) == 1


def test_refused_receipts_are_asked_for_again(setup: Office) -> None:
    topic = setup.network.create_topic()
    setup.network.refuse_receipts(2)
    assert name_of(setup.build_message(topic).execute(setup.client).status) == "SUCCESS"
    assert setup.network.requests["getTransactionReceipts"] == 3


def test_a_receipt_is_unknown_until_consensus(setup: Office) -> None:
    topic = setup.network.create_topic()
    message = setup.build_message(topic)
    setup.network.hold_consensus()
    response = message.execute(setup.client, wait_for_receipt=False)
    with pytest.raises(MaxAttemptsError) as caught:
        response.get_receipt(setup.client)
    assert name_of(caught.value.last_error.status) == "UNKNOWN"
    assert refuse(message, setup.client) == "DUPLICATE_TRANSACTION"
    setup.network.release_consensus()
    assert name_of(response.get_receipt(setup.client).status) == "SUCCESS"


def test_a_lost_transaction_is_never_executed(setup: Office) -> None:
    topic = setup.network.create_topic()
    setup.network.lose_transactions(1)
    with pytest.raises(MaxAttemptsError):
        setup.build_message(topic).execute(setup.client)
    assert setup.network.messages(topic) == []
    assert setup.network.transactions == []


def test_a_payer_without_money_is_refused_before_consensus(setup: Office) -> None:
    network = setup.network
    topic = network.create_topic()
    network.set_balance(network.operator_id, FEES["consensusSubmitMessage"] - 1)
    message = setup.build_message(topic)
    assert refuse(message, setup.client) == "INSUFFICIENT_PAYER_BALANCE"
    network.set_balance(network.operator_id, FEES["consensusSubmitMessage"])
    # The id was not used up.
    assert name_of(message.execute(setup.client).status) == "SUCCESS"
    assert setup.find_balance() == 0
    network.set_balance(network.operator_id, HBAR + FEES["cryptoCreateAccount"] - 1)
    create = AccountCreateTransaction(initial_balance=Hbar(1))
    create.set_key_without_alias(PrivateKey.generate().public_key())
    assert refuse(create, setup.client) == "INSUFFICIENT_PAYER_BALANCE"


def test_a_fee_that_is_too_low_is_refused(setup: Office) -> None:
    message = TopicMessageSubmitTransaction(TopicId.from_string(setup.network.create_topic()), "hello")
    message.transaction_fee = FEES["consensusSubmitMessage"] - 1
    assert refuse(message, setup.client) == "INSUFFICIENT_TX_FEE"


def test_a_forger_cannot_pay_with_the_account_of_another(setup: Office) -> None:
    topic = setup.network.create_topic()
    forger, forged_key = setup.network.create_account()
    client = setup.open_client(setup.network.operator_id, forged_key)
    assert refuse(TopicMessageSubmitTransaction(TopicId.from_string(topic), "hello"), client) == "INVALID_SIGNATURE"
    with pytest.raises(Refusal, match="INVALID_SIGNATURE"):
        setup.network.submit_as(setup.network.operator_id, forged_key, topic, "hello")
    client = setup.open_client("0.0.999999", forged_key)
    message = TopicMessageSubmitTransaction(TopicId.from_string(topic), "hello")
    assert refuse(message, client) == "PAYER_ACCOUNT_NOT_FOUND"
    [message] = setup.network.submit_as(forger, forged_key, topic, "hello", memo="hcs-10:op:6:3")
    assert (message.payer, message.memo) == (forger, "hcs-10:op:6:3")


def test_ids_are_valid_for_their_time(setup: Office) -> None:
    topic = setup.network.create_topic()
    assert refuse(setup.build_message(topic, ago=-1), setup.client) == "INVALID_TRANSACTION_START"
    message = setup.build_message(topic)
    assert name_of(message.execute(setup.client).status) == "SUCCESS"
    setup.clock.advance(110)
    assert refuse(message, setup.client) == "DUPLICATE_TRANSACTION"
    # A node takes none that is valid for less than ten seconds, and looks at the time first.
    setup.clock.advance(0.001)
    assert refuse(message, setup.client) == "TRANSACTION_EXPIRED"
    assert len(setup.network.messages(topic)) == 1


def test_a_transaction_that_is_too_old_at_consensus_has_done_nothing(setup: Office) -> None:
    topic = setup.network.create_topic()
    setup.network.hold_consensus()
    response = setup.build_message(topic).execute(setup.client, wait_for_receipt=False)
    setup.clock.advance(121)
    setup.network.release_consensus()
    assert name_of(response.get_receipt(setup.client).status) == "TRANSACTION_EXPIRED"
    assert setup.network.messages(topic) == []


def test_receipts_are_forgotten_after_three_minutes(setup: Office) -> None:
    receipt = setup.build_message(setup.network.create_topic()).execute(setup.client)
    query = TransactionGetReceiptQuery(receipt.transaction_id)
    setup.clock.advance(180)
    assert name_of(query.execute(setup.client).status) == "SUCCESS"
    setup.clock.advance(0.001)
    with pytest.raises(MaxAttemptsError) as caught:
        query.execute(setup.client)
    assert name_of(caught.value.last_error.status) == "RECEIPT_NOT_FOUND"


def test_a_node_comes_back_with_all_it_knew(setup: Office) -> None:
    network = setup.network
    topic = network.create_topic("kept")
    message = setup.build_message(topic)
    message.execute(setup.client)
    ports = (network.nodes, network.mirror_url)
    network.stop()
    with pytest.raises(MaxAttemptsError):
        setup.build_message(topic).set_max_attempts(1).execute(setup.client)
    network.start()
    assert (network.nodes, network.mirror_url) == ports
    client = setup.open_client(network.operator_id, network.operator_key)
    assert refuse(message, client) == "DUPLICATE_TRANSACTION"
    assert name_of(setup.build_message(topic, ago=1).execute(client).status) == "SUCCESS"
    assert [entry.sequence for entry in network.messages(topic)] == [1, 2]


def test_the_sdk_goes_on_with_another_node() -> None:
    with ExitStack() as stack:
        setup = Office(stack, node_count=2)
        setup.network.stop_nodes(1)
        topic = setup.network.create_topic()
        message = setup.build_message(topic)
        assert name_of(message.execute(setup.client).status) == "SUCCESS"
        setup.network.start_nodes()
        copy = TopicMessageSubmitTransaction(TopicId.from_string(topic), "hello")
        copy.set_transaction_id(message.transaction_id).set_node_account_ids([AccountId.from_string(NODE)])
        other = setup.open_client(setup.network.operator_id, setup.network.operator_key)
        assert refuse(copy, other) == "DUPLICATE_TRANSACTION"


def test_each_wrong_message_is_refused_with_its_code(setup: Office) -> None:
    topic = setup.network.create_topic()

    def send(**changes: Any) -> str:
        setup.clock.advance(0.001)
        body = setup.build_raw_message(topic, changes.pop("content", b"hello"))
        for name, value in changes.items():
            setattr(body, name, value)
        return setup.send(body)

    assert send(content=b"") == "INVALID_TOPIC_MESSAGE"
    assert send(memo="é" * 51) == "MEMO_TOO_LONG"
    assert send(memo="é" * 50) == "OK"
    body = setup.build_raw_message(topic)
    body.nodeAccountID.CopyFrom(build_account_id("0.0.4"))
    assert setup.send(body) == "INVALID_NODE_ACCOUNT"
    body = setup.build_raw_message(topic)
    body.transactionValidDuration.seconds = 181
    assert setup.send(body) == "INVALID_TRANSACTION_DURATION"
    assert send(content=b"x" * 7_000) == "TRANSACTION_OVERSIZE"
    assert len(setup.network.messages(topic)) == 1


def test_other_faults_of_messages_are_in_the_receipt(setup: Office) -> None:
    topic = setup.network.create_topic()

    def execute(body: Any) -> str:
        assert setup.send(body) == "OK"
        setup.clock.advance(0.001)
        return setup.network.transactions[-1].result

    assert execute(setup.build_raw_message("0.0.999999")) == "INVALID_TOPIC_ID"
    assert execute(setup.build_raw_message(topic, b"x" * 1_025)) == "MESSAGE_SIZE_TOO_LARGE"
    assert execute(setup.build_raw_message(topic, b"x" * 1_024)) == "SUCCESS"
    for number, total in ((0, 2), (3, 2)):
        body = setup.build_raw_message(topic)
        chunk = body.consensusSubmitMessage.chunkInfo
        chunk.initialTransactionID.CopyFrom(body.transactionID)
        chunk.number, chunk.total = number, total
        assert execute(body) == "INVALID_CHUNK_NUMBER"
    body = setup.build_raw_message(topic)
    chunk = body.consensusSubmitMessage.chunkInfo
    chunk.initialTransactionID.CopyFrom(body.transactionID)
    chunk.initialTransactionID.transactionValidStart.seconds -= 1
    chunk.number, chunk.total = 1, 2
    assert execute(body) == "INVALID_CHUNK_TRANSACTION_ID"
    body = setup.build_raw_message(topic)
    chunk = body.consensusSubmitMessage.chunkInfo
    chunk.initialTransactionID.CopyFrom(body.transactionID)
    chunk.initialTransactionID.accountID.CopyFrom(build_account_id("0.0.7"))
    chunk.number, chunk.total = 2, 2
    assert execute(body) == "INVALID_CHUNK_TRANSACTION_ID"
    assert len(setup.network.messages(topic)) == 1
    long_memo = TopicCreateTransaction(memo="m" * 101).execute(setup.client)
    assert name_of(long_memo.status) == "MEMO_TOO_LONG"
    # Each of them was paid.
    assert all(transaction.fee > 0 for transaction in setup.network.transactions)


def test_a_test_waits_for_messages_and_requests(setup: Office) -> None:
    network = setup.network
    topic = network.create_topic()
    thread = Thread(target=network.submit_as, args=(*network.create_account(), topic, "x" * 3_000))
    thread.start()
    network.wait_for(lambda: len(network.messages(topic)) == 3, "three messages are there")
    thread.join()
    messages = network.messages(topic)
    assert [(message.chunk.number, message.chunk.total) for message in messages if message.chunk] == [
        (1, 3),
        (2, 3),
        (3, 3),
    ]
    assert b"".join(message.content for message in messages) == b"x" * 3_000
    with pytest.raises(TimeoutError, match="there are 1 requests submitMessage"):
        network.wait_for_requests("submitMessage", 1, timeout=0.001)


def test_the_key_of_the_operator_is_for_its_owner_alone(setup: Office, tmp_path: Path) -> None:
    file = setup.network.operator_key_file(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(SigningKey.parse(file.read_text().strip())) == setup.network.operator_key
