"""The door for webhooks, over a real store: what is genuine is stored once, and of what is not, nothing is."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.actions import directory, inbox, maintenance, triggers
from gatepost.actions.directory import EntitySpec
from gatepost.actions.triggers import TriggerSpec
from gatepost.core import render
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Item, Trust
from gatepost.core.limits import Limits
from gatepost.core.times import MINUTE
from gatepost.core.webhook import Scheme
from gatepost.errors import GatepostError, Invalid, Malformed, NotFound, Refused, TooLarge, Unauthorized, UnknownAddress
from gatepost.gateway import hooks
from gatepost.testing import Kit
from tests.senders import SENDERS, Sender

BODY = b'{"id":"evt_9","event_id":"Ev9","action":"opened"}'
PROMPT = "Look at who asks."

every_scheme = pytest.mark.parametrize("sender", SENDERS.values(), ids=lambda sender: sender.scheme)


class House:
    """An office with one agent, and a trigger of each scheme, called like it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.store = kit.store
        for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            self.store.call(directory.register, EntitySpec(name=name, kind=kind, team="desk"))
        for sender in SENDERS.values():
            self.add(sender.scheme)

    def add(self, scheme: Scheme, name: str | None = None, target: str = "ana", prompt: str | None = None) -> None:
        wish = TriggerSpec(
            name=name or scheme.value, scheme=scheme, secret=SENDERS[scheme].secret, target=target, prompt=prompt
        )
        self.store.call(triggers.add, wish)

    async def send(
        self, sender: Sender, body: bytes = BODY, to: str | None = None, **more: str
    ) -> tuple[int, dict[str, Any]]:
        headers = sender.headers(body, self.kit.clock.now(), **more)
        status, answer = await self.knock(to or sender.scheme, headers.items(), body)
        return status, json.loads(answer)

    async def knock(self, to: str, headers: Iterable[tuple[str, str]], body: bytes) -> tuple[int, bytes]:
        status, _, answer = await hooks.take(to, "POST", headers, body, self.store)
        return status, answer

    def inbox(self, name: str = "ana") -> list[Item]:
        return self.store.query(inbox.page, name)

    def assert_nothing_stored(self) -> None:
        assert self.inbox() == []
        assert self.kit.signal_sink.signals == []
        [account] = self.store.query(maintenance.list_accounts, "ana")
        assert account.accepted == 0


@pytest.fixture(params=["sqlite", "postgres"])
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    url = request.getfixturevalue("swept_url") if request.param == "postgres" else None
    with Kit(url) as kit:
        yield House(kit)


@pytest.fixture
def quick() -> Iterator[House]:
    """On SQLite, for tests that knock thousands of times."""
    with Kit() as kit:
        yield House(kit)


DELIVERY = {
    Scheme.STANDARD: "msg_1",
    Scheme.GITHUB: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    Scheme.SLACK: "Ev9",
    Scheme.STRIPE: "evt_9",
}


async def test_what_is_genuine_is_in_the_inbox_when_it_is_answered(house: House) -> None:
    for sender in SENDERS.values():
        status, answer = await house.send(sender, Idempotency_Key='"again"')

        event = house.inbox()[-1].event
        assert status == 202
        assert answer["eventId"] == event.id
        assert answer["duplicate"] is False
        assert answer["events"] == [{"eventId": event.id, "duplicate": False}]
        assert (event.type, event.source, event.trust) == (EventType.SERVICE, sender.scheme, Trust.EXTERNAL)
        assert event.data == {"serviceName": sender.scheme, "payload": json.loads(BODY)}
        assert event.key == f"svc:{sender.scheme}:{DELIVERY.get(sender.scheme, 'again')}"
        assert event.subject == ("issues" if sender.scheme is Scheme.GITHUB else None)
    assert [(ring.recipient, ring.cause) for ring in house.kit.signal_sink.signals] == [("ana", "service")] * len(
        SENDERS
    )


async def test_a_delivery_that_comes_again_is_recognised(house: House) -> None:
    for sender in SENDERS.values():
        _, first = await house.send(sender, Idempotency_Key="again")
        house.kit.clock.advance(MINUTE)
        status, second = await house.send(sender, Idempotency_Key='"again"')

        assert status == 202
        assert second["events"] == [{"eventId": first["eventId"], "duplicate": True}]
    assert len(house.inbox()) == len(SENDERS)


@pytest.mark.parametrize("scheme", [Scheme.SLACK, Scheme.STRIPE])
async def test_a_copy_of_a_request_without_an_id_is_a_repeat(quick: House, scheme: Scheme) -> None:
    sender, body = SENDERS[scheme], b"[1]"
    headers = sender.headers(body, quick.kit.clock.now()).items()
    await quick.knock(scheme, headers, body)
    quick.kit.clock.advance(MINUTE)
    _, copy = await quick.knock(scheme, headers, body)
    _, later = await quick.send(sender, body)

    assert json.loads(copy)["duplicate"] is True
    assert later["duplicate"] is False
    assert len(quick.inbox()) == 2


@pytest.mark.parametrize("sender", [one for one in SENDERS.values() if one.seals], ids=lambda sender: sender.scheme)
async def test_a_captured_request_is_a_repeat_whatever_its_unsigned_headers_say(quick: House, sender: Sender) -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/office", "type": "door", "data": 1}
    bodies = (BODY, b"[1]", json.dumps(event).encode(), json.dumps([event | {"id": "8"}, event | {"id": "9"}]).encode())
    types = (
        "application/json",
        "application/json",
        "application/cloudevents+json",
        "application/cloudevents-batch+json",
    )
    for name, body, type in zip("abcd", bodies, types, strict=True):
        quick.add(sender.scheme, name)
        headers = sender.headers(body, quick.kit.clock.now(), Content_Type=type)
        _, answer = await quick.knock(name, headers.items(), body)
        first, stored = json.loads(answer)["events"][0], len(quick.inbox())
        assert first["duplicate"] is False
        ce = {"ce-specversion": "1.0", "ce-id": "new", "ce-source": "/new", "ce-type": "new"}
        for forged in (
            {"X-GitHub-Delivery": "00000000-cc78-11e3-81ab-4c9367dc0958"},
            {"X-GitHub-Delivery": ""},
            {"Idempotency-Key": "new", "Content-Type": "application/json"},
            {"Content-Type": "application/json"} | ce,
        ):
            _, answer = await quick.knock(name, (headers | forged).items(), body)
            again = json.loads(answer)["events"]
            assert {each["duplicate"] for each in again} == {True}, forged
            assert again[0]["eventId"] == first["eventId"]
        assert len(quick.inbox()) == stored


async def test_a_copy_reaches_whoever_has_joined_and_nobody_else(quick: House) -> None:
    quick.add(Scheme.GITHUB, "team", target="team:desk")
    await quick.send(SENDERS[Scheme.GITHUB], to="team")
    quick.store.call(directory.register, EntitySpec(name="cleo", kind=EntityKind.AGENT, team="desk"))
    for _ in range(2):
        await quick.send(SENDERS[Scheme.GITHUB], to="team", X_GitHub_Delivery="another")
    assert [len(quick.inbox(name)) for name in ("ana", "cleo")] == [1, 1]


async def test_without_a_name_of_its_own_nothing_is_a_repeat(quick: House) -> None:
    for _ in range(3):
        await quick.send(SENDERS[Scheme.BEARER])

    assert len({item.event.key for item in quick.inbox()}) == 3


async def test_the_same_delivery_by_another_trigger_is_another(quick: House) -> None:
    quick.add(Scheme.GITHUB, "elsewhere")
    await quick.send(SENDERS[Scheme.GITHUB])
    _, answer = await quick.send(SENDERS[Scheme.GITHUB], to="elsewhere")

    assert answer["duplicate"] is False


async def test_a_prompt_goes_along_as_context(quick: House) -> None:
    quick.add(Scheme.GITHUB, "issues", prompt=PROMPT)
    await quick.send(SENDERS[Scheme.GITHUB], b'{"n":1}', to="issues")

    [item] = quick.inbox()
    shown = render.render_event(item.event)
    assert shown.startswith('[Service: issues] {"n":1} (context "Look at who asks.") (')
    assert shown.endswith("external)")


async def test_a_team_gets_it_and_nobody_twice(house: House) -> None:
    house.store.call(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT, team="desk"))
    house.add(Scheme.GITHUB, "team", target="team:desk")
    await house.send(SENDERS[Scheme.GITHUB], to="team")
    house.store.call(directory.register, EntitySpec(name="cleo", kind=EntityKind.AGENT, team="desk"))
    _, again = await house.send(SENDERS[Scheme.GITHUB], to="team")
    _, third = await house.send(SENDERS[Scheme.GITHUB], to="team")

    assert again["duplicate"] is False
    assert third["duplicate"] is True
    assert [len(house.inbox(name)) for name in ("ana", "ben", "cleo")] == [1, 1, 1]


async def test_every_agent_can_be_the_target(house: House) -> None:
    house.add(Scheme.STRIPE, "all-hands", target="*")
    _, first = await house.send(SENDERS[Scheme.STRIPE], to="all-hands")
    _, second = await house.send(SENDERS[Scheme.STRIPE], to="all-hands")

    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert first["eventId"] == second["eventId"]


async def test_a_target_that_has_retired_is_not_a_202(house: House) -> None:
    house.store.call(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT, team="solo"))
    house.add(Scheme.GITHUB, "one", target="ben")
    house.add(Scheme.GITHUB, "few", target="team:solo")
    house.store.call(directory.retire, "ben")
    house.kit.signal_sink.clear()

    with pytest.raises(Refused, match="retired"):
        await house.send(SENDERS[Scheme.GITHUB], to="one")
    with pytest.raises(UnknownAddress, match="nobody is in 'team:solo'"):
        await house.send(SENDERS[Scheme.GITHUB], to="few")
    house.assert_nothing_stored()


async def test_a_batch_is_stored_whole_or_not_at_all(house: House) -> None:
    def event(id: str, data: object) -> dict[str, object]:
        return {"specversion": "1.0", "id": id, "source": "/office", "type": "door", "data": data}

    github, batch = SENDERS[Scheme.GITHUB], "application/cloudevents-batch+json"
    for wrong in (event("", 1), event("3", "\x00"), event("3", "\ud800"), event("3", float("inf"))):
        body = json.dumps([event("1", 1), event("2", 2), wrong]).encode().replace(b"Infinity", b"1e999")
        with pytest.raises(Invalid):
            await house.send(github, body, Content_Type=batch)
    house.assert_nothing_stored()

    body = json.dumps([event("1", 1), event("2", 2), event("1", 3)]).encode()
    _, first = await house.send(github, body, Content_Type=batch)
    _, again = await house.send(github, body, Content_Type=batch)

    assert [one["duplicate"] for one in first["events"]] == [False, False, True]
    assert [one["duplicate"] for one in again["events"]] == [True, True, True]
    assert [item.event.data["payload"] for item in house.inbox()] == [1, 2]
    assert [item.event.key for item in house.inbox()] == ["svc:github:/office 1", "svc:github:/office 2"]
    assert "eventId" not in first


async def test_slack_asks_whether_anybody_is_here(quick: House) -> None:
    body = b'{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}'
    slack = SENDERS[Scheme.SLACK]
    headers = slack.headers(body, quick.kit.clock.now())

    assert await quick.knock("slack", headers.items(), body) == (200, json.loads(body)["challenge"].encode())
    quick.assert_nothing_stored()
    with pytest.raises(Unauthorized):
        await quick.knock("slack", (headers | {"X-Slack-Signature": "v0=00"}).items(), body)
    with pytest.raises(Malformed):
        await quick.send(slack, b'{"type":"url_verification","challenge":7}')
    status, _ = await quick.send(SENDERS[Scheme.STRIPE], body)
    assert status == 202  # to everybody else it is just a payload


@every_scheme
async def test_one_wrong_bit_and_nothing_is_stored(quick: House, sender: Sender) -> None:
    headers = sender.headers(BODY, quick.kit.clock.now())
    for name, spared in sender.proof.items():
        for at in range(spared, len(headers[name])):
            wrong = headers[name][:at] + chr(ord(headers[name][at]) ^ 1 << at % 7) + headers[name][at + 1 :]
            with pytest.raises(Unauthorized):
                await quick.knock(sender.scheme, (headers | {name: wrong}).items(), BODY)
    for at in range(len(BODY)) if sender.seals else ():
        wrong_body = BODY[:at] + bytes([BODY[at] ^ 1 << at % 8]) + BODY[at + 1 :]
        for body in (wrong_body, BODY[:at]):
            with pytest.raises(Unauthorized):
                await quick.knock(sender.scheme, headers.items(), body)

    quick.assert_nothing_stored()


@pytest.mark.parametrize("scheme", [Scheme.STANDARD, Scheme.SLACK, Scheme.STRIPE])
@pytest.mark.parametrize("off", [-301, 301])
async def test_what_is_stale_or_early_is_refused(quick: House, scheme: Scheme, off: int) -> None:
    headers = SENDERS[scheme].headers(BODY, quick.kit.clock.now() + off * 1_000_000)

    with pytest.raises(Unauthorized, match="5 minutes"):
        await quick.knock(scheme, headers.items(), BODY)
    quick.assert_nothing_stored()


@every_scheme
async def test_what_is_too_large_is_refused(quick: House, sender: Sender) -> None:
    quick.store = quick.kit.open(limits=Limits(data=200))
    largest = b'{"text":"%s"}' % (b"x" * 189)

    for body in (largest, largest + b" "):  # the envelope takes the first over the limit, before it is the body
        with pytest.raises(TooLarge):
            await quick.send(sender, body)
    quick.assert_nothing_stored()
    assert (await quick.send(sender, b'{"text":"%s"}' % (b"x" * 100)))[0] == 202


NOT_JSON = [b"", b"{", b"hello", b"\xff\xfe", b"NaN", b'{"a":Infinity}', b"[1] [2]", b"payload=%7B%7D", b"9" * 5_000]
TOO_DEEP = [b"[" * 101 + b"]" * 101, b"[" * 100_000, b'{"a":' * 101 + b"1" + b"}" * 101]


@every_scheme
async def test_what_is_not_json_is_refused(quick: House, sender: Sender) -> None:
    for body in NOT_JSON + TOO_DEEP:
        with pytest.raises(Malformed):
            await quick.send(sender, body)
    quick.assert_nothing_stored()
    for body in (b"null", b"[" * 100 + b"]" * 100, b"[" + b"[]," * 1000 + b"[]]"):
        assert (await quick.send(sender, body))[0] == 202


async def test_a_closed_trigger_is_as_good_as_none(house: House) -> None:
    github = SENDERS[Scheme.GITHUB]
    house.store.call(triggers.set_active, "github", False)
    answers = []
    for to in ("github", "never-was", "no name", "nul\x00", "\ud800"):
        with pytest.raises(NotFound) as refused:
            await house.send(github, to=to)
        answers.append((refused.value.message, refused.value.hint))

    assert len(set(answers)) == 1
    house.assert_nothing_stored()
    house.store.call(triggers.set_active, "github", True)
    assert (await house.send(github))[0] == 202


async def test_only_post_is_taken(quick: House) -> None:
    for method in ("GET", "HEAD", "PUT", "OPTIONS"):
        assert (await hooks.take("github", method, (), b"", quick.store))[0] == 405


words = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
bodies = st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode())
media = st.sampled_from(
    ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json", "text/plain", "x"]
)
attributes = st.dictionaries(
    st.sampled_from(["ce-id", "ce-source", "ce-type", "ce-specversion", "ce-time", "ce-"]) | words,
    st.sampled_from(["1.0", "a", "%41", "%ff"]) | words,
)


def test_whatever_comes_is_stored_whole_or_refused_in_our_words(quick: House) -> None:
    """Signed well, so that what is behind the signature is reached; and signed badly, half of the time."""
    with asyncio.Runner() as runner:

        @given(st.sampled_from(list(SENDERS.values())), bodies, media, attributes, st.booleans())
        def knock(sender: Sender, body: bytes, type: str, more: dict[str, str], good: bool) -> None:
            proof = sender.headers(body, quick.kit.clock.now()) if good else {}
            known = {name.lower() for name in proof}  # which do not come twice here: that alone would be refused
            others = {name: value for name, value in more.items() if name.lower() not in known}
            headers = [*(others | proof | {"Content-Type": type}).items()]
            before = len(quick.kit.signal_sink.signals)
            try:
                status, _ = runner.run(quick.knock(sender.scheme, headers, body))
            except GatepostError as error:
                status = error.status
            assert status in ((200, 202, 400, 413, 422) if good else (401,))
            assert status == 202 or len(quick.kit.signal_sink.signals) == before

        knock()
    [account] = quick.store.query(maintenance.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == len(quick.kit.signal_sink.signals)
