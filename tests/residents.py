"""Residents that have thought, without a model: their journals are written as the cycle writes them."""

import json
from dataclasses import dataclass
from typing import Any

from gatepost.actions import agents, cycle, goals, intake, memories
from gatepost.actions.directory import Newcomer
from gatepost.core import config
from gatepost.core.entity import Kind
from gatepost.core.event import Push
from gatepost.core.goal import GoalWish
from gatepost.core.mind import Call, Reply, Result, Usage
from gatepost.ports import Store

CONFIG = {
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


@dataclass(frozen=True)
class Thinking:
    """A run that is under way, and a call that it waits for."""

    run: str
    call: str
    taken: cycle.Taken


def resident(store: Store, name: str = "thinker", **changes: Any) -> None:
    store.call(agents.settle, Newcomer(name=name, kind=Kind.AGENT), config.parse(CONFIG | changes))
    store.call(memories.set, name, {"tone": "brief"})
    store.call(goals.set, name, [GoalWish(description="Ship everything")])


def begun(store: Store, name: str = "thinker", content: str = "Where is order 7?") -> Thinking:
    """Let a resident think until it has asked somebody outside."""
    store.call(intake.push, Push(to=name, source="shop", content=content))
    taken = store.call(cycle.take, name, "here")
    assert taken is not None
    call = Call("c1", "ship", '{"order": 7}')
    reply = Reply("I ask the warehouse", (call,), Usage(120, 8), "demo", raw='{"secret": "of the adapter"}')
    store.call(cycle.replied, taken.held, 2, reply)
    result = store.call(cycle.defer, taken.held, 3, call, "2.0")
    return Thinking(taken.held.run.id, called(result), taken)


def called(result: Result) -> str:
    """The id under which somebody outside answers."""
    return str(json.loads(result.content)["callId"])


def ended(store: Store, thinking: Thinking, summary: str = "Asked the warehouse about order 7.") -> None:
    store.call(cycle.finish, thinking.taken.held, 4, Reply(summary, usage=Usage(150, 9), model="demo"), summary=summary)
