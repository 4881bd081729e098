"""The benchmarks do the work they time; how long it takes is for `make bench` to say."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import iter_modules

import pytest

import bench
from bench import (
    attacks,
    claim,
    command,
    cycle,
    fan_out,
    hook,
    idle,
    ledger,
    mcp,
    page,
    push_http,
    push_peers,
    push_postgres,
    push_sqlite,
    sleepers,
    streams,
    terminal,
    wake,
    watching,
    woken,
)
from bench.__main__ import main
from bench.peers import installation
from bench.support import docs_page, fixtures
from bench.support.docs_page import write_rows
from bench.support.measurement import TINY, Effort, Measurement, Spread, compute_ratios, measure_in_turns
from bench.support.table import Row, at_least, at_most, plain
from tests.programs import cache


def mark_nightly(*arguments: object) -> object:
    return pytest.param(*arguments, marks=pytest.mark.nightly)


def mark_nightly_unless_changed(*arguments: object) -> object:
    return pytest.param(*arguments, marks=pytest.mark.nightly_unless_changed("bench"))


#: these need the agent programs
_OF_PROGRAMS = (
    pytest.mark.nightly,
    pytest.mark.skipif(not cache.is_installed() or cache.find_node() is None, reason="NOT CHECKED: `make test-hosts`"),
)


@pytest.mark.parametrize(
    ("measure", "targets"),
    [
        mark_nightly_unless_changed(
            push_sqlite.main, ["at least 0.50", "", "", "", "at least 0.45", "", "at least 0.22"]
        ),
        mark_nightly_unless_changed(fan_out.main, ["at least 0.40"] * 2),
        mark_nightly(push_postgres.main, ["at least 0.60", "", "", ""]),
        mark_nightly(claim.main, ["at most 1.50", "", "", *["at most 1.50"] * (len(claim.SHAPES) - 1)] * 2),
        mark_nightly(push_http.main, ["at least 0.60"]),
        mark_nightly(wake.main, ["at most 1.80"] * 4),
        mark_nightly(streams.main, ["at most 3.00"]),
        mark_nightly(attacks.main, [*["at most 3.00"] * 5, "at most +100 MB"]),
        mark_nightly(cycle.main, ["at most 2.00", "at most 1.20", "at most 3.00"]),
        mark_nightly(ledger.main, ["at most 2.00", ""]),
        mark_nightly(command.main, ["at most 9.00"] * 18),
        mark_nightly(sleepers.main, ["at most +20 MB"]),
        pytest.param(
            terminal.main, ["at most 1.50", "at most 6.00", "at most 3.00", "at most 6.00"], marks=_OF_PROGRAMS
        ),
        mark_nightly(woken.main, ["at most 1.80"]),
        mark_nightly(page.main, ["at most 1.00"] * 2),
        mark_nightly(mcp.main, ["at most 8.00", "at most 4.00"] * 2),
        mark_nightly(hook.main, ["at most 4.00"] * 3 + ["at most 1.70"] * 3),
    ],
)
def test_a_benchmark_measures_ours_and_its_floor(
    measure: Callable[[Effort], Iterator[Row]], targets: list[str]
) -> None:
    rows = list(measure(TINY))

    assert [row.cells()[5] for row in rows] == targets
    assert len({row.claim for row in rows}) == len(rows)
    for row in rows:
        assert row.door
        assert min(row.measurement.floor.values) > 0
        assert min(row.measurement.ours.values) > 0


@pytest.mark.nightly_unless_changed("bench")
def test_gateways_with_nothing_to_do_are_seen_to_write_nothing() -> None:
    rows = list(idle.main(TINY))

    assert [row.cells()[2] for row in rows] == ["the same for one push: 1.00 [1.00..1.00]"] * 2
    assert [row.cells()[-2] for row in rows] == ["yes", "yes"]


@pytest.mark.nightly
def test_a_gateway_with_much_to_watch_is_measured_as_a_whole_and_by_duty() -> None:
    rows = list(watching.main(TINY))

    assert [row.cells()[5] for row in rows[:2]] == ["at most 1.00", "at most 0.00"]
    assert sum(rows[1].measurement.ours.values) == 0
    assert len({row.claim for row in rows}) == len(rows)
    assert min(row.measurement.ours.values[0] for row in rows[2:]) > 0


def test_a_peer_that_is_not_installed_has_no_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(installation.VARIABLE, str(tmp_path))

    assert list(push_peers.main(TINY)) == []


def test_the_floor_and_ours_take_turns_after_a_turn_that_does_not_count() -> None:
    turns: list[str] = []

    def build_turn(name: str, figures: Iterator[float]) -> Callable[[], float]:
        def measure() -> float:
            turns.append(name)
            return next(figures)

        return measure

    measurement = measure_in_turns(
        build_turn("floor", iter([99.0, 1.0, 3.0, 5.0])), build_turn("ours", iter([99.0, 4.0, 2.0])), rounds=2
    )

    assert turns == ["floor", "ours", "floor", "ours", "floor", "ours", "floor"]
    assert measurement == Measurement(Spread((1.0, 3.0, 5.0)), Spread((4.0, 2.0)), Spread((2.0, 0.5)))


def test_a_ratio_is_to_the_floors_around_it() -> None:
    assert compute_ratios([1.0, 3.0, 5.0], [2.0, 2.0]) == [1.0, 0.5]


def test_a_row_says_whether_the_median_meets_the_target() -> None:
    measurement = Measurement(Spread((2.0, 4.0)), Spread((1.0, 2.0)), Spread((0.4, 0.5, 0.9)))

    fast_row = Row("push", "`send`", "raw", measurement, plain, at_least(0.5), "2026-11-19, load 1.0")
    slow_row = Row("push", "`send`", "raw", measurement, plain, at_most(0.4))

    assert fast_row.cells() == [
        "push",
        "`send`",
        "raw: 3.00 [2.00..4.00]",
        "1.50 [1.00..2.00]",
        "0.50 [0.40..0.90]",
        "at least 0.50",
        "yes",
        "2026-11-19, load 1.0",
    ]
    assert slow_row.cells()[-2] == "NO"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d, load \d+\.\d", slow_row.measured)


def build_row(claim: str) -> Row:
    measurement = Measurement(Spread((2.0,)), Spread((1.0,)), Spread((0.5,)))
    return Row(claim, "`send`", "raw", measurement, plain, at_least(0.5))


def test_writing_replaces_the_rows_of_one_benchmark_and_nothing_else(tmp_path: Path) -> None:
    page, names = tmp_path / "performance.md", ["claim", "push"]
    page.write_text(f"before\n{docs_page.BEGIN}\n<!-- gone -->\n| old figures |\n{docs_page.END}\nafter\n")

    for name, words in (("push", "first push"), ("claim", "claim"), ("push", "second push")):
        write_rows(name, [build_row(words)], names, page)

    text = page.read_text()
    assert text.startswith(f"before\n{docs_page.BEGIN}\nMeasured on: ")
    assert text.endswith(f"{docs_page.END}\nafter\n")
    assert list(docs_page.read_tables(page)) == names
    assert "old figures" not in text
    assert "first push" not in text
    assert text.count("| second push | `send` | raw: 2.00 [2.00..2.00] | 1.00 [1.00..1.00] |") == 1
    assert text.index("| claim | `send`") < text.index("| second push |")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "there is no benchmark 'nonsense'; use one of attacks, "),
        (["growth"], "there is no benchmark 'growth'"),
        (["support"], "there is no benchmark 'support'"),
        (["--write", "--quick"], "--write needs whole figures"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)

    assert message in capsys.readouterr().err


def test_the_page_has_room_for_the_table_and_says_what_is_pushed() -> None:
    text = " ".join(docs_page.PAGE.read_text(encoding="utf-8").split())

    assert text.count(docs_page.BEGIN) == text.count(docs_page.END) == 1
    assert fixtures.PUSH_TERMS in text
    assert set(docs_page.read_tables()) <= {module.name for module in iter_modules(bench.__path__)}
