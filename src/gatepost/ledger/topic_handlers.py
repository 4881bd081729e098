"""The ledger: topics and their messages, profiles, and the sync of them."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.errors import Invalid
from gatepost.ledger import profile_actions as ledger_profiles, topic_actions as ledger, topic_api as api
from gatepost.ledger.topic import LedgerId
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.ListTopics.handler
def list_topics(tx: Reader, request: api.ListTopics, caller: Caller) -> Page[api.TopicView]:
    return read_page(tx, request, ledger.list_topics, kind=request.kind, viewer=caller.entity, after=request.after)


@api.ShowTopic.handler
def show_topic(tx: Reader, request: api.ShowTopic, caller: Caller) -> api.TopicView:
    return api.TopicView.of(ledger.find_topic(tx, request.id, viewer=caller.entity))


@api.ListTopicMessages.handler
def list_topic_messages(tx: Reader, request: api.ListTopicMessages, caller: Caller) -> Page[api.TopicMessageView]:
    return read_page(
        tx,
        request,
        ledger.list_messages,
        ledger.find_topic(tx, request.id, viewer=caller.entity),
        view=lambda stored: api.TopicMessageView.of(stored.message, refused=stored.refused),
        cursor=lambda stored: stored.message.sequence,
        refused_only=request.refused,
        after=request.after,
    )


@api.VerifyTopic.handler
def verify_topic(tx: Reader, request: api.VerifyTopic, caller: Caller) -> api.TopicVerificationView:
    topic = ledger.find_topic(tx, request.id, viewer=caller.entity)
    return api.TopicVerificationView.of(ledger.verify_topic(tx, topic, after=request.after, limit=request.limit))


@api.ShowLedgerProfile.handler
def show_ledger_profile(tx: Reader, request: api.ShowLedgerProfile, caller: Caller) -> api.LedgerProfileView:
    return api.LedgerProfileView.of(ledger_profiles.show(tx, request.name))


@api.SyncLedger.handler
def sync_ledger(tx: Transaction, request: api.SyncLedger, caller: Caller) -> api.LedgerSyncView:
    if request.account is not None and request.name is None:
        raise Invalid("`name` is missing", hint="name the entity whose account it is")
    if request.part is api.SyncPart.WORK:
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
    return api.LedgerSyncView.of(result)


@api.ShowLedgerSync.handler
def show_ledger_sync(tx: Reader, request: api.ShowLedgerSync, caller: Caller) -> api.LedgerSyncStateView:
    return api.LedgerSyncStateView.of(ledger_profiles.read_state(tx))
