"""
The built-in `user-agent`: an agent without a language model, which passes on what people write.

    gatepost agent add user-agent --model user-agent

Without a rule and without a target of its trigger, a message goes to the agent of this name, if there is one, and on to
System4 of the root team. The event that it passes on has the same route, sender and data, so the reply goes to the
person who wrote, and not through this agent. If nobody is there to get it, it is kept as unrouted.

A batch is passed on in the transaction that ends its run: all of it, once.
"""

import json
from typing import Final

from msgspec.structs import replace

from gatepost.channels.conversation import PASSED_REF
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.triggers.trigger import DEFAULT_TARGET
from gatepost.core import address
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import Event, EventType, Ref
from gatepost.inbox.push import actions as push
from gatepost.residents.model_port import CallResult, ModelReply
from gatepost.residents.runs import ending_actions as run_endings
from gatepost.residents.runs.journal_actions import RunLease, write_step

_TOOL: Final = "pass_on"
_PASSED_TYPES: Final = (EventType.CHANNEL, EventType.SERVICE)


def pass_batch(tx: Transaction, run_lease: RunLease, step_number: int, events: list[str]) -> bool:
    """
    Pass on the messages among the events of a batch, and end the run; return True if there is more to pass on. Other
    events are only marked as delivered.
    """
    run = run_lease.run
    target = address.parse(DEFAULT_TARGET)
    recipients = [entity for entity in directory.resolve(tx, [target]).get(target, ()) if entity.is_live]
    passed_count = 0
    for event in [item.event for id in events for item in inbox_items.show(tx, id) if item.recipient == run.agent]:
        if event.type not in _PASSED_TYPES or event.route is None:
            continue
        passed_count += 1
        result = _pass_on(tx, event, recipients, hops=run.outgoing_hops)
        call_result = CallResult(str(passed_count), _TOOL, json.dumps({"eventId": event.id, **result}))
        write_step(tx, run, step_number, call_result, key=f"pass.{passed_count}", effects=1)
        step_number += 1
    messages = "1 message" if passed_count == 1 else f"{passed_count} messages"
    reply = ModelReply(model=run.model)
    has_more = run_endings.finish_run(
        tx, run_lease, step_number, reply, summary=f"Passed {messages} on to {DEFAULT_TARGET}."
    )
    assert isinstance(has_more, bool), "an agent without a mind is not reminded"
    return has_more


def _pass_on(tx: Transaction, event: Event, recipients: list[Entity], *, hops: int) -> dict[str, object]:
    """Push the same message to others; without any, keep it as unrouted."""
    sender = directory.find(tx, event.sender.name) if event.sender is not None else None
    if not recipients:
        return {"unrouted": unrouted_messages.keep_event(tx, event, f"passed:{event.id}")}
    copy, ref = inbox_items.build_copy(event, DEFAULT_TARGET), event.ref or Ref(PASSED_REF, event.id)
    request = replace(copy, dedup_key=f"passed:{event.id}", ref=ref, hops=hops)
    pushed = push.fan_out(tx, request, sender, recipients, allow_retired=True)
    return {"to": [delivery.name for delivery in pushed.deliveries], "passedAs": pushed.event}
