"""The mind, the goals and the memories of a resident."""

from gatepost.core.ports import Reader
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import parse_cursor_number, read_page
from gatepost.residents import goal_and_memory_actions as memories
from gatepost.residents.agent_handlers import find_agent
from gatepost.residents.runs import actions as runs, mind_api as api


@api.ShowMind.handler
def show_mind(tx: Reader, request: api.ShowMind, caller: Caller) -> api.MindView:
    agent = find_agent(tx, request.name)
    mind = runs.read_mind(tx, agent.name)
    return api.MindView.of(mind.past_cycles, agent=agent.name, tokens=mind.tokens, turns=mind.turns)


@api.ListGoals.handler
def list_goals(tx: Reader, request: api.ListGoals, caller: Caller) -> Page[api.GoalView]:
    rows = memories.list_goals(tx, find_agent(tx, request.name).name, status=request.status)
    return Page[api.GoalView](items=[api.GoalView.of(goal) for goal in rows], next=None)


@api.ListMemories.handler
def list_memories(tx: Reader, request: api.ListMemories, caller: Caller) -> Page[api.MemoryView]:
    after = None
    if request.after is not None:
        updated_at, dash, key = request.after.partition("-")
        after = (parse_cursor_number(updated_at if dash else "", request.after), key)
    return read_page(
        tx,
        request,
        memories.list_memories,
        find_agent(tx, request.name).name,
        cursor=lambda memory: f"{memory.updated_at}-{memory.key}",
        after=after,
    )
