"""
A bot whose process is killed: a store, a Telegram, and two times at which people write, more than a week apart. At the
second time Telegram has begun to number anew, and uses numbers that it has used before.

At both times there are recordings that cannot be decoded, break the transcriber or are too large, and Telegram answers
some requests with 429.
"""

import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from gatepost.app import open_store
from gatepost.channels.background.channel_tasks import JOB_HOLD
from gatepost.channels.telegram.bot_port import derive_keys
from gatepost.channels.triggers.trigger import DeliveryMode
from gatepost.core.times import DAY, MINUTE, SECOND, Instant
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event
from gatepost.jobs import job_actions as jobs
from gatepost.testing import MORNING
from tests.channels.speech.spoken import record
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Webhook
from tests.channels.telegram.channel_setup import AGENT, set_up_store
from tests.faults.forked_tasks import SharedClock, TaskProgram
from tests.faults.telegram_process import BOT, CRASHING, JOB_KINDS, TelegramTask

PROGRAM: Final = "tests.faults.telegram_process"
#: the number of the first update at each time
FIRST_NUMBERS: Final = (1_000, 997)
#: the name of a point, and the how-manieth time that a process passes it
Point = tuple[str, int]


@dataclass(frozen=True, kw_only=True)
class TelegramOutcome:
    """What agents and people got, apart from when."""

    #: what was written, in order, and what was said, each with its key
    texts: Sequence[tuple[str, str | None]]
    recordings: Sequence[tuple[str, str | None]]
    #: how often each message was sent
    sent: Counter[str]


class TelegramCase:
    def __init__(self, folder: Path, server: TelegramServer, clock: SharedClock, *, has_webhook: bool) -> None:
        self._server = server
        self._folder = folder
        self._clock = clock
        self._ana = server.add_user(7, "Ana")
        self._url = f"sqlite:///{folder}/office.db"
        self._task = TelegramTask(url=self._url, folder=str(folder), api=server.url, has_webhook=has_webhook)
        #: when people wrote
        self.times: list[Instant] = []

    def write(self) -> None:
        """Let people write and speak; more than a week has passed since the last time."""
        self._clock.advance(8 * DAY)
        self.times.append(self._clock.now())
        number = len(self.times)
        self._server.restart_numbering(FIRST_NUMBERS[number - 1])
        self._server.send_text(self._ana, f"{number}.1")
        self._server.send_voice(self._ana, b"OggS and no recording")
        self._server.send_text(self._ana, f"{number}.2")
        self._server.send_voice(self._ana, CRASHING)
        self._server.send_voice(self._ana, record("One two three four five"))
        self._server.send_audio(self._ana, b"ID3", size=21 * 1024**2)
        self._server.send_text(self._ana, "/ping")
        self._server.send_text(self._ana, f"{number}.3")
        for method in ("getUpdates", "sendMessage", "getFile"):
            self._server.answer(method, status=429, description="Too Many Requests", retry_after=2)

    def run(self, program: TaskProgram, point: Point | None = None) -> Counter[str]:
        """Let a process do everything, and return how often it passed each point; or kill it at a point."""
        delivered = self._folder / "delivered"
        delivered.unlink(missing_ok=True)
        points = () if point is None else (point,)
        program.start(replace(self._task, points=points))
        if self._task.has_webhook and not self._deliver(program.wait_for("port")):
            assert point is not None, "the process does not answer"
            assert program.wait_for("ended") == -signal.SIGKILL
            return Counter()
        delivered.touch()
        if point is None:
            return program.finish()
        assert program.wait_for("ended") == -signal.SIGKILL, point
        return Counter()

    def _deliver(self, port: int) -> bool:
        """Let Telegram send everything to the webhook; return False if nobody is there."""
        secret = derive_keys(self._server.token).webhook_secret
        url = f"http://127.0.0.1:{port}/channels/telegram/{BOT}"
        self._server.bot.webhook = Webhook(url=url, secret_token=secret)
        while self._server.bot.queue.pending:
            if any(delivery.status is None for delivery in self._server.deliver_pending(is_forced=True)):
                return False
        return True

    def wait_for_holds(self) -> None:
        """Let the time pass after which another process goes on with what one has begun."""
        self._clock.advance(JOB_HOLD + SECOND)

    def read_outcome(self) -> TelegramOutcome:
        """Return what there is, and check what has to be so in any case."""
        with closing(open_store(self._url)) as store:
            events = [item.event for item in store.read_sync(inbox.list_page, AGENT, limit=1_000)]
            assert [store.read_sync(jobs.count_open, kind) for kind in JOB_KINDS] == [0, 0]
        assert self._server.bot.queue.pending == []
        assert self._server.refusals == []
        texts = [event for event in events if "." in event.content]
        for event in texts:  # no recording has delayed them
            assert min(abs(event.created_at - time) for time in self.times) < MINUTE, event
        return TelegramOutcome(
            texts=_list_contents(texts),
            recordings=sorted(_list_contents([event for event in events if event not in texts])),
            sent=Counter(message.text for message in self._server.sent(self._ana)),
        )


def _list_contents(events: Sequence[Event]) -> list[tuple[str, str | None]]:
    return [(event.content, event.dedup_key) for event in events]


class Plan:
    """A store to copy, what a process makes of it, and the points that it passes at each time."""

    def __init__(self, folder: Path, program: TaskProgram, *, has_webhook: bool) -> None:
        self._folder = folder
        self._numbers = count()
        self._has_webhook = has_webhook
        self.program = program
        with TelegramServer() as server, closing(open_store(f"sqlite:///{folder}/template.db")) as store:
            store.migrate()
            mode = DeliveryMode.WEBHOOK if has_webhook else DeliveryMode.POLLING
            set_up_store(store, server.token, allow=(7,), mode=mode, public_url="http://127.0.0.1:1")
        self.counts: list[Counter[str]] = []
        with self.open_case() as case:
            for _ in FIRST_NUMBERS:
                case.write()
                self.counts.append(case.run(program))
            self.outcome = case.read_outcome()

    @contextmanager
    def open_case(self) -> Iterator[TelegramCase]:
        folder = self._folder / f"case-{next(self._numbers)}"
        folder.mkdir()
        shutil.copy(self._folder / "template.db", folder / "office.db")
        clock = SharedClock(folder / "clock", MORNING)
        with TelegramServer(now=lambda: clock.now() / SECOND, has_limits=False, allows_http_webhooks=True) as server:
            yield TelegramCase(folder, server, clock, has_webhook=self._has_webhook)
        shutil.rmtree(folder)

    def list_points(self, time: int, *prefixes: str) -> list[Point]:
        """Return the points of a time whose names begin with one of these."""
        counts = self.counts[time]
        names = [name for name in sorted(counts) if name.startswith(prefixes)]
        return [(name, nth) for name in names for nth in range(1, counts[name] + 1)]

    def list_ends(self, time: int, *prefixes: str) -> list[Point]:
        """Return the first and the last point of each name that begins with one of these."""
        points = self.list_points(time, *prefixes)
        return [(name, nth) for name, nth in points if nth in (1, self.counts[time][name])]

    def check_kill(self, time: int, point: Point) -> None:
        """Kill a process at a point of a time; another goes on, and in the end all is as if nothing had been."""
        with self.open_case() as case:
            for number in range(len(FIRST_NUMBERS)):
                case.write()
                if number == time:
                    case.run(self.program, point)
                    case.wait_for_holds()
                case.run(self.program)
            outcome = case.read_outcome()
        assert (outcome.texts, outcome.recordings) == (self.outcome.texts, self.outcome.recordings), point
        assert outcome.sent.keys() == self.outcome.sent.keys(), point
        assert (outcome.sent - self.outcome.sent).total() <= 1, (
            "a message is sent twice if nobody knew that it was sent"
        )
