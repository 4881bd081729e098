"""Operations of agents on a ledger: real ones are understood, ours are read as written, nothing else gets through."""

import json
from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.errors import Invalid
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import (
    ConnectionMemo,
    OperationCode,
    OperatorId,
    TopicCode,
    find_reference,
    parse_connection_memo,
    parse_operator_id,
)
from gatepost.ledger.hcs.hcs10_operations import (
    MAX_SIZE,
    CloseConnectionOperation,
    ConnectionCreated,
    ConnectionRequest,
    MessageOperation,
    Operation,
    parse_operation,
)
from gatepost.ledger.topic import MAX_NUMBER, LedgerId

SAMPLES = Path(__file__).parents[4] / "shared/samples/mirror-node"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")

IDS = st.builds(LedgerId, *(st.integers(0, MAX_NUMBER) for _ in range(3)))
OPERATORS = st.builds(OperatorId, IDS, IDS)
NUMBERS = st.integers(1, MAX_NUMBER)
#: text that can be stored
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)

ALICE = OperatorId(LedgerId(0, 0, 10854406), LedgerId(0, 0, 8009862))
BOB = OperatorId(LedgerId(0, 0, 10854409), LedgerId(0, 0, 8009862))
OPERATOR = "0.0.5@0.0.4"


def id_of(number: int) -> LedgerId:
    return LedgerId(0, 0, number)


def parse(**fields: Any) -> Operation:
    return parse_operation(json.dumps({"p": "hcs-10", **fields}).encode())


def read_sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_bytes())


def parse_sample(messages: list[dict[str, str]]) -> list[Operation]:
    return [parse_operation(b64decode(message["message"])) for message in messages]


@needs_samples
def test_a_real_flow_is_understood() -> None:
    sample = read_sample("testnet-hcs10-flow-tracelab.json")
    inbound_memo, connection_memo, outbound_memo = (topic["memo"] for topic in sample["topics"])
    assert parse_connection_memo(connection_memo) == ConnectionMemo(BOB.inbound, 1)
    assert inbound_memo == hcs10.build_inbound_memo(BOB.account)
    assert connection_memo == hcs10.build_connection_memo(BOB.inbound, 1)
    assert outbound_memo == hcs10.OUTBOUND_MEMO
    assert parse_sample(sample["inbound_messages"]) == [
        ConnectionRequest(operator_id=ALICE, note="Trace Lab Alice requests a connection to Bob."),
        ConnectionCreated(
            operator_id=BOB,
            connection=id_of(10854412),
            requester=ALICE.account,
            request=1,
            note="Trace Lab Bob accepts the connection.",
        ),
    ]
    first, second = parse_sample(sample["connection_messages"])
    assert isinstance(first, MessageOperation)
    assert isinstance(second, MessageOperation)
    assert (first.operator_id, second.operator_id) == (ALICE, BOB)
    assert isinstance(first.data, str)
    assert isinstance(second.data, str)
    assert [json.loads(data)["type"] for data in (first.data, second.data)] == ["trace_lab_ping", "trace_lab_ack"]
    assert find_reference(first.data) is None


@needs_samples
def test_a_real_connection_is_understood_and_another_protocol_is_not() -> None:
    sample = read_sample("testnet-hcs10-connection-wishmail.json")
    assert parse_connection_memo(sample["_topic_memo"]["0.0.10464056"]) == ConnectionMemo(id_of(10452149), 1)
    with pytest.raises(Invalid, match="'hcs-2:0:60' is not the memo of a connection of agents"):
        parse_connection_memo(sample["_topic_memo"]["0.0.10448509"])
    *messages, registration = sample["messages"]
    for message in parse_sample(messages):
        assert isinstance(message, MessageOperation)
        assert message.operator_id == OperatorId(id_of(10462704), id_of(10462700))
        assert isinstance(message.data, str)
        assert json.loads(message.data)["p"] == "wishmail"
    with pytest.raises(Invalid, match="p: 'hcs-2' is not 'hcs-10'"):
        parse_sample([registration])


def test_data_is_a_text_a_reference_or_an_object_and_other_fields_are_ignored() -> None:
    operator_id = parse_operator_id(OPERATOR)
    data = {"message_type": "fyi", "payload": {"a": [1, None]}}
    assert parse(
        op="message", operator_id=OPERATOR, data=data, ts="2026-04-25T00:00:00Z", x={"y": 1}
    ) == MessageOperation(operator_id=operator_id, data=data)
    message = parse(op="message", operator_id=OPERATOR, data="hcs://1/0.0.12345")
    assert isinstance(message, MessageOperation)
    assert isinstance(message.data, str)
    assert find_reference(message.data) == id_of(12345)
    assert parse(op="message", operator_id=OPERATOR, data="hcs://1/x") == MessageOperation(
        operator_id=operator_id, data="hcs://1/x"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the message is not JSON"),
        (b"hello", "the message is not JSON"),
        (b"\xff\xfe", "the message is not UTF-8"),
        (b"[]", "the message is not a JSON object"),
        (b'"x"', "the message is not a JSON object"),
        (b"[" * 60_000, "the message is nested over 100 deep"),
        (b'{"p":' * 200 + b"1" + b"}" * 200, "the message is nested over 100 deep"),
        (b'{"p": NaN}', "the message is not JSON"),
        (b'{"p": ' + b"9" * 5_000 + b"}", "the message is not JSON"),
        (b'{"p": 1e999}', "the message has a number in it that is too large: 1e999"),
        (b" " * (MAX_SIZE + 1), "the message has 65537 bytes, over the limit of 65536"),
        (b'{"p": "hcs-10", "op": "message", "m": "\\ud800"}', "the message is not valid Unicode: "),
        (b'{"p": "hcs-10", "op": "message", "m": "\\u0000"}', "the message has a NUL character in it"),
        (b"{}", "p: null is not 'hcs-10'"),
        (b'{"p": {"secret": 1}}', "p: an object is not 'hcs-10'"),
        (b'{"p": "hcs-10"}', "op: null is not an operation"),
        (b'{"p": "hcs-10", "op": "fly"}', "op: 'fly' is not an operation"),
        (b'{"p": "hcs-10", "op": "register", "account_id": "0.0.4"}', "it is not an operation for this topic"),
        (b'{"p": "hcs-10", "op": ["message"]}', "op: a list is not an operation"),
    ],
)
def test_what_is_not_an_operation_is_refused(content: bytes, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_operation(content)
    assert caught.value.message.startswith(sentence)


CREATED = {
    "op": "connection_created",
    "operator_id": OPERATOR,
    "connection_topic_id": "0.0.7",
    "connected_account_id": "0.0.8",
    "connection_id": 1,
}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"op": "message", "data": "x"}, "'operator_id' is missing"),
        ({"op": "message", "operator_id": 5, "data": "x"}, "operator_id: 5 is not text"),
        ({"op": "message", "operator_id": "0.0.5", "data": "x"}, "operator_id: '0.0.5' is not the id of an agent"),
        ({"op": "message", "operator_id": f"{OPERATOR}@0.0.1", "data": "x"}, "operator_id: '0.0.5@0.0.4@0.0.1' is not"),
        ({"op": "message", "operator_id": OPERATOR}, "'data' is missing"),
        ({"op": "message", "operator_id": OPERATOR, "data": ""}, "'data' is missing"),
        ({"op": "message", "operator_id": OPERATOR, "data": [1]}, "data: a list is not text or an object"),
        ({"op": "message", "operator_id": OPERATOR, "data": "x", "m": 7}, "m: 7 is not text"),
        ({"op": "message", "operator_id": OPERATOR, "data": "x", "m": "x" * 5_000}, "m: 'xxx"),
        ({**CREATED, "connection_id": "1"}, "connection_id: '1' is not a whole number"),
        ({**CREATED, "connection_id": True}, "connection_id: true is not a whole number"),
        ({**CREATED, "connection_id": 1.0}, "connection_id: 1.0 is not a whole number"),
        ({**CREATED, "connection_id": 0}, "connection_id: 0 is less than 1"),
        ({**CREATED, "connection_id": 2**63}, f"connection_id: {2**63} is more than"),
        ({**CREATED, "connection_id": None}, "'connection_id' is missing"),
        ({**CREATED, "connection_topic_id": "0.0.x"}, "connection_topic_id: '0.0.x' is not the id of a topic"),
        ({"op": "connection_request", "operator_id": OPERATOR, "connection_request_id": 1}, "it is not an operation"),
        ({**CREATED, "outbound_topic_id": "0.0.6"}, "it is not an operation"),
        ({"op": "close_connection", "operator_id": OPERATOR, "reason": {}}, "reason: an object is not text"),
    ],
)
def test_an_operation_with_a_wrong_field_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse(**fields)
    assert caught.value.message.startswith(sentence)


@given(OPERATORS, OPERATORS, IDS, IDS, NUMBERS, NUMBERS, TEXTS, TEXTS)
def test_an_operation_is_read_as_it_was_built(
    ours: OperatorId,
    theirs: OperatorId,
    connection: LedgerId,
    outbound: LedgerId,
    request: int,
    confirmation: int,
    reason: str,
    note: str,
) -> None:
    built_operations = [
        (hcs10.build_connection_request(ours, note), ConnectionRequest(operator_id=ours, note=note)),
        (
            hcs10.build_connection_created(ours, connection, theirs.account, request, note),
            ConnectionCreated(
                operator_id=ours, connection=connection, requester=theirs.account, request=request, note=note
            ),
        ),
        (
            hcs10.build_close_connection(ours, reason, note),
            CloseConnectionOperation(operator_id=ours, reason=reason, note=note),
        ),
        (hcs10.build_message(str(ours), f"x{note}"), MessageOperation(operator_id=ours, data=f"x{note}")),
    ]
    for content, operation in built_operations:
        assert parse_operation(content) == operation
    records = [
        hcs10.build_connection_request_record(theirs, outbound, request, note),
        hcs10.build_connection_created_record(
            ours, connection, outbound, requester_outbound=theirs.inbound, request=request, confirmation=confirmation
        ),
        hcs10.build_connection_closed(ours, connection, method="submit_key", reason=reason, note=note),
    ]
    for record in records:
        with pytest.raises(Invalid, match="it is not an operation for this topic"):
            parse_operation(record)


def test_a_request_and_its_acceptance_have_the_fields_of_the_standard() -> None:
    assert json.loads(hcs10.build_connection_request(ALICE)) == {
        "p": "hcs-10",
        "op": "connection_request",
        "operator_id": str(ALICE),
    }
    assert json.loads(hcs10.build_connection_created(BOB, id_of(7), ALICE.account, 12345, "Connected")) == {
        "p": "hcs-10",
        "op": "connection_created",
        "connection_topic_id": "0.0.7",
        "connected_account_id": "0.0.8009862",
        "operator_id": str(BOB),
        "connection_id": 12345,
        "m": "Connected",
    }


@given(IDS, NUMBERS)
def test_the_memo_of_a_connection_is_read_as_it_was_built(id: LedgerId, request: int) -> None:
    assert parse_connection_memo(hcs10.build_connection_memo(id, request)) == ConnectionMemo(id, request)
    for memo in (hcs10.build_inbound_memo(id), hcs10.OUTBOUND_MEMO, f"hcs-10:0:60:3:{id}"):
        with pytest.raises(Invalid):
            parse_connection_memo(memo)


@pytest.mark.parametrize("operation", OperationCode)
@pytest.mark.parametrize("topic", TopicCode)
def test_memos_of_transactions_name_operation_and_topic(operation: OperationCode, topic: TopicCode) -> None:
    assert hcs10.build_transaction_memo(operation, topic) == f"hcs-10:op:{operation.value}:{topic.value}"


def test_a_message_to_an_inbound_topic_has_the_memo_of_the_standard() -> None:
    assert hcs10.build_transaction_memo(OperationCode.MESSAGE, TopicCode.INBOUND) == "hcs-10:op:6:1"


@given(OPERATORS, IDS)
def test_ids_and_references_are_read_as_they_were_built(operator_id: OperatorId, file: LedgerId) -> None:
    assert parse_operator_id(hcs10.build_operator_id(*operator_id)) == operator_id
    assert find_reference(hcs10.build_reference(file)) == file


FIELDS = st.dictionaries(
    st.sampled_from(
        ["operator_id", "data", "m", "reason", "connection_topic_id", "connection_id", "outbound_topic_id", "uid"]
    ),
    st.just(OPERATOR) | st.just("0.0.7") | st.text(max_size=10) | st.integers() | st.none() | st.lists(st.floats()),
)
OPERATIONS = st.builds(
    lambda op, fields: json.dumps({"p": "hcs-10", "op": op, **fields}).encode(),
    st.sampled_from(["register", "delete", "connection_request", "connection_created", "message", "close_connection"]),
    FIELDS,
)


@given(st.binary(max_size=200) | OPERATIONS, st.text(max_size=60))
def test_whatever_others_post_only_invalid_is_raised(content: bytes, text: str) -> None:
    with suppress(Invalid):
        parse_operation(content)
    for parse_text in (parse_connection_memo, parse_operator_id, find_reference):
        for value in (text, f"hcs-10:{text}", f"hcs-10:0:60:2:{text}", f"hcs://1/{text}", f"0.0.5@{text}"):
            with suppress(Invalid):
                parse_text(value)
