"""`gatepost send`, `reply`, `inbox sent` and `inbox thread`: send mail, and see what became of it."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from gatepost.cli import inputs, output
from gatepost.cli.command import LimitOption, TableRow, VerbCommand, build_request_verb, build_verb
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ids, times
from gatepost.core.quoting import quote
from gatepost.core.times import Instant
from gatepost.directory.person_commands import talk_of_waiting
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.event import Priority, Ref
from gatepost.mail.mail_api import ListMail, MailBox, MailView, ReplyToEvent, SendMail, ShowMail
from gatepost.mail.sent_record import MESSAGE_TYPES, AckRequest, AckState, PostState, check_type
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
#: what is said of mail that is not on the ledger
_POST_NOTES: Final = {PostState.UNPOSTED: "unposted", PostState.FAILED: "not on the ledger"}
_SENT_FIELDS: Final[dict[str, Any]] = {
    "box": MailBox.SENT,
    "thread": option("--thread", "ID"),
    "ref": option("--ref", "TYPE:ID", parse=lambda text: str(Ref.parse(text))),
    "message_type": option("--message-type", "TYPE", choices=MESSAGE_TYPES),
    "sender": option("--as", "NAME", "whose mail; by default that of the current agent, else of the administrator"),
    "after": None,
    "limit": None,
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


def sent(
    request: ListMail,
    configuration: Configuration,
    mail: Annotated[
        str | None, argument("MAIL", "the id of one mail, or of its event, to show all of it", parse=ids.check_event)
    ] = None,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    List sent mail, newest first. It says how many of the recipients have read it, and whether it has still to be posted
    on a public ledger.

    With the id of one mail it shows all of it, and its state for each recipient.

    Examples:
      gatepost inbox sent --as analyst --ref task:7
      gatepost inbox sent mail_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    if mail is not None:
        if request.thread is not None or request.ref is not None:
            raise Invalid("give the id of one mail, or --thread or --ref, not both")
        with connect(configuration) as connection:
            view = connection.send(ShowMail(id=mail))
        if json:
            output.document(msgspec.to_builtins(view))
        else:
            _print_mail(view)
        return
    with connect(configuration) as connection:
        now = connection.read_clock()
        mails = connection.list_all(request, limit + 1)
    output.listing(
        mails,
        limit,
        partial(_print_table, now=now),
        empty=f"no such mail of {request.sender!r}" if request.thread or request.ref else "no mail sent yet",
        json=json,
    )


def thread(
    id: Annotated[str, argument("ID", "the id of a thread, or of a mail or an event in it")],
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    Print the mail of a thread, oldest first.

    Example:
      gatepost inbox thread evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        mails = connection.list_all(ListMail(box=MailBox.THREAD, thread=id), limit + 1)
    if not mails:
        raise NotFound(f"there is no thread {id!r}", hint="`gatepost inbox sent --json` has the ids of threads")
    newest_mails = mails[:limit][::-1]
    output.listing(newest_mails, limit, _print_conversation, empty="", json=json)
    if len(mails) > limit:
        output.talk(f"there are more than {limit}: raise --limit to see the first ones")


def _print_table(mails: Sequence[MailView], *, now: Instant) -> None:
    output.table(["MAIL", "TO", "STATE", "AGE", "WHAT"], [_build_row(mail, now) for mail in mails])


def _build_row(mail: MailView, now: Instant) -> TableRow:
    what = " - ".join(quote(text) for text in (mail.subject, mail.text) if text)
    age = output.age(times.parse_instant(mail.created_at), now)
    return [mail.id, mail.to, _describe_states(mail), age, what]


def _describe_states(mail: MailView) -> str:
    """Return `2 delivered, 1 pending`; mail to every agent counts those that have taken it."""
    states = ", ".join(f"{count} {state}" for state, count in sorted(mail.states.items()) if count) or "to every agent"
    notes = [
        "overdue" if mail.ack is AckState.OVERDUE else None,
        _POST_NOTES.get(mail.post_state) if mail.post_state else None,
    ]
    return ", ".join([states, *filter(None, notes)])


def _print_mail(mail: MailView) -> None:
    hidden_count = sum(mail.states.values()) - len(mail.recipients)
    output.facts(
        ("mail", mail.id),
        ("event", mail.event_id),
        ("from", mail.sender),
        ("to", mail.to),
        ("subject", mail.subject),
        ("type", mail.message_type),
        ("priority", Priority(mail.priority).name.lower()),
        ("about", f"{mail.ref.type}:{mail.ref.id}" if mail.ref else None),
        ("thread", mail.thread_id),
        ("replies to", mail.reply_to),
        ("sent", mail.created_at),
        ("ack", mail.ack.value if mail.ack else None),
        ("read before", mail.ack_deadline),
        ("ledger", ", ".join(filter(None, (mail.post_state, mail.posted_at)))),
        *(
            (f"for {recipient.name}", ", ".join(filter(None, (recipient.state.value, recipient.ended_at))))
            for recipient in mail.recipients
        ),
        ("for others", f"{hidden_count} more" if hidden_count > 0 else None),
    )
    if mail.text:
        output.line_out("\ntext:\n" + output.indent(mail.text))
    if set(mail.payload) - {"text"}:
        output.line_out("\npayload:\n" + output.indent(output.format_json(mail.payload)))
    if mail.context is not None:
        output.line_out("\ncontext:\n" + output.indent(output.format_json(mail.context)))


def _print_conversation(mails: Sequence[MailView]) -> None:
    for number, mail in enumerate(mails):
        subject = f": {quote(mail.subject)}" if mail.subject else ""
        heading = f"{output.format_seconds(mail.created_at)} {mail.sender} to {mail.to}{subject}"
        output.passage(heading, mail.text, is_first=number == 0)


def build_sent(name: str) -> VerbCommand:
    return build_request_verb(name, ListMail, _SENT_FIELDS, sent)


def build_thread(name: str) -> VerbCommand:
    return build_verb(name, thread)


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
