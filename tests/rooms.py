"""An agent with a mind that the test plays, one cycle at a time, on a clock that the test moves."""

import json
from collections.abc import AsyncGenerator, Callable

from gatepost.actions import agents, directory, inbox, push, run_journal, runs, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.core.agent import AgentConfig
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Priority, Push
from gatepost.core.frame import Frame
from gatepost.core.mind import ModelReply, Prompt, ToolCall, Usage
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput
from gatepost.core.run import RunStatus
from gatepost.core.times import SECOND
from gatepost.runtime.cycle import CycleDeps, CycleFinished, CycleOutcome, CyclePaused, think
from gatepost.testing import Kit
from tests.faults.thinker import means

#: what a model says, given what it is shown and how often it has replied in this cycle
Mind = Callable[[ChatRequest, int], ModelReply]


class Played:
    """A model that a function plays."""

    def __init__(self, mind: Mind, name: str = "played") -> None:
        self.name = name
        self._mind = mind
        self.asked: list[ChatRequest] = []

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        self.asked.append(ask)
        reply = self._mind(ask, replies_of(ask))
        for call in reply.calls:
            for length in range(0, len(call.arguments) + 1, 5):
                yield CallDelta(call.id, call.tool, call.arguments[:length])
            yield CallDelta(call.id, call.tool, call.arguments)
        yield reply

    async def close(self) -> None:
        pass


def replies_of(ask: ChatRequest) -> int:
    count = 0
    for turn in reversed(ask.turns):
        if isinstance(turn, ModelReply):
            count += 1
        if isinstance(turn, Prompt) and turn.text.startswith("INBOX ("):
            return count
    return count


def use(tool: str, **arguments: object) -> ToolCall:
    return ToolCall(f"call-{tool}", tool, json.dumps(arguments))


def done(text: str = "Done.") -> ModelReply:
    return ModelReply(text, usage=Usage(10, 2), model="played")


def quiet(ask: ChatRequest, replies: int) -> ModelReply:
    return done()


class Room:
    """An agent with a mind that the test plays, in a space with Husam."""

    def __init__(self, kit: Kit, mind: Mind, config: AgentConfig | None = None, *, furnished: bool = False) -> None:
        """`furnished` when all of them are there already."""
        self.kit = kit
        self.store = kit.store
        self.model = Played(mind)
        self.frames: list[Frame] = []
        self.means: CycleDeps = means(self.store, self.model, self.frames.extend)
        if furnished:
            return
        self.store.call(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        self.store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        self.store.call(agents.make_resident, EntitySpec(name="ana", kind=EntityKind.AGENT), config or AgentConfig())
        self.store.call(spaces.create, name="room", members=["husam", "ana"])

    def push(self, content: str, priority: Priority = Priority.NORMAL) -> str:
        return self.store.call(push.push_event, Push(to="ana", source="test", content=content, priority=priority)).event

    async def cycle(self) -> CycleOutcome | None:
        taken = await self.store.run(run_journal.take_run, "ana", "here")
        return await think(self.means, taken) if taken else None

    async def cycles(self, most: int = 200) -> int:
        """Think until there is nothing more to think about, resting as long as it takes; return how many cycles."""
        for count in range(most):
            match await self.cycle():
                case None:
                    return count
                case CyclePaused(seconds):
                    self.kit.clock.advance(int(seconds * SECOND) + 1)
                case CycleFinished():
                    pass
        raise AssertionError("it never comes to an end")

    def said(self) -> list[str]:
        return [one.content for one in self.store.query(spaces.read, "room") if one.sender == "ana"]

    def states(self) -> dict[str, ItemState]:
        return {item.event.content: item.state for item in self.store.query(inbox.page, "ana", limit=1_000)}

    def runs(self) -> list[RunStatus]:
        return [run.status for run in self.store.query(runs.page, agent="ana", limit=1_000)][::-1]
