"""
Webhooks: verify and parse what services send to triggers.

    scheme              the secret is in            or signs               its signature is in              stale after
    header              X-Secret-Key
    bearer              Authorization: Bearer
    standard-webhooks                               id.timestamp.body      webhook-signature  v1,BASE64     5 minutes
    github                                          body                   X-Hub-Signature-256  sha256=HEX
    slack                                           v0:timestamp:body      X-Slack-Signature  v0=HEX        5 minutes
    stripe                                          timestamp.body         Stripe-Signature  t=,v1=HEX      5 minutes

If X-Secret-Key is missing, the secret may be in X-Webhook-Secret or X-Gitlab-Token, as some services call it.

A signature is compared as text, in constant time: different texts may decode to the same bytes. If a header holds
several signatures (while a sender changes secrets), one correct signature is enough, and entries that cannot be parsed
count as wrong. Nothing in a request makes `verify` raise.

GitHub and Slack may send JSON as the field `payload` of a form. GitHub tries a new webhook with a `ping`, Slack with a
challenge; both are answered, and nobody gets them.

The delivery id of a service stays the same when it delivers again, so repeats are recognised by it. Slack and Stripe
put it into the body; a body without one is recognised by its signature.

A delivery id is not always signed: GitHub sends it in a header, and so may CloudEvents, together with the content type
that says how to parse them. An attacker who has captured a request could send it again with another id. Therefore a
signature is stored with the ids that came with it first, and a copy gets those ids
(`channels/webhooks/delivery_actions.py`).
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final, assert_never
from urllib.parse import parse_qsl

from msgspec import Struct

from gatepost.channels.webhooks import cloudevent
from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MINUTE, SECOND, Duration, Instant
from gatepost.errors import Invalid, Malformed

TOLERANCE: Final[Duration] = 5 * MINUTE
MIN_SECRET_LENGTH: Final = 16
MAX_SECRET_LENGTH: Final = 500

_SECRET_HEADERS: Final = ("x-secret-key", "x-webhook-secret", "x-gitlab-token")
_STANDARD_PREFIX: Final = "whsec_"
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
#: the event by which GitHub tries a new webhook
_PING: Final = "ping"
#: the content type of a form
_FORM: Final = "application/x-www-form-urlencoded"
_MAX_FORM_FIELDS: Final = 100


class Scheme(ParsedEnum, description="a webhook scheme"):
    HEADER = "header"
    BEARER = "bearer"
    STANDARD = "standard-webhooks"
    GITHUB = "github"
    SLACK = "slack"
    STRIPE = "stripe"

    @property
    def signature_header(self) -> str | None:
        """The header with the signature of the body, in lower case; None if callers send the secret itself."""
        return _SIGNATURE_HEADERS[self].lower() if self in _SIGNATURE_HEADERS else None

    @property
    def instructions(self) -> str:
        """How a caller uses the secret, in words."""
        match self:
            case Scheme.HEADER:
                return "callers send the secret in the header X-Secret-Key"
            case Scheme.BEARER:
                return "callers send the secret in the header Authorization, after the word Bearer"
            case Scheme.STANDARD | Scheme.GITHUB | Scheme.SLACK | Scheme.STRIPE:
                return f"callers sign with the secret, in the header {_SIGNATURE_HEADERS[self]}"


_SIGNATURE_HEADERS: Final = {
    Scheme.STANDARD: "webhook-signature",
    Scheme.GITHUB: "X-Hub-Signature-256",
    Scheme.SLACK: "X-Slack-Signature",
    Scheme.STRIPE: "Stripe-Signature",
}


class Verification(Struct, frozen=True):
    #: the delivery id, if it is outside the body
    delivery: str | None = None
    #: the signature, if the scheme has one: only a copy of the request has the same
    signature: str | None = None


class WebhookRefusal(Struct, frozen=True):
    reason: str


class Challenge(Struct, frozen=True):
    """A request that tests whether the webhook exists, and the text that answers it."""

    text: str


class Occurrence(Struct, frozen=True, kw_only=True):
    """One thing that happened, as a service reports it."""

    payload: Json
    #: the same if the service reports it again; None if it is never a repeat
    id: str | None = None
    #: the kind, in the words of the service
    kind: str | None = None
    #: what the service reports beside the payload
    details: Mapping[str, Json] = {}


def merge_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """
    Return the headers by name in lower case. Values of a repeated header are joined, as HTTP says, so that a proxy and
    Gatepost cannot read different values of the same header.
    """
    merged_headers: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        merged_headers[lower] = f"{merged_headers[lower]}, {value}" if lower in merged_headers else value
    return merged_headers


def prepare_secret(scheme: Scheme, secret: str) -> str:
    """
    Return what to store of a secret: its hash if callers send it, the secret itself if they sign with it. Raise Invalid
    if the secret is not good enough.
    """
    if len(secret) > MAX_SECRET_LENGTH:
        raise Invalid(
            f"the secret has {len(secret)} characters, over the limit of {MAX_SECRET_LENGTH}",
            hint="`openssl rand -hex 24` makes a good one",
        )
    if scheme is Scheme.STANDARD:
        return _STANDARD_PREFIX + b64encode(_decode_standard_key(secret)).decode()
    if len(secret) < MIN_SECRET_LENGTH:
        raise Invalid(
            f"the secret has {len(secret)} characters, and needs at least {MIN_SECRET_LENGTH}",
            hint="`openssl rand -hex 24` makes a good one",
        )
    if scheme.signature_header is None:
        if not re.fullmatch(r"[\x21-\x7e]+", secret):
            raise Invalid("the secret cannot be sent in a header", hint="use letters, digits and signs, no spaces")
        return _hash_secret(secret)
    if not secret.isprintable():
        raise Invalid("the secret is not usable", hint="use printable characters")
    return secret


def check_head(scheme: Scheme, stored_secret: str, headers: Mapping[str, str], now: Instant) -> WebhookRefusal | None:
    """Return why a request is refused, as far as its headers show. A signature is only checked for presence."""
    if scheme.signature_header is not None and headers.get(scheme.signature_header):
        return None
    result = verify(scheme, stored_secret, headers, b"", now)
    return result if isinstance(result, WebhookRefusal) else None


def verify(
    scheme: Scheme, stored_secret: str, headers: Mapping[str, str], body: bytes, now: Instant
) -> Verification | WebhookRefusal:
    """Check that the sender of a request has the secret, and that the request is recent. See `prepare_secret`."""
    match scheme:
        case Scheme.HEADER:
            secret = next((headers[name] for name in _SECRET_HEADERS if name in headers), "")
            return _verify_secret(stored_secret, secret, headers)
        case Scheme.BEARER:
            kind, _, secret = headers.get("authorization", "").partition(" ")
            return _verify_secret(stored_secret, secret if kind.lower() == "bearer" else "", headers)
        case Scheme.STANDARD:
            delivery, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
            mac = _compute_mac(_decode_standard_key(stored_secret), _to_bytes(f"{delivery}.{timestamp}."), body)
            entries = headers.get("webhook-signature", "").split(" ")
            expected_signature = f"v1,{b64encode(mac).decode()}"
            if not delivery:
                return WebhookRefusal("webhook-id is missing")
            return _check_timestamp(timestamp, now) or _verify_signature(expected_signature, entries, delivery)
        case Scheme.GITHUB:
            expected_signature = f"sha256={_compute_mac(stored_secret.encode(), body).hex()}"
            delivery_id = headers.get("x-github-delivery") or None
            return _verify_signature(expected_signature, [headers.get("x-hub-signature-256", "")], delivery_id)
        case Scheme.SLACK:
            timestamp = headers.get("x-slack-request-timestamp", "")
            expected_signature = f"v0={_compute_mac(stored_secret.encode(), _to_bytes(f'v0:{timestamp}:'), body).hex()}"
            return _check_timestamp(timestamp, now) or _verify_signature(
                expected_signature, [headers.get("x-slack-signature", "")], expected_signature
            )
        case Scheme.STRIPE:
            entries = headers.get("stripe-signature", "").split(",")
            timestamps = [entry.removeprefix("t=") for entry in entries if entry.startswith("t=")]
            timestamp = timestamps[0] if len(timestamps) == 1 else ""
            expected_signature = f"v1={_compute_mac(stored_secret.encode(), _to_bytes(f'{timestamp}.'), body).hex()}"
            return _check_timestamp(timestamp, now) or _verify_signature(
                expected_signature, entries, expected_signature
            )
        case other:
            assert_never(other)


def parse_request(
    scheme: Scheme, verification: Verification, headers: Mapping[str, str], body: bytes
) -> Challenge | tuple[Occurrence, ...]:
    """Return what a verified request reports; raise Malformed if it cannot be parsed."""
    if (events := cloudevent.unwrap(headers, body)) is not None:
        return tuple(_build_occurrence(event, verification) for event in events)
    kind = headers.get("x-github-event") or None if scheme is Scheme.GITHUB else None
    if kind == _PING:
        return Challenge("pong")
    is_form = scheme in (Scheme.GITHUB, Scheme.SLACK) and headers.get("content-type", "").startswith(_FORM)
    payload = strict.parse_json(_read_form(body) if is_form else body)
    fields = payload if isinstance(payload, dict) else {}
    if scheme is Scheme.SLACK and fields.get("type") == "url_verification":
        return _build_challenge(fields.get("challenge"))
    id_field = {Scheme.SLACK: "event_id", Scheme.STRIPE: "id"}.get(scheme)
    body_id = fields.get(id_field) if id_field else None
    delivery = body_id if isinstance(body_id, str) and body_id else verification.delivery
    return (Occurrence(payload=payload, id=delivery, kind=kind),)


def parse_idempotency_key(text: str | None) -> str | None:
    """Return an Idempotency-Key, which the draft wants quoted and most clients do not quote; None if it is empty."""
    if text and (match := re.fullmatch(r'\s*"((?:[^"\\]|\\["\\])*)"\s*', text)):
        text = re.sub(r"\\(.)", r"\1", match[1])
    return text or None


def _build_occurrence(event: cloudevent.CloudEvent, verification: Verification) -> Occurrence:
    """
    Return what a CloudEvent reports. Its name is its id if it is in the body. If it is in headers, which no scheme
    signs, the delivery id is used if there is one, so that a copy with another name is still a repeat.
    """
    name = event.name if event.is_structured else verification.delivery or event.name
    return Occurrence(payload=event.data, id=name, kind=event.type, details={"cloudEvent": dict(event.attributes)})


def _read_form(body: bytes) -> bytes:
    """Return the JSON in the field `payload` of a form."""
    try:
        fields = dict(parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=_MAX_FORM_FIELDS))
    except ValueError:
        fields = {}
    if "payload" not in fields:
        raise Malformed("the form has no field 'payload'", hint="choose application/json as the content type")
    return fields["payload"].encode()


def _build_challenge(text: Json) -> Challenge:
    if not isinstance(text, str) or not text.isascii():
        raise Malformed("the challenge is not a text")
    return Challenge(text)


def _verify_secret(stored_secret: str, secret: str, headers: Mapping[str, str]) -> Verification | WebhookRefusal:
    if not hmac.compare_digest(stored_secret, _hash_secret(secret)):
        return WebhookRefusal("the secret is missing or wrong")
    return Verification(parse_idempotency_key(headers.get("idempotency-key")))


def _verify_signature(
    expected_signature: str, entries: Iterable[str], delivery: str | None
) -> Verification | WebhookRefusal:
    """Compare every entry, even after one that was correct."""
    matches = [hmac.compare_digest(_to_bytes(expected_signature), _to_bytes(entry)) for entry in entries]
    return (
        Verification(delivery, expected_signature)
        if any(matches)
        else WebhookRefusal("the signature is missing or wrong")
    )


def _check_timestamp(timestamp: str, now: Instant) -> WebhookRefusal | None:
    """Return a refusal if the timestamp is not whole seconds, or is more than `TOLERANCE` from now."""
    if not _TIMESTAMP.fullmatch(timestamp):
        return WebhookRefusal("the timestamp is missing or is no number")
    if abs(now - int(timestamp) * SECOND) > TOLERANCE:
        return WebhookRefusal("the timestamp is over 5 minutes from now")
    return None


def _decode_standard_key(secret: str) -> bytes:
    text = secret.removeprefix(_STANDARD_PREFIX)
    try:
        key = b64decode(_to_bytes(text + "=" * (-len(text) % 4)), validate=True)
    except ValueError:
        key = b""
    if text == secret or not 24 <= len(key) <= 64:
        raise Invalid(
            "the secret is not one of Standard Webhooks", hint="it is whsec_ and then the base64 of 24 to 64 bytes"
        )
    return key


def _compute_mac(key: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(key, digestmod=sha256)
    for part in parts:
        mac.update(part)
    return mac.digest()


def _hash_secret(secret: str) -> str:
    return sha256(_to_bytes(secret)).hexdigest()


def _to_bytes(text: str) -> bytes:
    """Return any text as bytes, even invalid Unicode. Different texts stay different."""
    return text.encode("utf-8", "surrogatepass")
