"""`gatepost courier`."""

import asyncio
import json as documents
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, aclosing
from functools import cached_property, partial
from typing import Annotated, ClassVar, Final

from click.exceptions import Exit

from gatepost import app, settings, telemetry
from gatepost.cli import output
from gatepost.cli.command import build_verb
from gatepost.cli.gateway_or_store import check_gateway, find_agent, find_gateway
from gatepost.cli.parameters import JsonFlag, flag, option
from gatepost.client import Client
from gatepost.core.ports import EventHandler, ResyncHandler, Store, Subscription
from gatepost.core.times import SECOND
from gatepost.core.transport_records import build_unkept_event
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.entity_api import ShowEntity
from gatepost.errors import GatepostError, Invalid, Unavailable
from gatepost.guests import session_actions as sessions
from gatepost.guests.courier_background import PENDING_LIMIT, Courier, StoreSubscription
from gatepost.guests.hooks.session_state import SESSIONS_FOLDER, find_guest, has_ended, list_guests
from gatepost.guests.nudge_background import wait_for_nudge, watch_process
from gatepost.guests.session import Guest
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Item, ItemState
from gatepost.inbox.item_api import PeekInbox, WatchInbox
from gatepost.settings import Configuration, gateway_files

#: seconds in which a gateway that is just restarting is back; after that the store is read
_RETRY_TIME: Final = 3.0


def courier(
    agent_name: Annotated[str | None, option("--as", "NAME", "the agent; by default the current agent")] = None,
    session: Annotated[
        str | None, option("--session", "ID", "only this guest session; by default all of the agent here")
    ] = None,
    nudge: Annotated[
        str | None, option("--nudge", "CMD|URL|rewake", "how to tell an idle agent that events are pending")
    ] = None,
    rewake: Annotated[
        bool, flag("--rewake", "as an asyncRewake hook: wait until the guest session is nudged, and exit with 2")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """
    Write the events of an agent to the spools of its sessions on this machine, where its hooks read them.

    Events come through the transport (NATS or Redis), else from the gateway. An idle agent is nudged: a command gets
    the text as $1 and on stdin, and the session as $2; a URL gets JSON; rewake ends every `courier --rewake` that
    waits. The courier marks nothing as delivered. Ctrl-C stops it.

    Examples:
      gatepost courier --as analyst
      gatepost courier --as analyst --nudge 'tmux send-keys -t analyst "$1" Enter'
      gatepost courier --rewake < hook.json
    """
    configuration = settings.load()
    if rewake:
        raise Exit(_wait_for_nudge(configuration, session))
    guest = find_guest(configuration.home, session) if session else None
    name = agent_name or (guest.agent if guest else None) or configuration.settings.agent
    if name is None:
        raise Invalid(
            "the courier has no agent",
            hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml",
        )
    method = nudge or configuration.settings.courier.nudge
    telemetry.configure_logging("json" if json else configuration.settings.gateway.log)
    try:
        entity = find_agent(configuration, name)
        agent, names = entity.name, {entity.name, *entity.aliases}
    except Unavailable as error:
        output.talk(f"cannot check now who {name!r} is: {error.message}")
        agent, names = name, {name}
    if guest is not None and guest.agent not in names:
        raise Invalid(
            f"the guest session {session!r} is one of {guest.agent!r}, not of {agent!r}", hint="leave --as out"
        )
    with ExitStack() as stack:
        source = CourierSource(configuration, agent, stack)
        asyncio.run(_run_courier(configuration, source, names, session, method))


async def _run_courier(
    configuration: Configuration, source: "CourierSource", names: set[str], session: str | None, method: str | None
) -> None:
    home, agent = configuration.home, source.agent

    def list_sessions() -> Sequence[Guest]:
        if session is None:
            return list_guests(home, names, now=time.time_ns() // 1_000)
        if has_ended(home, session):
            return []
        return [find_guest(home, session) or Guest(session=session, agent=agent)]

    courier = Courier(
        agent,
        open_subscription=source.open_subscription,
        read_pending=source.read_pending,
        spool=app.build_spool(configuration),
        list_guests=list_sessions,
        may_wake=source.may_wake,
        nudge=app.build_nudge(configuration, method, home / SESSIONS_FOLDER) if method else None,
        reconcile_interval=configuration.settings.courier.reconcile / SECOND,
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    output.talk(f"writing the events of {agent!r} to the spools of its sessions; Ctrl-C stops it")
    await courier.run(stop)


class CourierSource:
    """Where a courier reads the events of its agent: the gateway of this home, while one runs, else the store."""

    def __init__(self, configuration: Configuration, agent: str, stack: ExitStack) -> None:
        self.agent = agent
        self._configuration = configuration
        self._stack = stack

    @cached_property
    def _store(self) -> Store:
        return self._stack.enter_context(app.prepare_store(self._configuration, report=output.talk, can_create=False))

    def open_subscription(self) -> Subscription:
        """Return where events come from now: the transport, if it carries them, the gateway, or the store."""
        subscription = app.build_subscription(self._configuration, self.agent)
        if subscription is not None:
            return subscription
        if find_gateway(self._configuration) is not None:
            return GatewaySubscription(self.open_client, self.agent)
        return StoreSubscription(self._store, self.agent)

    async def read_pending(self) -> Sequence[Item]:
        if find_gateway(self._configuration) is not None:
            try:
                async with self.open_client() as client:
                    views = client.list_all(PeekInbox(name=self.agent), limit=PENDING_LIMIT)
                    return [Item(event=view.to_event(), recipient=view.recipient) async for view in views]
            except Unavailable:
                pass  # the store may still be there
        store = await asyncio.to_thread(lambda: self._store)
        return await store.read(inbox.peek, self.agent, limit=PENDING_LIMIT)

    async def may_wake(self, priority: int) -> bool:
        """Return True if an event of this priority may wake the agent now; also if nobody can be asked."""
        if find_gateway(self._configuration) is not None:
            try:
                async with self.open_client() as client:
                    attention = (await client.send(ShowEntity(name=self.agent))).attention
                    return attention is None or priority <= AttentionLevel(attention.level).max_priority
            except Unavailable:
                pass  # the store may still be there
        try:
            store = await asyncio.to_thread(lambda: self._store)
            return await store.read(sessions.may_wake, self.agent, priority)
        except Unavailable:
            return True

    def open_client(self) -> Client:
        """Return a client of the gateway at its present address."""
        url = find_gateway(self._configuration)
        if url is None:
            raise Unavailable("no gateway runs here any more")
        key = gateway_files.read_admin_key(self._configuration.home)
        check = partial(asyncio.to_thread, check_gateway, self._configuration, url)
        return Client(url, key=key, retry_time=_RETRY_TIME, check=check)


class GatewaySubscription:
    """
    The events of an agent's inbox, from the stream of a gateway. After a lost connection the stream goes on where it
    was; if the connection is gone for longer, the subscription ends with an error.
    """

    name: ClassVar[str] = "gateway"

    def __init__(self, open_client: Callable[[], Client], agent: str) -> None:
        self._open_client = open_client
        self._agent = agent

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        request = WatchInbox(name=self._agent)
        async with self._open_client() as client, aclosing(client.stream(request, on_connect=resync)) as items:
            async for item in items:
                if item.state is ItemState.PENDING:
                    await handle(build_unkept_event(item.to_event(), resync))


def _wait_for_nudge(configuration: Configuration, session: str | None) -> int:
    """
    Wait for a nudge as a hook does, and return the exit code: 2 only for a nudge, because it wakes the agent. In a
    session of a program, as with `claude -p`, return at once: it cannot end while its hook waits.
    """
    if os.environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"):
        return 0
    parent = os.getppid()
    try:
        id = session or _read_session()
        with watch_process(os.environ.get("CLAUDE_PID", "")) as is_host_gone:
            text = wait_for_nudge(
                configuration.home / SESSIONS_FOLDER,
                id,
                has_waiting=lambda: bool(app.build_spool(configuration).peek(id)),
                is_over=lambda: is_host_gone() or os.getppid() != parent or has_ended(configuration.home, id),
            )
    except GatepostError as error:
        output.fail(error.message, error.hint)
        return 1
    if text is None:
        return 0
    output.talk(text)
    return 2


def _read_session() -> str:
    """Return the session that the host has named on stdin."""
    try:
        session = documents.loads(sys.stdin.read())["session_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        session = None
    if not isinstance(session, str) or not session:
        raise Invalid("no guest session is named on stdin", hint="the host sends it, as JSON; or give --session ID")
    return session


commands = [build_verb("courier", courier, "Write the events of a guest to the spools of its sessions.")]
