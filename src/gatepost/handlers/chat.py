"""Chat on the command line and on the page."""

from msgspec import UNSET

from gatepost.actions import chat
from gatepost.actions.chat import ChatSpec
from gatepost.api.access import Caller
from gatepost.api.chat import ChatView, SendChat
from gatepost.errors import Invalid
from gatepost.ports import Transaction


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
