"""Do things on a public ledger, each once: transactions, accounts, topics, messages and files."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from gatepost.core.ports import Store
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, Unavailable
from gatepost.ledger import ledger_step_actions as ledger_steps, posting_actions as ledger_posts, topic as rules
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.message_encoding import LedgerFile
from gatepost.ledger.public_ledger import (
    CreateAccount,
    CreateTopic,
    FundAccount,
    LedgerReceipt,
    LedgerTransaction,
    PublicLedger,
    SubmitMessage,
    TransactionBody,
    TransactionExpired,
    TransactionId,
    TransactionRefused,
)
from gatepost.ledger.topic import SINGLE_MEMOS, Chunk, LedgerId, LedgerTopic, TopicKind
from gatepost.mail.work_item import WorkItem

log = structlog.get_logger("gatepost.ledger")

#: bytes of a memo
_MAX_MEMO_SIZE: Final = 100
#: ids that one step takes in one go, because those before were too old
_MAX_IDS: Final = 3
_PAGE_SIZE: Final = 100
#: the words of the ledger for what is wrong with a message itself; everything else can be repaired
_PERMANENT_CODES: Final = frozenset(
    (
        "INVALID_TOPIC_ID",
        "INVALID_TOPIC_MESSAGE",
        "MESSAGE_SIZE_TOO_LARGE",
        "INVALID_CHUNK_NUMBER",
        "INVALID_CHUNK_TRANSACTION_ID",
        "MEMO_TOO_LONG",
        "UNAUTHORIZED",
    )
)


class ReportedOutage(Unavailable):
    """Something has to be repaired before the ledger can be used, and the administrator was told."""


class LedgerSteps:
    """
    Does things on the ledger. Each has a name, and is done once under it, however often it is asked for
    (`ledger/ledger_step_actions.py`).
    """

    def __init__(self, store: Store, ledger: PublicLedger, *, fund: int) -> None:
        """`fund` are the tinybars that the operator puts into an account that is new, or empty."""
        self.store = store
        self.ledger = ledger
        self.network = ledger.network
        self._fund = fund

    async def perform(
        self,
        step: str,
        payer: LedgerId,
        body: TransactionBody | Callable[[TransactionId], TransactionBody],
        *,
        signers: tuple[str | None, ...],
        memo: str = "",
        is_foreign: bool = False,
    ) -> tuple[TransactionId, LedgerReceipt]:
        """
        Have a transaction executed once under the name of its step; return its id and its receipt. Whatever is wrong
        with a message to a topic that is not ours (`is_foreign`), we cannot repair it.
        """
        run = partial(self.store.run, lane="ledger")
        id, receipt = await run(ledger_steps.begin_step, self.network, step, payer)
        is_funded = False
        for _ in range(_MAX_IDS):
            if receipt is not None:
                return id, receipt
            transaction = LedgerTransaction(
                id=id, body=body(id) if callable(body) else body, signers=signers, memo=memo
            )
            try:
                receipt = await self.ledger.execute(transaction)
            except TransactionExpired:
                id = await run(ledger_steps.renew_step, self.network, step, id)
            except TransactionRefused as refusal:
                if refusal.is_final:
                    await run(ledger_steps.renew_step, self.network, step, id)
                if refusal.code in _PERMANENT_CODES or (is_foreign and not refusal.is_unpaid):
                    raise
                if not refusal.is_unpaid or payer == self.ledger.operator or is_funded:
                    await self._report_refusal(payer, refusal)
                await self._fund_account(payer, f"{step}/fund/{id}")
                is_funded = True
                id, receipt = await run(ledger_steps.begin_step, self.network, step, payer)
            else:
                await run(ledger_steps.finish_step, self.network, step, id, receipt)
        if receipt is None:
            raise Unavailable(f"the transaction of {step!r} was too late {_MAX_IDS} times")
        return id, receipt

    async def _fund_account(self, account: LedgerId, step: str) -> None:
        """Put money into an account that could not pay for the transaction of another step."""
        body = FundAccount(account=account, amount=self._fund)
        await self.perform(step, self.ledger.operator, body, signers=(None,))
        log.info("account was empty, and has been funded", account=str(account), tinybars=self._fund)

    async def _report_refusal(self, payer: LedgerId, refusal: TransactionRefused) -> None:
        """Tell the administrator what has to be repaired, and raise Unavailable."""
        text = f"the ledger takes nothing from account {payer}: {refusal.message_with_hint}"
        await self.store.run(ledger_posts.warn_administrator, f"{payer}:{refusal.code}", text, lane="ledger")
        raise ReportedOutage(text)

    async def ensure_account(self, entity: Entity) -> LedgerId:
        """Return the account of an entity; make one, with a key, if it has none."""
        account = await self.store.read(ledger_posts.find_account, self.network, entity)
        if account is not None:
            return account
        body = CreateAccount(public_key=self.ledger.make_key(entity.name), balance=self._fund)
        _, receipt = await self.perform(f"account/{entity.name}", self.ledger.operator, body, signers=(None,))
        assert receipt.account is not None
        return await self.store.run(ledger_posts.save_account, self.network, entity, receipt.account, lane="ledger")

    async def find_key(self, owner: str) -> str:
        """Return the public key of an entity that has an account. A key that is missing is never replaced."""
        if not self.ledger.has_key(owner):
            text = f"the private key of {owner!r} is not on this machine, so nothing can be signed for it"
            await self.store.run(ledger_posts.warn_administrator, f"key:{owner}", text, lane="ledger")
            raise ReportedOutage(text, hint="copy its file to ledger/keys in the home")
        return self.ledger.make_key(owner)

    async def ensure_inbound(self, entity: Entity) -> LedgerTopic:
        """Return the inbound topic of an entity, to which everybody may write; make it if there is none."""
        account = await self.ensure_account(entity)
        return await self._ensure_topic(TopicKind.INBOUND, hcs10.build_inbound_memo(account), entity=entity)

    async def ensure_outbound(self, entity: Entity) -> LedgerTopic:
        """Return the outbound topic of an entity, to which only its key may write; make it if there is none."""
        await self.ensure_account(entity)
        return await self._ensure_topic(TopicKind.OUTBOUND, hcs10.OUTBOUND_MEMO, entity=entity, owner=entity.name)

    async def ensure_single(self, kind: TopicKind) -> LedgerTopic:
        """Return the broadcast topic, or that of the definitions; make it if there is none."""
        return await self._ensure_topic(kind, SINGLE_MEMOS[kind])

    async def ensure_work_topic(self, item: WorkItem) -> LedgerTopic:
        memo = hcs10.build_work_memo(item.type, item.id)[:_MAX_MEMO_SIZE]
        return await self._ensure_topic(TopicKind.WORK, memo, item=item)

    async def _ensure_topic(
        self,
        kind: TopicKind,
        memo: str,
        *,
        entity: Entity | None = None,
        item: WorkItem | None = None,
        owner: str | None = None,
    ) -> LedgerTopic:
        """Return a topic; make it if there is none. Only the key of `owner` may write to it, if there is one."""
        find = partial(self.store.read, ledger_posts.find_topic, self.network, kind)
        topic = await find(entity=entity, item=item, memo=memo)
        if topic is not None:
            return topic
        subject = entity.name if entity else str(item.ref) if item else ""
        body = CreateTopic(memo=memo, submit_keys=(await self.find_key(owner),) if owner else ())
        _, receipt = await self.perform(f"topic/{kind}/{subject}", self.ledger.operator, body, signers=(None,))
        assert receipt.topic is not None
        return await self.store.run(
            ledger_posts.save_topic,
            *(self.network, receipt.topic, kind),
            memo=memo,
            entity=entity,
            item=item,
            lane="ledger",
        )

    async def submit(
        self,
        step: str,
        topic: LedgerId,
        content: bytes,
        *,
        payer: LedgerId,
        signer: str | None,
        memo: str = "",
        is_foreign: bool = False,
    ) -> LedgerReceipt:
        """Post a content to a topic, in chunks if it is long; return the receipt of the last one."""
        parts = rules.split(content)
        first_id: TransactionId | None = None
        receipt = LedgerReceipt()
        for number, part in enumerate(parts, start=1):
            build = partial(_build_message, topic, part, number, len(parts), first_id)
            id, receipt = await self.perform(
                f"{step}/{number}", payer, build, signers=(signer,), memo=memo, is_foreign=is_foreign
            )
            first_id = first_id or id
        return receipt

    async def put_file(self, step: str, file: LedgerFile, sender: Entity, payer: LedgerId) -> LedgerId:
        """Put a file on the ledger, unless it is there already; return its topic."""
        memo, parts = hcs1.build_file(file.content, file.media_type, self.ledger.compress(file.content))
        topic = await self.store.read(ledger_posts.find_topic, self.network, TopicKind.FILE, memo=memo)
        if topic is not None:
            return topic.ledger_id
        body = CreateTopic(memo=memo, submit_keys=(await self.find_key(sender.name),))
        _, receipt = await self.perform(f"{step}/file", payer, body, signers=(sender.name,))
        assert receipt.topic is not None
        for number, part in enumerate(parts):
            await self.submit(f"{step}/file/{number}", receipt.topic, part, payer=payer, signer=sender.name)
        save = partial(self.store.run, ledger_posts.save_topic, self.network, receipt.topic, TopicKind.FILE)
        return (await save(memo=memo, lane="ledger")).ledger_id


def _build_message(
    topic: LedgerId, part: bytes, number: int, total: int, first_id: TransactionId | None, id: TransactionId
) -> SubmitMessage:
    """Return a chunk of a message; the first one is known by its own transaction."""
    chunk = Chunk(str(first_id or id), number, total) if total > 1 else None
    return SubmitMessage(topic=topic, content=part, chunk=chunk)


async def fetch_file(ledger: PublicLedger, id: LedgerId) -> bytes:
    """Return the content of a file (HCS-1); raise Invalid if it is not complete, or is none."""
    info = await ledger.read_topic(id)
    if info is None:
        raise Invalid(f"there is no topic {id}")
    if not info.has_submit_key or info.has_admin_key:
        raise Invalid("the topic of a file needs a submit key, and must not have an admin key")
    parts: list[bytes] = []
    last_sequence = 0
    while page := await ledger.read_messages(id, after=last_sequence, limit=_PAGE_SIZE):
        parts += [message.content for message in page]
        last_sequence = max(message.sequence for message in page)
        if len(page) < _PAGE_SIZE or len(parts) > hcs1.MAX_PARTS:
            break
    return (await asyncio.to_thread(hcs1.read_file, info.memo, parts, ledger.decompress))[1]
