"""Whatever is asked to be sent, and whenever: no schedule that is allowed exceeds a limit of Telegram."""

from collections import defaultdict
from collections.abc import Sequence

from hypothesis import given, strategies as st

from gatepost.channels.telegram.send_limits import SendLimits
from gatepost.core.times import MINUTE, SECOND, Duration, Instant

START = 1_700_000_000 * SECOND
#: how much time passes before the next wish to send: mostly none, so that the limits are reached
waits = st.sampled_from([0, 0, 0, 1, 10_000, SECOND // 30, SECOND - 1, SECOND, 3 * SECOND]) | st.integers(0, 2 * MINUTE)
#: groups are negative; one is written to often
chats = st.just(-1) | st.integers(-3, 60)
steps_apart = st.lists(st.tuples(waits, chats, st.booleans()), max_size=150)
steps_at_once = st.lists(st.tuples(st.just(0), chats, st.booleans()), min_size=60, max_size=150)
#: to so many chats that only the limit of all chats counts
bursts = st.lists(
    st.tuples(st.integers(0, SECOND // 40), st.integers(1, 60), st.just(True)),
    min_size=35,
    max_size=60,
    unique_by=lambda step: step[1],
)


def check_window(sends: Sequence[Instant], count: int, window: Duration) -> None:
    """Fail if any window has more than `count` sends in it."""
    for first, last in zip(sends, sends[count:], strict=False):
        assert last - first >= window


@given(
    steps_apart | steps_at_once | bursts,
    st.lists(st.tuples(st.integers(0, 149), chats | st.none(), st.integers(1, 90)), max_size=3),
)
def test_no_schedule_that_is_allowed_exceeds_a_limit(
    steps: list[tuple[Duration, int, bool]], pauses: list[tuple[int, int | None, int]]
) -> None:
    limits = SendLimits()
    sends: list[tuple[Instant, int]] = []
    pause_ends: list[tuple[int | None, Instant]] = []
    now = START
    for step, (wait, chat, is_patient) in enumerate(steps):
        now += wait
        for at_step, paused_chat, seconds in pauses:
            if at_step == step:
                limits.pause(paused_chat, seconds * SECOND, now)
                pause_ends.append((paused_chat, now + seconds * SECOND))
        at = limits.next_at(chat, chat < 0, now)
        assert at >= now
        if is_patient:
            # nothing is sent meanwhile, so the promise is kept
            now = at
            assert limits.next_at(chat, chat < 0, now) == now
        if at == now:
            assert not any(paused_chat in (None, chat) and now < end for paused_chat, end in pause_ends)
            limits.record(chat, now)
            sends.append((now, chat))
    by_chat: dict[int, list[Instant]] = defaultdict(list)
    for at, chat in sends:
        by_chat[chat].append(at)
    check_window([at for at, _ in sends], 30, SECOND)
    for chat, instants in by_chat.items():
        check_window(instants, 1, SECOND)
        if chat < 0:
            check_window(instants, 20, MINUTE)
    assert limits.chat_count <= 1_800 + len(pauses)


@given(st.lists(st.tuples(st.integers(-5 * SECOND, 5 * SECOND), chats), max_size=100))
def test_a_jumping_clock_never_makes_a_chat_wait_for_longer_than_its_limit(
    steps: list[tuple[Duration, int]],
) -> None:
    limits = SendLimits()
    now = START
    for jump, chat in steps:
        now += jump
        at = limits.next_at(chat, chat < 0, now)
        assert now <= at <= now + (MINUTE if chat < 0 else SECOND)
        if at == now:
            limits.record(chat, now)
