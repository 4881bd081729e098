"""
Who is on the ledger: accounts, topics and profiles (HCS-11), and the sync that makes what is missing.

On the local ledger a sync makes everything at once. For a public one it writes a job for each entity and work item that
lacks something, or whose profile has changed since it was published (`ledger/profile_publisher_background.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.guests import session_actions as sessions
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import ledger_step_actions as ledger_steps, topic_actions as ledger, topic_rows as topics
from gatepost.ledger.hcs import hcs11_profiles as hcs11
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind
from gatepost.ledger.topic_api import LedgerProfile, SyncResult, SyncState
from gatepost.mail import ledger_delivery, work_actions as work, work_rows as work_items
from gatepost.mail.ledger_delivery import LOCAL
from gatepost.mail.work_item import WorkItem, WorkType
from gatepost.residents import agent_actions as agents

#: the kind of the jobs that make what is missing; the payload names an entity, a work item, or neither
SYNC_JOB: Final = "ledger.sync"
_PAGE_SIZE: Final = 100


def show(tx: Reader, name: str) -> LedgerProfile:
    """Return an entity as it is on the ledger; it must have an account and topics there."""
    network, entity = _require_network(tx), directory.find(tx, name)
    profile = find_profile(tx, network, entity)
    if profile is None:
        raise NotFound(f"{entity.name!r} is not on the ledger yet", hint="`gatepost ledger sync` makes what is missing")
    return profile


def find_profile(tx: Reader, network: str, entity: Entity) -> LedgerProfile | None:
    """Return an entity as it is on the ledger; None if it lacks its account or a topic."""
    account = topics.find_account(tx, network, entity.number)
    inbound = topics.find_by_entity(tx, network, entity.number, TopicKind.INBOUND)
    outbound = topics.find_by_entity(tx, network, entity.number, TopicKind.OUTBOUND)
    if account is None or inbound is None or outbound is None:
        return None
    profile = _build_profile(tx, network, entity, account, inbound, outbound)
    published_profile, file = topics.read_profile(tx, network, entity.number)
    return LedgerProfile(
        name=entity.name,
        network=network,
        account=str(account),
        inbound=inbound.id,
        outbound=outbound.id,
        profile=profile,
        is_published=published_profile is not None and msgspec.json.decode(published_profile) == profile,
        file=file,
    )


def _build_profile(
    tx: Reader, network: str, entity: Entity, account: LedgerId, inbound: LedgerTopic, outbound: LedgerTopic
) -> dict[str, Any] | None:
    if entity.kind is EntityKind.SERVICE:
        return None
    resident = agents.read(tx, entity.number)
    by_role = dict(tx.policy.ledger_capabilities)
    capabilities: Sequence[int] = resident.config.capabilities if resident is not None else ()
    profile = hcs11.build_profile(
        kind=entity.kind,
        name=entity.name,
        display=entity.display,
        network=network,
        account=account,
        inbound=inbound.ledger_id,
        outbound=outbound.ledger_id,
        capabilities=capabilities or by_role.get(entity.role or "", ()),
        model=resident.config.model.name if resident is not None else sessions.find_model(tx, entity.number),
    )
    hcs11.validate_profile(profile)
    return profile


def sync_entities(
    tx: Transaction,
    *,
    name: str | None = None,
    account: LedgerId | None = None,
    after: int = 0,
    limit: int = _PAGE_SIZE,
) -> SyncResult:
    """
    Make what a page of entities, or one of them, lacks on the ledger. With `account`, this one becomes the account of
    the entity; its private key must be here.
    """
    network = _require_network(tx)
    page = [directory.find_live(tx, name)] if name is not None else directory.list_page(tx, after=after, limit=limit)
    if account is not None:
        _take_account(tx, network, page[0], account)
    next_number = page[-1].number if name is None and len(page) == limit else None
    known_accounts = topics.find_accounts(tx, network, [entity.number for entity in page])
    mandatory = [entity for entity in page if entity.kind is not EntityKind.SERVICE or entity.number in known_accounts]
    if network != LOCAL:
        incomplete = [entity for entity in mandatory if not _is_complete(tx, network, entity)]
        payloads = [{"entity": entity.name} for entity in incomplete]
        if after == 0 and name is None and _list_missing_singles(tx, network):
            payloads.append({})
        for payload in payloads:
            jobs.add(tx, SYNC_JOB, payload)
        return SyncResult(checked=len(page), jobs=len(payloads), next=next_number)
    made_topics = _ensure_singles(tx) if after == 0 and name is None else 0
    profile_count = 0
    for entity in mandatory:
        if topics.find_by_entity(tx, LOCAL, entity.number, TopicKind.INBOUND) is None:
            ledger.ensure_inbound(tx, entity)
            made_topics += 2
        profile_count += _publish(tx, entity)
    account_count = len(mandatory) - sum(entity.number in known_accounts for entity in mandatory)
    return SyncResult(
        checked=len(page), accounts=account_count, topics=made_topics, profiles=profile_count, next=next_number
    )


def sync_work_items(tx: Transaction, *, after: int = 0, limit: int = _PAGE_SIZE) -> SyncResult:
    """Make the topics that a page of work items lacks."""
    network = _require_network(tx)
    page = work.list_page(tx, after=after, limit=limit)
    incomplete = [item for item in page if topics.find_by_work_item(tx, network, item.number) is None]
    for item in incomplete:
        if network == LOCAL:
            ledger.ensure_work_topic(tx, item)
        else:
            jobs.add(tx, SYNC_JOB, {"type": item.type, "id": item.id})
    counts = {"topics": len(incomplete)} if network == LOCAL else {"jobs": len(incomplete)}
    return SyncResult(checked=len(page), next=page[-1].number if len(page) == limit else None, **counts)


def read_state(tx: Reader) -> SyncState:
    """Return how many jobs of a sync are still to be done, and what keeps them."""
    return SyncState(pending=jobs.count_open(tx, SYNC_JOB), error=jobs.find_error(tx, SYNC_JOB))


def find_target(tx: Reader, payload: dict[str, str]) -> Entity | WorkItem | None:
    """Return what a job of a sync is for; None for the topics that belong to nobody, and for what is gone."""
    if "entity" in payload:
        return directory.find(tx, payload["entity"])
    return work_items.find(tx, WorkType(payload["type"]), payload["id"]) if "type" in payload else None


def save_profile(
    tx: Transaction,
    network: str,
    entity: Entity,
    profile: dict[str, Any],
    file: LedgerId | None,
    *,
    publication: str | None = None,
) -> None:
    """Save the profile that was published; the steps of other publications than this one are deleted."""
    text = msgspec.json.encode(profile).decode()
    topics.save_profile(tx, network, entity.number, text, str(file) if file is not None else None)
    if publication is not None:
        ledger_steps.delete_steps(tx, network, f"profile/{entity.name}", except_part=publication)


def _is_complete(tx: Reader, network: str, entity: Entity) -> bool:
    profile = find_profile(tx, network, entity)
    return profile is not None and (profile.is_published or profile.profile is None)


def _ensure_singles(tx: Transaction) -> int:
    """Make the topics that belong to nobody; return how many were made."""
    missing_kinds = _list_missing_singles(tx, LOCAL)
    for kind in missing_kinds:
        ledger.ensure_single(tx, kind)
    return len(missing_kinds)


def _list_missing_singles(tx: Reader, network: str) -> list[TopicKind]:
    kinds = (TopicKind.BROADCAST, TopicKind.DEFINITIONS)
    return [kind for kind in kinds if topics.find_single(tx, network, kind) is None]


def _publish(tx: Transaction, entity: Entity) -> bool:
    """Append the profile of an entity to the topic of the definitions if it has changed; return True if it has."""
    view = find_profile(tx, LOCAL, entity)
    assert view is not None
    if view.is_published or view.profile is None:
        return False
    definition = hcs11.build_definition(entity.name, entity.display, view.profile)
    topic = ledger.ensure_single(tx, TopicKind.DEFINITIONS)
    ledger.append(tx, topic, LedgerId.parse(view.account), definition)
    save_profile(tx, LOCAL, entity, view.profile, None)
    return True


def _take_account(tx: Transaction, network: str, entity: Entity, account: LedgerId) -> None:
    if network == LOCAL:
        raise Refused("the local ledger makes its accounts itself", hint="leave the account out")
    known_account = topics.find_account(tx, network, entity.number)
    if known_account is not None and known_account != account:
        raise Conflict(
            f"{entity.name!r} has the account {known_account} on {network}", hint="an account stays with its entity"
        )
    owner = topics.find_account_owner(tx, network, account)
    if owner is not None and owner.number != entity.number:
        raise Conflict(f"the account {account} belongs to {owner.name!r}")
    if known_account is None:
        topics.insert_account(tx, network, entity.number, account)


def _require_network(tx: Reader) -> str:
    network = ledger_delivery.find_network(tx)
    if network is None:
        raise Invalid("the ledger is off", hint='set `ledger` to "local:" in gatepost.toml')
    return network
