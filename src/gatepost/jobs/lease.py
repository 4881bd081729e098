"""A lease has one holder at a time, as long as the holder renews it."""

from msgspec import Struct

from gatepost.core.times import Instant


class Lease(Struct, frozen=True, kw_only=True):
    name: str
    holder: str
    #: higher than that of every earlier holder; every write under the lease gives it
    fence: int
    deadline: Instant


def name_agent_lease(agent: str) -> str:
    """Return the name of the lease under which a process runs the cycles of an agent."""
    return f"agent:{agent}"
