"""The limits of sending: how long the next message waits."""

from gatepost.channels.telegram.send_limits import SendLimits
from gatepost.core.times import HOUR, MINUTE, SECOND

NOW = 1_700_000_000 * SECOND


def test_the_first_message_does_not_wait() -> None:
    assert SendLimits().next_at(1, False, NOW) == NOW


def test_a_chat_gets_one_message_in_a_second() -> None:
    limits = SendLimits()
    limits.record(1, NOW)
    assert limits.next_at(1, False, NOW + 1) == NOW + SECOND
    assert limits.next_at(2, False, NOW + 1) == NOW + 1
    assert limits.next_at(1, False, NOW + SECOND) == NOW + SECOND


def test_all_chats_together_get_thirty_messages_in_a_second() -> None:
    limits = SendLimits()
    for chat in range(30):
        assert limits.next_at(chat, False, NOW + chat) == NOW + chat
        limits.record(chat, NOW + chat)
    assert limits.next_at(99, False, NOW + 30) == NOW + SECOND
    limits.record(99, NOW + SECOND)
    assert limits.next_at(98, False, NOW + SECOND) == NOW + SECOND + 1


def test_a_group_gets_twenty_messages_in_a_minute_and_a_person_gets_more() -> None:
    limits = SendLimits()
    for second in range(20):
        limits.record(-5, NOW + second * SECOND)
        limits.record(5, NOW + second * SECOND)
    now = NOW + 20 * SECOND
    assert limits.next_at(-5, True, now) == NOW + MINUTE
    assert limits.next_at(5, False, now) == now
    limits.record(-5, NOW + MINUTE)
    assert limits.next_at(-5, True, NOW + MINUTE) == NOW + MINUTE + SECOND


def test_a_pause_holds_one_chat_or_all() -> None:
    limits = SendLimits()
    limits.pause(1, 30 * SECOND, NOW)
    limits.pause(1, 5 * SECOND, NOW)
    assert limits.next_at(1, False, NOW) == NOW + 30 * SECOND
    assert limits.next_at(2, False, NOW) == NOW
    limits.pause(None, 10 * SECOND, NOW)
    assert limits.next_at(2, False, NOW) == NOW + 10 * SECOND
    assert limits.next_at(1, False, NOW) == NOW + 30 * SECOND
    limits.pause(3, 0, NOW)
    limits.pause(3, -SECOND, NOW)
    assert limits.next_at(3, False, NOW + 10 * SECOND) == NOW + 10 * SECOND


def test_what_no_longer_matters_is_forgotten() -> None:
    limits = SendLimits()
    for number in range(100_000):
        limits.record(number, NOW + number * SECOND // 30)
    assert limits.chat_count <= 1_800
    for number in range(1_000):
        limits.pause(number, SECOND, NOW + 2 * HOUR)
    limits.next_at(1, False, NOW + 3 * HOUR)
    assert limits.chat_count == 0


def test_a_clock_that_is_set_back_makes_nothing_wait_for_it() -> None:
    limits = SendLimits()
    limits.record(1, NOW)
    limits.pause(2, 10 * SECOND, NOW)
    earlier = NOW - 5 * HOUR
    assert limits.next_at(1, False, earlier) == earlier + SECOND
    assert limits.next_at(2, False, earlier) == earlier + 10 * SECOND
    assert limits.next_at(1, False, earlier + SECOND) == earlier + SECOND
