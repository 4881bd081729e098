"""Every run of a day has the same examples, whichever worker tries them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import core

from tests.support.plugins.daily_seed import choose_seed, describe_seed


def test_a_seed_is_the_day_in_utc() -> None:
    assert choose_seed(datetime(2026, 2, 18, 23, 59, tzinfo=UTC)) == 20260218
    assert choose_seed(datetime(2026, 2, 19, 0, 30, tzinfo=timezone(timedelta(hours=1)))) == 20260218


def test_this_run_has_a_seed_and_tells_it(request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("hypothesis_seed")
    assert seed is not None
    assert str(core.global_force_seed) == seed
    assert describe_seed(request.config).endswith(f"--hypothesis-seed={seed}")
