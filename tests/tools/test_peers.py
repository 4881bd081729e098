"""Gatepost is compared with other queues by the same programs; the peers themselves are measured by hand."""

import json
import re
from pathlib import Path

import pytest

from bench.peers import __main__ as command, installation
from bench.peers.installation import Environment
from bench.peers.measurements import CALLER_COUNTS, Effort, Findings, compute_quantiles, measure
from bench.peers.page import HEADINGS, PAGE, format_row, write_findings
from bench.peers.peer import PEERS
from bench.support.docs_page import BEGIN, END

TINY = Effort(turns=1, turn_seconds=0.1, wakes=2, idle_seconds=0.1, kill_seconds=0.1)
OURS = [peer for peer in PEERS if peer.environment is Environment.GATEPOST]


@pytest.mark.nightly_unless_changed("bench")
def test_gatepost_keeps_what_it_accepted_when_it_is_killed_and_reads_a_repeat_once() -> None:
    findings = measure(OURS[:2], TINY, lambda _: None)

    for found in findings.values():
        assert not found.failures
        assert set(found.rates) == set(CALLER_COUNTS)
        assert len(found.wakes) == 2
        assert found.repeats_read == 1
        assert found.survival is not None
        accepted, read, read_twice = found.survival
        assert (accepted, 0) == (read, read_twice)
        assert accepted > 0
    assert findings[OURS[1].name].drained_bytes


def test_a_peer_that_is_not_installed_is_a_row_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(installation.VARIABLE, str(tmp_path))
    installation.list_versions.cache_clear()
    [peer] = [peer for peer in PEERS if peer.name == "litequeue"]
    page = tmp_path / "peers.md"
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n")

    findings = measure([peer], TINY, lambda _: None)
    write_findings([peer], findings, TINY, page)

    cells = format_row(peer, findings[peer.name])
    assert cells[:2] == ["litequeue", "failed: not installed; run `make bench-peers`"]
    assert len(cells) == len(HEADINGS)
    assert "| litequeue | not installed; run `make bench-peers` |" in page.read_text()


def test_a_row_has_the_medians_and_what_a_peer_does_not_do() -> None:
    [peer] = [peer for peer in PEERS if peer.name == "huey, SQLite"]
    found = Findings(
        rates={1: [3.0, 1.0, 2.0], 16: [4_000.0]},
        wakes=[0.005, 0.006, 0.007],
        idle=(0.004, 0.0),
        survival=(100, 100, 2),
        failures={"100 callers": "database is locked"},
    )

    assert format_row(peer, found) == [
        "huey, SQLite",
        "2 [1..3]",
        "4,000 [4,000..4,000]",
        "failed: database is locked",
        "6.0 / 7.0 ms",
        "100, 100, 2",
        "takes no key",
        "an object, to code",
        "0.40%, 0 B/s",
    ]


def test_quantiles_are_the_median_and_the_99th_percentile() -> None:
    assert compute_quantiles([0.1]) == (0.1, 0.1)
    assert compute_quantiles([float(number) for number in range(101)]) == (50.0, 99.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "there is no peer 'nonsense'; use words of Gatepost in a program, SQLite, "),
        (["--write", "huey"], "--write needs all peers, in one run"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)

    assert message in capsys.readouterr().err


def test_every_peer_has_a_program_and_a_pinned_version() -> None:
    programs = installation.HERE / "programs"
    for peer in PEERS:
        assert (programs / f"{peer.program}.py").exists()
        if peer.environment in (Environment.QUEUES, Environment.MAIL):
            lock = (installation.ROOT / "requirements" / f"{peer.environment.value}.txt").read_text()
            assert all(re.search(rf"^{package}==.* \\$", lock, re.MULTILINE) for package in peer.packages)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_the_locks_name_no_registry_and_have_hashes() -> None:
    packages = json.loads((installation.HERE / "package-lock.json").read_text())["packages"]
    for path, package in packages.items():
        assert not path or "inBundle" in package or "integrity" in package
        assert "resolved" not in package
    for environment in (Environment.QUEUES, Environment.MAIL):
        lock = (installation.ROOT / "requirements" / f"{environment.value}.txt").read_text()
        assert "://" not in lock
        assert lock.count("==") <= lock.count("--hash=sha256:")


def test_the_page_has_room_for_the_tables() -> None:
    text = PAGE.read_text()

    assert text.count(BEGIN) == text.count(END) == 1
