"""Decisions."""

from collections.abc import AsyncIterator
from urllib.parse import urlencode

from gatepost.client.line import Line
from gatepost.core import ids, unwire, wire
from gatepost.core.decision import AnswerSpec, Decision, Question
from gatepost.core.times import Instant, format_rfc3339


class Decisions:
    _line: Line

    async def ask(self, question: Question, *, by: str | None = None) -> Decision:
        """Ask for a decision as somebody; a gate keeps them from stopping until it is answered."""
        body = wire.QUESTION.write(question) | {
            "of": list(question.respondents),
            "session": question.session,
            "asker": by,
        }
        return unwire.read_decision(await self._line.write("POST", "/api/decisions", body))

    async def decision(self, id: str) -> Decision:
        return unwire.read_decision(await self._line.get(_at(id)))

    def decisions(
        self,
        *,
        asker: str | None = None,
        asked: str | None = None,
        session: str | None = None,
        pending: bool | None = None,
        since: Instant | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Decision]:
        """Decisions in the order they were asked; with `since`, those that were answered since then."""
        return self._line.all(
            "/api/decisions",
            unwire.read_decision,
            limit=limit,
            asker=asker,
            asked=asked,
            session=session,
            pending=pending,
            since=format_rfc3339(since) if since is not None else None,
        )

    async def answer(self, id: str, reply: AnswerSpec, *, by: str | None = None) -> Decision:
        """Answer a decision. The first answer counts; a later one is `Late`, which says who answered what."""
        body = wire.ANSWER_SPEC.write(reply) | {"by": by}
        return unwire.read_decision(await self._line.write("PUT", f"{_at(id)}/answer", body))

    async def revise(self, id: str, question: Question, *, by: str | None = None) -> Decision:
        """Ask anew what was sent back."""
        body = wire.QUESTION.write(question) | {"asker": by}
        return unwire.read_decision(await self._line.write("PUT", f"{_at(id)}/question", body))

    async def withdraw_decision(self, id: str, *, by: str | None = None, reason: str = "") -> Decision:
        """Say that a question need not be answered any more."""
        query = urlencode({"reason": reason} | ({"by": by} if by is not None else {}))
        return unwire.read_decision(await self._line.write("DELETE", f"{_at(id)}?{query}"))


def _at(id: str) -> str:
    return f"/api/decisions/{ids.check('dec', id)}"
