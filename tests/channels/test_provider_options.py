"""The code of other packages runs before a transaction and never inside of one, whichever door a request takes."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from msgspec import UNSET

from gatepost.channels import provider_plugins as plugins
from gatepost.channels.provider_plugins import LoadedProviders
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.api import AddTrigger, ChangeTrigger, ListTriggers, ShowTrigger
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.core.json_limits import Json
from gatepost.core.ports import Store
from gatepost.errors import Conflict, Invalid, NotFound
from gatepost.executor import LocalExecutor
from gatepost.gateway.dispatch import Dispatcher
from gatepost.operations.access import ADMINISTRATOR
from gatepost.operations.operation import Request
from gatepost.stores.group_commit import CallOutcome, GroupWriter, PendingCall
from gatepost.stores.threaded_store import ThreadedStore
from tests.support.gateways.local_gateways import open_gateway

_INSIDE: Final = threading.local()


class Office(NamedTuple):
    """A store with a trigger of a package, and a function that sends a request through a door."""

    store: Store
    send: Callable[..., Awaitable[Any]]


class Bell:
    """A provider of another package; `on_check` is called when it is asked."""

    receives, sends = True, True

    def __init__(self) -> None:
        self.checks: list[tuple[Mapping[str, Json], bool]] = []
        self.on_check: Callable[[], object] = lambda: None

    def check_options(self, options: Mapping[str, Json]) -> None:
        self.checks.append((dict(options), is_inside()))
        self.on_check()
        if "wrong" in options:
            raise Invalid("there is no such door")

    async def receive(self, *_: object) -> None: ...

    async def send(self, *_: object) -> str:
        return ""


def is_inside() -> bool:
    """Return True if this thread is inside a transaction."""
    return getattr(_INSIDE, "depth", 0) > 0


@contextmanager
def mark_thread() -> Iterator[None]:
    _INSIDE.depth = getattr(_INSIDE, "depth", 0) + 1
    try:
        yield
    finally:
        _INSIDE.depth -= 1


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Bell:
    """A package with a provider; it is installed while a test runs."""
    bell = Bell()
    write, run_query = GroupWriter.write, ThreadedStore._run_query

    def mark_write(self: GroupWriter, calls: Sequence[PendingCall], **options: Any) -> list[CallOutcome]:
        with mark_thread():
            return write(self, calls, **options)

    def mark_query(self: ThreadedStore, query: Callable[..., Any], *args: Any, **options: Any) -> Any:
        with mark_thread():
            return run_query(self, query, *args, **options)

    def load_providers() -> LoadedProviders:
        bell.checks.append(({"loaded": True}, is_inside()))
        return LoadedProviders({"bell": bell}, {})

    monkeypatch.setattr(GroupWriter, "write", mark_write)
    monkeypatch.setattr(ThreadedStore, "_run_query", mark_query)
    monkeypatch.setattr(plugins, "load_providers", load_providers)
    return bell


@pytest.fixture(params=["command line", "gateway"])
async def office(request: pytest.FixtureRequest, bell: Bell, tmp_path: Path) -> AsyncIterator[Office]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway:
        executor, dispatcher = LocalExecutor(gateway.store), Dispatcher(gateway.app_state)

        async def send_local(request: Request[Any], key: str | None = None) -> Any:
            return executor.send(request, key=key)

        async def send_to_gateway(request: Request[Any], key: str | None = None) -> Any:
            return await dispatcher.run(request, ADMINISTRATOR, key)

        send = send_local if request.param == "command line" else send_to_gateway
        await send(AddTrigger(name="door", provider="bell", options={"side": "front"}))
        yield Office(gateway.store, send)


async def test_a_provider_is_loaded_and_asked_outside_of_transactions(office: Office, bell: Bell) -> None:
    await office.send(ChangeTrigger(name="door", options={"side": "back"}))
    await office.send(ChangeTrigger(name="door", active=False))
    await office.send(ChangeTrigger(name="door", active=True))
    bell.checks.append(({"shown": True}, False))
    assert (await office.send(ShowTrigger(name="door"))).problem is UNSET
    assert [trigger.problem for trigger in (await office.send(ListTriggers())).items] == [UNSET]

    assert [options for options, _ in bell.checks if "side" in options] == [
        {"side": "front"},
        {"side": "back"},
        {"side": "back"},
    ]
    assert bell.checks[-2:] == [({"loaded": True}, False)] * 2
    assert {was_inside for _, was_inside in bell.checks} == {False}
    trigger = office.store.read_sync(triggers.show, "door")
    assert (trigger.config.options, trigger.config.sends, trigger.active) == ({"side": "back"}, True, True)


async def test_a_trigger_says_that_its_package_is_gone(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "load_providers", lambda: LoadedProviders({}, {}))
    shown = await office.send(ShowTrigger(name="door"))
    listed = await office.send(ListTriggers())
    changed = await office.send(ChangeTrigger(name="door", active=False))
    problems = [view.problem for view in (shown, *listed.items, changed)]
    assert problems == ["no installed package has the provider 'bell'"] * 3


async def test_a_provider_refuses_options(office: Office) -> None:
    with pytest.raises(Invalid, match="options: there is no such door"):
        await office.send(AddTrigger(name="other", provider="bell", options={"wrong": 1}))
    with pytest.raises(Invalid, match="options: there is no such door"):
        await office.send(ChangeTrigger(name="door", options={"wrong": 1}))
    with pytest.raises(NotFound, match="there is no trigger 'window'"):
        await office.send(ChangeTrigger(name="window", options={"wrong": 1}))


async def test_options_that_change_while_a_provider_is_asked_are_not_stored_unchecked(
    office: Office, bell: Bell
) -> None:
    def change_options() -> None:
        bell.on_check = lambda: None
        config = TriggerConfig(options={"side": "cellar"}, sends=True)
        office.store.run_sync(triggers.change, "door", {"config": config, "active": False})

    bell.on_check = change_options
    with pytest.raises(Conflict, match="the options of 'door' were changed at the same time"):
        await office.send(ChangeTrigger(name="door", active=True))
    await office.send(ChangeTrigger(name="door", active=True))


async def test_a_repeat_gets_the_first_answer_although_the_provider_is_gone(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = AddTrigger(name="other", provider="bell")
    first = await office.send(request, "k1")
    monkeypatch.setattr(plugins, "load_providers", lambda: LoadedProviders({}, {}))

    repeated = await office.send(request, "k1")
    assert msgspec.json.encode(repeated) == msgspec.json.encode(first)
    with pytest.raises(Invalid, match="provider: 'bell' is not installed"):
        await office.send(AddTrigger(name="third", provider="bell"), "k2")
