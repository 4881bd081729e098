"""An agent with a mind that the test plays, one cycle at a time, on a clock that the test moves."""

import json
from collections.abc import AsyncGenerator, Callable

from gatepost.actions import agents, cycle, directory, inbox, intake, journal, spaces
from gatepost.actions.directory import Newcomer
from gatepost.core.agent import Config
from gatepost.core.entity import Kind
from gatepost.core.event import Priority, Push, State
from gatepost.core.frame import Frame
from gatepost.core.instants import SECOND
from gatepost.core.mind import Call, Prompt, Reply, Usage
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput
from gatepost.core.run import Status
from gatepost.runtime.cycle import Means, Outcome, Resting, Slept, think
from gatepost.testing import Kit
from tests.faults.thinker import means

#: what a model says, given what it is shown and how often it has replied in this cycle
Mind = Callable[[ChatRequest, int], Reply]


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
        if isinstance(turn, Reply):
            count += 1
        if isinstance(turn, Prompt) and turn.text.startswith("INBOX ("):
            return count
    return count


def use(tool: str, **arguments: object) -> Call:
    return Call(f"call-{tool}", tool, json.dumps(arguments))


def done(text: str = "Done.") -> Reply:
    return Reply(text, usage=Usage(10, 2), model="played")


def quiet(ask: ChatRequest, replies: int) -> Reply:
    return done()


class Room:
    """An agent with a mind that the test plays, in a space with Husam."""

    def __init__(self, kit: Kit, mind: Mind, config: Config | None = None, *, furnished: bool = False) -> None:
        """`furnished` when all of them are there already."""
        self.kit = kit
        self.store = kit.store
        self.model = Played(mind)
        self.frames: list[Frame] = []
        self.means: Means = means(self.store, self.model, self.frames.extend)
        if furnished:
            return
        self.store.call(directory.register, Newcomer(name="admin", kind=Kind.HUMAN))
        self.store.call(directory.register, Newcomer(name="husam", kind=Kind.HUMAN))
        self.store.call(agents.settle, Newcomer(name="ana", kind=Kind.AGENT), config or Config())
        self.store.call(spaces.create, name="room", members=["husam", "ana"])

    def push(self, content: str, priority: Priority = Priority.NORMAL) -> str:
        return self.store.call(intake.push, Push(to="ana", source="test", content=content, priority=priority)).event

    async def cycle(self) -> Outcome | None:
        taken = await self.store.run(cycle.take, "ana", "here")
        return await think(self.means, taken) if taken else None

    async def cycles(self, most: int = 200) -> int:
        """Think until there is nothing more to think about, resting as long as it takes; return how many cycles."""
        for count in range(most):
            match await self.cycle():
                case None:
                    return count
                case Resting(seconds):
                    self.kit.clock.advance(int(seconds * SECOND) + 1)
                case Slept():
                    pass
        raise AssertionError("it never comes to an end")

    def said(self) -> list[str]:
        return [one.content for one in self.store.query(spaces.read, "room") if one.sender == "ana"]

    def states(self) -> dict[str, State]:
        return {item.event.content: item.state for item in self.store.query(inbox.page, "ana", limit=1_000)}

    def runs(self) -> list[Status]:
        return [run.status for run in self.store.query(journal.page, agent="ana", limit=1_000)][::-1]
