"""
What requests may say. Unknown fields are refused, so that a misspelt one is not silently ignored. Where the domain has
a limit of its own, the schema only tells it (`told`): so whoever exceeds it hears the same without a gateway.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gatepost.core import address

_EVENT: Final = "evt_01a1e0dff6957124bd721ac983205d33"
_CLAIM: Final = "clm_01a1e0dff6957124bd721ac983205d33"


def told(description: str | None = None, **limits: int) -> Any:
    """A field with limits that the domain keeps."""
    return Field(description=description, json_schema_extra={**limits})


NewName = Annotated[str, told(minLength=1, maxLength=address.MAX_NAME_LENGTH)]
Name = Annotated[str, told(minLength=1, maxLength=address.MAX_ALIAS_LENGTH)]
Limit = Annotated[int, Field(ge=1, le=1000, description="how many at most")]
Budget = Annotated[int, Field(ge=600, le=4_000_000, description="how many UTF-8 bytes at most")]


class Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)

    def document(self) -> dict[str, Any]:
        """What was sent, and the defaults of what was not."""
        return self.model_dump(by_alias=True, mode="json")


def example(**fields: Any) -> ConfigDict:
    """What a body may look like, for the OpenAPI."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Drain(Body):
    model_config = example(limit=20, session="session-1")

    limit: Limit = 20
    budget: Budget = 9_000
    session: Annotated[str | None, Field(min_length=1, max_length=200)] = None


class ClaimWish(Body):
    model_config = example(owner="session-1", limit=20, hold="5m")

    owner: Annotated[str, Field(min_length=1, max_length=200)]
    limit: Limit = 20
    budget: Budget = 9_000
    hold: Annotated[str | None, Field(description="how long it is held, unless it is acked or released")] = None


class Held(Body):
    model_config = example(claimId=_CLAIM, owner="session-1", fence=1)

    claim_id: str
    owner: str
    fence: Annotated[int, Field(ge=0, le=2**62)]


class Release(Held):
    model_config = example(claimId=_CLAIM, owner="session-1", fence=1, failed=[_EVENT])

    failed: Annotated[
        list[str], Field(max_length=1000, description="events that failed of their own: it is counted against them")
    ] = []


class About(Body):
    """Which recipient of an event is meant; without it, all of them."""

    model_config = example(name="analyst")

    name: str | None = None


class SeenBody(Body):
    model_config = example(events=[_EVENT])

    events: Annotated[list[str], Field(min_length=1, max_length=1000)]
