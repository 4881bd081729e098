"""
What an MCP server needs from the process that runs it: who is calling, how its requests are sent, and what has changed.

A gateway and the command `gatepost mcp` each bring a `Host`. The server asks it anew with every request who is calling:
no session is trusted to remember that.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import anyio
import structlog
from mcp.server.context import ServerRequestContext

from gatepost.core.signals import EVERY_INBOX, Topic
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox.item_api import AckClaim, BatchView, ReleaseClaim
from gatepost.operations.access import Caller
from gatepost.operations.operation import Request

R = TypeVar("R")

log = structlog.get_logger("gatepost.mcp")

#: what a listener gets if anything at all may have changed, and after a broadcast
ANYTHING: Final = EVERY_INBOX

#: seconds before a claim that could not be ended is tried again
_RETRY_DELAYS: Final = (0.1, 1.0)

Context = ServerRequestContext[Any, Any]


class RequestSender(Protocol):
    async def __call__(self, request: Request[R], /) -> R: ...


async def _accept() -> None:
    pass


class SessionProof(Protocol):
    """The hooks of the session in which a caller runs: they prove that the model has read what its program shows it."""

    #: how long they have, as a duration
    timeout: str
    #: the owner of claims that they end
    owner: str

    async def await_proof(self, batch: BatchView) -> None:
        """Leave it to the next hooks to ack or release the claim of this batch, which the program has got."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A caller of tools."""

    #: the entity that it is; the person `admin` for the administrator's key
    name: str
    caller: Caller
    #: sends a request with the rights of the caller
    send: RequestSender
    #: the guest session in which it runs, if that is known
    session: str | None = None
    #: the hooks of that session; None if they have not reported it, or not on this machine
    proof: SessionProof | None = None
    #: raises an error if the caller has lost its credential since
    verify: Callable[[], Awaitable[None]] = _accept
    #: counts a wait of the caller while entered; raises an error if it waits as often as it may
    reserve_wait: Callable[[], AbstractContextManager[None]] = nullcontext


class BatchDelivery:
    """
    A batch that was claimed for an answer. Once the answer was handed over, it is acked or, with `proof`, left to the
    hooks of a session; else it is released.
    """

    def __init__(self, peer: Peer, batch: BatchView, *, proof: SessionProof | None = None) -> None:
        self._peer = peer
        self._batch = batch
        self._claim = batch.claim
        self._proof = proof

    async def end(self, *, is_sent: bool) -> None:
        """
        Ack or release the batch; only the first call counts. If the gateway has stopped, the next try goes to another
        one, or to the store. If all fail, the claim lapses.
        """
        claim, self._claim = self._claim, None
        if claim is None:
            return
        if is_sent and self._proof is not None:
            try:
                await self._proof.await_proof(self._batch)
            except GatepostError as error:
                log.warning("a claim was left to lapse", claim=claim.claim_id, sent=True, reason=error.message)
            return
        end = AckClaim if is_sent else ReleaseClaim
        request = end(name=claim.recipient, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence)
        with anyio.CancelScope(shield=True):
            for delay in (*_RETRY_DELAYS, None):
                try:
                    await self._peer.send(request)
                except GatepostError as error:
                    if isinstance(error, Unavailable) and delay is not None:
                        await anyio.sleep(delay)
                        continue
                    log.warning("a claim was left to lapse", claim=claim.claim_id, sent=is_sent, reason=error.message)
                return


class Host(Protocol):
    #: set when the server stops: nobody should wait any longer
    stopping: anyio.Event

    async def identify(self, context: Context) -> Peer:
        """Return who sent a request; raise an error that says how to be somebody."""
        ...

    def accept_cancel(self, context: Context) -> anyio.CancelScope:
        """Return the scope that a cancellation of this request cancels."""
        ...

    def hand_over(self, context: Context, delivery: BatchDelivery) -> None:
        """End the delivery as soon as the answer to this request was written, or cannot be written any more."""
        ...

    def subscribe(self, listener: Callable[[Topic], None]) -> AbstractContextManager[None]:
        """While entered, call the listener with what may have changed, or ANYTHING."""
        ...
