"""
A batch that a hook has printed, while it is not known whether a model has read it. It holds what is needed to mark it
as delivered when a reply proves that it was read, and to show it again if no reply comes (the rule is in
`hooks/proof.py`).

It is stored as a line of JSON beside the spool of its session. Hooks with nothing to do read that file too, so this
module imports nothing that takes time.
"""

import json
from contextlib import suppress
from typing import Any, Final, NamedTuple

from gatepost.core.times import Instant

#: the outcome of a batch, until it is recorded in the store
PROVED: Final = "proved"
RELEASED: Final = "released"


class PrintedBatch(NamedTuple):
    #: the hook event that printed it
    event: str
    printed_at: Instant
    #: when it counts as not read, if no proof comes before
    expires_at: Instant
    #: prompts in the session when it was printed
    prompts: int
    #: the id of the turn, if the host has one
    turn: str | None = None
    #: characters of replies that the host had reported by then, if it reports them
    replies: int = 0
    #: the claim on the items that are in the store: its id, owner and fence
    claim: tuple[str, str, int] | None = None
    #: the keys by which a repeat is recognised
    keys: tuple[str, ...] = ()
    #: lines that are only in the spool, without their line ends
    lines: tuple[bytes, ...] = ()
    #: `proved` or `released`
    outcome: str | None = None


def encode_batch(batch: PrintedBatch) -> bytes:
    """Return the batch as one line, with its line end."""
    lines = [line.decode(errors="surrogateescape") for line in batch.lines]
    return json.dumps(batch._asdict() | {"lines": lines}).encode() + b"\n"


def decode_batches(content: bytes) -> list[PrintedBatch]:
    """Return the batches of a file; an incomplete line is ignored."""
    batches: list[PrintedBatch] = []
    for line in content.splitlines():
        with suppress(ValueError, TypeError, AttributeError, LookupError, RecursionError):
            batches.append(_build_batch(json.loads(line)))
    return batches


def _build_batch(document: dict[str, Any]) -> PrintedBatch:
    turn, claim, outcome = (document.get(name) for name in ("turn", "claim", "outcome"))
    return PrintedBatch(
        event=str(document["event"]),
        printed_at=int(document["printed_at"]),
        expires_at=int(document["expires_at"]),
        prompts=int(document["prompts"]),
        turn=str(turn) if turn else None,
        replies=int(document.get("replies", 0)),
        claim=(str(claim[0]), str(claim[1]), int(claim[2])) if claim else None,
        keys=tuple(map(str, document["keys"])),
        lines=tuple(str(line).encode(errors="surrogateescape") for line in document["lines"]),
        outcome=str(outcome) if outcome else None,
    )
