"""
The mirror node: what was executed, as JSON over HTTP.

It lags some seconds behind the nodes. Its answers are not trusted further than they can be read: everything that is not
as documented is Unavailable, and an answer that is too long is not read to its end.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from gatepost.core import typed_json
from gatepost.errors import Invalid, Unavailable, quote_value
from gatepost.ledger.hedera.keys import convert_mirror_key
from gatepost.ledger.hedera.outcome import DUPLICATE, SUCCESS, TransactionOutcome
from gatepost.ledger.public_ledger import (
    AccountInfo,
    CreateAccount,
    CreateTopic,
    LedgerTransaction,
    SubmitMessage,
    TopicInfo,
)
from gatepost.ledger.topic import NANOSECONDS, LedgerId, TopicMessage
from gatepost.ledger.topic_json import parse_message, parse_timestamp
from gatepost.telemetry import get_logger, hide_secrets

#: messages of a page
MAX_PAGE: Final = 100
#: the public mirror nodes
PUBLIC_MIRRORS: Final = {
    "mainnet": "https://mainnet-public.mirrornode.hedera.com",
    "testnet": "https://testnet.mirrornode.hedera.com",
}

#: bytes of an answer; a page of the longest messages has less than 300 KiB
_MAX_ANSWER: Final = 2 * 1024 * 1024
#: seconds
_MAX_RETRY_AFTER: Final = 3_600.0
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_TOO_MANY_REQUESTS: Final = 429
_NOT_FOUND: Final = 404
_OK: Final = 200

_log = get_logger(__name__)

S = TypeVar("S", bound=Struct)


class _Key(Struct, rename={"kind": "_type"}):
    kind: str = ""
    key: str = ""


class _Balance(Struct):
    balance: int = 0


class _Account(Struct):
    account: str
    memo: str = ""
    key: _Key | None = None
    balance: _Balance | None = None


class _Topic(Struct):
    topic_id: str
    memo: str = ""
    submit_key: _Key | None = None
    admin_key: _Key | None = None


class _Messages(Struct):
    messages: list[Any]


class _TopicMessage(Struct):
    topic_id: str
    sequence_number: int


class _Transaction(Struct):
    result: str
    consensus_timestamp: str
    entity_id: str | None = None
    nonce: int = 0
    scheduled: bool = False


class _Transactions(Struct):
    transactions: list[_Transaction]


class _BlockTimes(Struct, rename={"first": "from", "last": "to"}):
    first: str
    last: str | None = None


class _Block(Struct):
    timestamp: _BlockTimes


class _Blocks(Struct):
    blocks: list[_Block]


class MirrorNode:
    def __init__(self, url: str, *, clock: Callable[[], int], max_requests: int, timeout: float) -> None:
        """`clock` returns nanoseconds since 1970, `timeout` is in seconds."""
        try:
            base = httpx2.URL(url.rstrip("/").removesuffix("/api/v1"))
        except httpx2.InvalidURL:
            base = httpx2.URL()
        if base.scheme not in ("http", "https") or not base.host:
            raise Invalid(
                f"{quote_value(hide_secrets(url))} is not the URL of a mirror node",
                hint="use https://HOST or http://HOST",
            )
        self._clock = clock
        self._timeout = timeout
        self._slots = asyncio.Semaphore(max_requests)
        #: the last place at which a message of a topic could not be read
        self._unreadable: dict[LedgerId, int] = {}
        self._client = httpx2.AsyncClient(
            base_url=base,
            # identity: a compressed answer could become much larger than the limit
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=timeout,
            # a proxy that the environment names is not for this machine
            trust_env=base.host not in _LOCAL_HOSTS,
            # certificates take long to read, and without TLS there is nothing to hold against them
            verify=base.scheme == "https",
            limits=httpx2.Limits(max_connections=max_requests),
        )

    async def find_outcome(self, transaction: LedgerTransaction) -> TransactionOutcome | None:
        """Return what came of a transaction; None if the mirror node does not know it."""
        id = transaction.id
        seconds, nanoseconds = divmod(id.valid_start, NANOSECONDS)
        answer = await self._get(f"transactions/{id.payer}-{seconds}-{nanoseconds:09}", _Transactions)
        # Others of the same id are what it has caused.
        entries = [entry for entry in answer.transactions if not entry.nonce and not entry.scheduled] if answer else []
        if not entries:
            return None
        # The nodes may have taken it twice; all but the first are duplicates, and did nothing.
        entries = [entry for entry in entries if entry.result != DUPLICATE]
        if not entries:
            raise Unavailable(f"the mirror node does not yet have the transaction {id}, but a duplicate of it")
        entry = next((entry for entry in entries if entry.result == SUCCESS), entries[0])
        if entry.result != SUCCESS:
            return TransactionOutcome(entry.result)
        with _translate_errors():
            entity = LedgerId.parse(entry.entity_id) if entry.entity_id else None
            timestamp = parse_timestamp(entry.consensus_timestamp)
        match transaction.body:
            case CreateAccount():
                return TransactionOutcome(SUCCESS, account=entity)
            case CreateTopic():
                return TransactionOutcome(SUCCESS, topic=entity)
            case SubmitMessage(topic=topic):
                return TransactionOutcome(SUCCESS, sequence=await self._read_sequence(topic, timestamp))
            case _:
                return TransactionOutcome(SUCCESS)

    async def _read_sequence(self, topic: LedgerId, timestamp: int) -> int:
        seconds, nanoseconds = divmod(timestamp, NANOSECONDS)
        message = await self._get(f"topics/messages/{seconds}.{nanoseconds:09}", _TopicMessage)
        if message is None or message.topic_id != str(topic):
            raise Unavailable(f"the mirror node does not yet have the message of the topic {topic}")
        return message.sequence_number

    async def read_time(self) -> int:
        """Return the consensus time up to which the mirror node has everything, in nanoseconds."""
        answer = await self._get("blocks", _Blocks, limit=1, order="desc")
        if answer is None or not answer.blocks:
            raise Unavailable("the mirror node has no blocks yet")
        times = answer.blocks[0].timestamp
        with _translate_errors():
            return parse_timestamp(times.last or times.first)

    async def read_messages(self, topic: LedgerId, *, after: int, limit: int) -> list[TopicMessage]:
        messages: list[TopicMessage] = []
        while len(messages) < limit:
            page_size = min(MAX_PAGE, limit - len(messages))
            last = messages[-1].sequence if messages else after
            try:
                page = await self._get(
                    f"topics/{topic}/messages", _Messages, sequencenumber=f"gt:{last}", order="asc", limit=page_size
                )
            except Unavailable:
                if messages:
                    return messages
                raise
            if page is None:
                break
            new_messages = self._parse_entries(page.messages, topic, last)
            messages += new_messages
            # less than a page: it was the last one, or a message could not be read
            if not new_messages or len(page.messages) < page_size or len(new_messages) < len(page.messages):
                break
        return messages

    def _parse_entries(self, entries: list[Any], topic: LedgerId, after: int) -> list[TopicMessage]:
        """Return the messages up to the first that cannot be read, in their order, each of them once."""
        messages: dict[int, TopicMessage] = {}
        for entry in entries:
            try:
                if not isinstance(entry, dict):
                    raise Invalid("it is not an object")
                message = parse_message(entry)
                if message.topic != topic:
                    raise Invalid(f"it is of the topic {message.topic}")
            except Invalid as error:
                if self._unreadable.get(topic) != after:  # logged once, however often it is asked for
                    self._unreadable[topic] = after
                    _log.warning("message-not-readable", topic=str(topic), after=after, reason=error.message)
                break
            if message.sequence > after:
                messages[message.sequence] = message
        return [messages[sequence] for sequence in sorted(messages)]

    async def read_topic(self, topic: LedgerId) -> TopicInfo | None:
        answer = await self._get(f"topics/{topic}", _Topic)
        if answer is None:
            return None
        return TopicInfo(
            id=topic,
            memo=answer.memo,
            has_submit_key=answer.submit_key is not None,
            has_admin_key=answer.admin_key is not None,
        )

    async def read_account(self, account: LedgerId) -> AccountInfo | None:
        answer = await self._get(f"accounts/{account}", _Account, transactions="false")
        if answer is None:
            return None
        key, balance = answer.key, answer.balance
        return AccountInfo(
            id=account,
            memo=answer.memo,
            public_key=convert_mirror_key(key.kind, key.key) if key else None,
            balance=balance.balance if balance else 0,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def _get(self, path: str, answer_type: type[S], **parameters: str | int) -> S | None:
        """Return an answer; None if it is "not found"."""
        async with self._slots:
            if self._client.is_closed:
                raise Unavailable("the ledger is closed")
            with _translate_errors():
                async with (
                    asyncio.timeout(self._timeout),
                    self._client.stream("GET", f"/api/v1/{path}", params=parameters) as response,
                ):
                    content = bytearray()
                    async for part in response.aiter_raw():
                        content += part
                        if len(content) > _MAX_ANSWER:
                            raise Unavailable(f"the answer of the mirror node to {path} is too long")
                    if response.status_code == _NOT_FOUND:
                        return None
                    if response.status_code != _OK:
                        raise self._build_failure(response)
                    return typed_json.decode(bytes(content), answer_type)

    def _build_failure(self, response: httpx2.Response) -> Unavailable:
        is_limit = response.status_code == _TOO_MANY_REQUESTS
        error = Unavailable(
            "the mirror node has a limit of requests, which is reached"
            if is_limit
            else f"the mirror node answered with the status {response.status_code}"
        )
        error.retry_after = self._parse_retry_after(response.headers.get("retry-after", ""))
        return error

    def _parse_retry_after(self, text: str) -> float | None:
        """Return the seconds of `120` or of `Fri, 31 Dec 1999 23:59:59 GMT`."""
        try:
            seconds = float(int(text))
        except ValueError:
            try:
                date = parsedate_to_datetime(text)
            except ValueError:
                return None
            now = datetime.fromtimestamp(self._clock() / NANOSECONDS, UTC)
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now.timestamp()
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn what a request, or an answer that is not as documented, raises into Unavailable."""
    try:
        yield
    except TimeoutError:
        raise Unavailable("the mirror node did not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
        reason = hide_secrets(str(error)) or type(error).__name__
        raise Unavailable(f"the mirror node cannot be reached: {reason}") from None
    except (msgspec.MsgspecError, Invalid, RecursionError, UnicodeError) as error:
        raise Unavailable(f"the answer of the mirror node cannot be read: {error}") from None
