"""
A pytest plugin that records what each test costs, and prints the most expensive ones at the end of a run.

`build/durations.json` has an entry for each test of the last run: the seconds of its set-up, its call and its tear-down
by the clock, and the processor seconds of its process and of the processes below it. `python -m tools.durations` prints
them by folder. A worker of xdist measures; the reports carry the figures to the process that writes the file.
"""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.plugins.process_tree import measure_child_time, measure_own_time
from tools.durations import FILE, Cost, format_most_expensive

#: the name of the property of a report that has the processor time of its test, on the report of the tear-down
PROPERTY: Final = "processor_time"


class DurationMeter:
    """Measures the processor time of each test, in the process that runs it."""

    def __init__(self) -> None:
        self._own_time = self._child_time = 0.0
        self._read_times()

    def _read_times(self) -> tuple[float, float]:
        """Return the processor seconds of this process and of its children since the last call."""
        own, child = measure_own_time(), measure_child_time()
        gains = own - self._own_time, max(0.0, child - self._child_time)
        self._own_time, self._child_time = own, child
        return gains

    def pytest_collection_finish(self) -> None:
        self._read_times()  # what was imported so far belongs to no test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((PROPERTY, self._read_times()))
        return report


class DurationWriter:
    """Collects the reports of a run, and writes what its tests cost."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._costs: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cost = self._costs.setdefault(report.nodeid, Cost())
        if report.when is not None:
            setattr(cost, report.when, round(report.duration, 4))
        if report.when == "teardown":
            properties: dict[str, Any] = dict(report.user_properties)
            cost.own_processor, cost.child_processor = (round(time, 4) for time in properties[PROPERTY])

    def pytest_sessionfinish(self) -> None:
        if self._costs:
            self._file.parent.mkdir(exist_ok=True)
            entries = {name: cost.to_json() for name, cost in sorted(self._costs.items())}
            self._file.write_text(json.dumps(entries, indent=0) + "\n")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self._costs) > 100:  # a run of a few tests has its own view of them
            terminalreporter.section("most expensive tests, processor seconds")
            for line in format_most_expensive(self._costs, 5):
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if is_worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(DurationMeter(), "duration-meter")
    if not is_worker:
        config.pluginmanager.register(DurationWriter(config.rootpath / FILE), "duration-writer")
