"""The ledger: topics and their messages, profiles, and the sync of them."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.errors import Invalid
from gatepost.ledger import profile_actions as ledger_profiles, topic_actions as ledger
from gatepost.ledger.profile import SyncPart
from gatepost.ledger.topic import LedgerId
from gatepost.ledger.topic_api import (
    LedgerProfileView,
    LedgerSyncStateView,
    LedgerSyncView,
    ListTopicMessages,
    ListTopics,
    ShowLedgerProfile,
    ShowLedgerSync,
    ShowTopic,
    SyncLedger,
    TopicMessagePage,
    TopicMessageView,
    TopicPage,
    TopicVerificationView,
    TopicView,
    VerifyTopic,
)
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page


@ListTopics.handler
def list_topics(tx: Reader, request: ListTopics, caller: Caller) -> TopicPage:
    return read_page(
        tx,
        TopicPage,
        ledger.page_topics,
        view=TopicView.of,
        kind=request.kind,
        viewer=caller.entity,
        after=request.after,
        limit=request.limit,
    )


@ShowTopic.handler
def show_topic(tx: Reader, request: ShowTopic, caller: Caller) -> TopicView:
    return TopicView.of(ledger.find_topic(tx, request.id, viewer=caller.entity))


@ListTopicMessages.handler
def list_topic_messages(tx: Reader, request: ListTopicMessages, caller: Caller) -> TopicMessagePage:
    return read_page(
        tx,
        TopicMessagePage,
        ledger.page_messages,
        ledger.find_topic(tx, request.id, viewer=caller.entity),
        view=lambda stored: TopicMessageView.of(stored.message, refused=stored.refused),
        cursor=lambda stored: stored.message.sequence,
        refused_only=request.refused,
        after=request.after,
        limit=request.limit,
    )


@VerifyTopic.handler
def verify_topic(tx: Reader, request: VerifyTopic, caller: Caller) -> TopicVerificationView:
    topic = ledger.find_topic(tx, request.id, viewer=caller.entity)
    return TopicVerificationView.of(ledger.verify_topic(tx, topic, after=request.after, limit=request.limit))


@ShowLedgerProfile.handler
def show_ledger_profile(tx: Reader, request: ShowLedgerProfile, caller: Caller) -> LedgerProfileView:
    return LedgerProfileView.of(ledger_profiles.show(tx, request.name))


@SyncLedger.handler
def sync_ledger(tx: Transaction, request: SyncLedger, caller: Caller) -> LedgerSyncView:
    if request.account is not None and request.name is None:
        raise Invalid("`name` is missing", hint="name the entity whose account it is")
    if request.part is SyncPart.WORK:
        if request.name is not None:
            raise Invalid("`name` is of an entity, and this part is about work items", hint="leave one of them out")
        result = ledger_profiles.sync_work_items(tx, after=request.after, limit=request.limit)
    else:
        result = ledger_profiles.sync_entities(
            tx,
            name=request.name,
            account=parse_field("account", request.account, LedgerId.parse),
            after=request.after,
            limit=request.limit,
        )
    return LedgerSyncView.of(result)


@ShowLedgerSync.handler
def show_ledger_sync(tx: Reader, request: ShowLedgerSync, caller: Caller) -> LedgerSyncStateView:
    return LedgerSyncStateView.of(ledger_profiles.read_state(tx))
