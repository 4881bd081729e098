"""
A pytest plugin that gives hypothesis a seed for the day: each day tries other examples, and a run can be repeated.

Without it, what hypothesis finds on a machine at night is found again by nobody. The seed is the date in UTC, such as
20260218; `--hypothesis-seed=20260218` repeats the examples of that day, also in PYTEST_ADDOPTS for `make test`. The
header of a run names it, and so does the end of a run that failed. All workers of a run have the same one.
"""

from datetime import UTC, datetime

import pytest


def choose_seed(now: datetime) -> int:
    """Return the seed of a day."""
    return int(now.astimezone(UTC).strftime("%Y%m%d"))


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads the option
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(choose_seed(datetime.now(UTC)))


def pytest_report_header(config: pytest.Config) -> str:
    return describe_seed(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(describe_seed(config))


def describe_seed(config: pytest.Config) -> str:
    return f"properties: repeat their examples with --hypothesis-seed={config.getoption('hypothesis_seed')}"
