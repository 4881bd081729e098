"""Topics and messages of agents (HCS-10): the SDK of the standards writes the same as we do, and understands ours."""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import OperationCode, OperatorId, TopicCode
from gatepost.ledger.topic import LedgerId
from tests.programs.ledger.standards import StandardsSdk

pytestmark = pytest.mark.nightly

#: the agent that asks for a connection, and the one that accepts
REQUESTER: Final = OperatorId(LedgerId(0, 0, 15), LedgerId(0, 0, 14))
REQUESTER_OUTBOUND: Final = LedgerId(0, 0, 16)
ACCEPTOR: Final = OperatorId(LedgerId(0, 0, 25), LedgerId(0, 0, 24))
ACCEPTOR_OUTBOUND: Final = LedgerId(0, 0, 26)
CONNECTION: Final = LedgerId(0, 0, 30)
#: the numbers of the request and the acceptance in the inbound topic of who accepts
REQUEST: Final = 3
CONFIRMATION: Final = 4

REQUESTED: Final = hcs10.build_connection_request(REQUESTER, "Hello")
REQUESTED_RECORD: Final = hcs10.build_connection_request_record(ACCEPTOR, REQUESTER_OUTBOUND, REQUEST, "Hello")
CREATED: Final = hcs10.build_connection_created(ACCEPTOR, CONNECTION, REQUESTER.account, REQUEST, "Welcome")
CREATED_RECORD: Final = hcs10.build_connection_created_record(
    ACCEPTOR,
    CONNECTION,
    ACCEPTOR_OUTBOUND,
    requester_outbound=REQUESTER_OUTBOUND,
    request=REQUEST,
    confirmation=CONFIRMATION,
    note="Welcome",
)
CLOSED_RECORD: Final = hcs10.build_connection_closed(ACCEPTOR, CONNECTION, reason="done")
MESSAGE: Final = hcs10.build_message(str(REQUESTER), 'Zoë says "hi"')
CLOSED: Final = hcs10.build_close_connection(REQUESTER, "done")


def read_message(content: bytes, number: int) -> dict[str, Any]:
    """Return a message as the SDK has it from a mirror node."""
    return {**json.loads(content), "sequence_number": number}


@pytest.mark.parametrize(
    ("memo", "kind", "fields"),
    [
        (hcs10.build_inbound_memo(ACCEPTOR.account), "Inbound", {"accountId": "0.0.24"}),
        (hcs10.OUTBOUND_MEMO, "Outbound", {}),
        (
            hcs10.build_connection_memo(ACCEPTOR.inbound, REQUEST),
            "Connection",
            {"inboundTopicId": "0.0.25", "connectionId": REQUEST},
        ),
    ],
)
def test_our_topics_have_the_memos_of_the_sdk(sdk: StandardsSdk, memo: str, kind: str, fields: dict[str, Any]) -> None:
    assert memo == sdk.call("buildTopicMemo", kind=kind, fields={"ttl": hcs10.TTL, **fields})
    assert sdk.call("readTopicMemo", memo=memo) == kind.lower()


def test_a_topic_of_work_is_no_topic_of_agents(sdk: StandardsSdk) -> None:
    assert sdk.call("readTopicMemo", memo=hcs10.build_work_memo("task", "01K")) is None


@pytest.mark.parametrize(
    ("content", "codes", "name", "fields"),
    [
        (
            REQUESTED,
            (OperationCode.CONNECTION_REQUEST, TopicCode.INBOUND),
            "SubmitConnectionRequest",
            {"inboundTopicId": "0.0.25", "operatorId": "0.0.15@0.0.14", "memo": "Hello"},
        ),
        (
            REQUESTED_RECORD,
            (OperationCode.CONNECTION_REQUEST, TopicCode.OUTBOUND),
            "OutboundConnectionRequestRecord",
            {
                "outboundTopicId": "0.0.16",
                "operatorId": "0.0.25@0.0.24",
                "connectionRequestId": REQUEST,
                "memo": "Hello",
            },
        ),
        (
            CREATED,
            (OperationCode.CONNECTION_CREATED, TopicCode.INBOUND),
            "ConfirmConnection",
            {
                "inboundTopicId": "0.0.25",
                "connectionTopicId": "0.0.30",
                "connectedAccountId": "0.0.14",
                "operatorId": "0.0.25@0.0.24",
                "connectionId": REQUEST,
                "memo": "Welcome",
            },
        ),
        (
            CREATED_RECORD,
            (OperationCode.CONNECTION_CREATED, TopicCode.OUTBOUND),
            "OutboundConnectionCreatedRecord",
            {
                "outboundTopicId": "0.0.26",
                "requestorOutboundTopicId": "0.0.16",
                "connectionTopicId": "0.0.30",
                "confirmedRequestId": CONFIRMATION,
                "connectionRequestId": REQUEST,
                "operatorId": "0.0.25@0.0.24",
                "memo": "Welcome",
            },
        ),
        (
            MESSAGE,
            (OperationCode.MESSAGE, TopicCode.CONNECTION),
            "SendMessage",
            {"connectionTopicId": "0.0.30", "operatorId": "0.0.15@0.0.14", "data": 'Zoë says "hi"'},
        ),
    ],
    ids=["request", "request-record", "created", "created-record", "message"],
)
def test_our_operations_are_those_of_the_sdk_byte_for_byte(
    sdk: StandardsSdk, content: bytes, codes: tuple[OperationCode, TopicCode], name: str, fields: Mapping[str, Any]
) -> None:
    operation = sdk.call("buildOperation", name=name, fields=fields)
    assert content.decode() == operation["message"]
    assert hcs10.build_transaction_memo(*codes) == operation["memo"]


def test_the_sdk_reads_what_we_post_to_a_connection_and_drops_what_has_a_fault(sdk: StandardsSdk) -> None:
    messages = [read_message(content, number) for number, content in enumerate((MESSAGE, CLOSED), 1)]
    faults = [
        {**messages[0], "operator_id": "0.0.15"},
        {**messages[0], "data": ""},
        read_message(REQUESTED, 3),
    ]
    assert sdk.call("readConnectionTopic", messages=[*faults, *messages]) == messages


def test_the_sdk_follows_a_connection_from_our_request_to_its_end(sdk: StandardsSdk) -> None:
    def read_state(*contents: bytes) -> tuple[str, str, str | None]:
        records = [read_message(content, number) for number, content in enumerate(contents, 1)]
        (connection,) = sdk.call("readConnections", account=str(REQUESTER.account), inbound=[], outbound=records)
        return connection["status"], connection["targetAccountId"], connection.get("closedReason")

    assert read_state(REQUESTED_RECORD) == ("pending", "0.0.24", None)
    assert read_state(REQUESTED_RECORD, CREATED_RECORD) == ("established", "0.0.24", None)
    assert read_state(REQUESTED_RECORD, CREATED_RECORD, CLOSED_RECORD) == ("closed", "0.0.24", "done")


def test_the_sdk_follows_a_connection_that_is_asked_of_us(sdk: StandardsSdk) -> None:
    def read_state(*messages: dict[str, Any]) -> tuple[str, str, str]:
        (connection,) = sdk.call("readConnections", account=str(ACCEPTOR.account), inbound=messages, outbound=[])
        return connection["status"], connection["targetAccountId"], connection["connectionTopicId"]

    request, confirmation = read_message(REQUESTED, REQUEST), read_message(CREATED, CONFIRMATION)
    assert read_state(request) == ("needs_confirmation", "0.0.14", "inb-3:0.0.15@0.0.14")
    assert read_state(request, confirmation) == ("established", "0.0.14", "0.0.30")
