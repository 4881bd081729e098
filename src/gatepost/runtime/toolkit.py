"""
Everything a resident can use in a cycle, whoever does it in the end.

    BuiltInTool   one of ours: its effect and its result are one transaction, which the cycle makes
    Outside       done now, by somebody else: a URL, an MCP server, a Python function of this process
    Waiting       done later, by somebody else: the result will come to the inbox

A name means one tool: ours come first, then what the configuration says, then functions of this process, then MCP
servers, whose tools are called `server__tool`. A server that cannot be reached offers nothing in this cycle, and is
named in `troubles`.
"""

import asyncio
import inspect
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Final

import structlog

from gatepost.actions.tools import BUILT_IN
from gatepost.core import conform
from gatepost.core.agent import Execution, LoopRules, Resident, ToolServer
from gatepost.core.agent import Tool as Configured
from gatepost.core.event import Json
from gatepost.core.instants import SECOND, Duration, short
from gatepost.core.mind import Call, Result
from gatepost.core.model import Caller, ToolResult, ToolSpec
from gatepost.errors import Conflict, GatepostError, NotFound, Refused, Unavailable
from gatepost.ports import HttpToolCaller, ToolServers, ToolServerSession
from gatepost.runtime import schema

log = structlog.get_logger("gatepost.tools")

#: characters of a result, and of what it says when it went wrong
_LARGEST: Final = 256 * 1024
_ERROR: Final = 2_000
_LONGEST_NAME: Final = 64
_TIMEOUT: Final = 300 * SECOND
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class BuiltInTool:
    name: str
    spec: ToolSpec
    effect: bool

    def arguments(self, text: str) -> dict[str, Any]:
        return schema.arguments(BUILT_IN[self.name].function, text)


@dataclass(frozen=True, slots=True)
class Outside:
    name: str
    spec: ToolSpec
    #: reads the arguments as the model wrote them
    arguments: Callable[[str], dict[str, Any]]
    #: does it: the id of the call, the arguments
    _do: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
    #: whether readers of the active space see it at work
    visible: bool = True
    #: whether the agent goes on without the result
    is_async: bool = False

    async def run(self, id: str, call: Call, arguments: Mapping[str, Any]) -> Result:
        """Do it, under an id that is the same when it is done again. Whatever goes wrong is a result."""
        try:
            answered = await self._do(id, arguments)
        except GatepostError as error:
            answered = _failed(error.message)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            answered = _failed("it was cancelled")  # by itself: nobody has stopped the cycle
        except Exception as error:  # noqa: BLE001 (whatever it was, it is a result)
            log.warning("a tool failed", tool=self.name, error=repr(error))
            answered = _failed(f"{type(error).__name__}: {error}"[:_ERROR])
        content = _write_json(answered.value)
        content = content.encode(errors="replace").decode()  # half a surrogate pair could not be told to anybody
        if len(content) > _LARGEST:
            said = {"success": False, "error": f"the result is over {_LARGEST // 1024} KB"}
            return Result(call.id, call.tool, json.dumps(said), ok=False)
        return Result(call.id, call.tool, content, ok=answered.ok)


@dataclass(frozen=True, slots=True)
class Waiting:
    name: str
    spec: ToolSpec
    arguments: Callable[[str], dict[str, Any]]
    visible: bool = True


Tool = BuiltInTool | Outside | Waiting


@dataclass(frozen=True, slots=True)
class Toolkit:
    tools: Mapping[str, Tool]
    loop: LoopRules = field(default_factory=LoopRules)
    #: what cannot be had in this cycle, a sentence each
    troubles: tuple[str, ...] = ()

    def specs(self, step: int) -> list[ToolSpec]:
        """What the model is offered at a step of the cycle, the first being 1: all, or what the phase allows."""
        allowed = self._allowed(step)
        return [tool.spec for tool in self.tools.values() if allowed is None or tool.name in allowed]

    def find(self, name: str, step: int | None = None) -> Tool:
        """Return the tool of that name, if the phase that the step is in allows it."""
        found = self.tools.get(name)
        if found is None:
            near = get_close_matches(name[:100], self.tools, n=1, cutoff=0.6)
            raise NotFound(f"there is no tool {name!r:.100}", hint=f"did you mean {near[0]!r}?" if near else None)
        allowed = self._allowed(step) if step is not None else None
        if allowed is not None and name not in allowed:
            names = ", ".join(sorted(allowed)) or "none"
            raise Refused(f"{name!r} cannot be used in step {step} of a cycle", hint=f"tools of this step: {names}")
        return found

    def _allowed(self, step: int) -> frozenset[str] | None:
        begun = [phase for phase in self.loop.phases if phase.step <= step]
        return frozenset(max(begun, key=lambda phase: phase.step).tools) if begun else None


class Toolbox:
    """Where toolkits come from: one for a process."""

    def __init__(self, web: HttpToolCaller, servers: ToolServers) -> None:
        self._web = web
        self._servers = servers
        self._functions: dict[str, dict[str, Callable[..., Any]]] = {}

    def add(self, function: Callable[..., Any], *, agent: str = "", name: str | None = None) -> None:
        """Let an agent, or without a name all of them, use a function of this process."""
        called = name or function.__name__
        if called in BUILT_IN:
            raise Conflict(f"there is a built-in tool {called!r} already", hint="give it another name")
        schema.spec(called, function)
        self._functions.setdefault(agent, {})[called] = function

    def open(self, resident: Resident) -> AbstractAsyncContextManager[Toolkit]:
        """The tools of a resident, for as long as a cycle lasts."""
        return self._visiting(resident) if resident.config.servers else nullcontext(self._toolkit(resident))

    @asynccontextmanager
    async def _visiting(self, resident: Resident) -> AsyncIterator[Toolkit]:
        async with self._servers.open_session() as visit:
            listed, troubles = await _listed(visit, resident.config.servers)
            yield self._toolkit(resident, [_served(visit, server, spec) for server, spec in listed], troubles)

    def _toolkit(self, resident: Resident, served: Iterable[Tool] = (), troubles: tuple[str, ...] = ()) -> Toolkit:
        functions = self._functions.get("", {}) | self._functions.get(resident.name, {})
        candidates: list[Tool] = [
            *(self._configured(resident.name, tool, functions) for tool in resident.config.tools),
            *(_function(resident.name, name, function) for name, function in functions.items()),
            *served,
        ]
        tools: dict[str, Tool] = {**_built_in()}
        for tool in candidates:
            tools.setdefault(tool.name, tool)
        return Toolkit(tools, resident.config.loop, troubles)

    def _configured(self, agent: str, tool: Configured, functions: Mapping[str, Callable[..., Any]]) -> Tool:
        spec = ToolSpec(tool.name, tool.description, tool.schema)

        def arguments(text: str) -> dict[str, Any]:
            read = schema.document(text)
            conform.check(tool.schema, read)
            return read

        match tool.execution:
            case Execution.EXTERNAL | Execution.SPACE:
                return Waiting(tool.name, spec, arguments, tool.visible)
            case Execution.GATEWAY:
                return Outside(
                    tool.name,
                    spec,
                    arguments,
                    lambda id, given: self._web.call(tool, id, given),
                    tool.visible,
                    tool.is_async,
                )
            case Execution.INTERNAL:
                function = functions.get(tool.name)
                if function is None:
                    return Outside(tool.name, spec, arguments, _missing, tool.visible)
                ours = _function(agent, tool.name, function, tool.timeout)
                return replace(ours, spec=spec, visible=tool.visible, is_async=tool.is_async)


@cache
def _built_in() -> Mapping[str, BuiltInTool]:
    return {name: BuiltInTool(name, schema.spec(name, tool.function), tool.effect) for name, tool in BUILT_IN.items()}


def _function(agent: str, name: str, function: Callable[..., Any], timeout: Duration = _TIMEOUT) -> Outside:
    return Outside(
        name,
        schema.spec(name, function),
        lambda text: schema.arguments(function, text),
        _doing(agent, function, timeout),
    )


def _doing(
    agent: str, function: Callable[..., Any], timeout: Duration
) -> Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]:
    """Call a function of this process; a plain one in a thread, so that nobody waits for it."""
    wanted = schema.callers(function)

    async def do(id: str, arguments: Mapping[str, Any]) -> ToolResult:
        given = dict(arguments) | dict.fromkeys(wanted, Caller(agent=agent, call=id))
        try:
            async with asyncio.timeout(timeout / SECOND):
                if inspect.iscoroutinefunction(function):
                    made = await function(**given)
                else:
                    made = await asyncio.to_thread(function, **given)
        except TimeoutError:
            return _failed(f"it was not done within {short(timeout)}")
        return ToolResult(_jsonable(made))

    return do


async def _missing(id: str, arguments: Mapping[str, Any]) -> ToolResult:
    del id, arguments
    return _failed("no function of that name is registered in this process")


def _served(visit: ToolServerSession, server: ToolServer, spec: ToolSpec) -> Outside:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server.name}__{spec.name}")[:_LONGEST_NAME]
    return Outside(
        name,
        ToolSpec(name, spec.description, spec.schema),
        schema.document,
        lambda _, given: visit.call(server, spec.name, given),
    )


async def _listed(
    visit: ToolServerSession, servers: Iterable[ToolServer]
) -> tuple[Sequence[tuple[ToolServer, ToolSpec]], tuple[str, ...]]:
    """What all servers offer, asked at the same time; and why some offer nothing."""
    wanted = list(servers)
    answers = await asyncio.gather(*(visit.list_tools(server) for server in wanted), return_exceptions=True)
    found: list[tuple[ToolServer, ToolSpec]] = []
    troubles: list[str] = []
    for server, answer in zip(wanted, answers, strict=True):
        match answer:
            case Unavailable():
                troubles.append(answer.message)
                log.warning("an MCP server offers nothing", server=server.name, error=answer.message)
            case BaseException():
                raise answer
            case _:
                found += [(server, spec) for spec in answer]
    return found, tuple(troubles)


def _jsonable(value: Any) -> Json:
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str, inf_nan_mode="null")


def _write_json(value: Json) -> str:
    """Write a value as JSON. Numbers that JSON does not have (infinity, not a number) are null."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_drop_infinities(value))


def _drop_infinities(value: Json) -> Json:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [_drop_infinities(one) for one in value]
        case dict():
            return {name: _drop_infinities(one) for name, one in value.items()}
        case _:
            return value


def _failed(error: str) -> ToolResult:
    return ToolResult({"success": False, "error": error}, ok=False)
