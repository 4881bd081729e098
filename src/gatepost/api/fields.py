"""Types of fields that several nouns have."""

from typing import Annotated, Any, Final, Self

from msgspec import Meta

from gatepost.api.operation import RequestPart, View
from gatepost.core import address
from gatepost.core.event import Ref

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, examples=["2026-02-18T15:07:00.123456Z"])]
Count = Annotated[int, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1, le=1000, description="how many at most")]
After = Annotated[int, Meta(ge=0, le=2**62, description="`next` of the page before")]
Seq = Annotated[int, Meta(ge=0, le=2**62)]
Priority = Annotated[int, Meta(ge=0, le=4)]
Json = Any

EVENT_ID: Final = "evt_01a1e0dff6957124bd721ac983205d33"
CLAIM_ID: Final = "clm_01a1e0dff6957124bd721ac983205d33"


def describe(text: str | None = None, **limits: Any) -> Meta:
    """Return a description, and limits that a verb checks: the schema only says them."""
    return Meta(description=text, extra_json_schema=limits or None)


#: the name of something that is created now
NewName = Annotated[str, describe(minLength=1, maxLength=address.MAX_NAME_LENGTH)]
#: a name or an alias
Name = Annotated[str, describe(minLength=1, maxLength=address.MAX_ALIAS_LENGTH)]
#: whom the request acts for
Actor = Annotated[str | None, describe("the caller itself, where that can be nobody else")]


class RefSpec(RequestPart):
    """A subject in another system."""

    type: str
    id: str


class RefView(View):
    """A subject in another system."""

    type: str
    id: str

    @classmethod
    def of(cls, ref: Ref) -> Self:
        return cls(type=ref.type, id=ref.id)
