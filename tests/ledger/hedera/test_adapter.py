"""Transactions of the Hedera adapter: each is executed once, and what came of it is said only when it is certain."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from gatepost.errors import Invalid, Unavailable
from gatepost.ledger.hedera import HederaLedger
from gatepost.ledger.public_ledger import (
    CreateAccount,
    CreateTopic,
    FundAccount,
    LedgerReceipt,
    SubmitMessage,
    TransactionExpired,
    TransactionRefused,
    UpdateAccount,
)
from gatepost.ledger.running_hash import verify
from gatepost.ledger.topic import Chunk, LedgerId, split
from tests.ledger.hedera.ledgers import MovingClock, Sender, open_ledger
from tests.ledger.hedera.network.node import HBAR, HederaNetwork
from tests.support.waits import LAST_RESORT

UNKNOWN_TOPIC = LedgerId(0, 0, 999_999)


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


def count_submissions(network: HederaNetwork) -> int:
    kinds = ("createAccount", "updateAccount", "cryptoTransfer", "createTopic", "submitMessage")
    return sum(network.requests[kind] for kind in kinds)


async def test_every_kind_of_transaction_is_executed_and_has_a_receipt(sender: Sender) -> None:
    ledger, network = sender.ledger, sender.network
    account = await sender.create_account("ada", 5 * HBAR)
    assert network.accounts[str(account)].balance == 5 * HBAR

    update = UpdateAccount(account=account, memo="hcs-11:hcs://1/0.0.7")
    assert await ledger.execute(sender.build(update, signers=(None, "ada"))) == LedgerReceipt()
    assert network.accounts[str(account)].memo == "hcs-11:hcs://1/0.0.7"

    fund = sender.build(FundAccount(account=account, amount=HBAR))
    assert await ledger.execute(fund) == LedgerReceipt()
    assert network.accounts[str(account)].balance == 6 * HBAR

    topic = await sender.create_topic()
    message = SubmitMessage(topic=topic, content=b"{}")
    paid_by_ada = sender.build(message, payer=account, signers=("ada",), memo="hcs-10:op:6:3")
    assert await ledger.execute(paid_by_ada) == LedgerReceipt(sequence=1)
    [posted] = network.messages(str(topic))
    assert (posted.payer, posted.memo, posted.transaction) == (str(account), "hcs-10:op:6:3", str(paid_by_ada.id))


async def test_a_topic_has_the_submit_keys_it_was_given_and_never_an_admin_key(sender: Sender) -> None:
    keys = [sender.ledger.make_key(owner) for owner in ("ada", "bob")]
    topics = [await sender.create_topic(*keys[:count]) for count in range(3)]
    submit_keys = [sender.network.topics[str(topic)].submit_key for topic in topics]
    assert submit_keys[0] is None
    assert submit_keys[1].WhichOneof("key") == "ed25519"
    assert (submit_keys[2].thresholdKey.threshold, len(submit_keys[2].thresholdKey.keys.keys)) == (1, 2)
    assert [sender.network.topics[str(topic)].admin_key for topic in topics] == [None] * 3
    for owner in ("ada", "bob"):  # one key of the two is enough
        body = SubmitMessage(topic=topics[2], content=owner.encode())
        await sender.ledger.execute(sender.build(body, signers=(None, owner)))
    assert sender.read_contents(topics[2]) == [b"ada", b"bob"]


async def test_a_message_is_on_the_topic_once_if_all_replies_are_lost_and_it_is_sent_again(sender: Sender) -> None:
    topic = await sender.create_topic()
    message = sender.build_message(topic)
    sender.network.drop_replies(3)
    with pytest.raises(Unavailable, match="did not answer: UNAVAILABLE"):
        await sender.ledger.execute(message)
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=1)
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=1)
    assert sender.read_contents(topic) == [b"hello"]


async def test_a_lost_reply_is_made_up_for_within_one_call(sender: Sender) -> None:
    topic = await sender.create_topic()
    sender.network.drop_replies(1)
    assert await sender.ledger.execute(sender.build_message(topic)) == LedgerReceipt(sequence=1)
    assert sender.read_contents(topic) == [b"hello"]


async def test_a_reply_that_never_comes_is_given_up_after_the_deadline(
    network: HederaNetwork, clock: MovingClock, tmp_path: Path
) -> None:
    async with open_ledger(network, tmp_path, clock) as ledger:
        sender = Sender(ledger, network, clock)
        topic = await sender.create_topic()
        network.drop_replies(1, hang=True)
        ledger._nodes._deadline = 0.3
        call = asyncio.create_task(ledger.execute(sender.build_message(topic)))
        await asyncio.to_thread(network.wait_for_requests, "submitMessage", 1)
        ledger._nodes._deadline = LAST_RESORT
        assert await call == LedgerReceipt(sequence=1)
    assert network.requests["submitMessage"] > 1
    assert sender.read_contents(topic) == [b"hello"]


async def test_a_busy_node_is_asked_again_and_then_the_caller_is(sender: Sender) -> None:
    topic = await sender.create_topic()
    sender.network.answer_busy(2)
    assert await sender.ledger.execute(sender.build_message(topic)) == LedgerReceipt(sequence=1)

    message = sender.build_message(topic, b"second")
    sender.network.answer_busy(3)
    with pytest.raises(Unavailable, match="takes no transactions now: BUSY"):
        await sender.ledger.execute(message)
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=2)


async def test_a_node_that_was_down_is_used_as_soon_as_it_is_up(sender: Sender) -> None:
    topic = await sender.create_topic()
    message = sender.build_message(topic)
    sender.network.stop_nodes()
    for _ in range(3):
        with pytest.raises(Unavailable, match=r"the node 0\.0\.3 at 127\.0\.0\.1:[0-9]+ did not answer"):
            await sender.ledger.execute(message)
    sender.network.start_nodes()
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=1)


async def test_other_nodes_are_asked_if_one_is_down(clock: MovingClock, tmp_path: Path) -> None:
    with HederaNetwork(clock, node_count=3) as network:
        network.stop_nodes(2)
        async with open_ledger(network, tmp_path, clock) as ledger:
            sender = Sender(ledger, network, clock)
            topic = await sender.create_topic()
            for sequence in range(1, 7):
                assert await ledger.execute(sender.build_message(topic)) == LedgerReceipt(sequence=sequence)


async def test_an_expired_transaction_is_not_sent_and_is_certain_only_when_the_mirror_has_caught_up(
    sender: Sender,
) -> None:
    topic = await sender.create_topic()
    message = sender.build_message(topic)
    submissions = count_submissions(sender.network)
    sender.clock.advance(111)
    with pytest.raises(Unavailable, match="the mirror node has not caught up") as failure:
        await sender.ledger.execute(message)
    assert failure.value.retry_after == pytest.approx(13, abs=1)

    sender.network.mirror.hold()
    sender.clock.advance(3_600)
    with pytest.raises(Unavailable, match="the mirror node has not caught up"):
        await sender.ledger.execute(message)

    sender.network.mirror.release()
    with pytest.raises(TransactionExpired, match=str(topic)):
        await sender.ledger.execute(message)
    assert count_submissions(sender.network) == submissions
    assert sender.read_contents(topic) == []


async def test_an_expired_transaction_that_was_executed_has_its_first_receipt(sender: Sender) -> None:
    topic = await sender.create_topic()
    await sender.ledger.execute(sender.build_message(topic))
    transactions = [
        sender.build_message(topic),
        sender.build(CreateTopic(memo="late")),
        sender.build(CreateAccount(public_key=sender.ledger.make_key("ada"), balance=HBAR)),
        sender.build(FundAccount(account=LedgerId(0, 0, 2), amount=5)),
    ]
    receipts = [await sender.ledger.execute(transaction) for transaction in transactions]
    executed_count = len(sender.network.transactions)
    sender.network.stop_nodes()
    sender.clock.advance(86_400)
    assert [await sender.ledger.execute(transaction) for transaction in transactions] == receipts
    assert [receipt.sequence for receipt in receipts] == [2, None, None, None]
    assert len(sender.network.transactions) == executed_count


async def test_an_expired_transaction_that_failed_is_refused(sender: Sender) -> None:
    message = sender.build_message(UNKNOWN_TOPIC)
    for seconds in (0, 1_000):
        sender.clock.advance(seconds)
        with pytest.raises(TransactionRefused, match="send a message to the topic") as refusal:
            await sender.ledger.execute(message)
        assert refusal.value.code == "INVALID_TOPIC_ID"


async def test_a_node_whose_clock_is_ahead_finds_a_transaction_expired_and_the_mirror_decides(
    network: HederaNetwork, clock: MovingClock, tmp_path: Path
) -> None:
    slow_clock = MovingClock()
    async with open_ledger(network, tmp_path, slow_clock) as ledger:
        sender = Sender(ledger, network, clock)
        message = sender.build_message(await sender.create_topic())
        clock.advance(115)
        with pytest.raises(Unavailable, match="has not caught up"):
            await ledger.execute(message)
        clock.advance(15)
        with pytest.raises(TransactionExpired):
            await ledger.execute(message)


async def test_a_transaction_from_the_future_waits_and_the_clock_is_named(sender: Sender) -> None:
    topic = await sender.create_topic()
    message = sender.build(SubmitMessage(topic=topic, content=b"soon"), delay=30)
    with pytest.raises(Unavailable, match="is not valid yet") as failure:
        await sender.ledger.execute(message)
    assert failure.value.hint is not None
    assert "clock" in failure.value.hint
    sender.clock.advance(31)
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=1)


async def test_a_payer_without_money_is_named_with_the_fix(sender: Sender) -> None:
    topic = await sender.create_topic()
    operator = str(sender.ledger.operator)
    sender.network.set_balance(operator, 0)
    with pytest.raises(TransactionRefused, match=f"for the account {operator}: INSUFFICIENT_PAYER_BALANCE") as refusal:
        await sender.ledger.execute(sender.build_message(topic))
    assert refusal.value.is_unpaid
    assert refusal.value.hint == f"send HBAR to the account {operator}"


async def test_a_refusal_after_an_attempt_without_an_answer_is_not_certain(sender: Sender) -> None:
    topic = await sender.create_topic()
    message = sender.build_message(topic)
    sender.network.stop_nodes()
    with pytest.raises(Unavailable):
        await sender.ledger.execute(message)
    sender.network.start_nodes()
    sender.network.set_balance(str(sender.ledger.operator), 0)
    with pytest.raises(Unavailable, match="an earlier attempt may have succeeded"):
        await sender.ledger.execute(message)
    sender.clock.advance(130)
    with pytest.raises(TransactionExpired):
        await sender.ledger.execute(message)


async def test_a_wrong_key_is_refused_by_the_node_and_by_the_topic(sender: Sender) -> None:
    account = await sender.create_account("ada", 5 * HBAR)
    topic = await sender.create_topic(sender.ledger.make_key("ada"))
    sender.ledger.make_key("mallory")
    body = SubmitMessage(topic=topic, content=b"forged")
    wrong_payer = sender.build(body, payer=account, signers=("mallory",))
    wrong_submitter = sender.build(body, signers=(None, "mallory"))
    for transaction in (wrong_payer, wrong_submitter):
        with pytest.raises(TransactionRefused, match="INVALID_SIGNATURE"):
            await sender.ledger.execute(transaction)
    assert sender.read_contents(topic) == []


async def test_nothing_is_sent_without_the_key_of_a_signer(sender: Sender, tmp_path: Path) -> None:
    topic = await sender.create_topic()
    submissions = count_submissions(sender.network)
    body = SubmitMessage(topic=topic, content=b"x")
    with pytest.raises(Unavailable, match="nothing can be signed for 'nobody': there is no private key at"):
        await sender.ledger.execute(sender.build(body, signers=(None, "nobody")))
    (tmp_path / "operator.key").chmod(0o644)
    with pytest.raises(Unavailable, match="other users can read the private key") as failure:
        await sender.ledger.execute(sender.build(body))
    assert failure.value.hint == f"chmod 600 {tmp_path / 'operator.key'}"
    assert count_submissions(sender.network) == submissions


async def test_the_chunks_of_a_long_message_are_put_together_again(sender: Sender) -> None:
    topic = await sender.create_topic()
    content = "Grüße ".encode() * 500
    parts = split(content)
    transactions = [sender.build_message(topic, part) for part in parts]
    first_id = str(transactions[0].id)
    chunks = [Chunk(first_id, number, len(parts)) for number in range(1, len(parts) + 1)]
    for transaction, part, chunk in zip(transactions, parts, chunks, strict=True):
        body = SubmitMessage(topic=topic, content=part, chunk=chunk)
        assert await sender.ledger.execute(replace(transaction, body=body)) == LedgerReceipt(sequence=chunk.number)
    messages = await sender.ledger.read_messages(topic, after=0)
    assert b"".join(message.content for message in messages) == content
    assert [message.chunk for message in messages] == chunks
    assert {verdict.proof for verdict in verify(messages)} == {"proved"}


async def test_a_message_that_is_too_long_is_refused_and_not_split_by_the_sdk(sender: Sender) -> None:
    topic = await sender.create_topic()
    with pytest.raises(TransactionRefused, match="MESSAGE_SIZE_TOO_LARGE"):
        await sender.ledger.execute(sender.build_message(topic, bytes(1_025)))
    with pytest.raises(TransactionRefused, match="the transaction cannot be built"):
        await sender.ledger.execute(sender.build_message(topic, b""))
    assert sender.network.requests["submitMessage"] == 1
    assert sender.read_contents(topic) == []


async def test_the_receipt_comes_from_the_mirror_if_the_nodes_have_none(
    network: HederaNetwork, clock: MovingClock, tmp_path: Path
) -> None:
    async with open_ledger(network, tmp_path, clock, receipt_timeout=0.02) as ledger:
        sender = Sender(ledger, network, clock)
        network.refuse_receipts(1_000_000)
        topic = await sender.create_topic()
        message = sender.build_message(topic)
        assert await ledger.execute(message) == LedgerReceipt(sequence=1)

        network.lose_transactions(1)
        lost = sender.build_message(topic, b"lost")
        for _ in range(2):
            with pytest.raises(Unavailable, match="there is no receipt of it yet"):
                await ledger.execute(lost)
        clock.advance(126)
        with pytest.raises(TransactionExpired):
            await ledger.execute(lost)
    assert sender.read_contents(topic) == [b"hello"]


async def test_a_call_that_waits_can_be_cancelled_and_repeated(sender: Sender) -> None:
    topic = await sender.create_topic()
    message = sender.build_message(topic)
    sender.network.hold_consensus()
    queries = sender.network.requests["getTransactionReceipts"]
    call = asyncio.create_task(sender.ledger.execute(message))
    await asyncio.to_thread(sender.network.wait_for_requests, "getTransactionReceipts", queries + 3)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    sender.network.release_consensus()
    assert await sender.ledger.execute(message) == LedgerReceipt(sequence=1)


@pytest.mark.parametrize("fault", ["consensus", "reply"])
async def test_closing_ends_calls_that_wait(
    fault: str, network: HederaNetwork, clock: MovingClock, tmp_path: Path
) -> None:
    async with open_ledger(network, tmp_path, clock) as ledger:
        sender = Sender(ledger, network, clock)
        topic = await sender.create_topic()
        if fault == "consensus":
            network.hold_consensus()
        else:
            network.drop_replies(1_000, hang=True)
        calls = [asyncio.create_task(ledger.execute(sender.build_message(topic))) for _ in range(12)]
        await asyncio.to_thread(network.wait_for_requests, "submitMessage", 8)  # the others wait for a thread
        await ledger.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Unavailable] * 12
        for call in (ledger.execute(sender.build_message(topic)), ledger.read_topic(topic)):
            with pytest.raises(Unavailable, match="the ledger is closed"):
                await call


async def test_many_transactions_at_once_are_each_executed_once(clock: MovingClock, tmp_path: Path) -> None:
    with HederaNetwork(clock, node_count=2) as network:
        async with open_ledger(network, tmp_path, clock) as ledger:
            sender = Sender(ledger, network, clock)
            topic = await sender.create_topic()
            contents = [str(number).encode() for number in range(60)]
            network.drop_replies(10)
            messages = [sender.build_message(topic, content) for content in contents]
            receipts = await asyncio.gather(*(ledger.execute(message) for message in messages))
        assert sorted(receipt.sequence or 0 for receipt in receipts) == list(range(1, 61))
        assert sorted(sender.read_contents(topic)) == sorted(contents)


async def test_an_operator_may_have_an_ecdsa_key(clock: MovingClock, tmp_path: Path) -> None:
    with HederaNetwork(clock) as network:
        network.operator_id, network.operator_key = network.create_account(100 * HBAR, kind="ecdsa")
        async with open_ledger(network, tmp_path, clock) as ledger:
            sender = Sender(ledger, network, clock)
            topic = await sender.create_topic()
            assert await ledger.execute(sender.build_message(topic)) == LedgerReceipt(sequence=1)


async def test_no_private_key_is_in_an_error_or_in_what_a_debugger_prints(sender: Sender, tmp_path: Path) -> None:
    await sender.create_account("ada", HBAR)
    sender.network.stop_nodes()
    body = UpdateAccount(account=LedgerId(0, 0, 2), memo="x")
    with pytest.raises(Unavailable) as failure:
        await sender.ledger.execute(sender.build(body, signers=(None, "ada")))
    printed = "".join(
        traceback.TracebackException.from_exception(failure.value, capture_locals=True).format(chain=True)
    )
    assert "SigningKey(public_key=" in printed
    for file in (tmp_path / "operator.key", tmp_path / "keys/ada.key"):
        assert file.read_text().strip()[-64:] not in printed


async def test_the_address_book_is_needed_without_addresses_of_nodes(
    network: HederaNetwork, clock: MovingClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise requests.ConnectionError("no network here")

    monkeypatch.setattr("requests.get", fail)
    async with open_ledger(network, tmp_path, clock, nodes=()) as ledger:
        with pytest.raises(Unavailable, match="the address book of testnet cannot be read"):
            await ledger.execute(Sender(ledger, network, clock).build(CreateTopic(memo="")))


@pytest.mark.parametrize(
    ("network_name", "settings", "problem"),
    [
        ("moonnet", {}, "the network 'moonnet' is not known"),
        ("moonnet", {"nodes": ["a:1=0.0.3"]}, "the network 'moonnet' is not known"),
        ("testnet", {"nodes": ["127.0.0.1=0.0.3"]}, "is not the address of a node"),
        ("testnet", {"nodes": ["127.0.0.1:50211"]}, "is not the address of a node"),
        ("testnet", {"nodes": ["127.0.0.1:70000=0.0.3"]}, "is not the address of a node"),
        ("testnet", {"nodes": ["127.0.0.1:50212=0.0.3"]}, "has the port for TLS"),
        ("testnet", {"mirror": "127.0.0.1:5551"}, "is not the URL of a mirror node"),
        ("testnet", {"operator": "ada"}, "is not the id of a topic or an account"),
        ("testnet", {"operator_key_file": Path("/does/not/exist")}, "there is no private key at"),
    ],
)
def test_a_wrong_setting_is_named(
    network_name: str, settings: dict[str, Any], problem: str, tmp_path: Path, clock: MovingClock
) -> None:
    key_file = HederaNetwork(clock).operator_key_file(tmp_path)
    right_settings: dict[str, Any] = {"operator": "0.0.2", "operator_key_file": key_file, "keys": tmp_path}
    with pytest.raises(Invalid, match=problem):
        HederaLedger(network_name, **right_settings | settings)


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.nightly)])
async def test_many_calls_at_once_to_a_node_that_is_down_do_not_end_the_process(
    sender: Sender, network: HederaNetwork, rounds: int
) -> None:
    """gRPC crashes if a channel is closed in the moment in which another thread begins a call on it."""
    topic = await sender.create_topic()
    network.stop_nodes()
    for _ in range(rounds):
        calls = (sender.ledger.execute(sender.build_message(topic)) for _ in range(40))
        failures = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(failure) for failure in failures} == {Unavailable}
