"""`gatepost send` and `reply`: send mail. What became of it is in `sent_mail_commands.py`."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from gatepost.cli import inputs, output
from gatepost.cli.command import build_request_verb
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ids
from gatepost.directory.person_commands import talk_of_waiting
from gatepost.errors import Invalid
from gatepost.inbox.event import Priority, Ref
from gatepost.mail.mail_api import MailView, ReplyToEvent, SendMail, ShowMail
from gatepost.mail.sent_record import MESSAGE_TYPES, AckRequest, PostState, check_type
from gatepost.settings import Configuration

#: names that a message lists
_MAX_NAMES: Final = 5

_SEND_FIELDS: Final[dict[str, Any]] = {
    "to": argument("TO", "a name, an alias, team:NAME, team:NAME/ROLE, or ALL"),
    "text": argument("TEXT|-", "the text; - reads stdin", parse=inputs.read_text),
    "subject": option("--subject", "TEXT"),
    "priority": option("--priority", "P", parse=Priority.parse, default="normal"),
    "ref": option("--ref", "TYPE:ID", parse=Ref.parse),
    "message_type": option(
        "--type",
        "TYPE",
        "the type of the message, such as review.request, fyi, or one of your own",
        parse=check_type,
        choices=MESSAGE_TYPES,
    ),
    "reply_to": option(
        "--reply-to",
        "ID",
        "an event or mail to reply to: its subject, reference and thread are kept",
        parse=ids.check_event,
    ),
    "ack_within": option("--ack-within", "2h", "like --ack, with this time to read it instead of a day"),
    **dict.fromkeys(("payload", "context", "ack")),
}


def send(
    request: SendMail,
    configuration: Configuration,
    payload: Annotated[
        Any,
        option(
            "--payload",
            "JSON",
            "an object, beside the text or instead; @FILE reads a file, - reads stdin",
            parse=inputs.read_json_object,
        ),
    ] = None,
    context: Annotated[
        Any, option("--context", "JSON", "any value that helps the reader; @FILE reads a file", parse=inputs.read_json)
    ] = None,
    ack: Annotated[bool, flag("--ack", "get an event when everyone has read it, or somebody has not in time")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Send mail, and print its id. When this returns, the mail is in the inbox of every recipient. With a public ledger,
    mail of normal or lower priority is there when it was posted.

    With --reply-to, TO may be left out: a single word is then the text, and the mail goes to the sender of the event.
    `gatepost inbox sent` shows who has read it.

    Examples:
      gatepost send analyst "Which schema do we take?" --ref task:7
      gatepost send team:web - --subject "Today" --ack-within 2h < notes.md
      gatepost send --reply-to "$EVENT" "The second one."
    """
    to, text = request.to, request.text
    if request.reply_to is not None and text is None and to is not None:
        text, to = inputs.read_text(to), None
    if to is None and request.reply_to is None:
        raise Invalid("TO is missing", hint="name the recipient, or what it replies to: --reply-to ID")
    if text is not None:
        inputs.require_text(text)
    elif payload is None and not request.subject:
        raise Invalid("the text is missing", hint="give TEXT, or - to read it from stdin, or --payload JSON")
    is_awaited = ack or request.ack_within is not None
    mail = msgspec.structs.replace(
        request,
        to=to,
        text=text,
        payload=payload,
        context=context,
        ack=AckRequest.REQUIRED if is_awaited else AckRequest.NONE,
    )
    with connect(configuration) as connection:
        view = connection.send(mail)
        is_posted_later = connection.store is not None and view.post_state is PostState.UNPOSTED
    notice = "; you get an event when it has been read" if is_awaited else ""
    output.done(msgspec.to_builtins(view), view.id, f"{_describe_recipients(view)}{notice}", json=json)
    talk_of_waiting(view.recipients, "mail")
    if is_posted_later:
        output.talk("it is posted on the ledger when a gateway runs: `gatepost up`")


def reply(request: ReplyToEvent, configuration: Configuration, json: JsonFlag = False) -> None:
    """
    Reply to an event on the way it came, and print the id of the reply.

    Mail is answered by mail in the same thread, a message of a space by a message there, a note by a note, which
    notifies its author, and what a person wrote on a channel in the same session there. Other events have no way back:
    `gatepost send` sends mail instead.

    Examples:
      gatepost reply evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 "Take the second one"
      gatepost reply "$EVENT" - --as husam < answer.md
      gatepost reply chat-7:user-7 "Ship it?" --button yes="Ship it" --button no
    """
    inputs.require_text(request.text)
    with connect(configuration) as connection:
        view = connection.send(request)
        mail = connection.send(ShowMail(id=view.id)) if view.kind == "mail" else None
    message = {
        "message": "posted in its space",
        "note": "posted as a note",
        "channel": "sent on its channel",
    }.get(view.kind, "")
    output.done(
        msgspec.to_builtins(view), view.id, _describe_recipients(mail) if mail is not None else message, json=json
    )


def _describe_recipients(mail: MailView) -> str:
    names = [recipient.name for recipient in mail.recipients]
    if not names:
        return "sent to every agent"
    return f"sent to {join_names(names, max(len(names), sum(mail.states.values())))}"


def join_names(names: Sequence[str], total: int | None = None) -> str:
    """Return the first names, and how many more there are."""
    first_names = ", ".join(names[:_MAX_NAMES])
    rest = (len(names) if total is None else total) - len(names[:_MAX_NAMES])
    return f"{first_names} and {rest} more" if rest > 0 else first_names


commands = [
    build_request_verb("send", SendMail, _SEND_FIELDS, send, "Send mail to an agent, a person or a team."),
    build_request_verb(
        "reply",
        ReplyToEvent,
        {
            "id": argument(
                "EVENT", "an event or mail in your inbox, or the channel session of a prompt, such as cli-main"
            ),
            "text": argument("TEXT|-", "the text; - reads stdin", parse=inputs.read_text),
            "buttons": option(
                "--button",
                "ID=LABEL",
                "what the person may press, on a channel with buttons; repeatable; ID alone is its own label",
                parse=inputs.parse_choice,
            ),
        },
        reply,
        "Reply to an event on the way it came.",
    ),
]
