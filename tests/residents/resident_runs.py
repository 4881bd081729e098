"""Residents that have thought, without a model: their journals are written as the cycle writes them."""

import json
from dataclasses import dataclass
from typing import Any

from gatepost.core.ports import Store
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.residents import (
    agent_actions as agents,
    agent_config_json as agent_config,
    goal_and_memory_actions as memories,
)
from gatepost.residents.goal_and_memory import GoalSpec
from gatepost.residents.model_port import CallResult, ModelReply, ToolCall, Usage
from gatepost.residents.runs import (
    deferred_call_actions as deferred_calls,
    ending_actions as run_endings,
    journal_actions as run_journal,
    resume_actions as run_resume,
)

AGENT_CONFIG: dict[str, Any] = {
    "model": "demo",
    "instructions": "Answer questions about orders.",
    "tools": [
        {
            "name": "orders",
            "execution": {"url": "https://crm.example.com/{id}", "headers": {"Authorization": "Bearer sk_crm"}},
        },
        {"name": "ship", "executionType": "external"},
    ],
}

#: what an adapter keeps for itself of a reply
ADAPTER_SECRET = "of the adapter"


@dataclass(frozen=True)
class WaitingRun:
    """A run that is under way, and a call that it waits for."""

    run_id: str
    call_id: str
    run_state: run_resume.LeasedRun


def create_resident(store: Store, name: str = "thinker", **changes: Any) -> None:
    store.run_sync(
        agents.make_resident, EntitySpec(name=name, kind=EntityKind.AGENT), agent_config.parse(AGENT_CONFIG | changes)
    )
    store.run_sync(memories.set_memories, name, {"tone": "brief"})
    store.run_sync(memories.set_goals, name, [GoalSpec(description="Ship everything")])


def begin_run(store: Store, name: str = "thinker", content: str = "Where is order 7?") -> WaitingRun:
    """Let a resident think until it has asked somebody outside."""
    store.run_sync(push.push_event, Push(to=name, source="shop", content=content))
    run_state = store.run_sync(run_resume.take_run, name, "here")
    assert run_state is not None
    call = ToolCall("c1", "ship", '{"order": 7}')
    reply = ModelReply(
        "I ask the warehouse", (call,), Usage(120, 8), "demo", raw=json.dumps({"secret": ADAPTER_SECRET})
    )
    store.run_sync(run_journal.record_step, run_state.run_lease, 2, reply)
    result = store.run_sync(deferred_calls.defer_call, run_state.run_lease, 3, call, "2.0")
    return WaitingRun(run_state.run_lease.run.id, parse_call_id(result), run_state)


def parse_call_id(result: CallResult) -> str:
    """The id under which somebody outside answers."""
    return str(json.loads(result.content)["callId"])


def finish_run(store: Store, waiting_run: WaitingRun, summary: str = "Asked the warehouse about order 7.") -> None:
    store.run_sync(
        run_endings.finish_run,
        waiting_run.run_state.run_lease,
        4,
        ModelReply(summary, usage=Usage(150, 9), model="demo"),
        summary=summary,
    )
