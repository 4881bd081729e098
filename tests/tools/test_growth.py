"""What grows with what: the plots have every call at every size, and say where it bends."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.growth import agents, backlog, gateways, mind, readers, space
from bench.growth.__main__ import PAGE, format_plot, main, write_plot
from bench.growth._curve import TINY, Curve, Effort, Plot, measure_curves
from bench.growth._svg import draw, format_seconds, format_size
from bench.support.docs_page import END

PLOT = Plot(
    "backlog",
    "One inbox & its backlog",
    "items",
    [Curve("PushEvent", {10: 0.001, 100: 0.0015}), Curve("PeekInbox", {10: 0.0002, 100: 0.0005, 1_000: 0.1})],
)


@pytest.mark.nightly_unless_changed("bench")
@pytest.mark.parametrize("measure_plots", [agents.main, mind.main, readers.main, space.main])
def test_what_gets_larger_is_measured_at_every_size(measure_plots: Callable[[Effort], Iterator[Plot]]) -> None:
    check_plots(measure_plots(TINY))


@pytest.mark.nightly
@pytest.mark.parametrize("measure_plots", [backlog.main, gateways.main])
def test_what_gets_larger_on_postgresql_is_measured(measure_plots: Callable[[Effort], Iterator[Plot]]) -> None:
    check_plots(measure_plots(TINY))


def check_plots(plots: Iterator[Plot]) -> None:
    for plot in plots:
        assert plot.curves
        for curve in plot.curves:
            assert len(curve.seconds) == 2
            assert min(curve.seconds.values()) > 0


def test_sizes_take_turns_and_the_first_turn_does_not_count() -> None:
    turns: list[int] = []
    figures = {1: iter([9.0, 1.0]), 2: iter([9.0, 3.0])}

    def measure(size: int) -> float:
        turns.append(size)
        return next(figures[size])

    curves = measure_curves({size: {"call": partial(measure, size)} for size in figures}, TINY)

    assert turns == [1, 2, 1, 2]
    assert curves == [Curve("call", {1: 1.0, 2: 3.0})]


def test_a_call_bends_at_the_first_size_at_which_it_costs_over_twice_as_much() -> None:
    assert [curve.find_bend() for curve in PLOT.curves] == [None, 100]


def test_a_plot_is_drawn_for_light_and_dark_pages_with_every_point_and_the_bend() -> None:
    text = draw(PLOT)
    circles = ElementTree.fromstring(text).findall("{http://www.w3.org/2000/svg}circle")  # noqa: S314 - our own

    assert "prefers-color-scheme: dark" in text
    assert "One inbox &amp; its backlog" in text
    assert [circle.get("r") for circle in circles] == ["3", "3", "3", "3", "7", "3"]
    assert len({(circle.get("cx"), circle.get("cy")) for circle in circles}) == 5


def test_a_plot_replaces_the_one_that_a_page_had(tmp_path: Path) -> None:
    page = tmp_path / "growth.md"
    page.write_text(f"before\n\n{END}\nafter\n")
    other_plot = Plot("space", "One space", "messages", PLOT.curves)

    for plot in (PLOT, other_plot, PLOT):
        write_plot(plot, page)

    text = page.read_text()
    assert text.count("![One inbox & its backlog: items](growth/backlog.svg)") == 1
    assert text.count(format_plot(PLOT)) == 1
    assert text.index("growth/backlog.svg") < text.index("growth/space.svg") < text.index(END)
    assert text.startswith("before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert (tmp_path / "growth" / "space.svg").exists()


def test_the_table_says_what_a_call_costs_and_where_it_bends() -> None:
    assert format_plot(PLOT).splitlines() == [
        "| One inbox & its backlog: items | 10 | 100 | 1k | over 2 times the first |",
        "| --- | --- | --- | --- | --- |",
        "| `PushEvent` | 1 ms | 1.5 ms |  | does not |",
        "| `PeekInbox` | 200 us | 500 us | 100 ms | at 100 |",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.0, "2 s"), (0.0015, "1.5 ms"), (1e-3, "1 ms"), (25e-6, "25 us"), (3e-9, "3 ns")]
)
def test_costs_are_short(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_sizes_are_short() -> None:
    assert [format_size(size) for size in (4, 1_000, 25_000, 10_000_000)] == ["4", "1k", "25k", "10M"]


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])

    assert "nothing is called 'nonsense'; use one of agents, " in capsys.readouterr().err


def test_the_page_shows_every_plot_that_is_there() -> None:
    text = PAGE.read_text()

    assert all(f"](growth/{path.name})" in text for path in PAGE.with_suffix("").glob("*.svg"))
