"""
When a bot may send its next message: the limits of Telegram, and the pauses that Telegram asks for.

    30 messages in a second      to all chats together
    1 message in a second        to one chat
    20 messages in a minute      to one group
    `retry_after` of a 429       nothing to that chat, or to any chat, before it has passed

The rule of every limit is the same, and exact: message number n + 30 is sent a second after message n at the earliest.
So every window of a second, wherever it begins, has at most 30 messages in it.

`SendLimits` holds the times of the last sends, and knows no clock: the caller passes the time. The caller asks
`next_at`, waits, asks again (another message may have been sent meanwhile), and sends and records a message when the
answer is not later than now.

What is held is bounded: a chat is forgotten when its last message is a minute old. As long as the limits are respected,
these are at most 1,800 chats with 20 times each. Pauses are forgotten when they are over.

If the clock is set back, all recorded times that are now in the future count as now. So nothing waits for the clock to
catch up, and no limit is exceeded.
"""

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from gatepost.core.times import MINUTE, SECOND, Duration, Instant

#: messages in a second, to all chats
MAX_PER_SECOND: Final = 30
#: messages in a minute, to a group
MAX_PER_GROUP_MINUTE: Final = 20


class _Pause(NamedTuple):
    begins_at: Instant
    length: Duration

    @property
    def ends_at(self) -> Instant:
        return self.begins_at + self.length


class SendLimits:
    """The recent sends of one bot. Every method may forget what no longer matters at `now`."""

    def __init__(self) -> None:
        self._now: Instant = 0
        self._sends: deque[Instant] = deque(maxlen=MAX_PER_SECOND)
        #: the chats by their last send, the earliest first
        self._chats: OrderedDict[int, deque[Instant]] = OrderedDict()
        #: None is the pause of all chats
        self._pauses: dict[int | None, _Pause] = {}

    def next_at(self, chat: int, is_group: bool, now: Instant) -> Instant:
        """Return when a message may be sent to a chat, if no other is sent before: `now` if it may be sent now."""
        self._move_clock(now)
        instants = [now]
        if len(self._sends) == MAX_PER_SECOND:
            instants.append(self._sends[0] + SECOND)
        if sends := self._chats.get(chat):
            instants.append(sends[-1] + SECOND)
            if is_group and len(sends) == MAX_PER_GROUP_MINUTE:
                instants.append(sends[0] + MINUTE)
        instants += [self._pauses[key].ends_at for key in (chat, None) if key in self._pauses]
        return max(instants)

    def record(self, chat: int, now: Instant) -> None:
        """Record a message that was sent to a chat. A send of unknown outcome counts too."""
        self._move_clock(now)
        self._sends.append(now)
        self._chats.setdefault(chat, deque(maxlen=MAX_PER_GROUP_MINUTE)).append(now)
        self._chats.move_to_end(chat)

    def pause(self, chat: int | None, length: Duration, now: Instant) -> None:
        """Send nothing to a chat, or (None) to no chat at all, for so long. A longer pause is never shortened."""
        self._move_clock(now)
        pause = self._pauses.get(chat)
        if length > 0 and (pause is None or pause.ends_at < now + length):
            self._pauses[chat] = _Pause(now, length)

    @property
    def chat_count(self) -> int:
        """The number of chats that something is held about."""
        return len(self._chats.keys() | self._pauses.keys())

    def _move_clock(self, now: Instant) -> None:
        if now < self._now:
            self._sends = deque((min(at, now) for at in self._sends), maxlen=MAX_PER_SECOND)
            for chat, sends in self._chats.items():
                self._chats[chat] = deque((min(at, now) for at in sends), maxlen=MAX_PER_GROUP_MINUTE)
            self._pauses = {
                chat: _Pause(min(pause.begins_at, now), pause.length) for chat, pause in self._pauses.items()
            }
        self._now = now
        while self._chats and next(iter(self._chats.values()))[-1] + MINUTE <= now:
            self._chats.popitem(last=False)
        if any(pause.ends_at <= now for pause in self._pauses.values()):
            self._pauses = {chat: pause for chat, pause in self._pauses.items() if pause.ends_at > now}
