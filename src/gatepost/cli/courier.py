"""`gatepost courier`."""

import asyncio
import json as documents
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from typing import Annotated, Final

import typer

from gatepost import app, settings, telemetry
from gatepost.actions import directory, inbox
from gatepost.cli import output, words
from gatepost.cli.connect import find_gateway
from gatepost.cli.plain import Json, flag, option
from gatepost.client import Client
from gatepost.client.parcels import GatewayParcels
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import Item
from gatepost.core.session import Guest
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Invalid, Refused, Unavailable
from gatepost.hooks.session import SESSIONS_FOLDER, find_guest, has_ended, list_guests
from gatepost.ports import Store, Subscription
from gatepost.runtime import gateway_files
from gatepost.runtime.courier import PENDING_LIMIT, Courier, StoreSubscription
from gatepost.runtime.nudge import wait_for_nudge, watch_process
from gatepost.settings import Configuration

#: seconds in which a gateway that is just restarting is back; after that the store is asked
_PATIENCE: Final = 3.0


def courier(
    who: Annotated[str | None, option("--as", "NAME", "Whose courier; else the current agent's.")] = None,
    session: Annotated[str | None, option("--session", "ID", "For this session; else for all that live here.")] = None,
    nudge: Annotated[
        str | None, option("--nudge", "CMD|URL|rewake", "How to tell an idle agent that mail waits.")
    ] = None,
    wait: Annotated[
        bool, flag("--rewake", "As an asyncRewake hook: wait until the session is nudged, and end with 2.")
    ] = False,
    json: Json = False,
) -> None:
    """
    Carry what comes for an agent to the spools of its sessions on this machine, from where its hooks take it.

    Events come by the transport (NATS or Redis), else from the gateway. An agent that is idle is nudged: a command has
    the text as $1 and on stdin, and the session as $2; a URL is sent JSON; rewake wakes whoever waits with --rewake.
    Nothing is marked as delivered by it. It stops at Ctrl-C.

    Examples:
      gatepost courier --as analyst
      gatepost courier --as analyst --nudge 'tmux send-keys -t analyst "$1" Enter'
      gatepost courier --rewake < hook.json
    """
    configuration = settings.load()
    words.given(session, "--session", "which")
    if wait:
        raise typer.Exit(_wait(configuration, session))
    name = words.given(who, "--as") or _noted(configuration, session) or configuration.settings.agent
    if name is None:
        raise Invalid(
            "it is not said whose courier this is",
            hint="give --as NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml",
        )
    telemetry.configure_logging("json" if json else configuration.settings.gateway.log)
    with ExitStack() as stack:
        asyncio.run(
            _carry(configuration, _House(configuration, stack), name, session, words.given(nudge, "--nudge", "what"))
        )


async def _carry(
    configuration: Configuration, house: "_House", name: str, session: str | None, nudge: str | None
) -> None:
    entity = await house.entity(name)
    agent, names = (entity.name, {entity.name, *entity.aliases}) if entity else (name, {name})
    home, chosen = configuration.home, configuration.settings.courier
    known = find_guest(home, session) if session else None
    if known is not None and known.agent not in names:
        raise Invalid(f"the session {session!r} is one of {known.agent!r}, not of {agent!r}", hint="leave --as out")

    def there() -> Sequence[Guest]:
        if session is None:
            return list_guests(home, names, now=time.time_ns() // 1_000)
        if has_ended(home, session):
            return []
        return [find_guest(home, session) or Guest(session=session, agent=agent)]

    how = nudge or chosen.nudge
    carrying = Courier(
        agent,
        open_subscription=lambda: house.parcels(agent),
        read_pending=lambda: house.pending(agent),
        spool=app.build_spool(configuration),
        list_guests=there,
        nudge=app.build_nudge(configuration, how, home / SESSIONS_FOLDER) if how else None,
        reconcile_interval=chosen.reconcile / SECOND,
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    output.talk(f"carrying for {agent!r}; Ctrl-C stops it")
    await carrying.run(stop)


class _House:
    """Whom the courier asks: the gateway that runs in this home, as long as one does, else the store itself."""

    def __init__(self, configuration: Configuration, stack: ExitStack) -> None:
        self._configuration = configuration
        self._stack = stack

    @cached_property
    def store(self) -> Store:
        return self._stack.enter_context(app.prepare_store(self._configuration, report=output.talk))

    def parcels(self, agent: str) -> Subscription:
        """Where parcels come from now."""
        carried = app.build_subscription(self._configuration, agent)
        if carried is not None:
            return carried
        if find_gateway(self._configuration) is not None:
            return GatewayParcels(self._client, agent)
        return StoreSubscription(self.store, agent)

    async def pending(self, agent: str) -> Sequence[Item]:
        if find_gateway(self._configuration) is not None:
            try:
                async with self._client() as client:
                    return await client.peek(agent, limit=PENDING_LIMIT)
            except Unavailable:
                pass  # the store may still be there
        return await (await asyncio.to_thread(lambda: self.store)).read(inbox.peek, agent, limit=PENDING_LIMIT)

    async def entity(self, name: str) -> Entity | None:
        """Who is meant; None if nobody can be asked now."""
        try:
            if find_gateway(self._configuration) is not None:
                async with self._client() as client:
                    entity = await client.entity(name)
            else:
                entity = self.store.query(directory.show, name)
        except Unavailable as error:
            output.talk(f"going on without having asked who {name!r} is: {error.message}")
            return None
        if entity.kind is EntityKind.HUMAN:
            raise Refused(f"{entity.name!r} is a person, and has no sessions", hint="name an agent")
        return entity

    def _client(self) -> Client:
        url = find_gateway(self._configuration)
        if url is None:
            raise Unavailable("no gateway runs here any more")
        key = gateway_files.read_admin_key(self._configuration.home)
        return Client(url, key=key, patience=_PATIENCE, is_there=partial(self._is_at, url))

    async def _is_at(self, url: str) -> bool:
        return await asyncio.to_thread(find_gateway, self._configuration) == url


def _noted(configuration: Configuration, session: str | None) -> str | None:
    """Whose session it is, as its hooks have noted."""
    found = find_guest(configuration.home, session) if session else None
    return found.agent if found else None


def _wait(configuration: Configuration, session: str | None) -> int:
    """
    Wait for a nudge as a hook does. Only a nudge ends with 2, which wakes the agent; what goes wrong does not. Where
    nobody attends, as in `claude -p`, the session would end but for us: then there is nothing to wait for.
    """
    if os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "0":
        return 0
    parent = os.getppid()
    try:
        id = session or _told()
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


def _told() -> str:
    """The session that the host has named on stdin."""
    try:
        session = documents.loads(sys.stdin.read())["session_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        session = None
    if not isinstance(session, str) or not session:
        raise Invalid("no session is named on stdin", hint="the host sends it, as JSON; or give --session ID")
    return session
