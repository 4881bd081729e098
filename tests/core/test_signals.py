"""What is written to a wire is read back as it was; what is not ours is passed over."""

import json
from typing import Any, get_args

from hypothesis import example, given, strategies as some

from gatepost.core.signals import EVERY_INBOX, Frame, Signal, SignalTopicKind, Topic, TransportMessage
from gatepost.inbox.event import Event, EventType
from gatepost.transports import codec
from tests.support.texts import event_strategy, texts, values


def as_json(value: Any) -> Any:
    """The value as JSON has it: two halves of a surrogate pair side by side are one character there."""
    return json.loads(json.dumps(value))


topics = some.builds(Topic, some.sampled_from(get_args(SignalTopicKind)), texts)
wire_topics = topics.map(lambda topic: Topic(topic.kind, as_json(topic.name)))
signal_strategy = some.builds(
    Signal, wire_topics, some.sampled_from(["event", "release"]), some.none(), some.booleans()
)


frames = some.builds(Frame, wire_topics, texts.map(as_json), values.map(as_json))


@given(topics)
@example(Topic("inbox", "space:q4"))
@example(Topic("inbox", ""))
@example(Topic("work", "task:T-1:2"))
def test_a_topic_is_read_back_from_either_of_its_texts(topic: Topic) -> None:
    assert Topic.parse(str(topic)) == Topic.parse(topic.recipient) == topic


def test_the_text_of_an_inbox_is_its_name_where_other_programs_read_it() -> None:
    topics = (Topic("inbox", "ann"), EVERY_INBOX, Topic("space", "q4"), Topic("keys"))
    assert [topic.recipient for topic in topics] == ["ann", "*", "space:q4", "keys:"]
    assert [str(topic) for topic in topics] == ["inbox:ann", "inbox:*", "space:q4", "keys:"]
    assert Topic.parse("of-a-later:version").recipient == "of-a-later:version"


@given(topics, topics)
def test_a_topic_without_a_name_includes_all_of_its_kind(topic: Topic, other: Topic) -> None:
    assert Topic(topic.kind).includes(topic)
    assert topic.includes(other) == (other == topic or topic == Topic(other.kind))


@given(some.lists(signal_strategy | frames, max_size=200), some.integers(min_value=6_000, max_value=20_000))
def test_signals_are_read_back_in_order_from_messages_that_fit(signals: list[TransportMessage], limit: int) -> None:
    messages, lost_count = codec.encode_payloads(signals, max_bytes=limit)
    assert all(len(message.encode()) <= limit for message in messages)
    assert [signal for message in messages for signal in codec.decode_payload(message)] == signals
    assert lost_count == 0


@given(event_strategy())
@example(Event(id="evt_1", type=EventType.PLAN, source="plans", data={"dueAt": 0}, created_at=0))
def test_an_event_means_the_same_after_the_journey(event: Event) -> None:
    [message], lost_count = codec.encode_payloads(
        [Signal(Topic("inbox", "ann"), "event", event), Signal(Topic("inbox", "bob"), "event", event)],
        max_bytes=100_000,
    )
    assert lost_count == 0
    for signal in codec.decode_payload(message):
        assert isinstance(signal, Signal)
        assert signal.event is not None
        assert as_json(codec.encode_event(signal.event)) == as_json(codec.encode_event(event))


@given(some.lists(signal_strategy | frames, max_size=50), some.integers(min_value=2, max_value=300))
def test_what_has_no_room_is_counted_and_the_rest_is_sent(signals: list[TransportMessage], limit: int) -> None:
    messages, lost_count = codec.encode_payloads(signals, max_bytes=limit)
    assert all(len(message) <= limit for message in messages)
    assert sum(len(codec.decode_payload(message)) for message in messages) + lost_count == len(signals)


@given(event_strategy(), some.integers(min_value=100, max_value=2_000))
def test_an_event_without_room_is_left_out(event: Event, limit: int) -> None:
    [message], lost_count = codec.encode_payloads([Signal(Topic("inbox", "ann"), "event", event)], max_bytes=limit)
    [signal] = codec.decode_payload(message)
    assert isinstance(signal, Signal)
    assert (signal.topic.recipient, signal.cause, lost_count) == ("ann", "event", 0)
    assert len(message) <= limit


@given(values | some.lists(some.dictionaries(some.sampled_from(["to", "topic", "event", "cause"]), values)))
def test_nonsense_is_passed_over(value: Any) -> None:
    for signal in codec.decode_payload(json.dumps(value)):
        assert isinstance(signal, Signal | Frame)


def test_a_number_that_is_none_costs_no_more_than_its_event() -> None:
    event = Event(id="evt_1", type=EventType.PLAN, source="plans", created_at=0, hops=7)
    [message], _ = codec.encode_payloads(
        [Signal(Topic("inbox", "ann"), "event", event), Signal(Topic("inbox", "bob"), "event")], max_bytes=100_000
    )
    assert '"hops":7' in message
    assert codec.decode_payload(message.replace('"hops":7', '"hops":1e400')) == [
        Signal(Topic("inbox", "ann"), "event"),
        Signal(Topic("inbox", "bob"), "event"),
    ]


@given(some.binary(max_size=50))
def test_noise_is_passed_over(noise: bytes) -> None:
    assert codec.decode_payload(noise) == [] or json.loads(noise)
