"""One inbox for every agent, and gates that say when it may stop."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gatepost.embedded import Gatepost
    from gatepost.inbox.event import (
        Answered,
        GateEnd,
        Mailed,
        Noted,
        Notified,
        PlanDue,
        Posted,
        PromptReceived,
        ServiceCalled,
        ToolReturned,
    )

__all__ = [
    "Answered",
    "GateEnd",
    "Gatepost",
    "Mailed",
    "Noted",
    "Notified",
    "PlanDue",
    "Posted",
    "PromptReceived",
    "ServiceCalled",
    "ToolReturned",
]


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first used: a hook of a guest has to start fast."""
    if name not in __all__:
        raise AttributeError(f"module 'gatepost' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("gatepost.embedded" if name == "Gatepost" else "gatepost.inbox.event"), name)
