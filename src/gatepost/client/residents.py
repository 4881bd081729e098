"""Residents: what they are told to be, what they did, and what they have in mind."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gatepost.client.line import Line, Ready
from gatepost.core import address, ids, unwire
from gatepost.core.agent import Resident
from gatepost.core.entity import Entity
from gatepost.core.event import Json
from gatepost.core.memory import Goal, Memory
from gatepost.core.mind import MindSummaries, Turn
from gatepost.core.run import OpenCall, Run, RunStatus, Step


@dataclass(frozen=True, slots=True)
class Mind:
    """What a resident has in mind: what it carries of old cycles, and the turns of the later ones."""

    carried: MindSummaries
    turns: tuple[Turn, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """A past run, and what another model would have said and done."""

    model: str
    original: list[Step]
    replayed: list[Turn]
    same: bool


class Residents:
    _line: Line

    async def settle(
        self,
        name: str,
        config: Mapping[str, Any],
        *,
        display: str | None = None,
        team: str | None = None,
        role: str | None = None,
        owner: str | None = None,
        aliases: Sequence[str] = (),
    ) -> Resident:
        """Register an agent that lives there. The configuration has the fields of HTTP: `model`, `instructions`, ..."""
        body = {
            "name": address.check_name(name),
            "displayName": display,
            "team": team,
            "role": role,
            "owner": owner,
            "aliases": list(aliases),
            "model": "demo",
            **config,
        }
        return _resident(await self._line.write("POST", "/api/agents", body))

    async def agent(self, name: str) -> tuple[Entity, Resident | None]:
        """An agent and, if it is a resident, what it is told to be, with its secrets masked."""
        document = await self._line.get(_at(name))
        return unwire.read_entity(document), unwire.read_resident(document)

    async def change_agent(self, name: str, fields: Mapping[str, Any]) -> tuple[Entity, Resident | None]:
        """
        Change fields of an agent (`displayName`, `team`, `role`, `owner`) and of its configuration, each as a whole;
        None sets one back. A guest that is given a configuration becomes a resident.
        """
        document = await self._line.write("PATCH", _at(name), dict(fields))
        return unwire.read_entity(document), unwire.read_resident(document)

    async def pause(self, name: str) -> Resident:
        """Let a resident begin nothing from now on."""
        return _resident(await self._line.write("POST", f"{_at(name)}/pause"))

    async def resume(self, name: str) -> Resident:
        """Let a resident go on with whatever waits."""
        return _resident(await self._line.write("POST", f"{_at(name)}/resume"))

    async def mind(self, name: str) -> Mind:
        """What a resident would begin its next cycle with."""
        document = await self._line.get(f"{_at(name)}/mind")
        return Mind(*unwire.read_mind(document), document["tokens"])

    async def memories(self, name: str) -> list[Memory]:
        return [each async for each in self._line.all(f"{_at(name)}/memories", unwire.read_memory)]

    async def goals(self, name: str) -> list[Goal]:
        return [unwire.read_goal(each) for each in (await self._line.get(f"{_at(name)}/goals"))["items"]]

    def runs(
        self, *, agent: str | None = None, status: RunStatus | None = None, limit: int | None = None
    ) -> AsyncIterator[Run]:
        """Runs, the newest first."""
        wanted = status.value if status else None
        return self._line.all("/api/runs", unwire.read_run, limit=limit, agent=agent, status=wanted)

    async def run(self, id: str) -> Run:
        return unwire.read_run(await self._line.get(_run(id)))

    async def calls(self, id: str) -> list[OpenCall]:
        """The calls of a run that somebody outside answers, or has answered."""
        return [unwire.read_call(each) for each in (await self._line.get(_run(id)))["calls"]]

    async def steps(self, id: str) -> list[Step]:
        """What was shown, said and done in a run, in order."""
        return [each async for each in self._line.all(f"{_run(id)}/steps", unwire.read_step)]

    async def watch_run(self, id: str, *, ready: Ready | None = None) -> AsyncGenerator[Step]:
        """The steps of a run as they are committed, from the first on, until it has ended."""
        async with aclosing(self._line.stream(f"{_run(id)}/stream", ready=ready)) as stream:
            async for what in stream:
                if what.event == "run.step":
                    yield unwire.read_step(what.data)
                elif what.event.removeprefix("run.") in _ENDED:
                    return

    async def answer_call(self, run: str, call: str, result: Json) -> OpenCall:
        """Give the result of a call that a run waits for."""
        body = {"callId": call, "result": result}
        return unwire.read_call(await self._line.write("POST", f"{_run(run)}/tool-results", body))

    async def cancel(self, id: str) -> Run:
        """Stop a run; what it has done stays done."""
        return unwire.read_run(await self._line.write("POST", f"{_run(id)}/cancel"))

    async def replay_run(self, id: str, model: str) -> Replayed:
        """What another model would have said and done in a past run; nothing is done."""
        document = await self._line.repeat("POST", f"{_run(id)}/replay", {"model": model})
        return Replayed(
            document["model"],
            [unwire.read_step(each) for each in document["original"]],
            [unwire.read_turn(each) for each in document["replayed"]],
            document["same"],
        )


_ENDED = frozenset(status.value for status in RunStatus if status not in (RunStatus.RUNNING, RunStatus.WAITING_TOOL))


def _resident(document: Any) -> Resident:
    found = unwire.read_resident(document)
    assert found is not None
    return found


def _at(name: str) -> str:
    return f"/api/agents/{address.check_entity_address(name)}"


def _run(id: str) -> str:
    return f"/api/runs/{ids.check('run', id)}"
