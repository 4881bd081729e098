"""A loop over cases fails as clearly as a test for each of them."""

import pytest

from tests.support.collected_failures import CollectedFailures, check_cases


def check_quotient(number: int) -> None:
    assert 12 // number == 4


def test_every_case_that_failed_is_named_with_its_place_and_its_reason() -> None:
    failures = CollectedFailures()
    for number in (3, 6, 0):
        with failures.check(f"12 / {number}"):
            check_quotient(number)
    with failures.check("no error"), pytest.raises(KeyError):
        check_quotient(3)
    with pytest.raises(AssertionError) as caught:
        failures.raise_all()
    summary, *cases = str(caught.value).split("\n\n")
    assert summary == "3 of 4 cases failed: 12 / 6, 12 / 0, no error"
    assert [case.partition("\n")[0] for case in cases] == ["12 / 6", "12 / 0", "no error"]
    assert "test_collected_failures.py:9: assert 12 // number == 4" in cases[0]
    assert "assert (12 // 6) == 4" in cases[0]
    assert "ZeroDivisionError: " in cases[1]
    assert "DID NOT RAISE" in cases[2]


def test_cases_that_pass_raise_nothing() -> None:
    with CollectedFailures() as failures, failures.check("tea"):
        pass
    assert failures.count == 1


def test_a_loop_over_nothing_fails() -> None:
    with pytest.raises(AssertionError, match="no case was checked"), CollectedFailures():
        pass


@pytest.fixture
def four() -> int:
    return 4


@check_cases(("number", "quotient"), [(3, 4), (6, 2)])
def test_cases_share_the_fixtures_of_their_test(four: int, number: int, quotient: int) -> None:
    assert 3 * four // number == quotient


class TestMethods:
    @pytest.mark.parametrize("factor", [1, 2])
    @check_cases("number", [3, 4])
    def test_may_have_cases_too(self, four: int, number: int, factor: int) -> None:
        assert number * factor <= four * factor


def test_a_case_that_fails_is_named_by_its_values() -> None:
    @check_cases(("number", "text"), [(3, "x"), (6, "y" * 100)])
    def check(number: int, text: str) -> None:
        assert number < 6, text[0]

    with pytest.raises(AssertionError, match=r"1 of 2 cases failed: 1 \(6, 'y{59}\)"):
        check()
