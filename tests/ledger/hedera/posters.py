"""
Programs that post to the network by themselves: of agents outside, or with the key of an entity.

    outsider = create_poster(network)                      # with an inbound topic
    outsider.submit(topic, outsider.build_message("hello"))
    outsider.put_file(b"...")                              # HCS-1; returns the reference to it
"""

import json
from dataclasses import dataclass
from typing import Any

from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.topic import LedgerId
from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.node import FIRST_NODE, HederaNetwork
from tests.ledger.hedera.network.protobufs import basic_types_pb2, consensus_submit_message_pb2
from tests.ledger.hedera.network.state import Account, Message
from tests.ledger.hedera.network.transactions import build_body, build_topic_id, sign


@dataclass
class Poster:
    """An account, its private key, and its inbound topic."""

    network: HederaNetwork
    account: str
    key: str
    inbound: str

    @property
    def operator_id(self) -> str:
        return f"{self.inbound}@{self.account}"

    @property
    def _entry(self) -> Account:
        return self.network.accounts[self.account]

    def build_message(self, data: Any, **fields: Any) -> str:
        """Return a message of HCS-10; a field may be another than it should be."""
        return json.dumps({"p": "hcs-10", "op": "message", "operator_id": self.operator_id, "data": data, **fields})

    def submit(self, topic: str, content: bytes | str) -> list[Message]:
        """Post a content, in chunks if it is long."""
        return self.network.submit_as(self.account, self.key, topic, content)

    def send(self, topic: str, data: Any, **fields: Any) -> list[Message]:
        return self.submit(topic, self.build_message(data, **fields))

    def submit_chunk(self, topic: str, content: str, number: int, total: int, first: Message | None = None) -> Message:
        """Post one chunk; `first` is the message of the first one."""
        body = build_body(self.account, f"0.0.{FIRST_NODE}", self.network._choose_valid_start())
        body.consensusSubmitMessage.topicID.CopyFrom(build_topic_id(topic))
        body.consensusSubmitMessage.message = content.encode()
        first_id = body.transactionID
        if first is not None:
            valid_start = first.transaction.partition("@")[2].replace(".", "")
            first_id = build_body(self.account, "0.0.3", int(valid_start)).transactionID
        chunk = consensus_submit_message_pb2.ConsensusMessageChunkInfo(
            initialTransactionID=first_id, total=total, number=number
        )
        body.consensusSubmitMessage.chunkInfo.CopyFrom(chunk)
        self.network.submit(sign(body, SigningKey.parse(self.key)), f"0.0.{FIRST_NODE}")
        return self.network.messages(topic)[-1]

    def put_file(
        self,
        content: bytes,
        *,
        memo: str | None = None,
        compressed: tuple[str, bytes] | None = None,
        has_admin_key: bool = False,
        has_submit_key: bool = True,
        parts: int | None = None,
    ) -> str:
        """Put a file on the ledger, or the first `parts` of it, and return the reference to it."""
        true_memo, messages = hcs1.build_file(content, compressed=compressed)
        topic = self.network.create_topic(
            memo or true_memo,
            submit_key=self.key if has_submit_key else None,
            admin_key=self.key if has_admin_key else None,
        )
        for message in messages[:parts]:
            self.submit(topic, message)
        return hcs10.build_reference(LedgerId.parse(topic))

    def ask(self, inbound: str, note: str = "") -> Message:
        """Ask for a connection, on the inbound topic of another."""
        request = {"p": "hcs-10", "op": "connection_request", "operator_id": self.operator_id, "m": note}
        return self.submit(inbound, json.dumps(request))[0]

    def answer(self, requester: str, request: int, *, topic: str | None = None, **fields: Any) -> str:
        """Accept a request of an account: `request` is its number in our inbound topic. Return the topic of both."""
        topic = topic or self.create_connection_topic(requester, request)
        answer = {
            "p": "hcs-10",
            "op": "connection_created",
            "connection_topic_id": topic,
            "connected_account_id": requester,
            "operator_id": self.operator_id,
            "connection_id": request,
            **fields,
        }
        self.submit(self.inbound, json.dumps(answer))
        return topic

    def create_connection_topic(self, other: str, request: int = 1) -> str:
        """Make a topic to which this account and another one may write."""
        topic = self.network.create_topic(f"hcs-10:1:60:2:{self.inbound}:{request}")
        keys = basic_types_pb2.KeyList(keys=[self._entry.key, self.network.accounts[other].key])
        self.network.topics[topic].submit_key = basic_types_pb2.Key(
            thresholdKey=basic_types_pb2.ThresholdKey(threshold=1, keys=keys)
        )
        return topic

    def publish_profile(self, name: str, **fields: Any) -> None:
        """Put a profile on the ledger, and name it in the memo of the account."""
        profile = {
            "version": "1.0",
            "type": 1,
            "display_name": name,
            "inboundTopicId": self.inbound,
            "outboundTopicId": self.network.create_topic("hcs-10:0:60:1", submit_key=self.key),
            "aiAgent": {"type": 1, "capabilities": [0], "model": "unknown"},
            **fields,
        }
        self._entry.memo = f"hcs-11:{self.put_file(json.dumps(profile).encode())}"


def create_poster(network: HederaNetwork, **options: Any) -> Poster:
    """Make an account of a stranger, and an inbound topic."""
    account, key = network.create_account(**options)
    return Poster(network, account, key, network.create_topic(f"hcs-10:0:60:0:{account}"))
