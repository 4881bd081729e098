"""Whatever its numbers, a backoff never shrinks, never passes its cap, and stays between the ends of its jitter."""

from hypothesis import given, strategies as st

from gatepost.core.backoff import Backoff

SECONDS = st.floats(0.001, 10_000.0)
BACKOFFS = st.builds(
    Backoff,
    first=SECONDS,
    cap=SECONDS,
    factor=st.floats(1.0, 10.0),
    is_linear=st.booleans(),
    jitter=st.just((1.0, 1.0)),
)
RETRIES = st.integers(0, 100_000)
CHANCES = st.floats(0.0, 1.0)


@given(BACKOFFS, RETRIES)
def test_it_never_shrinks_and_never_passes_the_cap(backoff: Backoff, retries: int) -> None:
    delay, following = backoff.delay(retries), backoff.delay(retries + 1)
    assert 0 < delay <= following <= backoff.cap


@given(BACKOFFS)
def test_it_begins_with_the_first_delay(backoff: Backoff) -> None:
    assert backoff.delay(0) == min(backoff.first, backoff.cap)


@given(BACKOFFS, RETRIES, CHANCES, st.floats(0.0, 1.0), st.floats(1.0, 2.0))
def test_jitter_stays_between_its_ends(backoff: Backoff, retries: int, chance: float, low: float, high: float) -> None:
    plain, varied = backoff.delay(retries), backoff._replace(jitter=(low, high)).delay(retries, chance)
    assert plain * low * (1 - 1e-9) <= varied <= plain * high * (1 + 1e-9)
