"""
Claude's channel: the server nudges an idle guest session, and a permission prompt can be answered elsewhere.

    notifications/claude/channel                        to the host: something came in
    notifications/claude/channel/permission_request     from the host: may this tool run?
    notifications/claude/channel/permission             to the host: allow, or deny

A nudge says how many items are pending and what they are about, and no more: the hooks of the guest session, or
`drain_inbox`, bring the items themselves. An item that does not wake its agent causes no nudge.

A permission prompt becomes a decision of the agent's owner. Whoever is first decides: the person at the terminal, or
the one who answers the decision. The host does not say that its prompt was answered there, so the decision ends after
some minutes, and when the session ends.

A host learns of the channel in `initialize` alone: these are capabilities of no revision of MCP.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal

import anyio
import anyio.abc
import structlog
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.types import Notification, NotificationParams
from pydantic import BaseModel, Field

from gatepost.core.signals import Topic
from gatepost.errors import GatepostError
from gatepost.gates.decision import DecisionStatus
from gatepost.gates.decision_api import AskDecision, DecisionView, OptionSpec, ShowDecision, WithdrawDecision
from gatepost.inbox.event_api import ItemView, RefSpec
from gatepost.inbox.event_rendering import quote, render_name
from gatepost.inbox.item_api import PeekInbox
from gatepost.mcp.server_port import ANYTHING, Context, Host, Peer

log = structlog.get_logger("gatepost.mcp")

_CHANNEL: Final = "claude/channel"
_PERMISSION: Final = "claude/channel/permission"
#: seconds after which the inbox, or a decision, is looked at again without a signal
_RECHECK_INTERVAL: Final = 10.0
#: pending items that are looked at, and those that a nudge names
_LIMIT: Final = 100
_NAMED: Final = 5
_SUBJECT_LENGTH: Final = 80
#: how long a permission prompt can be answered
_PROMPT_TIME: Final = "10m"
#: what the decision of a prompt is about
_PROMPT_REF: Final = "permission"
_QUESTION_LENGTH: Final = 500


class NudgeParams(NotificationParams):
    content: str
    meta_fields: dict[str, str] = Field(serialization_alias="meta")


class ChannelNudge(Notification[NudgeParams, Literal["notifications/claude/channel"]]):
    method: Literal["notifications/claude/channel"] = "notifications/claude/channel"
    params: NudgeParams


class PromptParams(NotificationParams):
    request_id: str = Field(alias="request_id")
    tool_name: str = Field(alias="tool_name")
    description: str = ""
    input_preview: str = Field(default="", alias="input_preview")


class VerdictParams(NotificationParams):
    request_id: str = Field(serialization_alias="request_id")
    behavior: Literal["allow", "deny"]


class PermissionVerdict(Notification[VerdictParams, Literal["notifications/claude/channel/permission"]]):
    method: Literal["notifications/claude/channel/permission"] = "notifications/claude/channel/permission"
    params: VerdictParams


class ClaudeChannel:
    """The channel of one server. `tasks` runs what outlives a notification."""

    def __init__(self, host: Host, *, relays_permissions: bool) -> None:
        self._host = host
        self._relays_permissions = relays_permissions
        self.tasks: anyio.abc.TaskGroup | None = None

    @property
    def capabilities(self) -> dict[str, dict[str, Any]]:
        names = [_CHANNEL, *([_PERMISSION] if self._relays_permissions else [])]
        return {name: {} for name in names}

    def register(self, server: Server[Any]) -> None:
        server.add_notification_handler("notifications/initialized", NotificationParams, self._on_initialized)
        if self._relays_permissions:
            server.add_notification_handler(
                "notifications/claude/channel/permission_request", PromptParams, self._on_prompt
            )

    async def _on_initialized(self, context: Context, _params: NotificationParams) -> None:
        assert self.tasks is not None
        self.tasks.start_soon(self._nudge, context)

    async def _nudge(self, context: Context) -> None:
        """Nudge the guest session whenever there are pending items that it was not nudged for."""
        seen_ids: set[str] = set()

        async def look(peer: Peer) -> bool:
            nonlocal seen_ids
            items = (await peer.send(PeekInbox(name=peer.name, limit=_LIMIT))).items
            new_items = [item for item in items if item.event_id not in seen_ids and _is_worth_a_nudge(item)]
            seen_ids = {item.event_id for item in items}
            if new_items:
                await _send(context.session, _build_nudge(new_items, len(items)))
            return False

        await self._follow(context, Topic("inbox"), look)

    async def _on_prompt(self, context: Context, params: PromptParams) -> None:
        assert self.tasks is not None
        self.tasks.start_soon(self._relay, context, params)

    async def _relay(self, context: Context, params: PromptParams) -> None:
        """Ask the owner of the agent, and send the answer to the host."""
        try:
            peer = await self._host.identify(context)
            with anyio.CancelScope(shield=True):  # a session that ends now has asked all the same, and withdraws below
                decision = await peer.send(_build_question(params))
        except GatepostError as error:
            log.warning("a permission prompt was not relayed", tool=params.tool_name, reason=error.message)
            return

        async def look(peer: Peer) -> bool:
            nonlocal decision
            decision = await peer.send(ShowDecision(id=decision.id))
            return decision.status is not DecisionStatus.PENDING

        try:
            await self._follow(context, Topic("decision", decision.id), look)
            if (behavior := _get_behavior(decision)) is not None:
                verdict = VerdictParams(request_id=params.request_id, behavior=behavior)
                await _send(context.session, PermissionVerdict(params=verdict))
        finally:
            if decision.status in (DecisionStatus.PENDING, DecisionStatus.REVISING):
                with anyio.CancelScope(shield=True), suppress(GatepostError):
                    await peer.send(WithdrawDecision(id=decision.id, reason="the session has ended"))

    async def _follow(self, context: Context, topic: Topic, look: Callable[[Peer], Awaitable[bool]]) -> None:
        """Look now, and whenever something of a topic may have changed, until `look` returns True."""
        changed = anyio.Event()

        def listen(changed_topic: Topic) -> None:
            if changed_topic == ANYTHING or topic.includes(changed_topic):
                changed.set()

        with self._host.subscribe(listen):
            while not self._host.stopping.is_set():
                changed = anyio.Event()
                try:
                    if await look(await self._host.identify(context)):
                        return
                except GatepostError as error:
                    log.info("the channel waits", reason=error.message)
                with anyio.move_on_after(_RECHECK_INTERVAL):
                    await changed.wait()


async def _send(session: ServerSession, notification: BaseModel) -> None:
    outgoing: Any = notification  # the SDK knows the notifications of MCP only
    await session.send_notification(outgoing)


def _is_worth_a_nudge(item: ItemView) -> bool:
    """Whether an item wakes its agent; the answer to a permission prompt reaches the host by itself."""
    return item.wakes and not (item.ref is not None and item.ref.type == _PROMPT_REF)


def _build_nudge(new_items: Sequence[ItemView], pending_count: int) -> ChannelNudge:
    count = len(new_items)
    pending = f"{pending_count}{'+' if pending_count >= _LIMIT else ''}"
    names = [_name_item(item) for item in new_items[:_NAMED]]
    names += [f"{count - _NAMED} more"] if count > _NAMED else []
    noun = "item" if count == 1 else "items"
    content = f"{count} new {noun} in your inbox, {pending} pending: {'; '.join(names)}. Call drain_inbox to read."
    return ChannelNudge(
        params=NudgeParams(content=content, meta_fields={"new": str(count), "pending": str(pending_count)})
    )


def _name_item(item: ItemView) -> str:
    """Return what an item is about, in words of its sender that cannot be more than that."""
    by = f" from {render_name(item.sender)}" if item.sender else ""
    subject = f" {quote(item.subject[:_SUBJECT_LENGTH])}" if item.subject else ""
    return f"{item.type}{by}{subject}"


def _build_question(params: PromptParams) -> AskDecision:
    text = f"May {params.tool_name} run? {params.description}".strip()
    return AskDecision(
        question=text[:_QUESTION_LENGTH],
        options=(OptionSpec(id="allow", label="Allow"), OptionSpec(id="deny", label="Deny")),
        urgency=1,
        within=_PROMPT_TIME,
        context=params.input_preview or None,
        ref=RefSpec(type=_PROMPT_REF, id=params.request_id),
    )


def _get_behavior(decision: DecisionView) -> Literal["allow", "deny"] | None:
    """Return what was answered; None if the decision ended in another way."""
    match decision.answer and decision.answer.option:
        case "allow":
            return "allow"
        case "deny":
            return "deny"
        case _:
            return None
