"""Spaces, and what is said in them."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

from gatepost.client.line import Line, Ready
from gatepost.core import address, unwire
from gatepost.core import space as rules
from gatepost.core.event import Json
from gatepost.core.space import Member, Message, Space


class Spaces:
    _line: Line

    async def create_space(self, name: str, *, id: str | None = None, members: Sequence[str] = ()) -> Space:
        """Make a space; without an id it has the one its name suggests."""
        body = {"name": rules.check_title(name), "id": id, "members": list(members)}
        return unwire.read_space(await self._line.write("POST", "/api/spaces", body))

    async def space(self, id: str) -> Space:
        return unwire.read_space(await self._line.get(_at(id)))

    def spaces(self, *, member: str | None = None, limit: int | None = None) -> AsyncIterator[Space]:
        """The spaces of a member, or all that the caller may see."""
        return self._line.all("/api/spaces", unwire.read_space, limit=limit, member=member)

    async def rename_space(self, id: str, name: str) -> Space:
        """Change the title; the id stays."""
        return unwire.read_space(await self._line.write("PATCH", _at(id), {"name": rules.check_title(name)}))

    async def archive_space(self, id: str) -> Space:
        """Let nothing more be said; its members may still read it."""
        return unwire.read_space(await self._line.write("DELETE", _at(id)))

    async def members(self, id: str) -> list[Member]:
        return [unwire.read_member(each) for each in (await self._line.get(f"{_at(id)}/members"))["items"]]

    async def join(self, id: str, name: str) -> Member:
        body = {"name": address.check_entity_address(name)}
        return unwire.read_member(await self._line.write("POST", f"{_at(id)}/members", body))

    async def leave(self, id: str, name: str) -> None:
        await self._line.write("DELETE", f"{_at(id)}/members/{address.check_entity_address(name)}")

    async def post(
        self, id: str, content: str, *, sender: str | None = None, data: Json = None, key: str | None = None
    ) -> Message:
        """Say something in a space, once; with a `key` also if it is said again."""
        body = {"content": content, "sender": sender, "data": data}
        return unwire.read_message(await self._line.write("POST", f"{_at(id)}/messages", body, key=key))

    async def read(
        self,
        id: str,
        *,
        member: str | None = None,
        after_seq: int | None = None,
        before_seq: int | None = None,
        limit: int = 50,
    ) -> list[Message]:
        """Messages, oldest first: after a number, before one, or the last ones; at most 1,000."""
        messages: list[Message] = []
        while True:
            query = {"member": member, "afterSeq": after_seq, "beforeSeq": before_seq, "limit": limit - len(messages)}
            answer = await self._line.get(f"{_at(id)}/messages", **query)
            found = [unwire.read_message(each) for each in answer["items"]]
            messages = messages + found if after_seq is not None else found + messages
            if answer["next"] is None or len(messages) >= limit:
                return messages
            if after_seq is not None:
                after_seq = int(answer["next"])
            else:
                before_seq = int(answer["next"])

    async def mark_read(self, id: str, seq: int, *, member: str | None = None) -> Member:
        """Note that a member has read up to a message; it never goes back."""
        body = {"seq": seq, "name": member}
        return unwire.read_member(await self._line.repeat("PATCH", f"{_at(id)}/read", body))

    async def watch_space(
        self, id: str, *, member: str | None = None, after: int | None = None, ready: Ready | None = None
    ) -> AsyncGenerator[Message]:
        """
        Messages as they are posted, or from a number on, for ever, across lost connections; `ready` is called when it
        has begun.
        """
        last = str(after) if after is not None else None
        async with aclosing(self._line.stream(f"{_at(id)}/stream", after=last, ready=ready, member=member)) as stream:
            async for what in stream:
                if what.event == "space.message":
                    yield unwire.read_message(what.data)


def _at(id: str) -> str:
    return f"/api/spaces/{rules.check_id(id)}"
