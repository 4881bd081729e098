"""Listeners on the local socket die, stop, are too busy to read, or lose their file."""

import asyncio
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from gatepost.core.signals import Frame, Signal, Topic
from gatepost.core.transport_records import TransportStatus
from gatepost.inbox.event import Event, EventType
from gatepost.testing.transports import WAIT_TIMEOUT, RecordingListener
from gatepost.transports.socket import SocketTransport

LISTENER_SCRIPT: Final = """
import asyncio, pathlib, sys
from gatepost.transports.socket import SocketTransport

async def main():
    async with SocketTransport(pathlib.Path(sys.argv[1])).listen(lambda message: None):
        print("listening", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "doorbells"
    join_sender_threads()


def list_sockets(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def join_sender_threads() -> None:
    """Return when nobody waits in a sender's place any more."""
    for thread in threading.enumerate():
        if thread.name == "gatepost-socket":
            thread.join(WAIT_TIMEOUT)
            assert not thread.is_alive()


@asynccontextmanager
async def start_listener(folder: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LISTENER_SCRIPT, str(folder), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            assert await process.stdout.readline() == b"listening\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_the_file_of_a_dead_listener_is_removed_by_whoever_signals(folder: Path) -> None:
    async with start_listener(folder) as process:
        [socket_file] = list_sockets(folder)
        process.kill()
        await process.wait()
    assert socket_file.exists()
    async with SocketTransport(folder).listen(listener := RecordingListener()):
        pass
    assert not socket_file.exists()
    async with start_listener(folder) as process, SocketTransport(folder).listen(listener):
        process.kill()
        await process.wait()
        assert len(list_sockets(folder)) == 2
        SocketTransport(folder).send([Signal(Topic("inbox", "ann"), "event")])
        await listener.wait_for("ann")
        assert len(list_sockets(folder)) == 1


async def test_a_listener_that_is_stopped_keeps_nobody_waiting(folder: Path) -> None:
    async with start_listener(folder) as process, SocketTransport(folder).listen(listener := RecordingListener()):
        os.kill(process.pid, signal.SIGSTOP)
        sender = SocketTransport(folder)
        for number in range(300):
            sender.send([Signal(Topic("inbox", str(number)), "event")])
        await listener.wait_until(lambda listener: len(listener.signals) == 300)
        await asyncio.to_thread(join_sender_threads)
        assert sender.lost_count > 0
        sender.send([Signal(Topic("inbox", "ann"), "event")])
        await listener.wait_for("ann")


async def test_a_listener_that_is_busy_hears_everything_later_in_order(folder: Path) -> None:
    async with SocketTransport(folder).listen(listener := RecordingListener()):
        sender = SocketTransport(folder)
        for number in range(500):  # nothing is read in between: the kernel holds back only the first few
            sender.send([Frame(Topic("space", "q4"), "delta", number)])
        await listener.wait_until(lambda listener: len(listener.frames) == 500)
    assert [frame.data for frame in listener.frames] == list(range(500))
    assert sender.lost_count == 0


async def test_a_listener_whose_file_is_removed_makes_a_new_one(folder: Path) -> None:
    recovered_event = asyncio.Event()

    def on_change(status: TransportStatus) -> None:
        if not status.is_degraded:
            recovered_event.set()

    transport = SocketTransport(folder, check_interval=0.01, on_change=on_change)
    async with transport.listen(recording_listener := RecordingListener()):
        shutil.rmtree(folder)
        SocketTransport(folder).send([Signal(Topic("inbox", "nobody"), "event")])
        async with asyncio.timeout(WAIT_TIMEOUT):
            await recovered_event.wait()
        SocketTransport(folder).send([Signal(Topic("inbox", "ann"), "event")])
        await recording_listener.wait_for("ann")
    assert list_sockets(folder) == []


async def test_where_a_folder_cannot_be_made_listening_is_degraded_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    transport = SocketTransport(tmp_path / "file" / "doorbells")
    async with transport.listen(RecordingListener()):
        assert transport.status.is_degraded
        assert "Not a directory" in str(transport.status.reason)
        transport.send([Signal(Topic("inbox", "ann"), "event")])


@pytest.mark.parametrize("largest", [60_000, 10_000_000])
async def test_what_is_too_large_for_a_datagram_is_signalled_without_its_event(folder: Path, largest: int) -> None:
    """With a limit above the kernel's it is the kernel that refuses, as on systems that take less than Linux."""
    large_event = Event(id="evt_1", type=EventType.EVENT, source="test", content="x" * 400_000, created_at=0)
    sender = SocketTransport(folder, max_bytes=largest)
    async with SocketTransport(folder).listen(listener := RecordingListener()):
        sender.send(
            [
                Signal(Topic("inbox", "ann"), "event", large_event),
                Frame(Topic("space", "q4"), "delta", "y" * 400_000),
                Signal(Topic("inbox", "bob"), "event"),
            ]
        )
        await listener.wait_for("bob")
    assert [(signal[0], signal[1]) for signal in listener.signals] == [("ann", "event"), ("bob", "event")]
    assert listener.frames == []
    assert sender.lost_count == 1


def test_others_may_not_signal(folder: Path) -> None:
    async def read_mode() -> int:
        async with SocketTransport(folder).listen(RecordingListener()):
            return await asyncio.to_thread(lambda: folder.stat().st_mode)

    assert asyncio.run(read_mode()) & 0o077 == 0


async def test_nonsense_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SocketTransport(folder).listen(listener := RecordingListener()):
        [socket_file] = list_sockets(folder)
        monkeypatch.chdir(folder)  # an address is short
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            for nonsense in (b"", b"\xff\x00", b"{}", b"[1, null, {}]", b'[{"to": [7]}]', b"[" * 50_000):
                sender.sendto(nonsense, socket_file.name)
        SocketTransport(folder).send([Signal(Topic("inbox", "ann"), "event")])
        await listener.wait_for("ann")
    assert listener.signals == [("ann", "event", True)]
