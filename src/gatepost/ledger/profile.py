"""How an entity is on a ledger, and what a sync has done."""

from typing import Any

from msgspec import Struct

from gatepost.core.text import ParsedEnum


class SyncPart(ParsedEnum, description="a part of a sync"):
    #: accounts, topics and profiles of entities
    ENTITIES = "entities"
    #: topics of work items
    WORK = "work"


class LedgerProfile(Struct, frozen=True, kw_only=True):
    """An entity on the ledger."""

    name: str
    network: str
    account: str
    inbound: str
    outbound: str
    #: None for a service
    profile: dict[str, Any] | None
    #: whether the profile is on the ledger as it is here
    is_published: bool
    #: the topic of the file with the published profile, on a public ledger
    file: str | None


class SyncResult(Struct, frozen=True, kw_only=True):
    """What one page of a sync has found and made."""

    #: entities, or work items
    checked: int
    #: accounts, topics and profiles that were made now
    accounts: int = 0
    topics: int = 0
    profiles: int = 0
    #: jobs that make the rest, on a public ledger
    jobs: int = 0
    #: where the next page begins; None at the end
    next: int | None


class SyncState(Struct, frozen=True, kw_only=True):
    """What is left of a sync."""

    #: jobs that have not ended
    pending: int
    #: why the last try of one of them has failed; None if none has
    error: str | None
