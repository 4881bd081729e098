"""The table of who listens to what."""

import re
from pathlib import Path
from typing import get_args

import pytest

from gatepost.core.signals import Frame, Signal, SignalTopicKind, Topic, TransportMessage
from gatepost.transports.signal_bus import LISTENERS, SignalBus

SOURCES = Path(__file__).parents[2] / "src" / "gatepost"
#: topics of streams, about which nothing is signalled: their frames are made in the gateway
OF_STREAMS = {"agents", "gates", "fires"}


@pytest.mark.parametrize("name", LISTENERS)
def test_a_listener_gets_the_topics_of_the_table_and_no_others(name: str) -> None:
    bus, messages = SignalBus(), list[TransportMessage]()
    sent_messages = [
        message
        for kind in get_args(SignalTopicKind)
        for message in (Signal(Topic(kind, "x"), "test"), Frame(Topic(kind, "x"), "test", None))
    ]
    with bus.subscribe(messages.append, name):
        bus.dispatch([*sent_messages, Signal(Topic.parse("of-a-later:version"), "test")])
    bus.dispatch(sent_messages)
    assert messages == [message for message in sent_messages if message.topic.kind in LISTENERS[name]]


def test_everything_that_is_signalled_is_listened_to() -> None:
    assert {kind for kinds in LISTENERS.values() for kind in kinds} == set(get_args(SignalTopicKind)) - OF_STREAMS


def test_every_listener_is_in_the_table_and_nothing_takes_a_topic_apart() -> None:
    """A duty listens by its name. Where `LISTENERS` has a name that nobody subscribes by, it is out of date."""
    texts = {path: path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    subscriptions = [
        match for text in texts.values() for match in re.findall(r"bus\.subscribe\(([\w.]+)(?:, ([^)]+))?\)", text)
    ]
    duties = [
        match for text in texts.values() for match in re.findall(r'(?:Duty|build_duty|job_duty)\(\s*"([^"]+)"', text)
    ]
    names = {name.strip('"') for _, name in subscriptions}
    assert "" not in names, "who does not say its name gets everything"
    assert LISTENERS.keys() == {*names - {"duty.name"}, *(LISTENERS.keys() & duties)}
    apart = [
        f"{path.name}: {line}"
        for path, text in texts.items()
        for line in text.splitlines()
        if re.search(r"topic(\.recipient|\.name)?\.(startswith|partition|removeprefix|split)\(|str\(\w*topic\)\.", line)
        and "ledger" not in path.parts
    ]
    assert apart == []
