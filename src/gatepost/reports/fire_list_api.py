"""The fires of plans and cron triggers: the next ones are computed, the past ones are remembered for a time."""

from typing import Annotated

from msgspec import Meta

from gatepost.errors import NotFound
from gatepost.inbox.event import ItemState
from gatepost.operations.access import ActAs, Anybody
from gatepost.operations.fields import Cursor, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read
from gatepost.reports.fire_list import Fire, FireKind, PastFire

#: the group of these operations in OpenAPI
TAG = "fires"


class FireView(RecordView[Fire]):
    at: Annotated[Time, describe("when it is due; a time that has passed is due now")]
    kind: FireKind
    id: Annotated[str, describe("the id of a plan, or the name of a trigger")]
    name: str
    owner: Annotated[str, describe("who gets the event of a plan; the address that owns a trigger")]
    recurring: Annotated[bool, Source("is_recurring")]
    heartbeat: Annotated[bool, describe("whether it fires only if there is something to do"), Source("is_heartbeat")]


class FirePage(Page[FireView]):
    pass


class PastFireView(RecordView[PastFire]):
    due_at: Annotated[Time | None, describe("the slot")]
    fired_at: Time
    event_id: Annotated[str, Source("event")]
    recipient: str
    state: ItemState
    ended_at: Time | None


class PastFirePage(Page[PastFireView]):
    pass


@read("GET /api/fires", access=ActAs("owner"), errors=(NotFound,))
class ListFires(Request[FirePage]):
    """List when the plans and the cron triggers of the caller fire next; for the administrator all, or an owner's."""

    owner: Annotated[str | None, describe("only plans and triggers of this owner")] = None
    within: Annotated[str, Meta(max_length=30, description="how far to look ahead", examples=["1d"])] = "1d"
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/plans/{id}/fires", access=Anybody(), errors=(NotFound,))
class ListPlanFires(Request[PastFirePage]):
    """List when a plan of the caller has fired, the newest first; the administrator sees all."""

    id: str
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/triggers/{name}/fires", access=Anybody(), errors=(NotFound,))
class ListTriggerFires(Request[PastFirePage]):
    """List when a cron trigger has fired, the newest first, to its owners and the administrator."""

    name: str
    after: Cursor = None
    limit: Limit = 100
