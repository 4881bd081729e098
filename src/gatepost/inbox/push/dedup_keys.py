"""
Dedup keys: the owner of a key, and how the key is stored.

A repeat is found by the unique pair of recipient and stored key. So a caller who could use the stored key of another
caller first would make the other's later push vanish as a repeat. Therefore a key is stored with a prefix that names
its owner, and nobody chooses the prefix: it follows from the credential, or from the transport of the push.

    by:{entity}:{key}                      an agent's key, or a JWT: dedupKey and Idempotency-Key alike
    by:{agent}/trigger:{service}:{key}     a key that triggers this agent; all keys for one target are one caller
    redis:{eventId}                        a list in Redis
    nats:{eventId or dedup_key}            a subject of NATS
    {key}                                  the administrator (the command line, a program that embeds us, `--as`),
                                           signed webhooks (`svc:{trigger}:{delivery}`), and our own verbs

Why no two keys are confused: the name of an entity has neither `:` nor `/`, and the colons in the name of a service are
escaped, so the end of a prefix is never in doubt. A plain key never begins like a prefix, because `check` refuses that
from every caller: also from callers whose key gets a prefix anyway, because such a key can only be a stored key that
was copied by mistake, and would never be recognised as the intended repeat.

Plain keys are shared by all who act as the administrator. They may do anything here, and need no dedup key to make an
event vanish.

Stored keys are what everybody sees: in JSON, spools, exports and `Nats-Msg-Id`. An import takes stored keys as they
are, because only the administrator imports.
"""

import json
from typing import Final

from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import EventType, Push

#: characters of a key, without a prefix
MAX_LENGTH: Final = 512

REDIS: Final = "redis:"
NATS: Final = "nats:"
#: the prefixes of stored keys that are not plain
PREFIXES: Final = ("by:", REDIS, NATS)


def build_entity_prefix(name: str) -> str:
    """Return the prefix for pushes of an entity with its own credential."""
    return f"by:{name}:"


def build_trigger_prefix(agent: str, service: str) -> str:
    """Return the prefix for pushes of a service with a key that can only trigger this agent."""
    return f"by:{agent}/trigger:{escape(service)}:"


def escape(service: str) -> str:
    """Return the name of a service without colons. Different names stay different."""
    return service.replace("%", "%25").replace(":", "%3A")


def check(key: str) -> None:
    """Raise Invalid if a key from outside looks like a stored key with a prefix."""
    for prefix in PREFIXES:
        if key.startswith(prefix):
            raise Invalid(
                f"the dedup key {quote_value(key)} begins with {prefix!r}, a prefix that only Gatepost adds",
                hint="give the key without a prefix, or begin it otherwise",
            )


def build_key(push: Push) -> str | None:
    """Return the key of a push as it is stored; None if it is never a repeat. An alert always has a key."""
    key = build_alert_key(push) if push.dedup_key is None and push.type is EventType.ALERT else push.dedup_key
    return f"{push.key_prefix}{key}" if key is not None else None


def build_alert_key(push: Push) -> str:
    """
    Return the key of an alert that was pushed without one. The same alert again is a repeat while the first is
    pending. Alerts are the same if subject, content, data, reference and priority are equal: an alert that gets more
    urgent is another alert.
    """
    parts = [push.subject, push.content, push.data, str(push.ref) if push.ref else None, push.priority.value]
    text = json.dumps(parts, separators=(",", ":"))
    from hashlib import sha256  # most commands hash nothing, and must start fast

    return f"alert:{push.source}:{sha256(text.encode()).hexdigest()[:32]}"
