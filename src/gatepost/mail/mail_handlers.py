"""Mail, and replies to events."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity_api import AttentionView
from gatepost.errors import Invalid
from gatepost.inbox.event import Ref
from gatepost.inbox.wake_actions import OPEN_RECEPTION, FindReceptions
from gatepost.mail import mail_actions as mail, mail_api as api
from gatepost.mail.sent_record import AckRequest, Mail, MailSpec, build_payload
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.SendMail.handler
def send_mail(tx: Transaction, request: api.SendMail, caller: Caller) -> api.MailView:
    if request.ack_within is not None and request.ack is AckRequest.NONE:
        raise Invalid("ackWithin: this mail asks for no acknowledgement", hint="give `ack` the value required, too")
    spec = build_record(MailSpec, request, payload=build_payload(request.text, request.payload))
    assert request.sender is not None
    view = view_mail(mail.send(tx, spec, sender=request.sender))
    receptions = tx.ask(FindReceptions([recipient.name for recipient in view.recipients]))()
    recipients = []
    for recipient in view.recipients:
        reception = receptions.get(recipient.name, OPEN_RECEPTION)
        obstacle = reception.find_obstacle(view.priority)
        recipients.append(
            replace(
                recipient,
                reachable=False if reception.is_lost else UNSET,
                attention=AttentionView.of(obstacle) if obstacle is not None else UNSET,
            )
        )
    return replace(view, recipients=recipients)


@api.ListMail.handler
def list_mail(tx: Reader, request: api.ListMail, caller: Caller) -> Page[api.MailView]:
    assert request.sender is not None
    filters: dict[str, Any] = {
        "thread": request.thread,
        "ref": Ref.parse(request.ref) if request.ref is not None else None,
        "message_type": request.message_type or None,
        "before": request.after or None,
    }
    if request.box is api.MailBox.SENT:
        return read_page(tx, request, mail.list_sent, request.sender, view=view_mail, **filters)
    # The administrator sees all of a thread, unless it acts as somebody.
    viewer = None if caller.is_administrator and request.sender == directory.ADMINISTRATOR else request.sender
    return read_page(tx, request, mail.list_thread, viewer, view=view_mail, **filters)


@api.ShowMail.handler
def show_mail(tx: Reader, request: api.ShowMail, caller: Caller) -> api.MailView:
    return view_mail(mail.show(tx, request.id, viewer=caller.entity))


def view_mail(sent: Mail) -> api.MailView:
    return api.MailView.of(sent, states={state.value: count for state, count in sent.states.items()})
