"""`gatepost inbox sent` and `inbox thread`: see what became of mail."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from gatepost.cli import output
from gatepost.cli.command import LimitOption, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import ids, times
from gatepost.core.quoting import quote
from gatepost.core.times import Instant
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.event import Priority, Ref
from gatepost.inbox.item_commands import inbox
from gatepost.mail.mail_api import ListMail, MailBox, MailView, ShowMail
from gatepost.mail.sent_record import MESSAGE_TYPES, AckState, PostState
from gatepost.settings import Configuration

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


@inbox.request("sent", ListMail, **_SENT_FIELDS)
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


@inbox.command("thread")
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
