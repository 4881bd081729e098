"""Plans."""

from collections.abc import AsyncIterator

from gatepost.client.line import Line
from gatepost.core import ids, unwire
from gatepost.core.plan import Plan, PlanStatus


class Plans:
    _line: Line

    async def set_plan(
        self, *, id: str | None = None, owner: str | None = None, by: str | None = None, **fields: str
    ) -> Plan:
        """
        Make a plan or, with an id, change one. The fields are those of HTTP: `name`, `instruction`, `catchUp`, and one
        of `runAfter`, `scheduledAt`, `onGate` and `cron`, this with its `timeZone`.
        """
        if id is not None:
            return unwire.read_plan(await self._line.write("PATCH", _at(id), {**fields, "by": by}))
        return unwire.read_plan(await self._line.write("POST", "/api/plans", {**fields, "owner": owner, "by": by}))

    async def plan(self, id: str) -> Plan:
        return unwire.read_plan(await self._line.get(_at(id)))

    def plans(
        self, *, owner: str | None = None, status: PlanStatus | None = None, limit: int | None = None
    ) -> AsyncIterator[Plan]:
        """Plans in the order they were made."""
        wanted = status.value if status else None
        return self._line.all("/api/plans", unwire.read_plan, limit=limit, owner=owner, status=wanted)

    async def delete_plan(self, id: str) -> None:
        """Delete a plan: it fires no more."""
        await self._line.write("DELETE", _at(id))


def _at(id: str) -> str:
    return f"/api/plans/{ids.check('plan', id)}"
