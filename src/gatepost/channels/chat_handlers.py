"""Chat on the command line and on the page."""

from msgspec import UNSET

from gatepost.channels import chat_actions as chat
from gatepost.channels.chat_actions import ChatSpec
from gatepost.channels.chat_api import ChatView, SendChat
from gatepost.core.ports import Transaction
from gatepost.errors import Invalid
from gatepost.operations.access import Caller


@SendChat.handler
def send_chat(tx: Transaction, request: SendChat, caller: Caller) -> ChatView:
    assert request.sender is not None
    if request.reset and request.content:
        raise Invalid("`content` and `reset` do not go together", hint="send the text after the reset")
    spec = ChatSpec(content=request.content, to=request.to, session=request.session, channel=request.channel)
    session, received = (chat.reset if request.reset else chat.send)(tx, spec, sender=request.sender)
    return ChatView(
        session_id=session,
        entry_id=received.entry,
        events=list(received.events),
        decision=received.decision or UNSET,
        notice=received.notice or UNSET,
        unrouted=received.unrouted or UNSET,
    )
