"""
Post what was sent to a public ledger.

A verb that sends has written a record and a job. The records of one sender are posted in their order, each in full
before the next; those of different senders at the same time. A ledger that cannot be reached, or that nobody pays for,
is tried again for as long as it takes; a record that the ledger refuses for good is marked as failed.
"""

import asyncio
from collections import defaultdict
from functools import partial
from typing import Final

from gatepost.core.ports import Store
from gatepost.core.times import MINUTE, SECOND
from gatepost.directory.entity import Entity
from gatepost.errors import Unavailable
from gatepost.jobs.job import Job, compute_job_delay
from gatepost.jobs.job_runner_background import JobHandler, RetryLater
from gatepost.ledger import posting_actions as ledger_posts
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import OperationCode, TopicCode
from gatepost.ledger.ledger_step_background import LedgerSteps, ReportedOutage
from gatepost.ledger.message_encoding import LedgerMessage
from gatepost.ledger.posting_actions import PostTargets
from gatepost.ledger.public_ledger import TransactionRefused
from gatepost.ledger.topic import LedgerId, TopicKind

#: attempts of a job after which the administrator is told: about ten minutes
_PATIENT_ATTEMPTS: Final = 15
#: how long a ledger that is down is left alone at most
_MAX_DELAY: Final = MINUTE


class LedgerPoster:
    def __init__(self, steps: LedgerSteps) -> None:
        self._steps = steps
        self._store = steps.store
        self._sender_locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run_job(self, job: Job) -> None:
        """Post the record of a job, and those of its sender that came before it."""
        sender, ids = await self._store.read(ledger_posts.list_unposted, job.payload)
        async with self._sender_locks[sender]:
            for id in ids:
                targets = await self._store.read(ledger_posts.find_targets, id)
                if targets is not None:
                    await self._post(targets)

    async def _post(self, targets: PostTargets) -> None:
        id = targets.record.id
        fail = partial(self._store.run, ledger_posts.fail_post, self._steps.network, id, lane="ledger")
        if targets.former_peer is not None:
            await fail(f"the connection with {targets.former_peer} has ended")
            return
        try:
            await (self._post_work(targets) if targets.item is not None else self._post_mail(targets))
        except TransactionRefused as refusal:
            await fail(refusal.message)
        else:
            await self._store.run(ledger_posts.finish_post, self._steps.network, targets, lane="ledger")

    async def _post_mail(self, targets: PostTargets) -> None:
        steps, sender, id = self._steps, targets.sender, targets.record.id
        payer = await steps.ensure_account(sender)
        inbound = await steps.ensure_inbound(sender)
        message = LedgerMessage(
            data=targets.record.build_data(), operator_id=hcs10.build_operator_id(inbound.ledger_id, payer)
        )
        content = await self._encode(message, id, sender, payer)
        code, is_foreign = TopicCode.INBOUND, targets.connection is not None
        if targets.connection is not None and targets.connection.topic is not None:
            topics, code = [LedgerId.parse(targets.connection.topic)], TopicCode.CONNECTION
        elif targets.recipients is None:
            topics = [(await steps.ensure_single(TopicKind.BROADCAST)).ledger_id]
        else:
            topics = [(await steps.ensure_inbound(recipient)).ledger_id for recipient in targets.recipients]
        memo = hcs10.build_transaction_memo(OperationCode.MESSAGE, code)
        failures: list[Unavailable | TransactionRefused] = []

        async def submit_to(topic: LedgerId) -> None:
            try:
                submit = partial(steps.submit, f"{id}/{topic}", topic, content, payer=payer, signer=sender.name)
                await submit(memo=memo, is_foreign=is_foreign)
            except (Unavailable, TransactionRefused) as failure:
                failures.append(failure)

        async with asyncio.TaskGroup() as group:
            for topic in topics:
                group.create_task(submit_to(topic))
        if failures:  # what can be tried again comes first: the record fails when all the rest of it is posted
            raise next((failure for failure in failures if isinstance(failure, Unavailable)), failures[0])

    async def _post_work(self, targets: PostTargets) -> None:
        steps, sender, id = self._steps, targets.sender, targets.record.id
        assert targets.item is not None
        payer = await steps.ensure_account(sender)
        content = await self._encode(LedgerMessage(data=targets.record.build_data()), id, sender, payer)
        topic = (await steps.ensure_work_topic(targets.item)).ledger_id
        await steps.submit(f"{id}/{topic}", topic, content, payer=payer, signer=sender.name)

    async def _encode(self, message: LedgerMessage, id: str, sender: Entity, payer: LedgerId) -> bytes:
        """Return the bytes of a message; its file, if it needs one, is on the ledger then."""
        file = message.find_file()
        if file is None:
            return message.encode()
        return message.encode(hcs10.build_reference(await self._steps.put_file(id, file, sender, payer)))


def retry_outages(store: Store, handler: JobHandler) -> JobHandler:
    """
    Return the handler of a job that is tried again for as long as the ledger cannot be reached. The administrator is
    told once a day why a job fails again and again.
    """

    async def run_job(job: Job) -> None:
        try:
            await handler(job)
        except Unavailable as error:
            if not isinstance(error, ReportedOutage):
                await _warn(store, job, error.message_with_hint)
            delay = min(compute_job_delay(job.attempts), _MAX_DELAY)
            if error.retry_after is not None:
                delay = max(delay, int(error.retry_after * SECOND))
            raise RetryLater(error.message, delay, is_outage=True) from None
        except Exception as error:
            await _warn(store, job, str(error) or repr(error))
            raise

    return run_job


async def _warn(store: Store, job: Job, reason: str) -> None:
    if job.attempts >= _PATIENT_ATTEMPTS:
        text = f"nothing is posted to the ledger, or not everything: {reason}"
        await store.run(ledger_posts.warn_administrator, job.kind, text, lane="ledger")
