"""The one backoff: delays that grow up to a cap, and differ by chance."""

import pytest

from gatepost.core.backoff import Backoff, apply_jitter


def list_delays(backoff: Backoff, count: int = 6) -> list[float]:
    return [backoff.delay(retries) for retries in range(count)]


def test_a_delay_doubles_up_to_the_cap() -> None:
    assert list_delays(Backoff(1.0, cap=10.0)) == [1, 2, 4, 8, 10, 10]


def test_by_another_factor() -> None:
    assert list_delays(Backoff(1.0, cap=100.0, factor=3.0)) == [1, 3, 9, 27, 81, 100]


def test_a_linear_delay_grows_by_the_first_one() -> None:
    assert list_delays(Backoff(10.0, cap=45.0, is_linear=True)) == [10, 20, 30, 40, 45, 45]


def test_a_cap_below_the_first_delay_holds() -> None:
    assert list_delays(Backoff(600.0, cap=30.0), 2) == [30, 30]


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 5.0), (0.5, 7.5), (1.0, 10.0)])
def test_jitter_comes_after_the_cap(chance: float, delay: float) -> None:
    assert Backoff(1.0, cap=10.0, jitter=(0.5, 1.0)).delay(50, chance) == delay


def test_without_jitter_chance_changes_nothing() -> None:
    assert Backoff(3.0, cap=10.0).delay(1, 0.0) == Backoff(3.0, cap=10.0).delay(1, 1.0) == 6


def test_it_grows_no_further_however_often_something_fails() -> None:
    assert Backoff(0.05, cap=5.0).delay(1_000_000) == 5.0


def test_jitter_may_lengthen() -> None:
    assert apply_jitter(10.0, (0.75, 1.25), 1.0) == 12.5
