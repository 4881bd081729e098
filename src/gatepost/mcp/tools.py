"""
Tools: an operation for each, called as every other caller calls it.

Whatever is wrong, the model gets a sentence that it can act on, as a result marked `isError`. It never gets a protocol
error, which most hosts hide from it, and never a traceback.

`drain_inbox` claims a batch, and the host acks it once the answer was handed over (`host.py`). A claim is made even if
its request is cancelled meanwhile, because nobody could tell whether the store has it; then it is released at once.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import structlog
from mcp import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool as WireTool,
    ToolAnnotations,
)
from msgspec.structs import replace

from gatepost.errors import GatepostError, quote_value
from gatepost.gates.decision_api import AskDecision
from gatepost.inbox.item_api import BatchView, ClaimBatch, DrainInbox
from gatepost.mcp.answer_text import render_answer
from gatepost.mcp.host import ANYTHING, BatchDelivery, Context, Host, Peer
from gatepost.operations.tool_schema import WAIT, McpToolSpec, load_tools, parse_wait
from gatepost.operations.validation import suggest

T = TypeVar("T")

log = structlog.get_logger("gatepost.mcp")

#: seconds after which a tool that waits looks again, in case a signal was lost
_RECHECK_INTERVAL: Final = 5.0


class Tools:
    """The tools of one server."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._specs = load_tools()
        self._wire_tools = [_build_wire_tool(spec) for spec in self._specs.values()]

    async def list(self, _context: Context, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=self._wire_tools)

    async def call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        spec = self._specs.get(params.name)
        if spec is None:
            hint = suggest(params.name, list(self._specs))
            raise MCPError(
                INVALID_PARAMS, f"there is no tool {quote_value(params.name)}" + (f" ({hint})" if hint else "")
            )
        with self._host.accept_cancel(context):
            return await self._call(context, spec, params.arguments or {})
        return _build_error("the request was cancelled")

    async def _call(self, context: Context, spec: McpToolSpec, arguments: Mapping[str, Any]) -> CallToolResult:
        try:
            answer = await self._answer(context, spec, arguments)
        except GatepostError as error:
            spec.relabel(error)
            return _build_error(error.message_with_hint)
        except Exception as error:
            log.exception("a tool failed", tool=spec.name, error=repr(error))
            return _build_error("something went wrong here; it was logged (hint: try again)")
        text = TextContent(text=render_answer(spec, answer))
        return CallToolResult(content=[text], structured_content=spec.encode(answer))

    async def _answer(self, context: Context, spec: McpToolSpec, arguments: Mapping[str, Any]) -> Any:
        peer = await self._host.identify(context)
        spec.operation.access.admit(peer.caller)
        arguments = dict(arguments)
        seconds = parse_wait(arguments.pop(WAIT, None)) if spec.tool.waits else 0.0
        request = spec.decode(arguments, peer.name)
        match request:
            case DrainInbox():
                return await self._drain(context, peer, request, seconds)
            case AskDecision():
                return await peer.send(replace(request, session=peer.session))
            case _ if seconds:
                noun = spec.operation.tag.removesuffix("s")
                return await self._wait(lambda: peer.send(request), lambda page: bool(page.items), seconds, f"{noun}:")
            case _:
                return await peer.send(request)

    async def _drain(self, context: Context, peer: Peer, request: DrainInbox, seconds: float) -> BatchView:
        claim = ClaimBatch(name=request.name, owner=f"mcp:{peer.name}", limit=request.limit, budget=request.budget)

        async def take() -> BatchView:
            with anyio.CancelScope(shield=True):
                return await peer.send(claim)
            raise AssertionError("nothing cancels what is shielded")

        batch = await self._wait(take, lambda batch: batch.claim is not None, seconds, f"inbox:{request.name}")
        delivery = BatchDelivery(peer, batch)
        try:
            await anyio.lowlevel.checkpoint()  # was it cancelled meanwhile?
        except anyio.get_cancelled_exc_class():
            await delivery.end(is_sent=False)
            raise
        self._host.hand_over(context, delivery)
        return batch

    async def _wait(
        self, ask: Callable[[], Awaitable[T]], is_over: Callable[[T], bool], seconds: float, topic: str
    ) -> T:
        """Ask until the answer is over, or the time is, and return the last answer. `topic` begins what it is about."""
        if not seconds:
            return await ask()
        end = anyio.current_time() + seconds
        changed = anyio.Event()

        def listen(changed_topic: str) -> None:
            if changed_topic == ANYTHING or changed_topic.startswith(topic):
                changed.set()

        with self._host.subscribe(listen):
            while True:
                changed = anyio.Event()
                answer = await ask()
                remaining = end - anyio.current_time()
                if is_over(answer) or remaining <= 0 or self._host.stopping.is_set():
                    return answer
                with anyio.move_on_after(min(remaining, _RECHECK_INTERVAL)):
                    await changed.wait()


def _build_wire_tool(spec: McpToolSpec) -> WireTool:
    return WireTool(
        name=spec.name,
        title=spec.tool.title,
        description=spec.description,
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        annotations=ToolAnnotations.model_validate(spec.annotations),
    )


def _build_error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=sentence)], is_error=True)
