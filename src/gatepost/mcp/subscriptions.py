"""
Subscriptions to resources: a host is told that a resource has changed, and reads it again if it likes.

    2026-07-28    subscriptions/listen     one request, whose answer is a stream; on stdio and over HTTP
    2025-11-25    resources/subscribe      on stdio only: over HTTP no connection lasts

A signal says that a resource may have changed. Then its version is read, with the rights that the caller has at that
moment, and the host is told if the version differs. So rights are checked before anything is told, a lost signal costs
seconds, because the version is also read at times, and a repeated signal costs a query. A subscription ends when its
caller may no longer read one of its resources.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import anyio
import anyio.abc
import structlog
from mcp import MCPError, types
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY

from gatepost.core.signals import Topic
from gatepost.errors import GatepostError, Unavailable
from gatepost.mcp.resources import build_refusal, get_topic, read_version
from gatepost.mcp.server_port import ANYTHING, Context, Host, Peer

log = structlog.get_logger("gatepost.mcp")

#: resources of one subscription
_MAX_RESOURCES: Final = 100
#: streams, or subscriptions, of one server, and of one caller: nobody uses up those of the others
_MAX_SUBSCRIPTIONS: Final = 1_000
_MAX_OF_CALLER: Final = 100
#: seconds after which versions and rights are looked at again without a signal
_RECHECK_INTERVAL: Final = 10.0

Notify = Callable[[str], Awaitable[None]]


class Subscriptions:
    """The subscriptions of one server. `tasks` runs those that outlive their request."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._counts: Counter[str] = Counter()
        self.tasks: anyio.abc.TaskGroup | None = None
        self._scopes: dict[str, anyio.CancelScope] = {}

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Tell a host about changes on the stream of its request, until it leaves or may no longer know."""
        id = context.request_id
        meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: id}
        uris = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))

        async def acknowledge() -> None:
            accepted = types.SubscriptionFilter(resource_subscriptions=uris or None)
            answer = types.SubscriptionsAcknowledgedNotificationParams(notifications=accepted, _meta=meta)
            await context.session.send_notification(
                types.SubscriptionsAcknowledgedNotification(params=answer), related_request_id=id
            )

        async def notify(uri: str) -> None:
            update = types.ResourceUpdatedNotificationParams(uri=uri, _meta=meta)
            await context.session.send_notification(
                types.ResourceUpdatedNotification(params=update), related_request_id=id
            )

        await self._follow(context, uris, acknowledge, notify)
        return types.SubscriptionsListenResult(_meta=meta)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell a host about changes of one resource until it unsubscribes."""
        uri, session = params.uri, context.session
        accepted: anyio.Event = anyio.Event()
        refusals: list[MCPError] = []

        async def acknowledge() -> None:
            accepted.set()

        async def notify(uri: str) -> None:
            update = types.ResourceUpdatedNotificationParams(uri=uri)
            await session.send_notification(types.ResourceUpdatedNotification(params=update))

        async def run() -> None:
            scope = self._scopes[uri] = anyio.CancelScope()
            try:
                with scope:
                    await self._follow(context, [uri], acknowledge, notify)
            except MCPError as error:
                refusals.append(error)
            finally:
                if self._scopes.get(uri) is scope:
                    del self._scopes[uri]
                accepted.set()

        assert self.tasks is not None
        self._cancel(uri)
        self.tasks.start_soon(run)
        await accepted.wait()
        if refusals:
            raise refusals[0]
        return types.EmptyResult()

    async def unsubscribe(self, _context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        self._cancel(params.uri)
        return types.EmptyResult()

    def _cancel(self, uri: str) -> None:
        if (scope := self._scopes.pop(uri, None)) is not None:
            scope.cancel()

    async def _follow(
        self, context: Context, uris: Sequence[str], acknowledge: Callable[[], Awaitable[None]], notify: Notify
    ) -> None:
        """Check the rights, acknowledge, and notify of changes until the rights are gone."""
        if len(uris) > _MAX_RESOURCES:
            raise MCPError(
                types.INVALID_PARAMS, f"these are over {_MAX_RESOURCES} resources (hint: subscribe to fewer)"
            )
        watch = Watch(self._host, uris)
        with self._host.subscribe(watch.on_change):
            try:
                peer = await self._host.identify(context)
                with self._count(peer.name):
                    await watch.start(peer)
                    await acknowledge()
                    with suppress(GatepostError):  # its rights are gone
                        await watch.run(peer, notify)
            except GatepostError as error:
                raise build_refusal(error, *uris) from None

    @contextmanager
    def _count(self, name: str) -> Iterator[None]:
        """While entered, a caller has one subscription more; raise an error if it has too many, or all have."""
        if self._counts[name] >= _MAX_OF_CALLER:
            raise MCPError(
                types.INVALID_PARAMS, f"{name!r} has {_MAX_OF_CALLER} subscriptions (hint: end some of them)"
            )
        if self._counts.total() >= _MAX_SUBSCRIPTIONS:
            raise MCPError(types.INTERNAL_ERROR, "there are too many subscriptions (hint: try again later)")
        self._counts[name] += 1
        try:
            yield
        finally:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]


class Watch:
    """Looks at some resources whenever they may have changed."""

    def __init__(self, host: Host, uris: Sequence[str]) -> None:
        self._host = host
        self._uris = uris
        self._topics: set[Topic] = set()
        self._versions: dict[str, bytes] = {}
        self._changed = anyio.Event()

    def on_change(self, topic: Topic) -> None:
        if topic == ANYTHING or topic in self._topics or not self._topics:
            self._changed.set()

    async def start(self, peer: Peer) -> None:
        """Read the versions; raise an error if the caller may not read one of the resources."""
        self._versions = {uri: await read_version(peer, uri) for uri in self._uris}
        self._topics = {get_topic(uri) for uri in self._uris}

    async def run(self, peer: Peer, notify: Notify) -> None:
        while not self._host.stopping.is_set():
            with anyio.move_on_after(_RECHECK_INTERVAL):
                await self._changed.wait()
            self._changed = anyio.Event()
            try:
                await peer.verify()
                for uri in self._uris:
                    version = await read_version(peer, uri)
                    if version != self._versions[uri]:
                        self._versions[uri] = version
                        await notify(uri)
            except Unavailable as error:
                log.info("a subscription waits", reason=error.message)
