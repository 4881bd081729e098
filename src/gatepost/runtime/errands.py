"""
The errand boy: does what verbs have written down, at least once.

Each kind of errand has a handler. A handler that returns has done it; one that raises has not, and it is tried again
later, `Later` naming when. Errands of a round are done side by side; what is not finished within the hold goes to the
next runner, so a handler should be done well within it or be safe to be doubled.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from gatepost.actions import errands
from gatepost.core.errand import Errand
from gatepost.core.frame import TransportMessage
from gatepost.core.instants import SECOND, Duration
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, Unavailable
from gatepost.ports import CommandRunner, Reader, Store
from gatepost.telemetry import hide_secrets

#: seconds that a command may take, well within the hold of an errand
_LIMIT: Final = 60.0

Handler = Callable[[Errand], Awaitable[None]]


class Later(Exception):
    """Not now: try again in so long."""

    def __init__(self, reason: str, again_in: Duration) -> None:
        super().__init__(reason)
        self.again_in = again_in


async def run(store: Store, handlers: Mapping[str, Handler], holder: str) -> float | None:
    """Do what is due; return in how many seconds there is more."""
    while taken := await store.run(errands.take, list(handlers), holder, lane="errands"):
        async with asyncio.TaskGroup() as group:
            for errand in taken:
                group.create_task(_do(store, handlers[errand.kind], errand, holder))
    return await store.read(_wait, list(handlers))


async def answered(commands: CommandRunner, command: str, errand: Errand) -> None:
    """
    Run the command of `decision.on_answer`, with the answer as JSON on its stdin. One that does not end with 0 has
    failed, and is run again later.
    """
    ran = await commands.run(command, stdin=json.dumps(errand.payload, ensure_ascii=False), time_limit=_LIMIT)
    if ran.code is None:
        raise Unavailable(f"decision.on_answer took over {_LIMIT:.0f} seconds")
    if ran.code != 0:
        said = f": {hide_secrets(ran.first_line)}" if ran.first_line else ""
        raise Unavailable(f"decision.on_answer ended with {ran.code}{said}")


def wakes(signal: TransportMessage) -> bool:
    """Whether a signal says that there is something to do."""
    return isinstance(signal, Ring) and signal.recipient.startswith("errand:")


async def _do(store: Store, handler: Handler, errand: Errand, holder: str) -> None:
    try:
        await handler(errand)
    except Later as later:
        await store.run(errands.failed, errand, holder, str(later), again_in=later.again_in, lane="errands")
    except Exception as error:  # noqa: BLE001 (whatever it was, it is tried again, and written down)
        await store.run(errands.failed, errand, holder, str(error) or repr(error), lane="errands")
    else:
        with suppress(Conflict):  # it took longer than the hold, and another runner has it: it will be done twice
            await store.run(errands.done, errand.id, holder, lane="errands")


def _wait(tx: Reader, kinds: list[str]) -> float | None:
    due = errands.next_due(tx, kinds)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
