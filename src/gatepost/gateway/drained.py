"""
The answer to a drain: it is acked when it has been sent.

    claim  ->  all but the last byte  ->  wait until it is sent  ->  still there?  ->  the last byte  ->  ack
                                                                     no: release

A server is not told when its caller leaves; it writes on, and nobody reads. So the last byte is held back until the
rest has left for the caller and the connection has been looked at. Without it no caller can take the answer for whole:
whoever is gone by then has read nothing, and the batch is released at once. After it the caller has the batch, as far
as anybody can tell. Whatever else goes wrong leaves the claim open, and it lapses.
"""

from collections.abc import Callable

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gatepost.actions import inbox
from gatepost.core import wire
from gatepost.core.claim import Batch
from gatepost.errors import GatepostError
from gatepost.gateway.hot import JSON, encoded
from gatepost.gateway.office import Office

log = structlog.get_logger("gatepost.drain")


class Drained(Response):
    media_type = JSON

    def __init__(self, house: Office, taken: Batch) -> None:
        super().__init__(encoded(wire.write_batch(taken)))
        self._house = house
        self._taken = taken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytes(self.body)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": body[:-1], "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": True})  # waits while too much is unsent
        if await Request(scope, receive).is_disconnected():
            await self._end(inbox.release)
            return
        await send({"type": "http.response.body", "body": body[-1:], "more_body": False})
        await self._end(inbox.ack)

    async def _end(self, verb: Callable[..., int]) -> None:
        claim = self._taken.claim
        if claim is None:
            return
        try:
            await self._house.store.run(verb, claim.id, owner=claim.owner, fence=claim.fence, lane=claim.recipient)
        except GatepostError as error:
            log.warning("a drain did not end well", claim=claim.id, reason=error.message)
