"""Verification alone: what was published passes, and nothing that differs from it by one bit does."""

import base64
import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from standardwebhooks import Webhook

from gatepost.channels.webhooks import verification as webhook
from gatepost.channels.webhooks.verification import Scheme, Verification, WebhookRefusal
from gatepost.core.times import MINUTE, SECOND, Instant
from gatepost.errors import Invalid
from gatepost.testing import MORNING
from tests.channels.webhooks.webhook_senders import SENDERS, STANDARD_SECRET, WebhookSender

VECTORS = Path(__file__).parents[4] / "shared/samples/webhooks/signature-vectors.json"
BODY = b'{"id":"evt_9","event_id":"Ev9","n":[1,2]}'

every_scheme = pytest.mark.parametrize("sender", SENDERS.values(), ids=lambda sender: sender.scheme)
signed_schemes = pytest.mark.parametrize(
    "sender", [candidate for candidate in SENDERS.values() if candidate.signs_body], ids=lambda sender: sender.scheme
)


def verify(
    sender: WebhookSender, headers: dict[str, str], body: bytes = BODY, now: Instant = MORNING
) -> Verification | WebhookRefusal:
    stored_secret = webhook.prepare_secret(sender.scheme, sender.secret)
    return webhook.verify(sender.scheme, stored_secret, webhook.merge_headers(headers.items()), body, now)


def load_vectors() -> list[dict[str, Any]]:
    if not VECTORS.exists():
        return []
    vectors: list[dict[str, Any]] = json.loads(VECTORS.read_text())["vectors"]
    return vectors


@pytest.mark.skipif(not VECTORS.exists(), reason=f"THE PUBLISHED VECTORS ARE NOT CHECKED: {VECTORS} is missing")
def test_what_vendors_published_passes() -> None:
    assert {vector["scheme"] for vector in load_vectors()} == {"github", "slack", "standard-webhooks"}
    for vector in load_vectors():
        scheme, body = Scheme.parse(vector["scheme"]), vector["body"].encode()
        headers = webhook.merge_headers(vector.get("headers", {}).items())
        headers |= {name: str(vector[name]) for name in ("webhook-id", "webhook-timestamp") if name in vector}
        headers[next(iter(SENDERS[scheme].proof_headers)).lower()] = vector["expected"]
        now = next((int(value) for name, value in headers.items() if name.endswith("-timestamp")), 0) * SECOND
        stored_secret = webhook.prepare_secret(scheme, vector["secret"])

        assert isinstance(webhook.verify(scheme, stored_secret, headers, body, now), Verification), scheme
        assert isinstance(webhook.verify(scheme, stored_secret, headers, body + b" ", now), WebhookRefusal), scheme


@every_scheme
def test_a_scheme_names_the_header_that_it_goes_by(sender: WebhookSender) -> None:
    assert all(header in sender.scheme.instructions.replace(",", "").split() for header in sender.proof_headers)


def test_known_answers() -> None:
    github_result = webhook.verify(
        Scheme.GITHUB,
        "It's a Secret to Everybody",
        {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
        b"Hello, World!",
        MORNING,
    )
    standard_result = webhook.verify(
        Scheme.STANDARD,
        STANDARD_SECRET,
        {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        b'{"test": 2432232314}',
        1614265330 * SECOND,
    )

    assert isinstance(github_result, Verification)
    assert github_result.delivery is None
    assert isinstance(standard_result, Verification)
    assert standard_result == Verification(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@every_scheme
def test_its_own_signature_passes(sender: WebhookSender) -> None:
    assert isinstance(verify(sender, sender.build_headers(BODY, MORNING)), Verification)


@every_scheme
def test_no_bit_of_the_proof_may_differ(sender: WebhookSender) -> None:
    headers = sender.build_headers(BODY, MORNING)
    for name, skip in {**sender.proof_headers, **dict.fromkeys(sender.signed_headers, 0)}.items():
        for value in flip_bits(headers[name], skip):
            assert isinstance(verify(sender, headers | {name: value}), WebhookRefusal), (name, value)


@signed_schemes
def test_no_bit_of_the_body_may_differ(sender: WebhookSender) -> None:
    headers = sender.build_headers(BODY, MORNING)
    for at in range(len(BODY)):
        for bit in range(8):
            body = bytearray(BODY)
            body[at] ^= 1 << bit
            assert isinstance(verify(sender, headers, bytes(body)), WebhookRefusal), bytes(body)
    for end in range(len(BODY)):
        assert isinstance(verify(sender, headers, BODY[:end]), WebhookRefusal), end


@every_scheme
def test_a_proof_must_be_there(sender: WebhookSender) -> None:
    headers = sender.build_headers(BODY, MORNING)
    for name in (*sender.proof_headers, *sender.signed_headers):
        assert isinstance(verify(sender, {key: headers[key] for key in headers if key != name}), WebhookRefusal)
        assert isinstance(verify(sender, headers | {name: ""}), WebhookRefusal)
        assert isinstance(verify(sender, headers | {name: headers[name][:-1]}), WebhookRefusal)


@every_scheme
def test_a_proof_made_with_another_secret_is_none(sender: WebhookSender) -> None:
    other_secret = "whsec_" + base64.b64encode(b"another one entirely, 32 bytes!!").decode()
    headers = sender.sign(other_secret, BODY, MORNING // SECOND)

    assert isinstance(verify(sender, headers), WebhookRefusal)


@pytest.mark.parametrize("scheme", [Scheme.STANDARD, Scheme.SLACK, Scheme.STRIPE])
def test_it_must_be_of_these_five_minutes(scheme: Scheme) -> None:
    sender = SENDERS[scheme]
    headers = sender.build_headers(BODY, MORNING)

    for now in (MORNING - 5 * MINUTE, MORNING, MORNING + 5 * MINUTE):
        assert isinstance(verify(sender, headers, now=now), Verification)
    for now in (0, MORNING - 5 * MINUTE - 1, MORNING + 5 * MINUTE + 1, 2 * MORNING):
        assert verify(sender, headers, now=now) == WebhookRefusal("the timestamp is over 5 minutes from now")


def test_one_good_signature_of_several_is_enough() -> None:
    standard, stripe = SENDERS[Scheme.STANDARD], SENDERS[Scheme.STRIPE]
    headers = standard.build_headers(BODY, MORNING)
    signature = headers["webhook-signature"]
    for entries in (f"v1,AAAA {signature}", f"v1a,x,y nonsense  ,, {signature} v2,z", f"{signature} {signature}"):
        assert isinstance(verify(standard, headers | {"webhook-signature": entries}), Verification), entries

    headers = stripe.build_headers(BODY, MORNING)
    stamp, _, signature = headers["Stripe-Signature"].partition(",")
    for entries in (f"{stamp},v1=00,{signature}", f"{signature},{stamp}", f"{stamp},v0=1,,=,v1,{signature},x"):
        assert isinstance(verify(stripe, headers | {"Stripe-Signature": entries}), Verification), entries
    for entries in (f"{stamp},{stamp},{signature}", f"t=1,{stamp},{signature}", signature, stamp):
        assert isinstance(verify(stripe, headers | {"Stripe-Signature": entries}), WebhookRefusal), entries


def test_a_header_that_comes_twice_is_neither_of_the_two() -> None:
    sender = SENDERS[Scheme.HEADER]
    stored_secret = webhook.prepare_secret(sender.scheme, sender.secret)
    pairs = [("X-Secret-Key", sender.secret), ("x-secret-key", "another")]

    for header_pairs in (pairs, pairs[::-1]):
        assert isinstance(
            webhook.verify(sender.scheme, stored_secret, webhook.merge_headers(header_pairs), BODY, MORNING),
            WebhookRefusal,
        )


def test_a_secret_that_is_sent_along_is_kept_as_its_hash() -> None:
    secret = "sixteen-chars-ok"

    assert webhook.prepare_secret(Scheme.HEADER, secret) == hashlib.sha256(secret.encode()).hexdigest()
    assert webhook.prepare_secret(Scheme.BEARER, secret) == hashlib.sha256(secret.encode()).hexdigest()
    assert webhook.prepare_secret(Scheme.GITHUB, secret) == secret


@pytest.mark.parametrize(
    ("scheme", "secret"),
    [
        *((scheme, "fifteen-chars-x") for scheme in Scheme),
        *((scheme, "") for scheme in Scheme),
        (Scheme.HEADER, "has a space in it, so it cannot"),
        (Scheme.BEARER, "schlüssel-mit-umlaut"),
        (Scheme.SLACK, "has a NUL\x00 in its middle"),
        (Scheme.STANDARD, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        (Scheme.STANDARD, "whsec_not base64 at all, is it"),
        (Scheme.STANDARD, "whsec_" + base64.b64encode(bytes(23)).decode()),
        (Scheme.STANDARD, "whsec_" + base64.b64encode(bytes(65)).decode()),
    ],
)
def test_a_secret_that_is_not_good_enough_is_refused_and_not_told(scheme: Scheme, secret: str) -> None:
    with pytest.raises(Invalid) as error:
        webhook.prepare_secret(scheme, secret)
    assert not secret or secret not in f"{error.value} {error.value.hint}"


@pytest.mark.parametrize("length", [24, 32, 64])
def test_standard_secrets_may_lack_their_padding(length: int) -> None:
    padded = "whsec_" + base64.b64encode(bytes(length)).decode()

    assert webhook.prepare_secret(Scheme.STANDARD, padded.rstrip("=")) == padded


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (None, None),
        ("", None),
        ('""', None),
        ("plain-1", "plain-1"),
        ('"quoted 1"', "quoted 1"),
        (r'"a \"b\" \\ c"', r'a "b" \ c'),
        ('"half', '"half'),
    ],
)
def test_an_idempotency_key_is_quoted_or_not(text: str | None, key: str | None) -> None:
    assert webhook.parse_idempotency_key(text) == key


names = [name.lower() for sender in SENDERS.values() for name in (*sender.proof_headers, *sender.signed_headers)]
anything = st.text() | st.from_regex(r"(t=|v1=|v1,|v0=|sha256=|Bearer )?[0-9]{0,12}[, ]?.*")
headers_from_anywhere = st.dictionaries(st.sampled_from([*names, "idempotency-key"]) | st.text(), anything)


@given(st.sampled_from(list(SENDERS.values())), headers_from_anywhere, st.binary(), st.integers(0, 2**60))
def test_nothing_in_a_request_makes_it_raise(
    sender: WebhookSender, headers: dict[str, str], body: bytes, now: int
) -> None:
    assert isinstance(verify(sender, headers, body, now), WebhookRefusal)


@signed_schemes
@given(body=st.binary(), at=st.integers(0, 10**11))
def test_any_body_that_is_signed_well_passes(sender: WebhookSender, body: bytes, at: int) -> None:
    assert isinstance(verify(sender, sender.build_headers(body, at * SECOND), body, at * SECOND), Verification)


@given(
    st.text(st.characters(codec="utf-8")),
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1),
    st.integers(0, 10**9),
)
def test_what_the_standard_library_signs_passes(body: str, delivery: str, at: int) -> None:
    headers = {
        "webhook-id": delivery,
        "webhook-timestamp": str(at),
        "webhook-signature": Webhook(STANDARD_SECRET).sign(delivery, datetime.fromtimestamp(at, tz=UTC), body),
    }

    signature = headers["webhook-signature"]
    assert verify(SENDERS[Scheme.STANDARD], headers, body.encode(), at * SECOND) == Verification(delivery, signature)


def flip_bits(text: str, skip: int) -> Iterator[str]:
    for at in range(skip, len(text)):
        for bit in range(8):
            yield text[:at] + chr(ord(text[at]) ^ 1 << bit) + text[at + 1 :]
