"""The ledger: topics and their messages."""

from gatepost.actions import ledger
from gatepost.api.access import Caller
from gatepost.api.ledger import (
    ListTopicMessages,
    ListTopics,
    TopicMessagePage,
    TopicMessageView,
    TopicPage,
    TopicVerificationView,
    TopicView,
    VerifyTopic,
)
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader


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


@ListTopicMessages.handler
def list_topic_messages(tx: Reader, request: ListTopicMessages, caller: Caller) -> TopicMessagePage:
    return read_page(
        tx,
        TopicMessagePage,
        ledger.page_messages,
        ledger.find_topic(tx, request.id, viewer=caller.entity),
        view=TopicMessageView.of,
        cursor=lambda message: message.sequence,
        after=request.after,
        limit=request.limit,
    )


@VerifyTopic.handler
def verify_topic(tx: Reader, request: VerifyTopic, caller: Caller) -> TopicVerificationView:
    return TopicVerificationView.of(ledger.verify_topic(tx, ledger.find_topic(tx, request.id, viewer=caller.entity)))
