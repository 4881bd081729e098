"""
Read the topics of a public ledger, and take in what others have posted there.

A round asks the mirror node for the messages of each topic after the last one that is in the store. The store gets
them in their order, and decides what counts (`message_order_actions.py`). One transaction saves both the messages and
how far the topic was read. So a process that dies reads again what was not saved, and nothing is taken in twice.

A mirror node may lag, repeat itself and leave messages out. A gap is waited for; after some minutes the topic is read
on without the missing message, and `gatepost ledger verify` names it. A text in a file is read from the ledger first; a
file that cannot be read for some minutes makes its message void.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from gatepost.core.ports import Store
from gatepost.errors import Invalid, Unavailable
from gatepost.ledger import message_order_actions as ledger_intake
from gatepost.ledger.ledger_step_background import fetch_file
from gatepost.ledger.message_acceptance_actions import FileRead
from gatepost.ledger.public_ledger import PublicLedger
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind, TopicMessage

log = structlog.get_logger("gatepost.ledger")

#: read in each round
_BUSY_KINDS: Final = (
    TopicKind.INBOUND,
    TopicKind.BROADCAST,
    TopicKind.WORK,
    TopicKind.CONNECTION,
    TopicKind.PEER,
)
#: only we write to these: they are read for the record
_QUIET_KINDS: Final = (TopicKind.OUTBOUND, TopicKind.DEFINITIONS)
#: a round in so many reads the quiet ones, too
_QUIET_ROUNDS: Final = 12
#: topics that are read at the same time
_CONCURRENCY: Final = 8
_PAGE_SIZE: Final = 100
_TOPIC_PAGE: Final = 500
#: pages of one topic that are read in one round
_MAX_PAGES: Final = 10
#: seconds to wait for a message that is left out, or for a file
_PATIENCE: Final = 300.0


class LedgerListener:
    def __init__(self, store: Store, ledger: PublicLedger) -> None:
        self._store = store
        self._ledger = ledger
        self._rounds = 0
        #: when a gap, or a file that cannot be read, was first seen; in the time of the loop
        self._first_seen: dict[str, float] = {}
        #: the mirror node does not want to be asked before
        self._paused_until = 0.0

    async def run_round(self) -> None:
        """Read all topics once."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._paused_until:
            return
        kinds = _BUSY_KINDS if self._rounds % _QUIET_ROUNDS else (*_BUSY_KINDS, *_QUIET_KINDS)
        self._rounds += 1
        limit = asyncio.Semaphore(_CONCURRENCY)
        failures: list[Unavailable] = []
        after = 0
        list_topics = partial(self._store.read, ledger_intake.list_topics, self._ledger.network, kinds)
        while topics := await list_topics(after=after, limit=_TOPIC_PAGE):
            async with asyncio.TaskGroup() as group:
                for topic in topics:
                    group.create_task(self._read_topic(topic, limit, failures))
            after = topics[-1].number
        if failures:
            self._paused_until = loop.time() + max(failure.retry_after or 0.0 for failure in failures)
            raise failures[0]

    async def _read_topic(self, topic: LedgerTopic, limit: asyncio.Semaphore, failures: list[Unavailable]) -> None:
        """Read a topic to its end. After a failure the topics of this round that are left wait for the next one."""
        async with limit:
            last_sequence = topic.last_sequence
            try:
                for _ in range(_MAX_PAGES):  # a topic with very many messages does not keep the others waiting
                    if failures:
                        return
                    messages = await self._ledger.read_messages(topic.ledger_id, after=last_sequence, limit=_PAGE_SIZE)
                    if not messages:
                        return
                    sequence = await self._take_messages(topic, messages)
                    if sequence <= last_sequence or len(messages) < _PAGE_SIZE:
                        return
                    last_sequence = sequence
            except Unavailable as failure:
                failures.append(failure)

    async def _take_messages(self, topic: LedgerTopic, messages: Sequence[TopicMessage]) -> int:
        """Have messages taken in; return the number of the last one that is in the store."""
        files: dict[LedgerId, FileRead] = {}
        gap = f"gap:{topic.id}"
        while True:
            take = partial(self._store.run, ledger_intake.take_messages, lane=f"topic:{topic.id}")
            intake = await take(topic.number, messages, files, skip_gap=self._has_waited(gap))
            if intake.missing_file is not None:
                file = await self._read_file(intake.missing_file, can_wait=topic.kind is not TopicKind.CONNECTION)
                if file is None:
                    return intake.sequence
                files[intake.missing_file] = file
            elif intake.has_gap:
                self._first_seen.setdefault(gap, asyncio.get_running_loop().time())
                log.warning("a message is left out", topic=topic.id, after=intake.sequence)
                return intake.sequence
            else:
                self._first_seen.pop(gap, None)
                return intake.sequence

    def _has_waited(self, key: str) -> bool:
        first_seen = self._first_seen.get(key)
        return first_seen is not None and asyncio.get_running_loop().time() - first_seen >= _PATIENCE

    async def _read_file(self, id: LedgerId, *, can_wait: bool) -> FileRead | None:
        """
        Return the content of a file, or why it cannot be read; None while the rest of it may still come. An agent
        outside is not waited for: its later messages would wait, too.
        """
        key = f"file:{id}"
        self._first_seen.setdefault(key, asyncio.get_running_loop().time())
        file: FileRead
        try:
            file = await fetch_file(self._ledger, id)
        except Invalid as error:
            if can_wait and not self._has_waited(key):
                log.info("a file is not complete yet", file=str(id), reason=error.message)
                return None
            file = error
        self._first_seen.pop(key, None)
        return file
