"""What a person sees first: what waits for it, who is thinking, and what happened lately."""

from msgspec import Struct

from gatepost.core.times import Instant
from gatepost.gates.decision import Decision
from gatepost.inbox.event import Item
from gatepost.residents.runs.run import Run
from gatepost.residents.usage.usage import UsageGroup
from gatepost.spaces.space import Message


class ThinkingAgent(Struct, frozen=True, kw_only=True):
    """An agent with an open run."""

    agent: str
    display: str
    run: str
    cause: str
    started_at: Instant


class UnreadSpace(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    unread: int


class Waiting(Struct, frozen=True, kw_only=True):
    """What waits for an entity. Counts end at a limit, and lists have the first few."""

    decision_count: int
    decisions: tuple[Decision, ...]
    item_count: int
    items: tuple[Item, ...]
    alert_count: int
    alerts: tuple[Item, ...]
    spaces: tuple[UnreadSpace, ...]


class Recent(Struct, frozen=True, kw_only=True):
    """What happened since a time; lists have the last few, the newest first."""

    since: Instant
    usage: UsageGroup
    runs: tuple[Run, ...]
    message_count: int
    messages: tuple[Message, ...]
    decisions: tuple[Decision, ...]
