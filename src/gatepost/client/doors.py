"""How others get in: services that trigger agents, webhooks, and keys."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import quote

from gatepost.client.line import Line
from gatepost.core import address, unwire
from gatepost.core import key as key_rules
from gatepost.core.event import Json
from gatepost.core.key import Key
from gatepost.core.webhook import Scheme, Trigger, check_trigger_name


@dataclass(frozen=True, slots=True)
class MadeKey:
    key: Key
    #: shown this once
    secret: str = field(repr=False)


class Doors:
    _line: Line

    async def trigger(self, agent: str, service: str, payload: Json = None, *, key: str | None = None) -> str:
        """Tell an agent something as a service; return the id of the event, the same for the same `key`."""
        body = {"serviceName": service, "payload": payload}
        answer = await self._line.write(
            "POST", f"/api/agents/{address.check_entity_address(agent)}/trigger", body, key=key
        )
        return str(answer["eventId"])

    async def add_trigger(
        self,
        name: str,
        *,
        scheme: Scheme,
        secret: str,
        target: str,
        prompt: str | None = None,
        owner: str | None = None,
    ) -> Trigger:
        """Add a webhook, which is called at `/hooks/NAME`; its secret is never told again."""
        body = {
            "name": name,
            "scheme": scheme.value,
            "secret": secret,
            "target": target,
            "prompt": prompt,
            "owner": owner,
        }
        return unwire.read_trigger(await self._line.write("POST", "/api/triggers", body))

    def triggers(self, *, limit: int | None = None) -> AsyncIterator[Trigger]:
        """The webhooks there are."""
        return self._line.all("/api/triggers", unwire.read_trigger, limit=limit)

    async def show_trigger(self, name: str) -> Trigger:
        return unwire.read_trigger(await self._line.get(_trigger(name)))

    async def activate_trigger(self, name: str, active: bool) -> Trigger:
        """Open or close a webhook; closed, it answers as if it were not there."""
        return unwire.read_trigger(await self._line.write("PATCH", _trigger(name), {"active": active}))

    async def delete_trigger(self, name: str) -> None:
        await self._line.write("DELETE", _trigger(name))

    async def create_key(
        self, *, agent: str | None = None, trigger: str | None = None, public: bool = False, name: str = ""
    ) -> MadeKey:
        """Make a key: for one agent, for triggering one agent, public, or the administrator's."""
        body = {"agent": agent, "trigger": trigger, "public": public, "name": key_rules.check_name(name)}
        made = await self._line.ask("/api/keys", body)
        return MadeKey(unwire.read_key(made), made["key"])

    def keys(self, *, limit: int | None = None) -> AsyncIterator[Key]:
        """The keys there are and were, in the order in which they were made."""
        return self._line.all("/api/keys", unwire.read_key, limit=limit)

    async def revoke_key(self, id: str) -> Key:
        """Let a key, told by its id or prefix, be good for nothing from now on."""
        return unwire.read_key(
            await self._line.write("DELETE", f"/api/keys/{quote(key_rules.parse_reference(id), safe='')}")
        )


def _trigger(name: str) -> str:
    return f"/api/triggers/{check_trigger_name(name)}"
