"""The door for webhooks, over a real store: what is genuine is stored once, and of what is not, nothing is."""

import asyncio
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.policy import Policy
from gatepost.core.times import MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Invalid, Malformed, NotFound, TooLarge, Unauthorized
from gatepost.gateway import webhook_endpoints as webhooks
from gatepost.gateway.http_exchange import HttpAnswer, encode
from gatepost.inbox import account_actions, claim_actions as inbox, event_rendering as render
from gatepost.inbox.event import EventType, Item, Trust
from gatepost.testing import Kit
from tests.channels.webhooks.webhook_senders import SENDERS, WebhookSender
from tests.support.gateways.local_gateways import open_gateway

BODY = b'{"id":"evt_9","event_id":"Ev9","action":"opened"}'
PROMPT = "Look at who asks."

every_scheme = pytest.mark.parametrize("sender", SENDERS.values(), ids=lambda sender: sender.scheme)


class WebhookContext:
    """An office with one agent, and a trigger of each scheme, called like it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.store = kit.store
        for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team="desk"))
        for sender in SENDERS.values():
            self.add_trigger(sender.scheme)
        kit.signal_sink.clear()

    def add_trigger(
        self, scheme: Scheme, name: str | None = None, target: str = "ana", prompt: str | None = None
    ) -> None:
        spec = TriggerSpec(
            name=name or scheme.value, scheme=scheme, secret=SENDERS[scheme].secret, target=target, prompt=prompt
        )
        self.store.run_sync(triggers.add, spec)

    async def send(
        self, sender: WebhookSender, body: bytes = BODY, to: str | None = None, **extra_headers: str
    ) -> tuple[int, dict[str, Any]]:
        headers = sender.build_headers(body, self.kit.clock.now(), **extra_headers)
        status, answer = await self.post(to or sender.scheme, headers.items(), body)
        return status, json.loads(answer)

    async def post(self, to: str, headers: Iterable[tuple[str, str]], body: bytes) -> tuple[int, bytes]:
        answer = await webhooks.receive(to, headers, body, self.store)
        return (answer.status, answer.body) if isinstance(answer, HttpAnswer) else (202, encode(answer))

    def list_inbox(self, name: str = "ana") -> list[Item]:
        return self.store.read_sync(inbox.list_page, name)

    def assert_nothing_stored(self) -> None:
        assert self.list_inbox() == []
        assert self.kit.signal_sink.signals == []
        [account] = self.store.read_sync(account_actions.list_accounts, "ana")
        assert account.accepted == 0


@pytest.fixture
def ctx(kit: Kit) -> WebhookContext:
    return WebhookContext(kit)


@pytest.fixture
def sqlite_ctx() -> Iterator[WebhookContext]:
    """On SQLite, for tests that knock thousands of times."""
    with Kit() as kit:
        yield WebhookContext(kit)


DELIVERY_IDS = {
    Scheme.STANDARD: "msg_1",
    Scheme.GITHUB: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    Scheme.SLACK: "Ev9",
    Scheme.STRIPE: "evt_9",
}


async def test_what_is_genuine_is_in_the_inbox_when_it_is_answered(ctx: WebhookContext) -> None:
    for sender in SENDERS.values():
        status, answer = await ctx.send(sender, Idempotency_Key='"again"')

        event = ctx.list_inbox()[-1].event
        assert status == 202
        assert answer["eventId"] == event.id
        assert answer["duplicate"] is False
        assert answer["events"] == [{"eventId": event.id, "duplicate": False}]
        assert (event.type, event.source, event.trust) == (EventType.SERVICE, sender.scheme, Trust.EXTERNAL)
        assert event.data == {
            "channel": "webhook",
            "sessionId": sender.scheme,
            "serviceName": sender.scheme,
            "payload": json.loads(BODY),
        }
        assert event.dedup_key == f"svc:{sender.scheme}:{DELIVERY_IDS.get(sender.scheme, 'again')}"
        assert event.subject == ("issues" if sender.scheme is Scheme.GITHUB else None)
    signals = [(signal.topic.recipient, signal.cause) for signal in ctx.kit.signal_sink.signals]
    assert signals == [("ana", "service")] * len(SENDERS)


async def test_a_delivery_that_comes_again_is_recognised(ctx: WebhookContext) -> None:
    for sender in SENDERS.values():
        _, first = await ctx.send(sender, Idempotency_Key="again")
        ctx.kit.clock.advance(MINUTE)
        status, second = await ctx.send(sender, Idempotency_Key='"again"')

        assert status == 202
        assert second["events"] == [{"eventId": first["eventId"], "duplicate": True}]
    assert len(ctx.list_inbox()) == len(SENDERS)


@pytest.mark.parametrize("scheme", [Scheme.SLACK, Scheme.STRIPE])
async def test_a_copy_of_a_request_without_an_id_is_a_repeat(sqlite_ctx: WebhookContext, scheme: Scheme) -> None:
    sender, body = SENDERS[scheme], b"[1]"
    headers = sender.build_headers(body, sqlite_ctx.kit.clock.now()).items()
    await sqlite_ctx.post(scheme, headers, body)
    sqlite_ctx.kit.clock.advance(MINUTE)
    _, repeat = await sqlite_ctx.post(scheme, headers, body)
    _, later = await sqlite_ctx.send(sender, body)

    assert json.loads(repeat)["duplicate"] is True
    assert later["duplicate"] is False
    assert len(sqlite_ctx.list_inbox()) == 2


@pytest.mark.parametrize(
    "sender", [candidate for candidate in SENDERS.values() if candidate.signs_body], ids=lambda sender: sender.scheme
)
async def test_a_captured_request_is_a_repeat_whatever_its_unsigned_headers_say(
    sqlite_ctx: WebhookContext, sender: WebhookSender
) -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/office", "type": "door", "data": 1}
    bodies = (BODY, b"[1]", json.dumps(event).encode(), json.dumps([event | {"id": "8"}, event | {"id": "9"}]).encode())
    content_types = (
        "application/json",
        "application/json",
        "application/cloudevents+json",
        "application/cloudevents-batch+json",
    )
    for name, body, content_type in zip("abcd", bodies, content_types, strict=True):
        sqlite_ctx.add_trigger(sender.scheme, name)
        headers = sender.build_headers(body, sqlite_ctx.kit.clock.now(), Content_Type=content_type)
        _, answer = await sqlite_ctx.post(name, headers.items(), body)
        first, stored = json.loads(answer)["events"][0], len(sqlite_ctx.list_inbox())
        assert first["duplicate"] is False
        ce = {"ce-specversion": "1.0", "ce-id": "new", "ce-source": "/new", "ce-type": "new"}
        for forged_headers in (
            {"X-GitHub-Delivery": "00000000-cc78-11e3-81ab-4c9367dc0958"},
            {"X-GitHub-Delivery": ""},
            {"Idempotency-Key": "new", "Content-Type": "application/json"},
            {"Content-Type": "application/json"} | ce,
        ):
            _, answer = await sqlite_ctx.post(name, (headers | forged_headers).items(), body)
            repeat = json.loads(answer)["events"]
            assert {result["duplicate"] for result in repeat} == {True}, forged_headers
            assert repeat[0]["eventId"] == first["eventId"]
        assert len(sqlite_ctx.list_inbox()) == stored


async def test_a_copy_reaches_whoever_has_joined_and_nobody_else(sqlite_ctx: WebhookContext) -> None:
    sqlite_ctx.add_trigger(Scheme.GITHUB, "team", target="team:desk")
    await sqlite_ctx.send(SENDERS[Scheme.GITHUB], to="team")
    sqlite_ctx.store.run_sync(directory.register, EntitySpec(name="cleo", kind=EntityKind.AGENT, team="desk"))
    for _ in range(2):
        await sqlite_ctx.send(SENDERS[Scheme.GITHUB], to="team", X_GitHub_Delivery="another")
    assert [len(sqlite_ctx.list_inbox(name)) for name in ("ana", "cleo")] == [1, 1]


async def test_without_a_name_of_its_own_nothing_is_a_repeat(sqlite_ctx: WebhookContext) -> None:
    for _ in range(3):
        await sqlite_ctx.send(SENDERS[Scheme.BEARER])

    assert len({item.event.dedup_key for item in sqlite_ctx.list_inbox()}) == 3


async def test_the_same_delivery_by_another_trigger_is_another(sqlite_ctx: WebhookContext) -> None:
    sqlite_ctx.add_trigger(Scheme.GITHUB, "elsewhere")
    await sqlite_ctx.send(SENDERS[Scheme.GITHUB])
    _, answer = await sqlite_ctx.send(SENDERS[Scheme.GITHUB], to="elsewhere")

    assert answer["duplicate"] is False


async def test_a_prompt_goes_along_as_context(sqlite_ctx: WebhookContext) -> None:
    sqlite_ctx.add_trigger(Scheme.GITHUB, "issues", prompt=PROMPT)
    await sqlite_ctx.send(SENDERS[Scheme.GITHUB], b'{"n":1}', to="issues")

    [item] = sqlite_ctx.list_inbox()
    text = render.render_event(item.event)
    assert text.startswith('[Service: issues] {"n":1} (context "Look at who asks.") (')
    assert text.endswith("external)")


@pytest.mark.parametrize("scheme", [Scheme.GITHUB, Scheme.SLACK])
async def test_json_may_be_in_a_form(sqlite_ctx: WebhookContext, scheme: Scheme) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    status, _ = await sqlite_ctx.send(SENDERS[scheme], urlencode({"payload": '{"a":"\u00e9 +&"}'}).encode(), **form)

    [item] = sqlite_ctx.list_inbox()
    assert status == 202
    assert isinstance(item.event.data, dict)
    assert item.event.data["payload"] == {"a": "\u00e9 +&"}
    for body in (b"payload=x", b"a=1", b"&" * 200, b'{"a":1}'):
        with pytest.raises(Malformed):
            await sqlite_ctx.send(SENDERS[scheme], body, **form)


async def test_the_ping_of_github_is_answered_and_nobody_gets_it(sqlite_ctx: WebhookContext) -> None:
    sender, body = SENDERS[Scheme.GITHUB], b'{"zen":"Keep it logically awesome."}'
    headers = sender.build_headers(body, sqlite_ctx.kit.clock.now(), X_GitHub_Event="ping")

    assert await sqlite_ctx.post("github", headers.items(), body) == (200, b"pong")
    sqlite_ctx.assert_nothing_stored()


async def test_what_lacks_something_required_is_kept(sqlite_ctx: WebhookContext) -> None:
    store = sqlite_ctx.store
    store.run_sync(triggers.change, "github", {"config": TriggerConfig(requires=("issue.number",))})
    sender = SENDERS[Scheme.GITHUB]
    assert (await sqlite_ctx.send(sender, b'{"issue":{}}', X_GitHub_Delivery="1"))[1] == {"events": []}
    assert len((await sqlite_ctx.send(sender, b'{"issue":{"number":7}}', X_GitHub_Delivery="2"))[1]["events"]) == 1

    [unrouted] = store.read_sync(unrouted_messages.list_page, by=None)
    assert unrouted.reason is UnroutedReason.MISSING_METADATA
    [alert] = sqlite_ctx.list_inbox("admin")
    assert alert.event.content.startswith("a message of 'github' lacks 'issue.number', which its trigger requires")


async def test_a_team_gets_it_and_nobody_twice(ctx: WebhookContext) -> None:
    ctx.store.run_sync(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT, team="desk"))
    ctx.add_trigger(Scheme.GITHUB, "team", target="team:desk")
    await ctx.send(SENDERS[Scheme.GITHUB], to="team")
    ctx.store.run_sync(directory.register, EntitySpec(name="cleo", kind=EntityKind.AGENT, team="desk"))
    _, repeat = await ctx.send(SENDERS[Scheme.GITHUB], to="team")
    _, third = await ctx.send(SENDERS[Scheme.GITHUB], to="team")

    assert repeat["duplicate"] is False
    assert third["duplicate"] is True
    assert [len(ctx.list_inbox(name)) for name in ("ana", "ben", "cleo")] == [1, 1, 1]


async def test_every_agent_can_be_the_target(ctx: WebhookContext) -> None:
    ctx.add_trigger(Scheme.STRIPE, "all-hands", target="*")
    _, first = await ctx.send(SENDERS[Scheme.STRIPE], to="all-hands")
    _, second = await ctx.send(SENDERS[Scheme.STRIPE], to="all-hands")

    assert (first["duplicate"], second["duplicate"]) == (False, True)
    assert first["eventId"] == second["eventId"]


async def test_what_comes_for_a_target_that_has_retired_is_kept(ctx: WebhookContext) -> None:
    ctx.store.run_sync(directory.register, EntitySpec(name="ben", kind=EntityKind.AGENT, team="solo"))
    ctx.add_trigger(Scheme.GITHUB, "one", target="ben")
    ctx.add_trigger(Scheme.GITHUB, "few", target="team:solo")
    ctx.store.run_sync(directory.retire, "ben")
    ctx.kit.signal_sink.clear()

    for name in ("one", "few"):
        assert await ctx.send(SENDERS[Scheme.GITHUB], to=name) == (202, {"events": []})
    letters = ctx.store.read_sync(unrouted_messages.list_page, by=None)
    assert [(letter.trigger, letter.reason) for letter in letters] == [
        ("one", UnroutedReason.NO_TARGET),
        ("few", UnroutedReason.NO_TARGET),
    ]
    assert ctx.list_inbox() == []


async def test_a_batch_is_stored_whole_or_not_at_all(ctx: WebhookContext) -> None:
    def build_event(id: str, data: object) -> dict[str, object]:
        return {"specversion": "1.0", "id": id, "source": "/office", "type": "door", "data": data}

    github, batch = SENDERS[Scheme.GITHUB], "application/cloudevents-batch+json"
    for bad_event in (
        build_event("", 1),
        build_event("3", "\x00"),
        build_event("3", "\ud800"),
        build_event("3", float("inf")),
    ):
        body = json.dumps([build_event("1", 1), build_event("2", 2), bad_event]).encode().replace(b"Infinity", b"1e999")
        with pytest.raises(Invalid):
            await ctx.send(github, body, Content_Type=batch)
    ctx.assert_nothing_stored()

    body = json.dumps([build_event("1", 1), build_event("2", 2), build_event("1", 3)]).encode()
    _, first = await ctx.send(github, body, Content_Type=batch)
    _, repeat = await ctx.send(github, body, Content_Type=batch)

    assert [result["duplicate"] for result in first["events"]] == [False, False, True]
    assert [result["duplicate"] for result in repeat["events"]] == [True, True, True]
    assert [item.event.data["payload"] for item in ctx.list_inbox()] == [1, 2]
    assert [item.event.dedup_key for item in ctx.list_inbox()] == ["svc:github:/office 1", "svc:github:/office 2"]
    assert "eventId" not in first


async def test_slack_asks_whether_anybody_is_here(sqlite_ctx: WebhookContext) -> None:
    body = b'{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}'
    slack = SENDERS[Scheme.SLACK]
    headers = slack.build_headers(body, sqlite_ctx.kit.clock.now())

    assert await sqlite_ctx.post("slack", headers.items(), body) == (200, json.loads(body)["challenge"].encode())
    answer = await webhooks.receive("slack", headers.items(), body, sqlite_ctx.store)
    assert isinstance(answer, HttpAnswer)
    assert answer.media_type == "text/plain; charset=utf-8"
    sqlite_ctx.assert_nothing_stored()
    with pytest.raises(Unauthorized):
        await sqlite_ctx.post("slack", (headers | {"X-Slack-Signature": "v0=00"}).items(), body)
    with pytest.raises(Malformed):
        await sqlite_ctx.send(slack, b'{"type":"url_verification","challenge":7}')
    status, _ = await sqlite_ctx.send(SENDERS[Scheme.STRIPE], body)
    assert status == 202  # to everybody else it is just a payload


@every_scheme
async def test_one_wrong_bit_and_nothing_is_stored(sqlite_ctx: WebhookContext, sender: WebhookSender) -> None:
    headers = sender.build_headers(BODY, sqlite_ctx.kit.clock.now())
    for name, skip in sender.proof_headers.items():
        for at in range(skip, len(headers[name])):
            bad_value = headers[name][:at] + chr(ord(headers[name][at]) ^ 1 << at % 7) + headers[name][at + 1 :]
            with pytest.raises(Unauthorized):
                await sqlite_ctx.post(sender.scheme, (headers | {name: bad_value}).items(), BODY)
    for at in range(len(BODY)) if sender.signs_body else ():
        wrong_body = BODY[:at] + bytes([BODY[at] ^ 1 << at % 8]) + BODY[at + 1 :]
        for body in (wrong_body, BODY[:at]):
            with pytest.raises(Unauthorized):
                await sqlite_ctx.post(sender.scheme, headers.items(), body)

    sqlite_ctx.assert_nothing_stored()


@pytest.mark.parametrize("scheme", [Scheme.STANDARD, Scheme.SLACK, Scheme.STRIPE])
@pytest.mark.parametrize("off", [-301, 301])
async def test_what_is_stale_or_early_is_refused(sqlite_ctx: WebhookContext, scheme: Scheme, off: int) -> None:
    headers = SENDERS[scheme].build_headers(BODY, sqlite_ctx.kit.clock.now() + off * 1_000_000)

    with pytest.raises(Unauthorized, match="5 minutes"):
        await sqlite_ctx.post(scheme, headers.items(), BODY)
    sqlite_ctx.assert_nothing_stored()


@every_scheme
async def test_what_is_too_large_is_refused(sqlite_ctx: WebhookContext, sender: WebhookSender) -> None:
    sqlite_ctx.store = sqlite_ctx.kit.open(policy=Policy(data=200))
    largest = b'{"text":"%s"}' % (b"x" * 189)

    for body in (largest, largest + b" "):  # the envelope takes the first over the limit, before it is the body
        with pytest.raises(TooLarge):
            await sqlite_ctx.send(sender, body)
    sqlite_ctx.assert_nothing_stored()
    assert (await sqlite_ctx.send(sender, b'{"text":"%s"}' % (b"x" * 80)))[0] == 202


NOT_JSON = [b"", b"{", b"hello", b"\xff\xfe", b"NaN", b'{"a":Infinity}', b"[1] [2]", b"payload=%7B%7D", b"9" * 5_000]
TOO_DEEP = [b"[" * 101 + b"]" * 101, b"[" * 100_000, b'{"a":' * 101 + b"1" + b"}" * 101]


@every_scheme
async def test_what_is_not_json_is_refused(sqlite_ctx: WebhookContext, sender: WebhookSender) -> None:
    for body in NOT_JSON + TOO_DEEP:
        with pytest.raises(Malformed):
            await sqlite_ctx.send(sender, body)
    sqlite_ctx.assert_nothing_stored()
    for body in (b"null", b"[" * 100 + b"]" * 100, b"[" + b"[]," * 1000 + b"[]]"):
        assert (await sqlite_ctx.send(sender, body))[0] == 202


async def test_a_closed_trigger_is_as_good_as_none(ctx: WebhookContext) -> None:
    github = SENDERS[Scheme.GITHUB]
    ctx.store.run_sync(triggers.change, "github", {"active": False})
    answers = []
    for to in ("github", "never-was", "no name", "nul\x00", "\ud800"):
        with pytest.raises(NotFound) as error:
            await ctx.send(github, to=to)
        answers.append((error.value.message, error.value.hint))

    assert len(set(answers)) == 1
    assert ctx.list_inbox() == []
    ctx.store.run_sync(triggers.change, "github", {"active": True})
    assert (await ctx.send(github))[0] == 202


async def test_only_post_is_taken(tmp_path: Path) -> None:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db") as gateway, gateway.open_client(accept="*/*") as client:
        for method in ("GET", "HEAD", "PUT", "OPTIONS"):
            for name in ("github", "never-was"):
                answer = await client.request(method, f"/hooks/{name}")
                assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


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


def test_whatever_comes_is_stored_whole_or_refused_in_our_words(sqlite_ctx: WebhookContext) -> None:
    """Signed well, so that what is behind the signature is reached; and signed badly, half of the time."""
    with asyncio.Runner() as runner:

        @given(st.sampled_from(list(SENDERS.values())), bodies, media, attributes, st.booleans())
        def post_request(
            sender: WebhookSender, body: bytes, content_type: str, extra: dict[str, str], good: bool
        ) -> None:
            proof = sender.build_headers(body, sqlite_ctx.kit.clock.now()) if good else {}
            proof_names = {name.lower() for name in proof}  # which do not come twice here: that alone would be refused
            extra_headers = {name: value for name, value in extra.items() if name.lower() not in proof_names}
            headers = [*(extra_headers | proof | {"Content-Type": content_type}).items()]
            before = len(sqlite_ctx.kit.signal_sink.signals)
            try:
                status, _ = runner.run(sqlite_ctx.post(sender.scheme, headers, body))
            except GatepostError as error:
                status = error.status
            assert status in ((200, 202, 400, 413, 422) if good else (401,))
            assert status == 202 or len(sqlite_ctx.kit.signal_sink.signals) == before

        post_request()
    [account] = sqlite_ctx.store.read_sync(account_actions.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == len(sqlite_ctx.kit.signal_sink.signals)
