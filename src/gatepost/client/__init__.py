"""
Clients: send any request of `gatepost.api` and get its answer.

    Client         over HTTP, from an event loop
    SyncClient     over HTTP, without one
    LocalClient    on a store in this process, without a gateway

All have `send`, `push_many`, `list_all`, `work`, `stream` and `events`. It imports what stands before it, and no
gateway. Start with `request_retries.py`, which says when a request is repeated.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gatepost.client.async_client import Client
    from gatepost.client.local_client import LocalClient
    from gatepost.client.sync_client import SyncClient

__all__ = ["Client", "LocalClient", "SyncClient"]

_MODULES = {"Client": "async_client", "LocalClient": "local_client", "SyncClient": "sync_client"}


def __getattr__(name: str) -> "Any":
    """Import a client when it is first used: a command needs one of them, and the HTTP library is slow to import."""
    if name not in _MODULES:
        raise AttributeError(f"module 'gatepost.client' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"gatepost.client.{_MODULES[name]}"), name)
