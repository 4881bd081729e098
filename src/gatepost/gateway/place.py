"""
The `id:` of a stream, by which its reader comes back: a position, or for a combined stream the position of each part.

    41                  a space: the number of a message; a run: the number of a step
    731-41              an inbox: the feed's own position
    eyJzcGFjZTpx...     combined: a JSON object in base64
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gatepost.actions.inbox_feed import Position as Place
from gatepost.errors import Invalid
from gatepost.runtime.live import StreamPosition

_LONGEST_NUMBER: Final = 18
_HINT: Final = "send the last `id:` back as it was, or leave it out to begin now"


def write(positions: Mapping[str, StreamPosition], *, combined: bool) -> str:
    if not combined:
        [position] = positions.values()
        return str(position)
    text = msgspec.json.encode({topic: str(position) for topic, position in sorted(positions.items())})
    return base64.urlsafe_b64encode(text).decode()


def read(text: str, topics: Sequence[str], *, combined: bool) -> dict[str, StreamPosition]:
    """Where a reader was with each of these topics; one that its stream did not have then is not in the answer."""
    if not combined:
        [topic] = topics
        return {topic: _position(topic, text)}
    try:
        values = msgspec.json.decode(base64.b64decode(text, b"-_", validate=True), type=dict[str, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, ValueError):
        raise _not_a_place(text) from None
    return {topic: _position(topic, values[topic]) for topic in topics if topic in values}


def _position(topic: str, text: str) -> StreamPosition:
    if topic.startswith("inbox:"):
        return Place.parse(text)
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        raise _not_a_place(text)
    return int(text)


def _not_a_place(text: str) -> Invalid:
    return Invalid(f"{text[:80]!r} is not a place to resume from", hint=_HINT)
