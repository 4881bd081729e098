"""The tools for mail, for replies, and for the notes and events of work items."""

from typing import Annotated, Any, Final

import msgspec

from gatepost.channels import reply_actions as replies
from gatepost.core.json_limits import Json
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid
from gatepost.inbox.event import Priority, Ref
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_mail import AckRequest, MailSpec, build_payload
from gatepost.mail.work_item import Note
from gatepost.residents.tools.context import MAX_RESULT_SIZE, ToolContext, shorten, take_fitting

_MAX_NOTES: Final = 100

_Priority = Annotated[
    str, "critical, high, normal, low or fyi; critical interrupts whoever gets it, fyi does not even wake them"
]
_WorkItem = Annotated[str, "the work item as TYPE:ID, such as task:0.0.123; a type is task, phase, stage or project"]


def send_mail(
    ctx: ToolContext,
    text: Annotated[str | None, "what you have to say"] = None,
    to: Annotated[
        str | None, "a name or an alias, team:NAME, team:NAME/ROLE, or ALL for every agent; a reply needs none"
    ] = None,
    subject: Annotated[str | None, "what it is about, in a few words"] = None,
    priority: _Priority = "normal",
    ref: Annotated[str | None, "the work item that it is about, as TYPE:ID, such as task:0.0.123"] = None,
    message_type: Annotated[
        str | None, "such as task.blocked, task.complete, feedback, fyi or review.request; or a type of your own"
    ] = None,
    payload: Annotated[dict[str, Any] | None, "an object with more than a text"] = None,
    context: Annotated[dict[str, Any] | None, "what else helps its reader"] = None,
    reply_to: Annotated[str | None, "the id of an event: keeps its subject, reference and thread"] = None,
    ack: Annotated[AckRequest, "required, if you want to know when it was read, or was not in a day"] = AckRequest.NONE,
) -> Json:
    """Write to an agent, a team or a person directly, into their inbox, outside of all spaces."""
    spec = MailSpec(
        to=to,
        subject=subject,
        payload=build_payload(text, payload),
        message_type=message_type,
        context=context,
        ref=Ref.parse(ref) if ref is not None else None,
        priority=Priority.parse(priority),
        reply_to=reply_to,
        ack=ack,
    )
    sent = mail.send(ctx.tx, spec, sender=ctx.agent, hops=ctx.hops, key=ctx.call)
    return {
        "success": True,
        "mailId": sent.id,
        "eventId": sent.event,
        "threadId": sent.thread,
        "recipients": [recipient.name for recipient in sent.recipients],
    }


def reply(
    ctx: ToolContext,
    event: Annotated[str, "the id of an event that you got, or the session of a prompt, such as cli-main"],
    text: Annotated[str, "what you have to say"],
) -> Json:
    """
    Reply to an event on the way it came: by mail to its sender, in its space, by a note on its work item, or on the
    channel where a person wrote it.
    """
    result = replies.reply(ctx.tx, event, text, by=ctx.agent, hops=ctx.hops)
    return {"success": True, **msgspec.to_builtins(result)}


def post_note(
    ctx: ToolContext,
    ref: _WorkItem,
    note: Annotated[str, "the note, in Markdown"],
    notify: Annotated[list[str] | None, "who is told at once: names, aliases or teams"] = None,
    priority: _Priority = "normal",
) -> Json:
    """Write a note on a work item, and tell those whom it concerns."""
    posted = work.post_note(
        ctx.tx,
        Ref.parse(ref),
        note,
        by=ctx.agent,
        notify=notify or (),
        priority=Priority.parse(priority),
        hops=ctx.hops,
    )
    return {"success": True, "noteId": posted.id, "recipients": list(posted.recipients)}


def read_notes(
    ctx: ToolContext, ref: _WorkItem, limit: Annotated[int, f"how many notes at most; {_MAX_NOTES} is the most"] = 20
) -> Json:
    """Read the notes on a work item, the oldest first."""
    if limit < 1:
        raise Invalid(f"{limit} is not a number of notes", hint=f"use 1 to {_MAX_NOTES}")
    notes = work.page_notes(ctx.tx, Ref.parse(ref), limit=min(limit, _MAX_NOTES))
    return {"notes": take_fitting([_build_note(note) for note in notes])}


def post_work_event(
    ctx: ToolContext,
    ref: _WorkItem,
    event: Annotated[str, "what happened: started, blocked, complete, or another word"],
    reason: Annotated[str, "why"] = "",
) -> Json:
    """Report what happened to a work item, such as that it is blocked or complete. Those who have to know are told."""
    posted = work.post_event(ctx.tx, Ref.parse(ref), event, reason=reason, by=ctx.agent, hops=ctx.hops)
    return {"success": True, "event": posted.type, "recipients": list(posted.recipients)}


def _build_note(note: Note) -> Json:
    return {
        "author": note.author,
        "note": shorten(note.text, MAX_RESULT_SIZE // 2),
        "timestamp": format_rfc3339(note.created_at),
    }
