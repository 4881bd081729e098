"""
The `id:` of a stream, with which a reader comes back: a position or, for a combined stream, the position of each part.

    41                  a space: the number of a message; a run: the number of a step
    731-41              an inbox: the feed's own position
    eyJzcGFjZTpx...     combined: a JSON object in base64
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gatepost.actions.inbox_feed import Position
from gatepost.errors import Invalid
from gatepost.runtime.live import StreamPosition

_MAX_DIGITS: Final = 18
_HINT: Final = "send the last `id:` back as it was, or leave it out to begin now"


def format_cursor(positions: Mapping[str, StreamPosition], *, is_combined: bool) -> str:
    if not is_combined:
        [position] = positions.values()
        return str(position)
    text = msgspec.json.encode({topic: str(position) for topic, position in sorted(positions.items())})
    return base64.urlsafe_b64encode(text).decode()


def parse_cursor(text: str, topics: Sequence[str], *, is_combined: bool) -> dict[str, StreamPosition]:
    """Return the position in each of these topics; a topic that the stream did not have then is not in the answer."""
    if not is_combined:
        [topic] = topics
        return {topic: _parse_position(topic, text)}
    try:
        values = msgspec.json.decode(base64.b64decode(text, b"-_", validate=True), type=dict[str, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, ValueError):
        raise _build_error(text) from None
    return {topic: _parse_position(topic, values[topic]) for topic in topics if topic in values}


def _parse_position(topic: str, text: str) -> StreamPosition:
    if topic.startswith("inbox:"):
        return Position.parse(text)
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS:
        raise _build_error(text)
    return int(text)


def _build_error(text: str) -> Invalid:
    return Invalid(f"{text[:80]!r} is not a place to resume from", hint=_HINT)
