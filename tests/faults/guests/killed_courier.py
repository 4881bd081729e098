"""
A courier that is killed between writing a line and acking the parcel it came in:
`python -m tests.faults.guests.killed_courier NATS AGENT SPOOL`. The spool may have `<session>` in its path; the
session is `s1`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence

from gatepost.guests.courier_background import Courier
from gatepost.guests.session import Guest
from gatepost.guests.spool_files import FileSpool
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox.event import Item
from gatepost.transports.jetstream import JetStreamSubscription

#: seconds after which what it did not ack comes again
ACK_WAIT = 1.0


class FatalSpool(FileSpool):
    def append(self, session: str, lines: Sequence[SpoolLine]) -> None:
        super().append(session, lines)
        os.kill(os.getpid(), signal.SIGKILL)


async def list_nothing() -> list[Item]:
    return []


def main(server: str, agent: str, path: str) -> None:
    courier = Courier(
        agent,
        open_subscription=lambda: JetStreamSubscription(server, agent, ack_wait=ACK_WAIT),
        read_pending=list_nothing,
        spool=FatalSpool(path),
        list_guests=lambda: [Guest(session="s1", agent=agent)],
    )
    asyncio.run(courier.run(asyncio.Event()))


if __name__ == "__main__":
    main(*sys.argv[1:])
