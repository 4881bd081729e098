"""The table of all peers, and that of their settings, in docs/peers.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench.peers.installation import NotInstalled, list_versions
from bench.peers.measurements import CALLER_COUNTS, Effort, Findings, compute_quantiles
from bench.peers.peer import Peer
from bench.support.docs_page import format_table, replace_written
from bench.support.table import describe_machine, describe_time

PAGE: Final = Path(__file__).parents[2] / "docs" / "peers.md"

HEADINGS: Final = (
    "peer",
    *(f"accepted/s, {count} caller{'s' if count > 1 else ''}" for count in CALLER_COUNTS),
    "push to wake, p50 / p99",
    "after SIGKILL: accepted, found, found twice",
    "two pushes with one key",
    "bytes of 20 messages, for a model",
    "idle: share of a core, written",
)


def write_findings(peers: Sequence[Peer], findings: Mapping[str, Findings], effort: Effort, page: Path = PAGE) -> None:
    table = format_table(HEADINGS, (format_row(peer, findings[peer.name]) for peer in peers))
    settings = format_table(
        ("peer", "version", "settings"), ((peer.name, _format_versions(peer), peer.settings) for peer in peers)
    )
    amounts = (
        f"{effort.turns} turns of {effort.turn_seconds:g} s for each number of callers, {effort.wakes} wakes,"
        f" {effort.idle_seconds:g} s idle"
    )
    note = f"Measured on: {describe_machine()}; {amounts}; {describe_time()} at the end."
    replace_written(page, f"{note}\n\n{table}\n{settings}")


def format_row(peer: Peer, findings: Findings) -> list[str]:
    """The cells of a peer. A cell without a figure says why."""
    start = findings.failures.get("start")
    return [
        peer.name,
        *(_format_rate(findings, callers, start) for callers in CALLER_COUNTS),
        _format_wakes(peer, findings),
        _format_survival(peer, findings),
        _format_repeats(peer, findings),
        _format_drain(peer, findings),
        _format_idle(findings),
    ]


def _format_rate(findings: Findings, callers: int, start: str | None) -> str:
    rates = findings.rates.get(callers)
    failure = findings.failures.get(f"{callers} callers", start)
    if failure is not None:
        return f"failed: {failure}"
    return f"{median(rates):,.0f} [{min(rates):,.0f}..{max(rates):,.0f}]" if rates else "not measured"


def _format_wakes(peer: Peer, findings: Findings) -> str:
    if peer.no_wake is not None:
        return peer.no_wake
    if not findings.wakes:
        return f"failed: {findings.failures.get('wake', 'not measured')}"
    middle, high = compute_quantiles(findings.wakes)
    place = ", in its process" if peer.reads_in_process else ""
    return f"{middle * 1000:,.1f} / {high * 1000:,.1f} ms{place}"


def _format_survival(peer: Peer, findings: Findings) -> str:
    if not peer.can_read:
        return "cannot be read back"
    if findings.survival is None:
        return f"failed: {findings.failures.get('survival', 'not measured')}"
    accepted, found, twice = findings.survival
    return f"{accepted:,}, {found:,}, {twice:,}"


def _format_repeats(peer: Peer, findings: Findings) -> str:
    if not peer.has_keys:
        return "takes no key"
    return "not measured" if findings.repeats_read is None else f"{findings.repeats_read} read"


def _format_drain(peer: Peer, findings: Findings) -> str:
    if peer.hands_over is not None:
        return peer.hands_over
    return "the same text" if findings.drained_bytes is None else f"{findings.drained_bytes:,}"


def _format_idle(findings: Findings) -> str:
    if findings.idle is None:
        return "not measured"
    share, written = findings.idle
    return f"{share:.2%}, {written:,.0f} B/s"


def _format_versions(peer: Peer) -> str:
    try:
        versions = list_versions(peer.environment)
    except NotInstalled as error:
        return str(error)
    return ", ".join(f"{name} {versions.get(name, '?')}" for name in peer.packages)
