"""
Push many events: in batches that a gateway takes, of which each is one commit.

A batch whose answer was lost is sent again only if a repeat of every push is found. So, where answers can be lost, a
push without a dedup key gets a new one; a duplicate of such a push can only be an earlier try of the same push.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from gatepost.inbox.push.api import MAX_BATCH_LENGTH, PushEvent, PushEvents, PushOutcomesView, PushOutcomeView
from gatepost.operations.encoding import encode_json, refuse_nan

#: bytes of a batch after which the next one begins; a gateway takes 8 MiB
_MAX_SIZE: Final = 4 * 1024 * 1024


class PushBatch(NamedTuple):
    request: PushEvents
    #: for each push, whether its dedup key is a new one
    has_new_keys: Sequence[bool]

    def list_outcomes(self, answer: PushOutcomesView) -> list[PushOutcomeView]:
        return [
            outcome.without_duplicates() if has_new_key else outcome
            for outcome, has_new_key in zip(answer.items, self.has_new_keys, strict=True)
        ]


def split_pushes(pushes: Iterable[PushEvent], *, add_keys: bool = False) -> list[PushBatch]:
    """Return pushes as batches, in their order; raise Invalid if one cannot be written as JSON."""
    batches: list[PushBatch] = []
    members: list[Raw] = []
    flags: list[bool] = []
    size = 0
    for push in pushes:
        has_new_key = add_keys and not push.has_own_dedup_key
        refuse_nan(push)
        member = encode_json(replace(push, dedup_key=f"client:{os.urandom(16).hex()}") if has_new_key else push)
        if members and (len(members) == MAX_BATCH_LENGTH or size + len(member) > _MAX_SIZE):
            batches.append(PushBatch(PushEvents(pushes=tuple(members)), flags))
            members, flags, size = [], [], 0
        members.append(Raw(member))
        flags.append(has_new_key)
        size += len(member)
    if members:
        batches.append(PushBatch(PushEvents(pushes=tuple(members)), flags))
    return batches


def push_many(
    send: Callable[[PushEvents], PushOutcomesView], pushes: Iterable[PushEvent], *, add_keys: bool = False
) -> list[PushOutcomeView]:
    """Send the batches one after the other; return the outcome of each push."""
    outcomes: list[PushOutcomeView] = []
    for batch in split_pushes(pushes, add_keys=add_keys):
        outcomes += batch.list_outcomes(send(batch.request))
    return outcomes
