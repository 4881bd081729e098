"""
A batch that a hook has printed and that no model is known to have read yet: what is needed to mark it as delivered when
a reply proves it, and to show it again when none comes (`hooks/proof.py` has the rule).

It is kept as a line of JSON beside the spool of its session. Hooks with nothing to do read that file too, so nothing is
imported here that takes time.
"""

import json
from contextlib import suppress
from typing import Any, Final, NamedTuple

from gatepost.core.times import Instant

#: how a batch was settled, as long as the store has still to hear of it
PROVED: Final = "proved"
RELEASED: Final = "released"


class PrintedBatch(NamedTuple):
    #: the hook event that printed it
    event: str
    printed_at: Instant
    #: when it counts as not read, if nothing is heard until then
    expires_at: Instant
    #: prompts in the session when it was printed
    prompts: int
    #: what the host called the turn, where it names turns
    turn: str | None = None
    #: characters of the replies that the host had told of by then, where it tells
    replies: int = 0
    #: the claim on those items that are in the store: its id, owner and fence
    claim: tuple[str, str, int] | None = None
    #: the keys by which a repeat is recognised
    keys: tuple[str, ...] = ()
    #: the lines that only the spool has, without their ends
    lines: tuple[bytes, ...] = ()
    #: `proved` or `released`
    outcome: str | None = None


def encode_batch(batch: PrintedBatch) -> bytes:
    """Return the batch as one line, its end included."""
    lines = [line.decode(errors="surrogateescape") for line in batch.lines]
    return json.dumps(batch._asdict() | {"lines": lines}).encode() + b"\n"


def decode_batches(content: bytes) -> list[PrintedBatch]:
    """Return the batches of a file; a line that was cut short is none."""
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
