"""
The tools that a resident can use in a cycle.

    BuiltInTool    a verb of Gatepost: its effect and its result commit in one transaction, which the cycle runs
    OutsideTool    runs now, outside the store: a URL, an MCP server, a Python function of this process
    DeferredTool   another program does it later: the result comes to the inbox

A name means one tool. Built-in tools come first, then the tools of the configuration, then functions of this process,
then MCP servers, whose tools are called `server__tool`. A server that cannot be reached offers no tools in this cycle,
and is named in `troubles`.
"""

import asyncio
import inspect
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, Final

import structlog

from gatepost.core.json_limits import Json
from gatepost.core.ports import Store
from gatepost.core.times import SECOND, Duration, format_duration
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, Unavailable, quote_value
from gatepost.jobs.job import Job
from gatepost.operations.operation_tool import OperationTool
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import ConfiguredTool, Execution, LoopRules, Resident, ToolServer
from gatepost.residents.agent_config_json import list_built_in_tools
from gatepost.residents.background import tool_arguments as tool_schema
from gatepost.residents.model_port import (
    CallResult,
    HttpToolCaller,
    ToolCall,
    ToolCaller,
    ToolResult,
    ToolServers,
    ToolServerSession,
    ToolSpec,
)
from gatepost.residents.runs import actions as runs, deferred_call_actions as deferred_calls
from gatepost.residents.tools import list_tools

log = structlog.get_logger("gatepost.tools")

#: characters of a result, and of an error in one
_MAX_RESULT: Final = 256 * 1024
_MAX_ERROR: Final = 2_000
_MAX_NAME: Final = 64
_DEFAULT_TIMEOUT: Final = 300 * SECOND
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str).encode


@dataclass(frozen=True, slots=True)
class BuiltInTool:
    name: str
    spec: ToolSpec
    #: reads the arguments as the model wrote them; those of an operation are checked when it is called
    parse_arguments: Callable[[str], dict[str, Any]]
    has_effect: bool


@dataclass(frozen=True, slots=True)
class OutsideTool:
    name: str
    spec: ToolSpec
    #: reads the arguments as the model wrote them
    parse_arguments: Callable[[str], dict[str, Any]]
    #: runs the tool; takes the id of the call and the arguments
    _call: Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
    #: whether readers of the active space see that it runs
    visible: bool = True
    #: whether the agent continues without the result
    is_async: bool = False

    async def run(self, id: str, call: ToolCall, arguments: Mapping[str, Any]) -> CallResult:
        """Run the tool; `id` is the same if the call is run again. A failure is a result, not an exception."""
        try:
            answer = await self._call(id, arguments)
        except GatepostError as error:
            answer = _build_error_answer(error.message)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            answer = _build_error_answer("it was cancelled")  # by itself: the cycle goes on
        except Exception as error:  # noqa: BLE001 (every failure of a tool is a result)
            log.warning("a tool failed", tool=self.name, error=repr(error))
            answer = _build_error_answer(f"{type(error).__name__}: {error}"[:_MAX_ERROR])
        content = _write_json(answer.value)
        content = content.encode(errors="replace").decode()  # half of a surrogate pair cannot be stored or sent
        if len(content) > _MAX_RESULT:
            document = {"success": False, "error": f"the result is over {_MAX_RESULT // 1024} KB"}
            return CallResult(call.id, call.tool, json.dumps(document), ok=False)
        return CallResult(call.id, call.tool, content, ok=answer.ok)


@dataclass(frozen=True, slots=True)
class DeferredTool:
    name: str
    spec: ToolSpec
    parse_arguments: Callable[[str], dict[str, Any]]
    visible: bool = True


Tool = BuiltInTool | OutsideTool | DeferredTool


@dataclass(frozen=True, slots=True)
class Toolkit:
    tools: Mapping[str, Tool]
    loop: LoopRules = field(default_factory=LoopRules)
    #: what is not available in this cycle, a sentence each
    troubles: tuple[str, ...] = ()

    def specs(self, step: int) -> list[ToolSpec]:
        """Return the tools that the model is offered at a step, counted from 1: all, or those of the phase."""
        allowed = self._list_allowed(step)
        return [tool.spec for tool in self.tools.values() if allowed is None or tool.name in allowed]

    def find(self, name: str, step: int | None = None) -> Tool:
        """Return the tool of that name; raise NotFound, or Refused if the phase of the step does not allow it."""
        tool = self.tools.get(name)
        if tool is None:
            matches = get_close_matches(name[:100], self.tools, n=1, cutoff=0.6)
            raise NotFound(
                f"there is no tool {quote_value(name, 100)}", hint=f"did you mean {matches[0]!r}?" if matches else None
            )
        allowed = self._list_allowed(step) if step is not None else None
        if allowed is not None and name not in allowed:
            names = ", ".join(sorted(allowed)) or "none"
            raise Refused(f"{name!r} cannot be used in step {step} of a cycle", hint=f"tools of this step: {names}")
        return tool

    def _list_allowed(self, step: int) -> frozenset[str] | None:
        phases = [phase for phase in self.loop.phases if phase.step <= step]
        return frozenset(max(phases, key=lambda phase: phase.step).tools) if phases else None


class Toolbox:
    """Builds the toolkits of residents; a process has one."""

    def __init__(self, web: HttpToolCaller, servers: ToolServers) -> None:
        self._web = web
        self._servers = servers
        self._functions: dict[str, dict[str, Callable[..., Any]]] = {}

    def add(self, function: Callable[..., Any], *, agent: str = "", name: str | None = None) -> None:
        """Let an agent, or all agents if none is named, use a function of this process."""
        tool_name = name or function.__name__
        if tool_name in list_built_in_tools():
            raise Conflict(f"there is a built-in tool {tool_name!r} already", hint="give it another name")
        tool_schema.build_spec(tool_name, function)
        self._functions.setdefault(agent, {})[tool_name] = function

    @asynccontextmanager
    async def open(self, resident: Resident) -> AsyncIterator[Toolkit]:
        """Open the tools of a resident for the length of a cycle."""
        if not resident.config.mcp.servers:
            yield self._build_toolkit(resident)
            return
        async with self._servers.open_session() as session:
            yield self._build_toolkit(resident, *await _list_server_tools(session, resident.config.mcp.servers))

    def _build_toolkit(
        self, resident: Resident, server_tools: Iterable[Tool] = (), troubles: tuple[str, ...] = ()
    ) -> Toolkit:
        functions = self._functions.get("", {}) | self._functions.get(resident.name, {})
        candidates: list[Tool] = [
            *(self._build_configured_tool(resident.name, tool, functions) for tool in resident.config.tools),
            *(_build_function_tool(resident.name, name, function) for name, function in functions.items()),
            *server_tools,
        ]
        tools: dict[str, Tool] = {**build_built_in_tools(frozenset(resident.skills))}
        for tool in candidates:
            tools.setdefault(tool.name, tool)
        return Toolkit(tools, resident.config.loop, troubles)

    def _build_configured_tool(
        self, agent: str, tool: ConfiguredTool, functions: Mapping[str, Callable[..., Any]]
    ) -> Tool:
        spec = ToolSpec(tool.name, tool.description, tool.schema)

        def parse_arguments(text: str) -> dict[str, Any]:
            document = tool_schema.parse_document(text)
            tool_schema.check_value(tool.schema, document)
            return document

        match tool.execution:
            case Execution.EXTERNAL | Execution.SPACE:
                return DeferredTool(tool.name, spec, parse_arguments, tool.visible)
            case Execution.GATEWAY:
                return OutsideTool(
                    tool.name,
                    spec,
                    parse_arguments,
                    lambda id, values: self._web.call(tool, id, values),
                    tool.visible,
                    tool.is_async,
                )
            case Execution.INTERNAL:
                function = functions.get(tool.name)
                if function is None:
                    return OutsideTool(tool.name, spec, parse_arguments, _report_missing, tool.visible)
                function_tool = _build_function_tool(agent, tool.name, function, tool.timeout)
                return replace(function_tool, spec=spec, visible=tool.visible, is_async=tool.is_async)


@cache
def build_built_in_tools(skills: frozenset[str]) -> Mapping[str, BuiltInTool]:
    tools: dict[str, BuiltInTool] = {}
    for name, tool in list_tools(skills).items():
        if isinstance(tool, OperationTool):
            spec, parse = ToolSpec(name, tool.description, tool.input_schema), tool_schema.parse_document
        else:
            spec, parse = (
                tool_schema.build_spec(name, tool.function),
                partial(tool_schema.parse_arguments, tool.function),
            )
        tools[name] = BuiltInTool(name, spec, parse, tool.has_effect)
    return tools


def _build_function_tool(
    agent: str, name: str, function: Callable[..., Any], timeout: Duration = _DEFAULT_TIMEOUT
) -> OutsideTool:
    """Return a tool that calls a function of this process; a synchronous one runs in a thread."""
    caller_names = tool_schema.find_caller_parameters(function)

    async def call(id: str, arguments: Mapping[str, Any]) -> ToolResult:
        keywords = dict(arguments) | dict.fromkeys(caller_names, ToolCaller(agent=agent, call=id))
        try:
            async with asyncio.timeout(timeout / SECOND):
                if inspect.iscoroutinefunction(function):
                    value = await function(**keywords)
                else:
                    value = await asyncio.to_thread(function, **keywords)
        except TimeoutError:
            return _build_error_answer(f"it was not done within {format_duration(timeout)}")
        from pydantic_core import to_jsonable_python

        return ToolResult(to_jsonable_python(value, fallback=str, inf_nan_mode="null"))

    spec = tool_schema.build_spec(name, function)
    return OutsideTool(name, spec, lambda text: tool_schema.parse_arguments(function, text), call)


async def _report_missing(id: str, arguments: Mapping[str, Any]) -> ToolResult:
    del id, arguments
    return _build_error_answer("no function of that name is registered in this process")


def _build_server_tool(session: ToolServerSession, server: ToolServer, spec: ToolSpec) -> OutsideTool:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server.name}__{spec.name}")[:_MAX_NAME]
    return OutsideTool(
        name,
        ToolSpec(name, spec.description, spec.schema),
        tool_schema.parse_document,
        lambda _, arguments: session.call(server, spec.name, arguments),
    )


async def _list_server_tools(
    session: ToolServerSession, servers: Sequence[ToolServer]
) -> tuple[list[OutsideTool], tuple[str, ...]]:
    """Ask all servers at the same time; return the tools that they offer, and why some servers offer none."""
    answers = await asyncio.gather(*(session.list_tools(server) for server in servers), return_exceptions=True)
    tools: list[OutsideTool] = []
    troubles: list[str] = []
    for server, answer in zip(servers, answers, strict=True):
        match answer:
            case Unavailable():
                troubles.append(answer.message)
                log.warning("an MCP server offers nothing", server=server.name, error=answer.message)
            case BaseException():
                raise answer
            case _:
                tools += [_build_server_tool(session, server, spec) for spec in answer]
    return tools, tuple(troubles)


def _write_json(value: Json) -> str:
    """Return a value as JSON. Numbers that JSON does not have (infinity, not a number) become null."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_drop_infinities(value))


def _drop_infinities(value: Json) -> Json:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [_drop_infinities(item) for item in value]
        case dict():
            return {name: _drop_infinities(item) for name, item in value.items()}
        case _:
            return value


def _build_error_answer(error: str) -> ToolResult:
    return ToolResult({"success": False, "error": error}, ok=False)


def build_failure(call: ToolCall, error: str, hint: str | None = None) -> CallResult:
    """Return the result of a call that failed, as the model reads it."""
    document = {"success": False, "error": error} | ({"hint": hint} if hint else {})
    return CallResult(call.id, call.tool, json.dumps(document, ensure_ascii=False), ok=False)


def parse_success(result: CallResult) -> dict[str, Any]:
    """Return the fields of a result that is an object and no failure; else no fields."""
    if not result.ok:
        return {}
    try:
        document = json.loads(result.content)
    except ValueError:
        return {}
    return document if isinstance(document, dict) and document.get("success") is not False else {}


async def run_tool_job(
    store: Store, open_toolkit: Callable[[Resident], AbstractAsyncContextManager[Toolkit]], job: Job
) -> None:
    """Run a tool whose result the agent does not wait for, and answer its call."""
    payload = job.payload
    run = await store.read(runs.show, payload["run"])
    resident = await store.read(agents.show, run.agent)
    assert resident is not None, "an agent with a run is a resident"
    async with open_toolkit(resident) as toolkit:
        tool = toolkit.find(payload["tool"])
        if not isinstance(tool, OutsideTool):
            raise Conflict(f"the tool {tool.name!r} is no longer available")
        result = await tool.run(payload["call"], ToolCall(payload["call"], tool.name, ""), payload["arguments"])
    with suppress(Conflict):  # it took so long that another process has answered, or the call is closed
        try:
            await store.run(
                deferred_calls.answer_call, run.id, payload["call"], json.loads(result.content), lane=run.agent
            )
        except Invalid as error:  # the tool has run, and must not run again because of its answer
            answer = {"success": False, "error": f"the answer cannot be stored: {error.message}"}
            await store.run(deferred_calls.answer_call, run.id, payload["call"], answer, lane=run.agent)
