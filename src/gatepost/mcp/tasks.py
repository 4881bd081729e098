"""
Decisions as tasks: the extension `io.modelcontextprotocol/tasks` of the revision 2026-07-28.

    ask_decision  ->  a task whose id is that of the decision, if the request declares the extension
    tasks/get     ->  working  ->  completed, with the decision and its answer
                               ->  cancelled, if its asker has withdrawn it
    tasks/cancel  ->  withdraws the decision

The model goes on, or ends its turn. Its program asks for the task again and again, which costs no request of a model,
and gives the model the answer in the same conversation, also days later and after the program was started again. A task
is the row of its decision and nothing else, so any server of this store continues it. It ends with the first round of
the decision: what comes after a question was sent back comes to the inbox.

A task belongs to the asker. For everybody else there is none, also for those who were asked: they answer as they always
do, and never by `tasks/update`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import structlog
from mcp import MCPError, types
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec.structs import replace

from gatepost.core.quoting import render_name
from gatepost.errors import GatepostError, Late, NotFound, Unavailable, quote_value
from gatepost.gates.decision import FOLLOW_TIME, DecisionOutcome
from gatepost.gates.decision_api import ClaimOutcome, DecisionAnswerView, DecisionView, ShowDecision, WithdrawDecision
from gatepost.mcp.resources import send_checked
from gatepost.mcp.server_port import BatchDelivery, Context, Host, Peer

log = structlog.get_logger("gatepost.mcp")

EXTENSION: Final = "io.modelcontextprotocol/tasks"
#: milliseconds between two looks of a client
_POLL_INTERVAL: Final = FOLLOW_TIME // 2_000

Document = dict[str, Any]


class TaskParams(types.RequestParams):
    task_id: str


class Tasks:
    """The tasks of one server. `build_result` makes what `ask_decision` would have answered of a decision."""

    def __init__(self, host: Host, build_result: Callable[[DecisionView], types.CallToolResult]) -> None:
        self._host = host
        self._build_result = build_result

    async def get(self, context: Context, params: TaskParams) -> Document:
        peer, decision = await self._find(context, params)
        task, answer = _build_task(decision), _find_end(decision)
        if task["status"] == "completed" and answer is not None:
            await self._claim_outcome(context, peer, decision)
            result = self._build_result(replace(decision, answer=answer))
            task["result"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return task

    async def _claim_outcome(self, context: Context, peer: Peer, decision: DecisionView) -> None:
        """Take the outcome out of the inbox of the asker, because its program shows it now."""
        owner, timeout = (peer.proof.owner, peer.proof.timeout) if peer.proof else (f"mcp:{peer.name}", None)
        with anyio.CancelScope(shield=True):
            try:
                batch = await peer.send(ClaimOutcome(id=decision.id, owner=owner, proof=timeout))
            except GatepostError as error:  # a person reads it in their inbox, and a run has claimed it
                log.info("the outcome of a task stays in the inbox", task=decision.id, reason=error.message)
                return
            if batch.claim is not None:
                self._host.hand_over(context, BatchDelivery(peer, batch, proof=peer.proof))

    async def cancel(self, context: Context, params: TaskParams) -> Document:
        """Withdraw the decision; one that has ended stays as it is."""
        peer, decision = await self._find(context, params)
        try:
            await send_checked(peer, WithdrawDecision(id=decision.id, by=peer.name))
        except Late:
            log.info("a task had ended before it was cancelled", task=decision.id)
        except GatepostError as error:
            raise _build_refusal(error) from None
        return {}

    async def update(self, context: Context, params: TaskParams) -> Document:
        """Refuse: a task waits for an answer of those who were asked, and its client is not one of them."""
        _, decision = await self._find(context, params)
        respondents = ", ".join(render_name(name) for name in decision.asked)
        raise MCPError(types.INVALID_PARAMS, f"the task {decision.id!r} takes no input: {respondents} can answer it")

    async def _find(self, context: Context, params: TaskParams) -> tuple[Peer, DecisionView]:
        """Return the caller, and the decision that it has asked; raise an error if there is no such task for it."""
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", context.method)
        if not declares_tasks(context):
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"the request does not declare the extension {EXTENSION}",
                {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
            )
        try:
            peer = await self._host.identify(context)
            decision = await send_checked(peer, ShowDecision(id=params.task_id))
            if decision.asker != peer.name:
                raise NotFound(f"there is no decision {params.task_id!r}")
        except Unavailable as error:
            raise _build_refusal(error) from None
        except GatepostError:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no task {quote_value(params.task_id)} of this caller"
            ) from None
        return peer, decision


def declares_tasks(context: Context) -> bool:
    """Return True if the client of this request takes a task for an answer; no earlier request counts."""
    capabilities = (context.meta or {}).get(types.CLIENT_CAPABILITIES_META_KEY)
    extensions = capabilities.get("extensions") if isinstance(capabilities, Mapping) else None
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return is_modern and isinstance(extensions, Mapping) and isinstance(extensions.get(EXTENSION), Mapping)


def build_new_task(decision: DecisionView) -> Document:
    """Return the answer to the request that has asked for a decision."""
    return {"resultType": "task", **_build_task(decision)}


def _build_task(decision: DecisionView) -> Document:
    last = _find_end(decision)
    if last is None:
        status = "working"
        message = f"waiting for {', '.join(render_name(name) for name in decision.asked)} to decide"
    else:
        is_own_end = last.outcome is DecisionOutcome.WITHDRAWN and last.by == decision.asker
        status = "cancelled" if is_own_end else "completed"
        message = f"{last.outcome} by {render_name(last.by)}" if last.by else last.outcome.value
    return {
        "taskId": decision.id,
        "status": status,
        "statusMessage": message,
        "createdAt": decision.created_at,
        "lastUpdatedAt": last.at if last is not None else decision.created_at,
        "ttlMs": None,
        "pollIntervalMs": _POLL_INTERVAL,
    }


def _find_end(decision: DecisionView) -> DecisionAnswerView | None:
    """Return the answer that ends the task: the first one, unless it only passes the question on."""
    return next((answer for answer in decision.answers if answer.outcome is not DecisionOutcome.DELEGATED), None)


def _build_refusal(error: GatepostError) -> MCPError:
    code = types.INTERNAL_ERROR if isinstance(error, Unavailable) else types.INVALID_PARAMS
    return MCPError(code, error.message_with_hint)
