"""
Requests that wait while their answer is empty, such as a claim on an inbox:

    ask  ->  is the answer empty?  ->  wait for a signal  ->  ask again

A signal that comes between the question and the wait is not missed, and one that was lost costs a few seconds. The wait
ends early if the caller leaves: then nothing more is claimed for it. If the gateway stops, the last answer is sent.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from gatepost.core.signals import EVERY_INBOX, TransportMessage
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import ClientDisconnect, HttpExchange
from gatepost.operations.operation import WAIT, Request

#: seconds after which a request that waits looks again, in case a signal was lost
_RECHECK_INTERVAL: Final = 5.0


async def wait_for_answer(
    state: GatewayState, exchange: HttpExchange, request: Request[Any], ask: Callable[[], Awaitable[Any]]
) -> Any:
    """Return the first answer that is not empty, or the last one when the time is over."""
    waiting = request.operation.waiting
    assert waiting is not None
    topic = waiting.get_topic(request)
    loop = asyncio.get_running_loop()
    end = loop.time() + getattr(request, WAIT)
    changed = asyncio.Event()

    def listen(signal: TransportMessage) -> None:
        if signal.topic in (topic, EVERY_INBOX):
            changed.set()

    state.live_streams.end_handlers.append(changed.set)
    departure = asyncio.ensure_future(exchange.receive())
    try:
        with state.signal_bus.subscribe(listen, "waiting requests"):
            while True:
                changed.clear()
                answer = await ask()
                remaining = end - loop.time()
                if not waiting.is_empty(answer) or remaining <= 0 or state.live_streams.is_ending:
                    return answer
                change = asyncio.ensure_future(changed.wait())
                await asyncio.wait(
                    {change, departure},
                    timeout=min(remaining, _RECHECK_INTERVAL),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                change.cancel()
                if departure.done():
                    raise ClientDisconnect
    finally:
        departure.cancel()
        state.live_streams.end_handlers.remove(changed.set)
