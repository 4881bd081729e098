"""The gRPC services of one node: what it answers to each request of the SDK."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from tests.ledger.hedera.network.protobufs import (
    consensus_service_pb2_grpc,
    crypto_service_pb2_grpc,
    grpc,
    response_header_pb2,
    response_pb2,
    transaction_get_receipt_pb2,
    transaction_receipt_pb2,
    transaction_response_pb2,
)
from tests.ledger.hedera.network.state import Refusal, State, find_code, format_transaction
from tests.support.waits import LAST_RESORT


class Network(Protocol):
    """What a node needs of the network that it belongs to."""

    state: State

    def count_request(self, kind: str) -> None: ...

    def submit(self, transaction: Any, node: str) -> None:
        """Have a protobuf `Transaction` executed, or raise Refusal."""

    def take_reply_fault(self) -> str | None:
        """Return `drop` or `hang` if the reply to a transaction should not arrive."""

    def take_receipt_fault(self) -> str | None:
        """Return the code with which a query of a receipt should be refused."""


class NodeServer:
    """A node on a port of 127.0.0.1, while it is started."""

    def __init__(self, network: Network, account: str, port: int) -> None:
        self._network = network
        self.account = account
        self.port = port
        self._server: Any = None
        self._was_stopped = False

    def start(self) -> None:
        """Open the port; the SDK in this process can connect when this returns."""
        if self._server is not None:
            return
        self._pool = ThreadPoolExecutor(8, thread_name_prefix=f"node {self.account}")
        server = grpc.server(self._pool, options=[("grpc.so_reuseport", 0)])
        crypto_service_pb2_grpc.add_CryptoServiceServicer_to_server(CryptoService(self._network, self.account), server)
        consensus_service_pb2_grpc.add_ConsensusServiceServicer_to_server(
            ConsensusService(self._network, self.account), server
        )
        server.add_insecure_port(f"127.0.0.1:{self.port}")
        server.start()
        self._server = server
        if self._was_stopped:  # all channels of a process wait together before they connect again, for about a second
            with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
                grpc.channel_ready_future(channel).result(LAST_RESORT)

    def stop(self) -> None:
        """Close all connections at once; `start` opens the port again."""
        if self._server is None:
            return
        self._server.stop(None).wait()
        self._pool.shutdown()
        self._server, self._was_stopped = None, True


class _Service:
    """What both services share: how a transaction is answered. They have the requests that Gatepost makes."""

    def __init__(self, network: Network, node: str) -> None:
        self._network = network
        self._node = node

    def _submit(self, kind: str, request: Any, context: Any) -> Any:
        self._network.count_request(kind)
        try:
            self._network.submit(request, self._node)
        except Refusal as refusal:
            code = refusal.number
        else:
            code = find_code("OK")
        match self._network.take_reply_fault():
            case "drop":
                context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was lost")
            case "hang":
                is_over = threading.Event()
                if context.add_callback(is_over.set):
                    is_over.wait(LAST_RESORT)
            case _:
                pass
        return transaction_response_pb2.TransactionResponse(nodeTransactionPrecheckCode=code)


class CryptoService(_Service, crypto_service_pb2_grpc.CryptoServiceServicer):  # type: ignore[misc]
    def createAccount(self, request: Any, context: Any) -> Any:  # noqa: N802 (gRPC names it)
        return self._submit("createAccount", request, context)

    def updateAccount(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._submit("updateAccount", request, context)

    def cryptoTransfer(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._submit("cryptoTransfer", request, context)

    def getTransactionReceipts(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._network.count_request("getTransactionReceipts")
        id = format_transaction(request.transactionGetReceipt.transactionID)
        state = self._network.state
        fault = self._network.take_receipt_fault()
        with state.changed:
            transaction = state.find_receipt(id)
            is_pending = transaction is None and id in state.accepted_ids and id not in state.transactions
        receipt = transaction_receipt_pb2.TransactionReceipt(status=find_code("UNKNOWN"))
        if fault is not None:
            code = fault
        elif transaction is not None:
            code, receipt = "OK", transaction.receipt
        else:
            code = "OK" if is_pending else "RECEIPT_NOT_FOUND"
        header = response_header_pb2.ResponseHeader(nodeTransactionPrecheckCode=find_code(code))
        answer = transaction_get_receipt_pb2.TransactionGetReceiptResponse(
            header=header, receipt=receipt if code == "OK" else None
        )
        return response_pb2.Response(transactionGetReceipt=answer)


class ConsensusService(_Service, consensus_service_pb2_grpc.ConsensusServiceServicer):  # type: ignore[misc]
    def createTopic(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._submit("createTopic", request, context)

    def submitMessage(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._submit("submitMessage", request, context)
