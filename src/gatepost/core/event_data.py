"""
The data of an event as other programs read it. The data of a space message, a plan and a service has exactly the fields
that programs written for such events expect; the rest is apart.
"""

from typing import Any

from gatepost.core.event import Called, Due, Event, Json, Posted, parse_body
from gatepost.core.times import format_rfc3339


def split_data(event: Event) -> tuple[Json, dict[str, Any]]:
    """Return the data of an event: the fields that other programs know, and the rest."""
    fields: dict[str, Any] = event.data if isinstance(event.data, dict) else {}
    match parse_body(event):
        case Posted() as posted_message:
            data = {
                "spaceId": posted_message.space,
                "spaceName": posted_message.space_name,
                "messageId": posted_message.message,
                **_write_posted_sender(event, posted_message),
                "content": posted_message.text,
            }
        case Due() as due_plan:
            data = {"planId": due_plan.plan, "planName": due_plan.name, "instruction": due_plan.instruction}
            fields = fields | ({"dueAt": format_rfc3339(due_plan.due_at)} if due_plan.due_at is not None else {})
        case Called() as service_call:
            data = {"serviceName": service_call.service, "payload": service_call.payload}
            if "payload" not in fields:
                fields = {}  # all of the data is the payload
        case _:
            return event.data, {}
    return data, {name: value for name, value in fields.items() if name not in data}


def _write_posted_sender(event: Event, posted_message: Posted) -> dict[str, Any]:
    """Return the sender of a message: an entity of ours, or the name that an outside source gives."""
    if event.sender is not None:
        id, name, kind = event.sender.name, event.sender.display, event.sender.kind.value
        return {"senderEntityId": id, "senderName": name, "senderType": kind}
    outsider = posted_message.outsider
    return {
        "senderEntityId": outsider and (outsider.id or None),
        "senderName": outsider and (outsider.name or None),
        "senderType": outsider and (outsider.kind or None),
    }
