"""
The transports: how signals and events reach other processes, and how one is opened by its URL.

It imports `core` and the events of `inbox`. Start with `signal_bus.py`, through which all signals go.

The common parts of transports are written once: `codec` defines the messages on the wire, `reconnect` keeps a
connection open, and `server_transport` combines both with a send queue, for transports that talk to a server. Drivers
are imported when they are needed, because they are slow to import or not installed: then each function below raises
ImportError.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gatepost.core.ports import IntakeQueue, Subscription, Transport
    from gatepost.core.transport_records import TransportStatus


def open_transport(
    url: str, *, store_url: str, folder: "Path", on_change: "Callable[[TransportStatus], None] | None" = None
) -> "Transport":
    """Return a transport; `postgres:` goes through the database of the store, `socket:` through a folder."""
    match url.partition(":")[0]:
        case "memory":
            from gatepost.transports.memory import MemoryTransport

            return MemoryTransport()
        case "socket":
            from gatepost.transports.socket import SocketTransport

            return SocketTransport(folder, on_change=on_change)
        case "postgres":
            from gatepost.transports.postgres_notify import PostgresTransport

            return PostgresTransport(store_url, on_change=on_change)
        case "nats" | "tls":
            from gatepost.transports.nats import NatsTransport

            return NatsTransport(url, on_change=on_change)
        case "redis" | "rediss" | "unix":
            from gatepost.transports.redis import RedisTransport

            return RedisTransport(url, on_change=on_change)
        case scheme:
            raise ValueError(f"no transport has the scheme {scheme!r}")


def open_intake_queue(url: str) -> "IntakeQueue | None":
    """Return the queue in which other programs leave events; None if the transport has no such queue."""
    match url.partition(":")[0]:
        case "nats" | "tls":
            from gatepost.transports.jetstream import JetStreamIntakeQueue

            return JetStreamIntakeQueue(url)
        case "redis" | "rediss" | "unix":
            from gatepost.transports.redis import RedisIntakeQueue

            return RedisIntakeQueue(url)
        case _:
            return None


def open_subscription(url: str, agent: str) -> "Subscription | None":
    """Return the subscription of an agent's courier; None if the transport has no subscriptions."""
    match url.partition(":")[0]:
        case "nats" | "tls":
            from gatepost.transports.jetstream import JetStreamSubscription

            return JetStreamSubscription(url, agent)
        case "redis" | "rediss" | "unix":
            from gatepost.transports.redis import RedisSubscription

            return RedisSubscription(url, agent)
        case _:
            return None
