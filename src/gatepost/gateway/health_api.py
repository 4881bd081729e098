"""The health of a gateway, and its metrics."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, UnsetType

from gatepost.operations.access import Administrator, Public
from gatepost.operations.fields import describe
from gatepost.operations.operation import Request, View, read

#: the group of these operations in OpenAPI
TAG = "health"

_UNAVAILABLE: Final = {
    "description": "The store cannot be reached",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Health"}}},
}
_METRICS: Final = {
    "description": "Metrics in the text format of Prometheus",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}


class TransportView(View):
    name: str
    degraded: bool
    reason: str | None


class AccountingView(View):
    balanced: bool


class HealthView(View, kw_only=True):
    status: Literal["ok", "degraded", "unavailable"]
    live: bool
    ready: bool
    reason: str | UnsetType = UNSET
    version: str | UnsetType = UNSET
    accounting: AccountingView | UnsetType = UNSET
    lag_seconds: float | UnsetType = UNSET
    unrouted: Annotated[int | UnsetType, describe("messages from channels that nobody got")] = UNSET
    failing_channels: Annotated[
        int | UnsetType, describe("active bots that do not work; `gatepost channel list` says which, and why")
    ] = UNSET
    clock_skew_seconds: float | UnsetType = UNSET
    transport: TransportView


@read("GET /health", access=Public(), needs_gateway=True, responses={503: _UNAVAILABLE})
class ShowHealth(Request[HealthView]):
    """Show whether the gateway is live and ready, whether the accounts balance, and the age of the oldest item."""


@read("GET /metrics", access=Administrator(), needs_gateway=True, responses={200: _METRICS})
class ReadMetrics(Request[str]):
    """Read counts and times, in the text format of Prometheus."""
