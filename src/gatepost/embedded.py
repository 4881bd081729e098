"""
Gatepost inside your own process: the same inboxes, spaces and residents, without a server.

    post = Gatepost("sqlite:///office.db")

    @post.agent("analyst")
    async def analyst(batch, me):
        for event in batch.of(Posted):
            await me.reply(event, "...")

    async with post:
        q4 = await post.space("q4-report", members=["husam", "analyst"])
        await q4.say("Pull the numbers", by="husam")
        await post.until_idle()
        print(await q4.transcript())

An agent is a function, or a model with instructions; both run in this process while `async with` lasts. The store is an
ordinary one: a gateway and the command line may use it at the same time.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from gatepost import app
from gatepost.channels.background.channel_tasks import Channels
from gatepost.client import push_batches
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, UnknownAddress
from gatepost.executor import AsyncExecutor
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Item, Push, PushResult, get_trust
from gatepost.inbox.push import actions as push_actions
from gatepost.inbox.push.api import PushEvent, PushOutcomeView
from gatepost.operations.operation import Request
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from gatepost.residents.agent_config import CODE, DEMO, AgentConfig, ModelChoice
from gatepost.residents.background.function_agent import AgentFunction
from gatepost.spaces import actions as spaces
from gatepost.spaces.space import Message
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import Worker, WorkerOptions, build_holder, run_worker

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

_SOURCE: Final = "python"


class Agent:
    """
    An agent of this process. Use it as a decorator of the function that handles its batches; `tool` decorates a
    function that its model can call.
    """

    def __init__(self, name: str, config: AgentConfig) -> None:
        self.name = name
        self.config = config
        self.function: AgentFunction | None = None
        self.tools: dict[str, Callable[..., Awaitable[object]]] = {}

    def __call__(self, function: F) -> F:
        self.function = _require_async(function)
        return function

    def tool(self, function: F) -> F:
        """Let the agent's model call this function; the model sees its signature and docstring."""
        self.tools[function.__name__] = _require_async(function)
        return function


def _require_async(function: F) -> F:
    if not inspect.iscoroutinefunction(function):
        raise Invalid(f"{getattr(function, '__name__', function)!r} is not an async function")
    return function


@dataclass(frozen=True, slots=True)
class SpaceHandle:
    """A space of the embedded store."""

    id: str
    _store: Store

    async def say(self, text: str, *, by: str) -> Message:
        """Post a message as the entity `by`."""
        return await self._store.run(spaces.post, self.id, sender=by, content=text, lane=self.id)

    async def messages(self) -> list[Message]:
        """Return the last messages (50 at most), oldest first."""
        return await self._store.read(spaces.read, self.id)

    async def transcript(self) -> str:
        """Return the same messages as text, a line each."""
        return "\n".join(f"{message.sender}: {message.content}" for message in await self.messages())


class Gatepost:
    def __init__(
        self,
        store: str = "sqlite:///gatepost.db",
        *,
        environ: Mapping[str, str] | None = None,
        channels: bool = False,
    ) -> None:
        """
        `environ` holds the keys of models and the tokens of bots; the default is the environment of the process. With
        `channels`, this process reads and sends on channels, as a gateway does.
        """
        self._bus = SignalBus()  # no transport: another process on this store finds new work by its next query
        self._raw_store = app.open_store(store, signal_sink=self._bus.on_commit, writes_in_loop=True)
        self._executor = AsyncExecutor(self._raw_store)
        self._environ = environ
        self._has_channels = channels
        self._agents: dict[str, Agent] = {}
        self._stack = AsyncExitStack()
        self._worker: Worker | None = None

    def agent(self, name: str, *, model: str | None = None, instructions: str = "", **config_fields: Any) -> Agent:
        """
        Return a new agent of this process: a function (use the agent as its decorator), or a model. `config_fields` are
        other fields of `AgentConfig`.
        """
        choice = ModelChoice(name=model or (DEMO if instructions else CODE))
        agent = Agent(name, AgentConfig(model=choice, instructions=instructions, **config_fields))
        if self._worker is not None:
            raise Conflict(f"{name!r} is declared too late: declare agents before `async with post:`")
        if name in self._agents:
            raise Conflict(f"there is an agent {name!r} already")
        self._agents[name] = agent
        return agent

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        try:
            self._stack.callback(self._raw_store.close)
            self._raw_store.migrate()
            app.register_administrator(self._raw_store)
            for agent in self._agents.values():
                await self._register_agent(agent)
            await self._stack.enter_async_context(self._bus.open())
            tools = {name: agent.tools for name, agent in self._agents.items()}
            deps = await self._stack.enter_async_context(
                app.open_cycle_deps(self._raw_store, self._bus.send, environ=self._environ, functions=tools)
            )
            functions = {name: agent.function for name, agent in self._agents.items() if agent.function is not None}
            options = WorkerOptions(gate_commands=app.build_gate_command_options(), channels=self._build_channels())
            self._worker = await self._stack.enter_async_context(run_worker(deps, self._bus, options, functions))
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def _build_channels(self) -> Channels | None:
        if not self._has_channels:
            return None
        return Channels(self._raw_store, app.build_channel_options(environ=self._environ), build_holder())

    async def _register_agent(self, agent: Agent) -> None:
        if agent.config.model.name == CODE and agent.function is None:
            raise Invalid(f"{agent.name!r} has neither a function nor a model")
        with suppress(Conflict):
            await self._raw_store.run(directory.register, EntitySpec(name=agent.name, kind=EntityKind.AGENT))
        await self._raw_store.run(agents.configure, agent.name, agent_config.build_document(agent.config))

    def _require_worker(self) -> Worker:
        if self._worker is None:
            raise Conflict("this Gatepost is not open", hint="use `async with post:`")
        return self._worker

    @property
    def _store(self) -> Store:
        self._require_worker()
        return self._raw_store

    async def space(self, name: str, *, members: Sequence[str] = ()) -> SpaceHandle:
        """Return the space of that id or title; create it if it is new. Unknown members are registered as people."""
        for member in members:
            try:
                await self._store.read(directory.find, member)
            except UnknownAddress:
                await self.person(member)
        space = await self._store.run(spaces.ensure, name, members=members)
        return SpaceHandle(space.id, self._store)

    async def person(self, name: str, *, display: str | None = None) -> None:
        """Register a person, unless the name is taken."""
        with suppress(Conflict):
            await self._store.run(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN, display=display))

    async def push(self, to: str, content: str = "", **fields: Any) -> PushResult:
        """Push an event to an inbox; `fields` are other fields of `Push`."""
        trust = get_trust(fields.get("type", EventType.EVENT), fields.get("sender"))
        push_request = Push(to=to, content=content, **{"source": _SOURCE, "trust": trust} | fields)
        return await self._store.run(push_actions.push_event, push_request)

    async def inbox(self, name: str) -> list[Item]:
        """Return the first items of an inbox (100 at most), in order of arrival."""
        return await self._store.read(inbox.list_page, name)

    async def send(self, request: Request[R]) -> R:
        """Return the answer to any request, such as `AddGate(...)`, as the administrator."""
        self._require_worker()
        return await self._executor.send(request)

    async def push_many(self, pushes: Iterable[PushEvent]) -> list[PushOutcomeView]:
        """
        Push any number of events; return the outcome of each in their order: status 201 with its result, or a problem.
        Each thousand is one commit.
        """
        outcomes: list[PushOutcomeView] = []
        for batch in push_batches.split_pushes(pushes):
            outcomes += batch.list_outcomes(await self.send(batch.request))
        return outcomes

    async def until_idle(self) -> None:
        """Wait until no agent of this process thinks, and none has anything to think about."""
        await self._require_worker().supervisor.wait_until_idle()
