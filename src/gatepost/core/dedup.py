"""
Dedup keys: whose a key is, and how it is stored (I3).

A repeat is found by the unique pair of recipient and stored key. So whoever could use another's stored key first would
make what the other says later vanish as a repeat. Therefore a key is stored behind a prefix that says whose it is, and
nobody chooses the prefix: it follows from the credential, or from the road by which the key came.

    by:{entity}:{key}                      an agent's key, or a JWT: dedupKey and Idempotency-Key alike
    by:{agent}/trigger:{service}:{key}     a key that triggers this agent; all keys for one target are one caller
    redis:{eventId}                        a list in Redis
    nats:{eventId or dedup_key}            a subject of NATS
    {key}                                  the administrator (the command line, a program that embeds us, `--as`),
                                           signed webhooks (`svc:{trigger}:{delivery}`), and our own verbs

Why no two of them meet: a name of an entity has neither `:` nor `/`, and the colons of a service's name are written
otherwise, so where a prefix ends is never in doubt. A plain key never begins like a prefix, because `check` refuses
that from everybody: also from those whose key would stand behind a prefix anyway, since it can only be a stored key
that somebody copied by mistake, and would never be recognised as the repeat that they meant.

Plain keys are shared by those who may do anything here: whoever has the administrator's key needs no key of ours to
make something vanish.

What everybody sees is the stored key: JSON, spools, exports and `Nats-Msg-Id`. An import takes stored keys as they are,
because only the administrator imports.
"""

import json
from hashlib import sha256
from typing import Final

from gatepost.core.event import Push
from gatepost.errors import Invalid

#: characters of a key as it is given, without a prefix
MAX_LENGTH: Final = 512

REDIS: Final = "redis:"
NATS: Final = "nats:"
#: how a stored key begins that is not plain
PREFIXES: Final = ("by:", REDIS, NATS)


def build_entity_prefix(name: str) -> str:
    """Return the prefix of what an entity pushes with a credential of its own."""
    return f"by:{name}:"


def build_trigger_prefix(agent: str, service: str) -> str:
    """Return the prefix of what a service says to an agent with a key that can only trigger this agent."""
    return f"by:{agent}/trigger:{escape(service)}:"


def escape(service: str) -> str:
    """Write the name of a service without a colon; no two names become the same."""
    return service.replace("%", "%25").replace(":", "%3A")


def check(key: str) -> None:
    """Refuse a key that was given from outside and looks like a stored one."""
    for prefix in PREFIXES:
        if key.startswith(prefix):
            raise Invalid(
                f"the dedup key {key!r:.60} begins with {prefix!r}, as keys do that are stored for others",
                hint="give the key without a prefix, or begin it otherwise",
            )


def build_alert_key(push: Push) -> str:
    """
    Return the key of an alert that was pushed without one: the same alert again is a repeat while the first one is
    remembered. It is the same if it says the same about the same thing, equally urgently; an alert that gets more
    urgent is another one.
    """
    parts = [push.subject, push.content, push.data, str(push.ref) if push.ref else None, push.priority.value]
    text = json.dumps(parts, separators=(",", ":"))
    return f"alert:{push.source}:{sha256(text.encode()).hexdigest()[:32]}"
