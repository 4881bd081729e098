"""
Where a reader goes on that comes back: the position in its `Last-Event-ID` (or `?after=`).

The id of a stream of one part is the position in that part; the id of a combined stream holds the position of each:

    41                  a space: the number of a message; a run: of a step; the shared inbox: of a change
    731-41              an inbox: the feed's own position
    eyJzcGFjZTpx...     combined: a JSON object in base64
"""

import base64
import binascii
from collections.abc import Mapping, Sequence

import msgspec

from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.core import typed_json
from gatepost.core.ports import Reader
from gatepost.core.signals import Topic
from gatepost.errors import Invalid, quote_value
from gatepost.gateway.streams.live_readers import StreamPosition
from gatepost.inbox import feed_actions as inbox_feed
from gatepost.inbox.feed_actions import Position
from gatepost.residents.runs import actions as runs
from gatepost.spaces import actions as spaces


def format_cursor(positions: Mapping[Topic, StreamPosition], *, is_combined: bool) -> str:
    """Return the `id:` for these positions."""
    if not is_combined:
        [position] = positions.values()
        return str(position)
    text = msgspec.json.encode(dict(sorted((str(topic), str(position)) for topic, position in positions.items())))
    return base64.urlsafe_b64encode(text).decode()


def parse_cursor(text: str, topics: Sequence[Topic], *, is_combined: bool) -> dict[Topic, StreamPosition]:
    """Return the position in each of these topics; a topic that the stream did not have then is not in the answer."""
    if not is_combined:
        [topic] = topics
        return {topic: _parse_position(topic, text)}
    values = decode_combined_cursor(text)
    return {topic: _parse_position(topic, values[topic]) for topic in topics if topic in values}


def decode_combined_cursor(text: str) -> Mapping[Topic, str]:
    """Return the positions of a combined stream by the topics that it had."""
    try:
        values = typed_json.decode(base64.b64decode(text, b"-_", validate=True), dict[str, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, ValueError):
        raise _build_cursor_error(text) from None
    return {Topic.parse(topic): value for topic, value in values.items()}


def _parse_position(topic: Topic, text: str) -> StreamPosition:
    if topic.kind == "inbox":
        return Position.parse(text)
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _build_cursor_error(text)
    return int(text)


def _build_cursor_error(text: str) -> Invalid:
    return Invalid(
        f"{quote_value(text)} is not a position to resume from",
        hint="send the last `id:` back as it was, or leave it out to begin now",
    )


def check_positions(tx: Reader, positions: Mapping[Topic, StreamPosition]) -> None:
    """Refuse a position that does not exist yet: a reader that waited there would miss everything before it."""
    for (kind, name), position in positions.items():
        if kind == "inbox":
            inbox_feed.read_page(tx, name, position, 1)
        elif kind == "run":
            if position > (last := len(runs.list_steps(tx, name)) + 2):
                raise Invalid(f"the run {name!r} has no step {position}", hint=f"it ends before {last + 1}")
        elif kind == "shared":
            if position > (last := shared_inbox.find_last_position(tx)):
                raise Invalid(f"the shared inbox has no change {position}", hint=f"its last one is {last}")
        elif position > (last := spaces.show(tx, name).last_seq):
            raise Invalid(f"the space {name!r} has no message {position}", hint=f"its last one is {last}")
