"""
Chat: a person writes on the command line or on the page.

These channels need no trigger and no pairing: the credential says who the person is. Everything else is the same as on
other channels (`channels/intake_actions.py`).
"""

from msgspec import UNSET

from gatepost.channels import conversation_actions as conversations, intake_actions as intake
from gatepost.channels.chat_api import ChatView, SendChat
from gatepost.channels.conversation import build_own_session
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Invalid, Refused
from gatepost.operations.access import Caller


@SendChat.handler
def send_chat(tx: Transaction, request: SendChat, caller: Caller) -> ChatView:
    assert request.sender is not None
    if request.reset and request.content:
        raise Invalid("`content` and `reset` cannot be combined", hint="send the text after the reset")
    session, received = (reset if request.reset else send)(tx, request, sender=request.sender)
    return ChatView(
        session_id=session,
        entry_id=received.entry,
        events=list(received.events),
        decision=received.decision or UNSET,
        notice=received.notice or UNSET,
        unrouted=received.unrouted or UNSET,
    )


def send(tx: Transaction, request: SendChat, *, sender: str) -> tuple[str, Received]:
    """Take in what a person writes; return the session, and what became of it."""
    person = _require_person(directory.find_live(tx, sender))
    if not request.content.strip():
        raise Invalid("the text is empty", hint="write something")
    intake.check_content(tx, request.content)
    if request.to is not None and isinstance(address.parse(request.to), AllAgentsAddress):
        raise Invalid("a chat is not with every agent", hint="name one, or a team")
    session = conversations.ensure_session(tx, request.channel, _build_base(request, person), person=person)
    envelope = Envelope(
        channel=request.channel, session=session.id, kind=EnvelopeKind.TEXT, content=request.content, user=person.name
    )
    key = f"chat:{tx.new_id('entry')}"
    return session.id, intake.receive(tx, None, envelope, dedup_key=key, person=person.name, to=request.to)


def reset(tx: Transaction, request: SendChat, *, sender: str) -> tuple[str, Received]:
    """
    Begin a session anew; return its new id. Whoever got its prompts, or `to`, gets an event about it, which does not
    wake.
    """
    person = _require_person(directory.find_live(tx, sender))
    session = conversations.ensure_session(tx, request.channel, _build_base(request, person), person=person)
    envelope = Envelope(
        channel=request.channel,
        session=session.id,
        kind=EnvelopeKind.RESET,
        content="The conversation begins anew.",
        user=person.name,
    )
    key = f"chat:{tx.new_id('entry')}"
    received = intake.reset(tx, None, session, envelope, dedup_key=key, person=person.name, to=request.to)
    assert received.envelope is not None
    return received.envelope.session, received


def _build_base(request: SendChat, person: Entity) -> str:
    return build_own_session(request.channel, person.name, request.session, administrator=directory.ADMINISTRATOR)


def _require_person(entity: Entity) -> Entity:
    if entity.kind is not EntityKind.HUMAN:
        noun = "an agent" if entity.kind is EntityKind.AGENT else "a service"
        raise Refused(
            f"{entity.name!r} is {noun}, and only people chat",
            hint="name the person who writes, or send mail",
        )
    return entity
