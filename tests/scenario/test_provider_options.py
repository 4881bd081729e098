"""The code of other packages runs before a transaction and never inside of one, whichever door a request takes."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from gatepost.channels import provider_plugins as plugins
from gatepost.channels.provider_plugins import LoadedProviders
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.api import AddTrigger, ChangeTrigger
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.core.json_limits import Json
from gatepost.core.ports import Store
from gatepost.errors import Conflict, Invalid, NotFound
from gatepost.executor import LocalExecutor
from gatepost.gateway.dispatch import Dispatcher
from gatepost.operations.access import ADMINISTRATOR
from gatepost.operations.operation import Request
from gatepost.stores.group_commit import CallOutcome, GroupWriter, PendingCall
from tests.gateways import open_gateway

_WRITING: Final = threading.local()


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
        self.checks.append((dict(options), is_writing()))
        self.on_check()
        if "wrong" in options:
            raise Invalid("there is no such door")

    async def receive(self, *_: object) -> None: ...

    async def send(self, *_: object) -> str:
        return ""


def is_writing() -> bool:
    """Return True if this thread is inside a transaction that writes."""
    return getattr(_WRITING, "depth", 0) > 0


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> Bell:
    """A package with a provider; it is installed while a test runs."""
    bell = Bell()
    write = GroupWriter.write

    def mark_thread(self: GroupWriter, calls: Sequence[PendingCall], **options: Any) -> list[CallOutcome]:
        _WRITING.depth = getattr(_WRITING, "depth", 0) + 1
        try:
            return write(self, calls, **options)
        finally:
            _WRITING.depth -= 1

    def load_providers() -> LoadedProviders:
        bell.checks.append(({"loaded": True}, is_writing()))
        return LoadedProviders({"bell": bell}, {})

    monkeypatch.setattr(GroupWriter, "write", mark_thread)
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

    assert [options for options, _ in bell.checks if "side" in options] == [
        {"side": "front"},
        {"side": "back"},
        {"side": "back"},
    ]
    assert {is_inside for _, is_inside in bell.checks} == {False}
    trigger = office.store.read_sync(triggers.show, "door")
    assert (trigger.config.options, trigger.config.sends, trigger.active) == ({"side": "back"}, True, True)


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
