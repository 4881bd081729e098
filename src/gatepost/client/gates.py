"""Gates."""

from collections.abc import AsyncIterator

from gatepost.client.line import Line
from gatepost.core import address, ids, unwire, wire
from gatepost.core.gate import Gate, GateKind, GateSpec


class Gates:
    _line: Line

    async def add_gate(self, wish: GateSpec, *, by: str | None = None) -> Gate:
        """Make a gate, which keeps its owner from stopping."""
        body = wire.GATE_SPEC.write(wish) | {"madeBy": by}
        return unwire.read_gate(await self._line.write("POST", "/api/gates", body))

    async def gate(self, id: str) -> Gate:
        return unwire.read_gate(await self._line.get(_at(id)))

    def gates(
        self,
        *,
        owner: str | None = None,
        waiter: str | None = None,
        kind: GateKind | None = None,
        pending: bool | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Gate]:
        """Gates in the order they were made."""
        wanted = kind.value if kind else None
        return self._line.all(
            "/api/gates", unwire.read_gate, limit=limit, owner=owner, waiter=waiter, kind=wanted, pending=pending
        )

    async def resolve_gate(self, id: str, *, by: str | None = None, reason: str = "") -> Gate:
        """Say that what a gate waits for has come; one that has ended before is `Late`, which says how."""
        return await self._end(id, {"reason": reason, "by": by})

    async def withdraw_gate(self, id: str, *, by: str | None = None, reason: str = "") -> Gate:
        """Say that a gate is not needed any more."""
        return await self._end(id, {"reason": reason, "by": by, "withdraw": True})

    async def add_waiter(self, id: str, name: str, *, by: str | None = None) -> Gate:
        """Let somebody be told when a gate ends."""
        body = {"name": address.check_entity_address(name), "by": by}
        return unwire.read_gate(await self._line.write("POST", f"{_at(id)}/waiters", body))

    async def _end(self, id: str, body: dict[str, object]) -> Gate:
        return unwire.read_gate(await self._line.write("PUT", f"{_at(id)}/resolution", body))


def _at(id: str) -> str:
    return f"/api/gates/{ids.check('gate', id)}"
