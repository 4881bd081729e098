"""
Calls of tools that are answered later: the agent continues meanwhile, and the result comes as an event like any other.

A program outside answers (`POST /api/runs/{id}/tool-results`), or a job of ours that calls the tool. A call that nobody
answers within `_CALL_TIMEOUT` expires. When the last call of a run is answered, or has expired, the run is completed.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import DAY
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.inbox import expiry_actions as expiry
from gatepost.inbox.event import EventType, Push
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.residents.model_port import CallResult, ToolCall
from gatepost.residents.runs.actions import cancel, show
from gatepost.residents.runs.journal_actions import RunLease, renew_lease, write_step
from gatepost.residents.runs.run import CallStatus, OpenCall, Run
from gatepost.stores.row_mapping import Mapper, load_json

_CALL: Final = Mapper(OpenCall, result=load_json)
#: the kind of a job that calls a tool
TOOL_JOB: Final = "tool"
#: the time in which a program outside has to answer a call
_CALL_TIMEOUT: Final = DAY


def defer_call(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    call: ToolCall,
    key: str,
    arguments: Mapping[str, Any] | None = None,
) -> CallResult:
    """
    Write a call that will be answered later; the agent continues meanwhile. With `arguments` a job calls the tool, else
    a program outside answers.
    """
    renew_lease(tx, run_lease)
    id = tx.new_id("call")
    tx.execute_later(
        "residents/calls/insert",
        id=id,
        tool=call.tool,
        arguments=call.arguments,
        run=run_lease.run.number,
        now=tx.now,
        expires_at=tx.now + _CALL_TIMEOUT,
    )
    if arguments is not None:
        jobs.add(tx, TOOL_JOB, {"run": run_lease.run.id, "call": id, "tool": call.tool, "arguments": arguments})
    pending = {"status": "pending", "callId": id, "message": "the result will come to your inbox"}
    result = CallResult(call.id, call.tool, msgspec.json.encode(pending).decode())
    write_step(tx, run_lease.run, step_number, result, key=key, effects=1)
    return result


def list_open_calls(tx: Reader, id: str) -> list[OpenCall]:
    """Return the calls of a run that a program outside answers, or has answered."""
    return _CALL.fetch_all(tx, "residents/calls/list_by_run", run=show(tx, id).number)


def answer_call(tx: Transaction, run_id: str, call_id: str, result: Json) -> OpenCall:
    """Write the result of a call, and push it to the agent."""
    stored_run = show(tx, run_id)
    call = _CALL.fetch_one(tx, "residents/calls/read", id=call_id) if call_id.isprintable() else None
    if call is None or call.run != stored_run.id:
        raise NotFound(f"there is no call {call_id!r} of this run", hint="`GET /api/runs/{id}` shows what it waits for")
    return _end_call(tx, call, stored_run, CallStatus.RESOLVED, result)


def expire_calls(tx: Transaction) -> int:
    """Expire calls that nobody has answered in time, and cancel runs of retired agents; return how many."""
    late_calls = _CALL.fetch_all(tx, "residents/calls/list_expired", now=tx.now, limit=expiry.BATCH_SIZE)
    for call in late_calls:
        _end_call(tx, call, show(tx, call.run), CallStatus.EXPIRED, {"status": "expired", "error": "nobody answered"})
    orphans = tx.fetch_all("residents/runs/list_open_of_retired", limit=expiry.BATCH_SIZE)
    for row in orphans:
        cancel(tx, row.id)
    return len(late_calls) + len(orphans)


def _end_call(tx: Transaction, call: OpenCall, run: Run, status: CallStatus, result: Json) -> OpenCall:
    if not tx.execute("residents/calls/end", id=call.id, status=status, result=json.dumps(result), now=tx.now):
        raise Conflict(f"the call {call.id!r} is {call.status} already")
    result_push = Push(
        to=run.agent,
        type=EventType.TOOL_RESULT,
        source=call.tool,
        data={"toolCallId": call.id, "toolName": call.tool, "originRunId": run.id, "result": result},
        dedup_key=f"tool:{call.id}",
        hops=run.outgoing_hops,
    )
    with suppress(Refused):  # it has retired: nobody waits for the result
        push.push_event(tx, result_push)
    tx.execute_later("residents/runs/complete_waiting", number=run.number)  # does nothing while another call is open
    tx.after_commit(Signal(Topic("run", run.id), "answer"))
    ended_call = _CALL.fetch_one(tx, "residents/calls/read", id=call.id)
    assert ended_call is not None
    return ended_call
