"""Who there is: agents, people and services."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import quote

from gatepost.client.line import Line
from gatepost.core import address, unwire
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.session import GuestSession


class People:
    _line: Line

    async def register(
        self,
        name: str,
        kind: EntityKind,
        *,
        display: str | None = None,
        team: str | None = None,
        role: str | None = None,
        owner: str | None = None,
        aliases: Sequence[str] = (),
    ) -> Entity:
        """Add somebody, who has an inbox from now on."""
        body = {
            "name": address.check_name(name),
            "kind": kind.value,
            "displayName": display,
            "team": team,
            "role": role,
            "owner": owner,
            "aliases": list(aliases),
        }
        return unwire.read_entity(await self._line.write("POST", "/api/entities", body))

    async def entity(self, name: str) -> Entity:
        return unwire.read_entity(await self._line.get(f"/api/entities/{address.check_entity_address(name)}"))

    async def session(self, id: str) -> GuestSession:
        """A session of a guest: whose it is, and what it is doing."""
        return unwire.read_session(await self._line.get(f"/api/sessions/{quote(id, safe='')}"))

    def entities(
        self,
        *,
        kind: EntityKind | None = None,
        team: str | None = None,
        retired: bool = False,
        limit: int | None = None,
    ) -> AsyncIterator[Entity]:
        """Entities in order of registration."""
        query = {"kind": kind.value if kind else None, "team": team, "retired": retired or None}
        return self._line.all("/api/entities", unwire.read_entity, limit=limit, **query)

    async def change(self, name: str, **changes: str | None) -> Entity:
        """Change `display`, `team`, `role` or `owner`; None takes it away, and what is left out stays."""
        body = {"displayName" if field == "display" else field: value for field, value in changes.items()}
        return unwire.read_entity(
            await self._line.write("PATCH", f"/api/entities/{address.check_entity_address(name)}", body)
        )

    async def retire(self, name: str) -> Entity:
        """Let somebody receive nothing from now on; what they have stays."""
        return unwire.read_entity(
            await self._line.write("DELETE", f"/api/entities/{address.check_entity_address(name)}")
        )

    async def wake(self, name: str) -> None:
        """Let an agent look at its inbox."""
        await self._line.repeat("POST", f"/api/agents/{address.check_entity_address(name)}/wake")
