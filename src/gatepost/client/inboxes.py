"""Pushing events, and what can be done with those in an inbox."""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from gatepost.client import problems
from gatepost.client.line import Line, Ready
from gatepost.core import address, ids, unwire, wire
from gatepost.core import claim as rules
from gatepost.core.batch import GUEST_BUDGET, GUEST_LIMIT
from gatepost.core.claim import Claim, RenderedBatch
from gatepost.core.event import Account, EventType, Item, ItemState, Push, PushResult, Ref
from gatepost.core.times import Duration, Instant, format_duration, format_rfc3339
from gatepost.core.wire import Document
from gatepost.errors import GatepostError


class Inboxes:
    _line: Line

    async def push(self, push: Push) -> PushResult:
        """Put an event into inboxes; when this returns, it is on disk, once."""
        keyed = _keyed(push)
        pushed = unwire.read_push_result(await self._line.repeat("POST", "/api/inbox", wire.PUSH.write(keyed)))
        return pushed if keyed is push else _new(pushed)

    async def push_all(self, pushes: Sequence[Push]) -> list[PushResult | GatepostError]:
        """Up to 1,000 pushes, which make up to 10,000 items, in one commit; an outcome each."""
        keyed = [_keyed(push) for push in pushes]
        body = {"pushes": [wire.PUSH.write(push) for push in keyed]}
        answers = (await self._line.repeat("POST", "/api/inbox/batch", body))["items"]
        return [_outcome(answer, own is push) for answer, own, push in zip(answers, keyed, pushes, strict=True)]

    def page(
        self,
        name: str | None = None,
        *,
        state: ItemState | None = None,
        type: EventType | None = None,
        sender: str | None = None,
        ref: Ref | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Item]:
        """The items of an inbox, or of all of them, in order of arrival."""
        return self._line.all(
            "/api/inbox" if name is None else f"/api/inbox/{address.check_entity_address(name)}",
            unwire.read_item,
            limit=limit,
            state=state.value if state else None,
            type=type.value if type else None,
            sender=sender,
            ref=str(ref) if ref else None,
            since=format_rfc3339(since) if since is not None else None,
            until=format_rfc3339(until) if until is not None else None,
        )

    async def peek(self, name: str, *, limit: int = GUEST_LIMIT) -> list[Item]:
        """What waits, most urgent first; nothing changes."""
        return [
            each
            async for each in self._line.all(
                f"/api/inbox/{address.check_entity_address(name)}/peek", unwire.read_item, limit=limit
            )
        ]

    async def show(self, event: str) -> list[Item]:
        """An event as it stands with each of its recipients."""
        return unwire.read_items(await self._line.get(f"/api/events/{ids.check('evt', event)}"))

    async def account(self, name: str) -> Account:
        """What an inbox accepted, and what has become of it."""
        return unwire.read_account(await self._line.get(f"/api/inbox/{address.check_entity_address(name)}/account"))

    async def claim(
        self,
        name: str,
        *,
        owner: str,
        limit: int = GUEST_LIMIT,
        budget: int = GUEST_BUDGET,
        hold: Duration | None = None,
    ) -> RenderedBatch:
        """
        Take the next batch for a while; `ack` or `release` it. It is never asked for twice: if the answer is lost, the
        items come again when the time is over.
        """
        body = {"owner": rules.check_owner(owner), "limit": limit, "budget": budget} | (
            {"hold": format_duration(hold)} if hold else {}
        )
        return _taken(await self._line.ask(f"/api/inbox/{address.check_entity_address(name)}/claim", body))

    async def ack(self, claim: Claim) -> int:
        """Say that the items of a claim were read; return how many."""
        answer = await self._line.write("POST", f"/api/inbox/{claim.recipient}/ack", _held(claim))
        return int(answer["delivered"])

    async def release(self, claim: Claim, *, failed: Sequence[str] = ()) -> int:
        """Give the items of a claim back; against those that `failed` of their own it is counted."""
        body = _held(claim) | {"failed": list(failed)}
        answer = await self._line.write("POST", f"/api/inbox/{claim.recipient}/release", body)
        return int(answer["released"])

    async def drain(
        self, name: str, *, session: str | None = None, limit: int = GUEST_LIMIT, budget: int = GUEST_BUDGET
    ) -> RenderedBatch:
        """Take the next batch; it counts as read as soon as it was sent. To be sure of it, `claim` and `ack`."""
        body = {"session": session, "limit": limit, "budget": budget}
        return _taken(await self._line.ask(f"/api/inbox/{address.check_entity_address(name)}/drain", body))

    async def seen(self, name: str, events: Sequence[str]) -> int:
        """Record that somebody has seen items; return how many were new to them."""
        answer = await self._line.repeat(
            "POST", f"/api/inbox/{address.check_entity_address(name)}/seen", {"events": list(events)}
        )
        return int(answer["seen"])

    async def replay(self, event: str, name: str | None = None) -> list[Item]:
        """Make what is dead, expired or discarded pending again; what was delivered comes as a new event."""
        return await self._on_event(event, "replay", name)

    async def discard(self, event: str, name: str | None = None) -> list[Item]:
        """Put away what is pending or dead."""
        return await self._on_event(event, "discard", name)

    async def done(self, event: str, name: str | None = None) -> Item:
        """Mark a person's item as done."""
        [item] = await self._on_event(event, "done", name)
        return item

    async def watch_inbox(
        self, name: str, *, after: str | None = None, ready: Ready | None = None
    ) -> AsyncGenerator[Item]:
        """New items as they come, for ever, across lost connections; `ready` is called when it has begun."""
        path = f"/api/inbox/{address.check_entity_address(name)}/stream"
        async with aclosing(self._line.stream(path, after=after, ready=ready)) as stream:
            async for what in stream:
                if what.event == "inbox.item":
                    yield unwire.read_item(what.data)

    async def _on_event(self, event: str, verb: str, name: str | None) -> list[Item]:
        path = f"/api/events/{ids.check('evt', event)}/{verb}"
        return [unwire.read_item(each) for each in (await self._line.write("POST", path, {"name": name}))["items"]]


def _keyed(push: Push) -> Push:
    """
    A push that can be repeated: without a key of its own it gets one that nobody else has. An alert gets none here: the
    gateway knows it again by what it says, so a second try is as good as a second alert.
    """
    if push.key is not None or push.type is EventType.ALERT:
        return push
    return replace(push, key=f"client:{secrets.token_urlsafe(16)}")


def _new(pushed: PushResult) -> PushResult:
    """What a push with such a key came to: a duplicate of it is its own first try."""
    deliveries = tuple(replace(each, duplicate=False) for each in pushed.deliveries)
    return replace(pushed, deliveries=deliveries, duplicate=False)


def _outcome(answer: Document, own: bool) -> PushResult | GatepostError:
    if answer["status"] != 201:
        return problems.of(answer, answer["status"])
    return unwire.read_push_result(answer) if own else _new(unwire.read_push_result(answer))


def _held(claim: Claim) -> Document:
    return {"claimId": claim.id, "owner": claim.owner, "fence": claim.fence}


def _taken(document: Document) -> RenderedBatch:
    held = document["claim"]
    return RenderedBatch(
        claim=unwire.read_claim(held) if held else None,
        items=tuple(unwire.read_item(each) for each in document["items"]),
        deferred_count=document["held"],
        text=document["text"],
    )
