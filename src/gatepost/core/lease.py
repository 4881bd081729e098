"""A lease: one holder at a time, for as long as it keeps saying that it is there."""

from msgspec import Struct

from gatepost.core.times import Instant


class Lease(Struct, frozen=True, kw_only=True):
    name: str
    holder: str
    #: higher than that of every holder before; whoever acts under a lease names it
    fence: int
    deadline: Instant


def name_agent_lease(agent: str) -> str:
    """The lease of whoever thinks for an agent."""
    return f"agent:{agent}"
