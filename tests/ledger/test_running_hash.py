"""Running hashes: real messages are proved, and whatever is changed in them is found and named."""

import json
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from gatepost.errors import Invalid
from gatepost.ledger.running_hash import GENESIS_HASH, Proof, compute_running_hash, verify
from gatepost.ledger.topic import Chunk, LedgerId, TopicMessage
from gatepost.ledger.topic_json import format_timestamp, parse_message, parse_messages, parse_timestamp

SAMPLES = Path(__file__).parents[3] / "shared/samples/mirror-node"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

#: the first messages of topic 0.0.4603900 on testnet: time, content and running hash
TUTORIAL = (
    ("1683553059.977315003", "TWVzc2FnZSAx", "vKnW8bYSjhYtHtMNOJWrkfyv77kKc4EREDycKE2L37aU0SYlx+g6HB9ah7CTFSxl"),
    ("1683553060.092158003", "TWVzc2FnZSAy", "JM8LpmRwUVc+wiwzRHBgcCv8uJkbfan8BV2QPC0hBMgXA9KIvy8TwOoXsukgmeC+"),
    ("1683553060.328178003", "TWVzc2FnZSAz", "OL6EUxAayPsRiuhwflX5heRgIGEWmHcJU7bS2qBPeJNoOiMQmaY0H6G/pXJ7wGQz"),
)
IDS = st.builds(LedgerId, *(st.integers(0, 2**63 - 1) for _ in range(3)))


def build_topic(contents: Sequence[bytes], *, topic: str = "0.0.7", first: int = 1) -> list[TopicMessage]:
    """Return the messages of a topic, with their running hashes."""
    messages: list[TopicMessage] = []
    running_hash = GENESIS_HASH
    for number, content in enumerate(contents, start=first):
        message = TopicMessage(
            topic=LedgerId.parse(topic),
            sequence=number,
            timestamp=1_700_000_000_000_000_000 + number * 1_000,
            payer=LedgerId.parse("0.0.1001"),
            content=content,
            running_hash=b"",
        )
        running_hash = compute_running_hash(message, running_hash)
        messages.append(replace(message, running_hash=running_hash))
    return messages


def format_message(message: TopicMessage) -> dict[str, Any]:
    """Return a message in the fields of a mirror node."""
    chunk = message.chunk
    account, _, valid_start = chunk.transaction.partition("@") if chunk else ("", "", "")
    return {
        "chunk_info": chunk
        and {
            "initial_transaction_id": {
                "account_id": account,
                "nonce": 0,
                "scheduled": False,
                "transaction_valid_start": valid_start,
            },
            "number": chunk.number,
            "total": chunk.total,
        },
        "consensus_timestamp": format_timestamp(message.timestamp),
        "message": b64encode(message.content).decode(),
        "payer_account_id": str(message.payer),
        "running_hash": b64encode(message.running_hash).decode(),
        "running_hash_version": message.version,
        "sequence_number": message.sequence,
        "topic_id": str(message.topic),
    }


def read_sample(file: Path) -> list[TopicMessage]:
    return sorted(parse_messages(file.read_bytes()), key=lambda message: (message.topic, message.sequence))


def list_samples() -> list[Path]:
    return [file for file in sorted(SAMPLES.glob("*.json")) if '"running_hash"' in file.read_text()]


def build_tutorial() -> dict[str, Any]:
    """Return the messages of the tutorial, as the mirror node gives them."""
    return {
        "messages": [
            {
                "consensus_timestamp": timestamp,
                "message": content,
                "payer_account_id": "0.0.2617920",
                "running_hash": running_hash,
                "running_hash_version": 3,
                "sequence_number": number,
                "topic_id": "0.0.4603900",
            }
            for number, (timestamp, content, running_hash) in enumerate(TUTORIAL, start=1)
        ]
    }


def test_known_answers() -> None:
    messages = parse_messages(json.dumps(build_tutorial()))
    assert [verdict.proof for verdict in verify(messages)] == [Proof.PROVED] * 3


@needs_samples
def test_every_real_message_with_a_known_predecessor_is_proved() -> None:
    proofs = [verdict.proof for file in list_samples() for verdict in verify(read_sample(file))]
    assert (proofs.count(Proof.PROVED), proofs.count(Proof.WRONG)) == (41, 0)


@needs_samples
@given(st.data())
def test_whatever_bit_of_a_real_message_is_flipped_it_is_found_and_named(data: st.DataObject) -> None:
    messages = read_sample(data.draw(st.sampled_from(list_samples())))
    places = [place for place, verdict in enumerate(verify(messages)) if verdict.proof is Proof.PROVED]
    place = data.draw(st.sampled_from(places))
    messages[place] = flip_bit(messages[place], data)
    verdicts = list(verify(messages))
    is_alone = [message.topic for message in messages].count(messages[place].topic) == 1
    if is_alone and messages[place].sequence != 1:  # it was moved, and there is nothing left to compare it with
        assert verdicts[place].proof is Proof.UNKNOWN
        return
    # Its own hash does not match, it is not where it should be, or the one after it does not follow.
    wrong = [verdict.message for verdict in verdicts if verdict.proof is Proof.WRONG]
    assert wrong
    assert wrong[0].topic == messages[place].topic
    assert wrong[0] in messages[place : place + 2]


def flip_bit(message: TopicMessage, data: st.DataObject) -> TopicMessage:
    """Return the message with one bit changed that is a part of its hash, or with its hash changed."""
    field = data.draw(st.sampled_from(["content", "sequence", "timestamp", "payer", "running_hash"]))
    value = getattr(message, field)
    if isinstance(value, bytes):
        position = data.draw(st.integers(0, len(value) * 8 - 1))
        changed: Any = (int.from_bytes(value) ^ (1 << position)).to_bytes(len(value))
    elif isinstance(value, int):
        changed = value ^ (1 << data.draw(st.integers(0, 40)))
    else:
        changed = replace(value, number=value.number ^ (1 << data.draw(st.integers(0, 40))))
    return replace(message, **{field: changed})


@given(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=8), st.data())
def test_what_is_left_out_repeated_or_moved_is_found(contents: list[bytes], data: st.DataObject) -> None:
    messages = build_topic(contents)
    assert {verdict.proof for verdict in verify(messages)} == {Proof.PROVED}
    place = data.draw(st.integers(0, len(messages) - 1))
    repeated = [*messages[: place + 1], *messages[place:]]
    assert [verdict.message for verdict in verify(repeated) if verdict.proof is Proof.WRONG] == [messages[place]]
    if 0 < place < len(messages) - 1:
        left_out = [*messages[:place], *messages[place + 1 :]]
        assert [verdict.message for verdict in verify(left_out) if verdict.proof is Proof.WRONG] == [
            messages[place + 1]
        ]


def test_topics_may_be_mixed_and_may_begin_anywhere() -> None:
    first, second = build_topic([b"a", b"b"]), build_topic([b"c", b"d"], topic="0.0.8")
    mixed = [first[0], second[0], second[1], first[1]]
    assert [verdict.proof for verdict in verify(mixed)] == [Proof.PROVED] * 4
    assert [verdict.proof for verdict in verify([first[1]])] == [Proof.UNKNOWN]
    [verdict] = verify([replace(first[0], version=2)])
    assert (verdict.proof, verdict.reason) == (
        Proof.WRONG,
        "its running hash has version 2, and only 3 can be checked",
    )


@given(
    st.builds(
        TopicMessage,
        topic=IDS,
        payer=IDS,
        sequence=st.integers(0, 2**63 - 1),
        timestamp=st.integers(0, 9_999_999_999_999_999_999),
        content=st.binary(max_size=1_024),
        running_hash=st.binary(min_size=48, max_size=48),
        version=st.just(3),
        chunk=st.none()
        | st.builds(
            lambda payer, time, total: Chunk(f"{payer}@{format_timestamp(time)}", total, total),
            IDS,
            st.integers(0, 10**18),
            st.integers(1, 20),
        ),
    )
)
def test_a_message_is_read_as_it_was_written(message: TopicMessage) -> None:
    assert parse_message(json.loads(json.dumps(format_message(message)))) == message


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"topic_id": None}, "topic_id is missing"),
        ({"topic_id": "0.0"}, "'0.0' is not the id of a topic or an account"),
        ({"topic_id": f"0.0.{2**63}"}, f"'0.0.{2**63}' is not the id of a topic or an account"),
        ({"payer_account_id": 7}, "payer_account_id is not text"),
        ({"sequence_number": "1"}, "sequence_number is not a whole number"),
        ({"sequence_number": -1}, "sequence_number is not a whole number"),
        ({"sequence_number": True}, "sequence_number is not a whole number"),
        ({"consensus_timestamp": "1.5"}, "'1.5' is not a time of a ledger"),
        ({"message": "é"}, "message is not base64"),
        ({"running_hash": "AAAA"}, "running_hash has 3 bytes, not 48"),
        ({"chunk_info": 7}, "chunk_info is not an object with an initial_transaction_id"),
    ],
)
def test_what_is_not_a_message_is_refused_with_its_number(changes: dict[str, Any], sentence: str) -> None:
    entry = format_message(build_topic([b"a"])[0])
    text = json.dumps({"messages": [entry, entry | changes]})
    with pytest.raises(Invalid) as caught:
        parse_messages(text)
    assert caught.value.message == f"message 2 of the file: {sentence}"


@pytest.mark.parametrize("text", ["", "no", "[1", '"x"', '{"messages": 7}', "[" * 100_000])
def test_what_is_not_a_document_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_messages(text)


def test_times_have_nine_digits() -> None:
    assert parse_timestamp("1640995200.252365821") == 1_640_995_200_252_365_821
    assert format_timestamp(1_640_995_200_000_000_007) == "1640995200.000000007"
