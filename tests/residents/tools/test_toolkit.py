"""Everything a resident can use, put together: our tools, configured ones, functions and real MCP servers."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.core.times import SECOND
from gatepost.errors import Conflict, Invalid, Malformed, NotFound, Refused, Unavailable
from gatepost.residents.agent_config import (
    AgentConfig,
    ConfiguredTool,
    Execution,
    LoopRules,
    McpConfig,
    Phase,
    Resident,
    ToolRequest,
    ToolServer,
)
from gatepost.residents.background import tool_arguments as tool_schema
from gatepost.residents.background.toolkit import BuiltInTool, DeferredTool, OutsideTool, Toolbox, Toolkit
from gatepost.residents.model_port import CallResult, ToolCall, ToolCaller, ToolResult, ToolSpec
from gatepost.residents.remote_tools.http_tools import HttpTools
from gatepost.residents.remote_tools.mcp_tools import McpServers
from gatepost.residents.tools import list_tools
from tests.residents.tools import mcp_server, small_mcp_server


class FakeWeb:
    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Mapping[str, Json]]] = []

    async def call(self, tool: ConfiguredTool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        if tool.name in ("unset", "odd"):
            raise Unavailable("no variable") if tool.name == "unset" else ValueError("odd")
        self.calls.append((tool.name, id, arguments))
        return ToolResult({"done": tool.name})


@pytest.fixture
def web() -> FakeWeb:
    return FakeWeb()


@pytest.fixture
def toolbox(web: FakeWeb) -> Toolbox:
    return Toolbox(web, McpServers(environ={"TOKEN": "s3cret-token"}, allow_private=True))


def build_resident(*tools: ConfiguredTool, servers: Sequence[ToolServer] = (), **fields: Any) -> Resident:
    config = AgentConfig(tools=tools, mcp=McpConfig(servers=tuple(servers)), **fields)
    return Resident(number=1, name="ann", display="Ann", config=config, version=1)


def list_names(toolkit: Toolkit, step: int = 1) -> set[str]:
    return {spec.name for spec in toolkit.specs(step)}


async def run_tool(toolkit: Toolkit, name: str, /, **arguments: Any) -> Any:
    result = await call_tool(toolkit, name, json.dumps(arguments))
    return json.loads(result.content)


async def call_tool(toolkit: Toolkit, name: str, arguments: str) -> CallResult:
    tool = toolkit.find(name)
    assert isinstance(tool, OutsideTool)
    return await tool.run("run_1/2.0", ToolCall("c1", name, arguments), tool.parse_arguments(arguments))


class TestKinds:
    async def test_every_resident_has_ours(self, toolbox: Toolbox) -> None:
        async with toolbox.open(build_resident()) as toolkit:
            assert list_names(toolkit) == set(list_tools(()))
            tool = toolkit.find("enter_space")
            assert isinstance(tool, BuiltInTool)
            assert tool.parse_arguments('{"spaceId": "tea"}') == {"space_id": "tea", "limit": 50}
            with pytest.raises(NotFound) as error:
                toolkit.find("enter_spaces")
            assert error.value.hint == "did you mean 'enter_space'?"

    async def test_configured_tools_are_called_or_waited_for(self, toolbox: Toolbox, web: FakeWeb) -> None:
        input_schema = {"type": "object", "properties": {"env": {"enum": ["test", "live"]}}, "required": ["env"]}
        tools = [
            ConfiguredTool(
                name="deploy",
                description="Ship it.",
                schema=input_schema,
                execution=Execution.GATEWAY,
                request=ToolRequest(url="http://x"),
            ),
            ConfiguredTool(name="external", execution=Execution.EXTERNAL, schema=input_schema, visible=False),
            ConfiguredTool(name="space", execution=Execution.SPACE, schema=input_schema, visible=False),
        ]
        async with toolbox.open(build_resident(*tools)) as toolkit:
            [spec] = [spec for spec in toolkit.specs(1) if spec.name == "deploy"]
            assert (spec.description, spec.schema) == ("Ship it.", input_schema)
            assert await run_tool(toolkit, "deploy", env="live") == {"done": "deploy"}
            assert web.calls == [("deploy", "run_1/2.0", {"env": "live"})]
            for name in ("external", "space"):
                waiting_tool = toolkit.find(name)
                assert isinstance(waiting_tool, DeferredTool)
                assert not waiting_tool.visible
                assert waiting_tool.parse_arguments('{"env": "test"}') == {"env": "test"}
            for arguments in ("{}", '{"env": "moon"}', "[]", "{"):
                with pytest.raises(Invalid):
                    toolkit.find("deploy").parse_arguments(arguments)
            assert len(web.calls) == 1

    async def test_ours_cannot_be_replaced(self, toolbox: Toolbox) -> None:
        def skip() -> None: ...

        with pytest.raises(Conflict):
            toolbox.add(skip)
        async with toolbox.open(build_resident(ConfiguredTool(name="send_message"))) as toolkit:
            assert isinstance(toolkit.find("send_message"), BuiltInTool)

    async def test_phases_narrow_what_is_offered(self, toolbox: Toolbox) -> None:
        phases = (Phase(step=3, tools=("send_message", "skip")), Phase(step=2, tools=("enter_space",)))
        async with toolbox.open(build_resident(loop=LoopRules(phases=phases))) as toolkit:
            assert list_names(toolkit, 1) == set(list_tools(()))
            assert list_names(toolkit, 2) == {"enter_space"}
            assert list_names(toolkit, 3) == list_names(toolkit, 20) == {"send_message", "skip"}
            with pytest.raises(Refused, match="'skip' cannot be used in step 2"):
                toolkit.find("skip", 2)
            assert toolkit.find("skip", 3).name == toolkit.find("skip").name == "skip"


class TestResults:
    async def test_a_number_that_json_does_not_have_is_null_in_the_journal(self) -> None:
        async def measure(id: str, arguments: Mapping[str, Any]) -> ToolResult:
            del id, arguments
            return ToolResult(json.loads('{"size": 1e999, "sizes": [-1e999, 1.5], "words": "NaN"}'))

        tool = OutsideTool("measure", ToolSpec("measure", "", {}), json.loads, measure)
        result = await tool.run("run_1/2.0", ToolCall("c1", "measure", "{}"), {})
        assert strict.parse_json(result.content.encode()) == {"size": None, "sizes": [None, 1.5], "words": "NaN"}

    def test_a_number_that_is_too_large_is_no_argument(self) -> None:
        with pytest.raises(Malformed, match="too large: -1e999"):
            tool_schema.parse_document('{"size": -1e999}')


class TestFunctions:
    async def test_functions_of_this_process(self, toolbox: Toolbox) -> None:
        def look_up(word: str, *, who: ToolCaller) -> dict[str, Any]:
            """Look a word up."""
            return {"word": word, "agent": who.agent, "call": who.call, "set": {1}}

        async def shout(word: str) -> str:
            return word.upper()

        toolbox.add(look_up)
        toolbox.add(shout, agent="ann", name="cry")
        async with toolbox.open(build_resident()) as toolkit:
            assert await run_tool(toolkit, "look_up", word="tea") == {
                "word": "tea",
                "agent": "ann",
                "call": "run_1/2.0",
                "set": [1],
            }
            assert await run_tool(toolkit, "cry", word="tea") == "TEA"
            with pytest.raises(Invalid):
                toolkit.find("look_up").parse_arguments('{"word": "tea", "who": {"agent": "bob"}}')
        other = Resident(number=2, name="bob", display="Bob", config=AgentConfig(), version=1)
        async with toolbox.open(other) as toolkit:
            assert list_names(toolkit) == {*list_tools(()), "look_up"}

    async def test_whatever_goes_wrong_is_a_result(self, toolbox: Toolbox) -> None:
        def broken() -> None:
            raise ZeroDivisionError("by zero")

        def refused() -> None:
            raise Refused("not today")

        async def slow() -> None:
            await asyncio.Event().wait()

        def large() -> str:
            return "x" * 300_000

        for function in (broken, refused, slow, large):
            toolbox.add(function)
        tools = [
            ConfiguredTool(name="slow", execution=Execution.INTERNAL, timeout=SECOND // 20),
            ConfiguredTool(name="missing", execution=Execution.INTERNAL),
            ConfiguredTool(name="unset", execution=Execution.GATEWAY),
            ConfiguredTool(name="odd", execution=Execution.GATEWAY),
        ]
        async with toolbox.open(build_resident(*tools)) as toolkit:
            for name, message in (
                ("broken", "ZeroDivisionError: by zero"),
                ("refused", "not today"),
                ("slow", "not done within"),
                ("large", "256 KB"),
                ("missing", "registered"),
                ("unset", "no variable"),
                ("odd", "ValueError: odd"),
            ):
                result = await call_tool(toolkit, name, "{}")
                assert not result.ok
                assert message in json.loads(result.content)["error"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with mcp_server.serve_tools() as url:
        yield url


class TestServers:
    @pytest.fixture
    def pid_log(self, tmp_path: Path) -> Path:
        path = tmp_path / "started"
        path.touch()
        return path

    @pytest.fixture
    def real_server(self, pid_log: Path) -> ToolServer:
        return ToolServer(
            name="local", command=(sys.executable, mcp_server.__file__, str(pid_log)), env={"KEY": "${TOKEN}"}
        )

    @pytest.fixture
    def local_server(self, pid_log: Path) -> ToolServer:
        """One that starts fast."""
        return ToolServer(name="local", command=(sys.executable, small_mcp_server.__file__, str(pid_log)))

    def list_pids(self, pid_log: Path) -> list[int]:
        return [int(line) for line in pid_log.read_text().split()]

    async def test_the_tools_of_a_command(self, toolbox: Toolbox, real_server: ToolServer, pid_log: Path) -> None:
        async with toolbox.open(build_resident(servers=(real_server,))) as toolkit:
            assert {"local__add", "local__odd_name_with_dots", "local__fail"} <= list_names(toolkit)
            [spec] = [spec for spec in toolkit.specs(1) if spec.name == "local__add"]
            assert spec.description == "Add two numbers."
            assert spec.schema["required"] == ["a", "b"]
            assert await run_tool(toolkit, "local__add", a=2, b=3) == {"result": 5}
            assert await run_tool(toolkit, "local__odd_name_with_dots") == {"result": "odd"}
            assert await run_tool(toolkit, "local__variable", name="KEY") == {"result": "***"}
            for name, arguments in (("fail", {"why": "no luck"}), ("add", {"a": "x"}), ("large", {})):
                assert (await run_tool(toolkit, f"local__{name}", **arguments))["success"] is False
            [pid] = self.list_pids(pid_log)
            assert psutil.pid_exists(pid)
        assert not psutil.pid_exists(pid)

    async def test_a_secret_of_digits_leaves_an_answer_readable(
        self, toolbox: Toolbox, local_server: ToolServer
    ) -> None:
        pin_server = replace(local_server, env={**local_server.env, "PIN": "314159"})
        async with toolbox.open(build_resident(servers=(pin_server,))) as toolkit:
            assert await run_tool(toolkit, "local__add", a=314000, b=159) == {"result": "***"}
            assert await run_tool(toolkit, "local__add", a=314000, b=160) == {"result": 314160}

    async def test_what_it_offers_is_remembered(
        self, toolbox: Toolbox, local_server: ToolServer, pid_log: Path
    ) -> None:
        for _ in range(3):
            async with toolbox.open(build_resident(servers=(local_server,))) as toolkit:
                assert "local__add" in list_names(toolkit)
        assert len(self.list_pids(pid_log)) == 1
        async with toolbox.open(build_resident(servers=(local_server,))) as toolkit:
            assert await run_tool(toolkit, "local__add", a=1, b=1) == {"result": 2}
        assert len(self.list_pids(pid_log)) == 2

    async def test_a_server_that_dies_is_started_again(
        self, toolbox: Toolbox, local_server: ToolServer, pid_log: Path
    ) -> None:
        async with toolbox.open(build_resident(servers=(local_server,))) as toolkit:
            result = await run_tool(toolkit, "local__die")
            assert result["success"] is False
            assert await run_tool(toolkit, "local__add", a=1, b=1) == {"result": 2}
        assert len(self.list_pids(pid_log)) == 2

    async def test_a_server_that_cannot_be_had_spoils_nothing(self, toolbox: Toolbox, local_server: ToolServer) -> None:
        servers = (
            ToolServer(name="nothing", command=("/no/such/program",)),
            ToolServer(name="silent", command=("/bin/true",)),
            ToolServer(name="away", url="http://127.0.0.1:1/mcp"),
            ToolServer(name="keyless", url="http://127.0.0.1:1/mcp", headers={"X-Key": "${UNSET}"}),
            local_server,
        )
        async with toolbox.open(build_resident(servers=servers)) as toolkit:
            assert [trouble.split("'")[1] for trouble in toolkit.troubles] == ["nothing", "silent", "away", "keyless"]
            assert await run_tool(toolkit, "local__add", a=1, b=1) == {"result": 2}
            troubles = toolkit.troubles
        async with toolbox.open(build_resident(servers=servers)) as toolkit:
            assert toolkit.troubles == troubles

    async def test_a_cancelled_cycle_leaves_nothing_behind(
        self, toolbox: Toolbox, local_server: ToolServer, pid_log: Path
    ) -> None:
        started = asyncio.Event()

        async def cycle() -> None:
            async with toolbox.open(build_resident(servers=(local_server,))):
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(cycle())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        [pid] = self.list_pids(pid_log)
        assert not psutil.pid_exists(pid)

    async def test_the_tools_of_a_url(self, toolbox: Toolbox, url: str) -> None:
        async with toolbox.open(build_resident(servers=(ToolServer(name="far", url=url),))) as toolkit:
            assert await run_tool(toolkit, "far__add", a=2, b=3) == {"result": 5}

    async def test_a_private_url_is_out_of_reach_unless_allowed(self, url: str) -> None:
        toolbox = Toolbox(HttpTools(environ={}), McpServers(environ={}))
        async with toolbox.open(build_resident(servers=(ToolServer(name="far", url=url),))) as toolkit:
            assert list_names(toolkit) == set(list_tools(()))
            assert len(toolkit.troubles) == 1
