"""
Tools: an operation for each, called as every other caller calls it.

Whatever is wrong, the model gets a sentence that it can act on, as a result marked `isError`. It never gets a protocol
error, which most hosts hide from it, and never a traceback.

`drain_inbox` claims a batch, and the host acks it once the answer was handed over (`server_port.py`). A claim is made
even if its request is cancelled meanwhile, because nobody could tell whether the store has it; then it is released at
once.

An answer is also text, one line for each thing, for models whose host shows them no structured output. What people and
agents wrote is quoted as in an inbox, so that no message can pretend to be another line.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import structlog
from mcp import MCPError, types
from msgspec import UNSET
from msgspec.structs import replace

from gatepost.core.quoting import quote, render_json, render_name
from gatepost.core.signals import Topic
from gatepost.errors import GatepostError, NotFound, Refused, UnknownAddress, quote_value
from gatepost.gates.decision_api import AskDecision, DecisionAnswerView, DecisionView
from gatepost.gates.gate_api import GateView
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.event_rendering import render_event
from gatepost.inbox.item_api import BatchView, ClaimBatch, DrainInbox
from gatepost.mail.mail_api import MailView, SentReplyView
from gatepost.mail.work_api import NoteView, WorkEventView, WorkItemView
from gatepost.mcp.server_port import ANYTHING, BatchDelivery, Context, Host, Peer
from gatepost.mcp.tasks import build_new_task, declares_tasks
from gatepost.operations.lenient_arguments import parse_wait
from gatepost.operations.operation import WAIT, Page
from gatepost.operations.operation_tool import OperationTool, load_tools
from gatepost.operations.validation import suggest
from gatepost.plans.api import PlanView
from gatepost.residents.agent_api import AgentView, ShowAgent
from gatepost.spaces.api import MessageView

T = TypeVar("T")

log = structlog.get_logger("gatepost.mcp")

#: seconds after which a tool that waits looks again, in case a signal was lost
_RECHECK_INTERVAL: Final = 5.0


class Tools:
    """The tools of one server."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._specs = load_tools()
        self._wire_tools = {
            spec.name: types.Tool(
                name=spec.name,
                title=spec.tool.title or None,
                description=spec.description,
                input_schema=spec.input_schema,
                output_schema=spec.output_schema,
                annotations=types.ToolAnnotations.model_validate(spec.annotations),
            )
            for spec in self._specs.values()
        }

    async def list(self, context: Context, _params: Any) -> types.ListToolsResult:
        """Return the tools of the caller: an agent has those of its skills, too."""
        try:
            skills = await _find_skills(await self._host.identify(context))
        except GatepostError:  # a call says what is wrong
            skills = ()
        specs = [spec for spec in self._specs.values() if spec.skill is None or spec.skill in skills]
        return types.ListToolsResult(tools=[self._wire_tools[spec.name] for spec in specs])

    async def call(self, context: Context, params: types.CallToolRequestParams) -> Any:
        """Return the result of a tool, or a task of which the result will come."""
        spec = self._specs.get(params.name)
        if spec is None:
            hint = suggest(params.name, list(self._specs))
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {quote_value(params.name)}" + (f" ({hint})" if hint else "")
            )
        with self._host.accept_cancel(context):
            return await self._call(context, spec, params.arguments or {})
        return _build_error("the request was cancelled")

    async def _call(self, context: Context, spec: OperationTool, arguments: Mapping[str, Any]) -> Any:
        try:
            answer = await self._answer(context, spec, arguments)
        except GatepostError as error:
            spec.relabel(error)
            return _build_error(error.message_with_hint)
        except Exception as error:
            log.exception("a tool failed", tool=spec.name, error=repr(error))
            return _build_error("something went wrong here; it was logged (hint: try again)")
        if spec.operation.request is AskDecision and declares_tasks(context):
            return build_new_task(answer)
        return build_result(spec, answer)

    def build_decision_result(self, decision: DecisionView) -> types.CallToolResult:
        """Return what `ask_decision` answers of a decision."""
        return build_result(self._specs["ask_decision"], decision)

    async def _answer(self, context: Context, spec: OperationTool, arguments: Mapping[str, Any]) -> Any:
        peer = await self._host.identify(context)
        spec.operation.access.admit(peer.caller)
        if spec.skill is not None and spec.skill not in await _find_skills(peer):
            hint = f"`gatepost agent set NAME --skill {spec.skill}` gives an agent the skill"
            raise Refused(f"{peer.name!r} lacks the skill {spec.skill!r}", hint=hint)
        arguments = dict(arguments)
        seconds = parse_wait(arguments.pop(WAIT, None)) if spec.tool.waits else 0.0
        request = spec.decode(arguments, peer.name)
        match request:
            case DrainInbox():
                return await self._drain(context, peer, request, seconds)
            case AskDecision():
                return await peer.send(replace(request, session=peer.session, followed=declares_tasks(context)))
            case _ if seconds:
                noun = spec.operation.tag.removesuffix("s")
                return await self._wait(
                    peer, lambda: peer.send(request), lambda page: bool(page.items), seconds, Topic.parse(f"{noun}:")
                )
            case _:
                return await peer.send(request)

    async def _drain(self, context: Context, peer: Peer, request: DrainInbox, seconds: float) -> BatchView:
        claim = ClaimBatch(name=request.name, owner=f"mcp:{peer.name}", limit=request.limit, budget=request.budget)

        async def take() -> BatchView:
            with anyio.CancelScope(shield=True):
                return await peer.send(claim)
            raise AssertionError("nothing cancels what is shielded")

        topic = Topic("inbox", request.name)
        batch = await self._wait(peer, take, lambda batch: batch.claim is not None, seconds, topic)
        delivery = BatchDelivery(peer, batch)
        try:
            await anyio.lowlevel.checkpoint()  # was it cancelled meanwhile?
        except anyio.get_cancelled_exc_class():
            await delivery.end(is_sent=False)
            raise
        self._host.hand_over(context, delivery)
        return batch

    async def _wait(
        self, peer: Peer, ask: Callable[[], Awaitable[T]], is_over: Callable[[T], bool], seconds: float, topic: Topic
    ) -> T:
        """Ask until the answer is over, or the time is, and return the last answer. It changes with a topic."""
        if not seconds:
            return await ask()
        end = anyio.current_time() + seconds
        changed = anyio.Event()

        def listen(changed_topic: Topic) -> None:
            if changed_topic == ANYTHING or topic.includes(changed_topic):
                changed.set()

        with peer.reserve_wait(), self._host.subscribe(listen):
            while True:
                changed = anyio.Event()
                answer = await ask()
                remaining = end - anyio.current_time()
                if is_over(answer) or remaining <= 0 or self._host.stopping.is_set():
                    return answer
                with anyio.move_on_after(min(remaining, _RECHECK_INTERVAL)):
                    await changed.wait()


async def _find_skills(peer: Peer) -> Sequence[str]:
    """Return the skills of a caller; nobody but agents has any."""
    try:
        return (await peer.send(ShowAgent(name=peer.name))).skills
    except (NotFound, UnknownAddress):
        return ()


def build_result(spec: OperationTool, answer: Any) -> types.CallToolResult:
    text = types.TextContent(text=render_answer(spec, answer))
    return types.CallToolResult(content=[text], structured_content=spec.encode(answer))


def _build_error(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)


def render_answer(spec: OperationTool, answer: Any) -> str:
    """Return the answer of a tool as text."""
    match answer:
        case BatchView():
            ids = ", ".join(item.event_id for item in answer.items)
            return f"{answer.text}\nevents: {ids}" if ids else "the inbox is empty"
        case Page():
            lines = [_render_line(spec, item) for item in answer.items]
            more = [f"there is more: {spec.describe_next(answer.next)}"] if answer.next is not None else []
            return "\n".join([*lines, *more]) or "there is nothing"
        case _:
            return _render_line(spec, answer)


def _render_line(spec: OperationTool, view: Any) -> str:
    match view:
        case ItemView():
            return f"{render_event(view.to_event())} ({view.event_id}, {view.state})"
        case GateView():
            return f"gate {view.id} {quote(view.name)}: {', '.join(_list_gate_facts(view))}"
        case DecisionView():
            return f"decision {view.id}: {'; '.join(_list_decision_facts(view))}"
        case PlanView():
            due = f", next at {view.next_run_at}" if view.next_run_at else ""
            state = view.status if view.active else f"{view.status}, disabled"
            return f"plan {view.id} {quote(view.name)}: {state}{due}, {quote(view.instruction)}"
        case MessageView():
            return f"message {view.seq} by {render_name(view.sender)}: {quote(view.content)}"
        case MailView():
            notes = "".join(f" ({note})" for note in _list_mail_notes(view))
            return f"sent to {render_name(view.to)} as mail {view.id}{notes}"
        case SentReplyView():
            return f"sent as {view.kind} {view.id}"
        case NoteView():
            got = f", sent to {', '.join(view.recipients)}" if view.recipients else ""
            return f"note {view.id} by {render_name(view.sender)}: {quote(view.text)}{got}{_render_added(view)}"
        case WorkEventView():
            got = f", sent to {', '.join(view.recipients)}" if view.recipients else ""
            item = f"{view.item.type} {render_name(view.item.id)}"
            return f"event {view.id} of {item}: {view.type}{got}{_render_added(view)}"
        case WorkItemView():
            return f"added {view.type} {render_name(view.id)} {quote(view.title)}"
        case AgentView():
            return f"{view.name} ({', '.join(_list_agent_facts(view))})"
        case _:
            return render_json(spec.encode_item(view))


def _list_mail_notes(mail: MailView) -> Iterator[str]:
    lost = [recipient.name for recipient in mail.recipients if recipient.reachable is False]
    if lost:
        yield f"not reachable now: {', '.join(lost)}"
    for recipient in mail.recipients:
        if recipient.attention is not UNSET:
            yield f"{recipient.name}: {recipient.attention.describe()}"


def _list_agent_facts(agent: AgentView) -> Iterator[str]:
    yield render_name(agent.display_name)
    yield from (f"{noun} {render_name(name)}" for noun, name in (("team", agent.team), ("role", agent.role)) if name)
    if agent.reachability:
        yield agent.reachability.describe()
    if agent.presence:
        yield agent.presence
    if agent.attention:
        yield agent.attention.describe()


def _list_gate_facts(gate: GateView) -> Iterator[str]:
    yield f"{gate.status}, {gate.kind}, owner {gate.owner}"
    if gate.awaits:
        yield f"awaits {render_name(gate.awaits)}"
    if gate.deadline:
        yield f"until {gate.deadline}"
    if gate.instruction:
        yield quote(gate.instruction)
    if gate.resolution:
        by = f" by {gate.resolution.by}" if gate.resolution.by else ""
        yield f"ended{by}: {quote(gate.resolution.reason)}"


def _list_decision_facts(decision: DecisionView) -> Iterator[str]:
    yield f"{decision.status}, {decision.asker} asks {', '.join(decision.asked)} {quote(decision.question)}"
    if decision.action is not UNSET:
        yield f"action {render_name(decision.action.name)} {render_json(decision.action.args)}"
        yield f"hash {decision.context_hash}"
    if decision.options:
        yield f"options {', '.join(f'{option.id} {quote(option.label)}' for option in decision.options)}"
    if decision.deadline:
        yield f"until {decision.deadline}"
    if decision.answer:
        yield _render_decision_answer(decision.answer)


def _render_added(view: NoteView | WorkEventView) -> str:
    """Return that a note or an event has added its work item: its id may be a mistake."""
    return f"; {view.item.type} {render_name(view.item.id)} was unknown, and was added" if view.created else ""


def _render_decision_answer(answer: DecisionAnswerView) -> str:
    by = f" by {answer.by}" if answer.by else ""
    option = f" {answer.option}" if answer.option else ""
    args = f" {render_json(answer.args)}" if answer.args is not UNSET else ""
    text = f" {quote(answer.text)}" if answer.text else ""
    return f"{answer.outcome}{by}:{option}{args}{text}"
