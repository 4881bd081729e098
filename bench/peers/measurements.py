"""
What is done to each peer, and what it is told by.

    accepted     callers send one text of 200 characters after the other for some seconds; peers take turns
    wake         a text is sent to a process that waits: from before the send until the other process has it
    repeat       two texts with the same key: how many of them are read
    drain        twenty texts wait: how many bytes a model is handed
    idle         a reader waits and nothing happens: processor time and bytes written, of it and of the peer's servers
    survival     callers are told what was accepted while the program and its servers are killed with SIGKILL; then the
                 servers start again, and a new reader reads everything there is
"""

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from statistics import median, quantiles
from typing import Final

import psutil

from bench.peers.installation import NotInstalled
from bench.peers.peer import Peer
from bench.peers.setup import Failed, ProgramProcess, Setup, list_tree, open_setup

CALLER_COUNTS: Final = (1, 16, 100)
#: characters of a text
TEXT_LENGTH: Final = 200
#: texts that wait for a drain
DRAINED: Final = 20
#: seconds without anything read, after which everything was read
_QUIET: Final = 15.0


@dataclass(frozen=True, slots=True)
class Effort:
    #: turns of every peer for each number of callers, and seconds of one turn
    turns: int
    turn_seconds: float
    wakes: int
    idle_seconds: float
    #: seconds of sending before the kill
    kill_seconds: float


FULL: Final = Effort(turns=5, turn_seconds=2.0, wakes=100, idle_seconds=60.0, kill_seconds=2.0)
QUICK: Final = Effort(turns=1, turn_seconds=0.5, wakes=5, idle_seconds=5.0, kill_seconds=0.5)


@dataclass(slots=True)
class Findings:
    """What was found about a peer; what is None was not measured, and `failure` says why."""

    #: accepted a second, by the number of callers: a figure for each turn
    rates: dict[int, list[float]] = field(default_factory=dict)
    #: seconds
    wakes: list[float] = field(default_factory=list)
    #: of two texts with one key
    repeats_read: int | None = None
    drained_bytes: int | None = None
    #: share of a core, and bytes a second
    idle: tuple[float, float] | None = None
    #: texts that were accepted before the kill, those of them that were found after it, and those found twice
    survival: tuple[int, int, int] | None = None
    failures: dict[str, str] = field(default_factory=dict)


def measure(peers: Sequence[Peer], effort: Effort, say: Callable[[str], None]) -> dict[str, Findings]:
    findings = {peer.name: Findings() for peer in peers}
    measure_rates(peers, findings, effort, say)
    for peer in peers:
        for name, step in (("wake", _measure_reading), ("survival", _measure_survival)):
            say(f"{peer.name}: {name}")
            _attempt(findings[peer.name], name, partial(step, peer, findings[peer.name], effort))
    return findings


def measure_rates(
    peers: Sequence[Peer], findings: dict[str, Findings], effort: Effort, say: Callable[[str], None]
) -> None:
    """Let the peers take turns. All of them run at the same time; who has no turn has nothing to do."""
    with ExitStack() as stack:
        senders: dict[str, ProgramProcess] = {}
        for peer in peers:
            say(f"{peer.name}: start")
            _attempt(findings[peer.name], "start", partial(_start_sender, peer, senders, stack))
        for callers in CALLER_COUNTS:
            for _ in range(effort.turns):
                for name, sender in list(senders.items()):
                    say(f"{name}: {callers} callers")
                    rates = findings[name].rates.setdefault(callers, [])
                    send = partial(send_texts, sender, callers, effort.turn_seconds)
                    if not _attempt(findings[name], f"{callers} callers", lambda: rates.append(send())):  # noqa: B023
                        del senders[name]


def _start_sender(peer: Peer, senders: dict[str, ProgramProcess], stack: ExitStack) -> None:
    setup = stack.enter_context(open_setup(peer))
    sender = stack.enter_context(setup.run("send"))
    send_texts(sender, 1, 0.2)  # what is done once is done now
    senders[peer.name] = sender


def send_texts(sender: ProgramProcess, callers: int, seconds: float) -> float:
    """Return how many were accepted a second."""
    sender.send(do="send", callers=callers, seconds=seconds)
    return float(sender.require("rate"))


def _measure_reading(peer: Peer, findings: Findings, effort: Effort) -> None:
    with open_setup(peer) as setup, setup.run("both" if peer.reads_in_process else "send") as sender:
        if peer.hands_over is None and not peer.reads_in_process:
            for number in range(DRAINED):
                sender.send(do="push", text=f"{number} ".ljust(TEXT_LENGTH, "."))
                sender.require("start")
            with setup.run("drain") as process:
                findings.drained_bytes = process.require("bytes")
        if not peer.can_read:
            findings.idle = _measure_idle(setup, sender, effort)
            return
        with ExitStack() as stack:
            reader = sender if peer.reads_in_process else stack.enter_context(setup.run("read"))
            if peer.no_wake is None:
                findings.wakes = [_measure_wake(sender, reader, number) for number in range(effort.wakes + 1)][1:]
            if peer.has_keys:
                for text, key in (("a repeat", "the same"), ("a repeat", "the same"), ("the last", None)):
                    sender.send(do="push", text=text, key=key)
                findings.repeats_read = _read_until(reader, "the last").count("a repeat")
            findings.idle = _measure_idle(setup, reader, effort)


def _measure_wake(sender: ProgramProcess, reader: ProgramProcess, number: int) -> float:
    text = f"wake {number} ".ljust(TEXT_LENGTH, ".")
    sender.send(do="push", text=text)
    start = received_at = None
    if sender is not reader:
        start = sender.require("start")
    while start is None or received_at is None:
        report = reader.receive()
        if report is None:
            raise Failed("its reader is not woken")
        start = report.get("start", start)
        if report.get("received") == text:
            received_at = report["at"]
    return float(received_at - start)


def _read_until(reader: ProgramProcess, last: str) -> list[str]:
    texts: list[str] = []
    while last not in texts and (report := reader.receive()):
        if "received" in report:
            texts.append(report["received"])
    return texts


def _measure_idle(setup: Setup, reader: ProgramProcess, effort: Effort) -> tuple[float, float]:
    """Return the share of a core and the bytes written a second, of the reader and of the servers."""
    time.sleep(min(5.0, effort.idle_seconds))  # what a reader does when it has just started
    before, start = _sum_costs(setup, reader), time.monotonic()
    time.sleep(effort.idle_seconds)
    after, seconds = _sum_costs(setup, reader), time.monotonic() - start
    return (after[0] - before[0]) / seconds, (after[1] - before[1]) / seconds


def _sum_costs(setup: Setup, reader: ProgramProcess) -> tuple[float, float]:
    cpu = written = 0.0
    for process in (*setup.list_processes(), *list_tree(reader.pid)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            cpu += times.user + times.system
            written += process.io_counters().write_bytes
    return cpu, written


def _measure_survival(peer: Peer, findings: Findings, effort: Effort) -> None:
    if not peer.can_read:
        return
    with open_setup(peer) as setup:
        with setup.run("send") as sender:
            sender.send(do="send", callers=16, seconds=3600, tell=True)
            accepted = [sender.require("accepted")]
            end = time.monotonic() + effort.kill_seconds
            while time.monotonic() < end:
                accepted.append(sender.require("accepted"))
            setup.kill_servers()
            sender.kill()
            with suppress(Failed):  # what it said before it was killed
                while report := sender.receive():
                    accepted += [report["accepted"]] if "accepted" in report else []
        setup.restart_servers()
        with setup.run("read") as reader:
            found: Counter[str] = Counter()
            missing = set(accepted)
            while report := reader.receive(_QUIET if missing else 3.0):
                found[report["received"]] += 1
                missing.discard(report["received"])
    findings.survival = len(accepted), len(accepted) - len(missing), sum(count > 1 for count in found.values())


def _attempt(findings: Findings, name: str, step: Callable[[], object]) -> bool:
    """Do a step, and return True; if it fails, keep the reason by this name."""
    try:
        step()
    except (Failed, NotInstalled, OSError, subprocess.SubprocessError, psutil.Error) as error:
        findings.failures[name] = str(error) or type(error).__name__
        return False
    return True


def compute_quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    if len(seconds) < 2:
        return median(seconds), median(seconds)
    return median(seconds), quantiles(seconds, n=100, method="inclusive")[98]
