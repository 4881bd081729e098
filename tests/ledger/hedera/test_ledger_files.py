"""The texts of messages in files of others, whatever is in them."""

from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest

from gatepost.ledger.hcs import hcs1_files as hcs1
from gatepost.ledger.topic import TopicKind
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.posters import Poster, create_poster

TEXT = "a text " * 300


def put_bomb(poster: Poster) -> str:
    return poster.put_file(b"small", compressed=("brotli", brotli.compress(bytes(8_000_000), quality=1)))


FILES: dict[str, Any] = {
    "there is no topic 0.0.999999": lambda _: "hcs://1/0.0.999999",
    "the topic of a file needs a submit key, and must not have an admin key": lambda poster: poster.put_file(
        TEXT.encode(), has_admin_key=True
    ),
    "the topic of a file needs a submit key, and must not": lambda poster: poster.put_file(
        TEXT.encode(), has_submit_key=False
    ),
    "the content of the file does not have the hash of its memo": lambda poster: poster.put_file(
        TEXT.encode(), memo=hcs1.build_file(b"another")[0]
    ),
    "part 0 of the file is missing": lambda poster: poster.put_file(TEXT.encode(), parts=0),
    "the file is not base64": lambda poster: poster.put_file(TEXT.encode(), parts=1),
    "the file": put_bomb,
    "is not the memo of a file": lambda poster: poster.put_file(TEXT.encode(), memo="a topic"),
}


@pytest.mark.parametrize("reason", FILES)
async def test_mail_whose_file_cannot_be_read_is_refused_after_some_time(ledger: LedgerSetup, reason: str) -> None:
    ann, topic = ledger.create_poster("ann"), ledger.find_topic(TopicKind.INBOUND, "bob")
    reference = FILES[reason](ann)
    ann.send(topic.id, reference)
    ledger.send("bob", "later")
    ledger.send("husam", "to another")
    await ledger.settle()
    assert (ledger.list_inbox("bob"), ledger.list_inbox("husam")) == ([], ["to another"])
    ledger.run_out_of_patience()
    await ledger.listen()
    assert ledger.list_inbox("bob") == ["later"]
    refusal, later = ledger.list_refusals(topic)
    assert later is None
    assert refusal is not None
    assert refusal.startswith(f"its file {reference.removeprefix('hcs://1/')} cannot be read: ")
    assert reason in refusal
    assert ledger.is_balanced()


async def test_a_file_that_comes_later_is_waited_for(ledger: LedgerSetup) -> None:
    ann, topic = ledger.create_poster("ann"), ledger.find_topic(TopicKind.INBOUND, "bob")
    text = "".join(f"{number * number % 7919} " for number in range(1_000))
    _, parts = hcs1.build_file(text.encode())
    reference = ann.put_file(text.encode(), parts=2)
    ann.send(topic.id, reference)
    await ledger.settle()
    assert ledger.list_inbox("bob") == []
    for part in parts[2:]:
        ann.submit(reference.removeprefix("hcs://1/"), part)
    await ledger.listen()
    assert ledger.list_inbox("bob") == [text]


async def test_a_file_that_is_missing_holds_up_no_other_topic(ledger: LedgerSetup) -> None:
    """More topics than are read at the same time; that of bob is among the first."""
    ann = ledger.create_poster("ann")
    ann.send(ledger.find_topic(TopicKind.INBOUND, "bob").id, "hcs://1/0.0.999999")
    names = [f"agent-{number}" for number in range(20)]
    for name in names:
        ledger.register(name)
        ledger.send(name, "hello")
    await ledger.settle()
    assert [ledger.list_inbox(name) for name in names] == [["hello"]] * 20


async def test_files_of_strangers_are_not_even_read(ledger: LedgerSetup) -> None:
    stranger, topic = create_poster(ledger.network), ledger.find_topic(TopicKind.INBOUND, "bob")
    stranger.send(topic.id, put_bomb(stranger))
    requests = ledger.network.requests["mirror:topic"]
    await ledger.settle()
    assert ledger.network.requests["mirror:topic"] == requests
    assert ledger.list_refusals(topic) == [f"account {stranger.account}, which has paid for it, is not one of ours"]
