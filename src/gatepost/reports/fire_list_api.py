"""
The fires of plans and triggers: when they will be due, and when they were.

    next    computed: from the slot that is stored, by the schedule
    past    stored: each fire, and each delivery of a webhook, made an event, whose dedup key begins with its plan or
            trigger, and is remembered for a time
"""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from gatepost.channels.triggers.trigger import TriggerSchedule
from gatepost.core.times import Instant
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.event import ItemState
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import Cursor, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read
from gatepost.plans.cron import Cron

#: the group of these operations in OpenAPI
TAG = "fires"


class FireKind(StrEnum):
    PLAN = "plan"
    TRIGGER = "trigger"


class Fire(Struct, frozen=True, kw_only=True):
    """A time at which a plan or a trigger will be due."""

    at: Instant
    kind: FireKind
    #: the id of a plan, the name of a trigger
    id: str
    name: str
    #: the entity that gets the event of a plan; the address that owns a trigger
    owner: str
    is_recurring: bool
    #: whether it fires only if its target has something to do
    is_heartbeat: bool = False

    @property
    def position(self) -> "FirePosition":
        return self.at, self.kind.value, self.id


#: where a fire is in the order of all
FirePosition = tuple[Instant, str, str]
START: Final[FirePosition] = (0, "", "")


class Recurrence(Struct, frozen=True, kw_only=True):
    """The next fire of a plan or a trigger, and what says when the others are; None if there is only one."""

    first: Fire
    schedule: Cron | TriggerSchedule | None = None
    #: intervals of a trigger count from this time
    since: Instant = 0

    def find_next(self, after: Instant) -> Instant | None:
        """Return the first slot after an instant. A time zone that this machine does not know has none."""
        try:
            if isinstance(self.schedule, TriggerSchedule):
                return self.schedule.find_next(after, since=self.since)
            return self.schedule.find_next(after) if self.schedule is not None else None
        except Invalid:
            return None


class PastFire(Struct, frozen=True, kw_only=True):
    """A slot that has fired, or a delivery, for one recipient of its event."""

    #: the slot; None of a delivery
    due_at: Instant | None
    fired_at: Instant
    event: str
    recipient: str
    state: ItemState
    ended_at: Instant | None
    subject: str | None
    #: its beginning
    content: str
    #: the arrival of the event and the number of the recipient
    position: tuple[int, int]


class FireView(RecordView[Fire]):
    at: Annotated[Time, describe("when it is due; a time that has passed is due now")]
    kind: FireKind
    id: Annotated[str, describe("the id of a plan, or the name of a trigger")]
    name: str
    owner: Annotated[str, describe("who gets the event of a plan; the address that owns a trigger")]
    recurring: Annotated[bool, Source("is_recurring")]
    heartbeat: Annotated[bool, describe("whether it fires only if there is something to do"), Source("is_heartbeat")]


class PastFireView(RecordView[PastFire]):
    due_at: Annotated[Time | None, describe("the slot; null of a delivery")]
    fired_at: Time
    event_id: Annotated[str, Source("event")]
    recipient: str
    state: ItemState
    ended_at: Time | None
    subject: str | None
    content: Annotated[str, describe("its first 200 characters, or those of its payload")]


@read("GET /api/fires", access=ActAs("owner"), errors=(NotFound,))
class ListFires(Request[Page[FireView]]):
    """List when the plans and the cron triggers of the caller fire next; for the administrator all, or an owner's."""

    owner: Annotated[str | None, describe("only plans and triggers of this owner")] = None
    within: Annotated[str, Meta(max_length=30, description="how far to look ahead", examples=["1d"])] = "1d"
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/plans/{id}/fires", access=AnyEntity())
class ListPlanFires(Request[Page[PastFireView]]):
    """List when a plan of the caller has fired, the newest first; the administrator sees all."""

    id: str
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/triggers/{name}/fires", access=AnyEntity())
class ListTriggerFires(Request[Page[PastFireView]]):
    """
    List the fires of a cron trigger, or the deliveries of a webhook, the newest first, and what became of them, to its
    owners and the administrator. What people write to a bot is in the shared inbox.
    """

    name: str
    after: Cursor = None
    limit: Limit = 100
