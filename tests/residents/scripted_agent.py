"""An agent with a mind that the test plays, one cycle at a time, on a clock that the test moves."""

import json
from collections.abc import AsyncGenerator, Callable

from gatepost.core.signals import Frame
from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Priority, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.background.cycle_outcome import CycleDeps, CycleFinished, CycleOutcome, CyclePaused
from gatepost.residents.background.think_cycle import think
from gatepost.residents.model_port import CallDelta, ChatRequest, ModelOutput, ModelReply, Prompt, ToolCall, Usage
from gatepost.residents.runs import actions as runs, resume_actions as run_resume
from gatepost.residents.runs.run import RunStatus
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.faults.cycle_process import build_deps

#: what a model says, given what it is shown and how often it has replied in this cycle
ReplyFunction = Callable[[ChatRequest, int], ModelReply]


class CallbackModel:
    """A model that a function plays."""

    def __init__(self, reply_function: ReplyFunction, name: str = "played") -> None:
        self.name = name
        self._reply_function = reply_function
        self.requests: list[ChatRequest] = []

    async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        self.requests.append(request)
        reply = self._reply_function(request, count_replies(request))
        for call in reply.calls:
            for length in range(0, len(call.arguments) + 1, 5):
                yield CallDelta(call.id, call.tool, call.arguments[:length])
            yield CallDelta(call.id, call.tool, call.arguments)
        yield reply

    async def close(self) -> None:
        pass


def count_replies(request: ChatRequest) -> int:
    count = 0
    for turn in reversed(request.turns):
        if isinstance(turn, ModelReply):
            count += 1
        if isinstance(turn, Prompt) and turn.text.startswith("INBOX ("):
            return count
    return count


def build_call(tool: str, **arguments: object) -> ToolCall:
    return ToolCall(f"call-{tool}", tool, json.dumps(arguments))


def build_final_reply(text: str = "Done.") -> ModelReply:
    return ModelReply(text, usage=Usage(10, 2), model="played")


def reply_done(request: ChatRequest, replies: int) -> ModelReply:
    return build_final_reply()


class ScriptedAgent:
    """An agent with a mind that the test plays, in a space with Husam."""

    def __init__(
        self, kit: Kit, reply_function: ReplyFunction, config: AgentConfig | None = None, *, is_prepared: bool = False
    ) -> None:
        """`is_prepared` if all of them are there already."""
        self.kit = kit
        self.store = kit.store
        self.model = CallbackModel(reply_function)
        self.frames: list[Frame] = []
        self.deps: CycleDeps = build_deps(self.store, self.model, self.frames.extend)
        if is_prepared:
            return
        self.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        self.store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        self.store.run_sync(
            agents.make_resident, EntitySpec(name="ana", kind=EntityKind.AGENT), config or AgentConfig()
        )
        self.store.run_sync(spaces.create, name="room", members=["husam", "ana"])

    def push(self, content: str, priority: Priority = Priority.NORMAL) -> str:
        return self.store.run_sync(
            push_actions.push_event, Push(to="ana", source="test", content=content, priority=priority)
        ).event

    async def run_cycle(self) -> CycleOutcome | None:
        run_state = await self.store.run(run_resume.take_run, "ana", "here")
        return await think(self.deps, run_state) if run_state else None

    async def run_cycles(self, limit: int = 200) -> int:
        """Think until there is nothing more to think about, resting as long as it takes; return how many cycles."""
        for count in range(limit):
            match await self.run_cycle():
                case None:
                    return count
                case CyclePaused(seconds):
                    self.kit.clock.advance(int(seconds * SECOND) + 1)
                case CycleFinished():
                    pass
        raise AssertionError("it never comes to an end")

    def list_messages(self) -> list[str]:
        return [message.content for message in self.store.read_sync(spaces.read, "room") if message.sender == "ana"]

    def list_item_states(self) -> dict[str, ItemState]:
        return {item.event.content: item.state for item in self.store.read_sync(inbox.list_page, "ana", limit=1_000)}

    def list_run_statuses(self) -> list[RunStatus]:
        return [run.status for run in self.store.read_sync(runs.list_page, agent="ana", limit=1_000)][::-1]
