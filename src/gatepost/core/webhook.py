"""
Whether a webhook comes from whom it should, and what it says.

    scheme              the secret is in            or signs               its signature is in              stale after
    header              X-Secret-Key
    bearer              Authorization: Bearer
    standard-webhooks                               id.timestamp.body      webhook-signature  v1,BASE64     5 minutes
    github                                          body                   X-Hub-Signature-256  sha256=HEX
    slack                                           v0:timestamp:body      X-Slack-Signature  v0=HEX        5 minutes
    stripe                                          timestamp.body         Stripe-Signature  t=,v1=HEX      5 minutes

A secret that is not in X-Secret-Key may be in X-Webhook-Secret or X-Gitlab-Token: some services name it so.

A signature is compared as the text that it should be, in constant time: decoded first, some texts that differ would be
the same bytes. Where a header may hold several (while a sender changes secrets) one good one is enough, and entries
that cannot be read count as wrong ones. Nothing in a request makes `verify` raise.

What a service calls its delivery stays the same when it delivers again, so it is what repeats are recognised by. Slack
and Stripe keep it in the body; a body without one is known by its signature.

Not all that names a delivery is signed: GitHub's id is in a header of its own, and so may be those of CloudEvents, and
the content type that says how to read them. Whoever has captured a request could send it under another name. Therefore
a signature is remembered with the names that came with it first (`actions/services.py`), and a copy goes by those.
"""

import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, assert_never

from gatepost.core import cloudevent, strict
from gatepost.core.event import Json
from gatepost.core.instants import MINUTE, SECOND, Duration, Instant
from gatepost.core.word import Word
from gatepost.errors import Invalid, Malformed

TOLERANCE: Final[Duration] = 5 * MINUTE
SHORTEST_SECRET: Final = 16
LONGEST_SECRET: Final = 500

_SECRET_HEADERS: Final = ("x-secret-key", "x-webhook-secret", "x-gitlab-token")
_STANDARD_PREFIX: Final = "whsec_"
_STAMP: Final = re.compile(r"[0-9]{1,12}")


class Scheme(Word, what="a webhook scheme"):
    HEADER = "header"
    BEARER = "bearer"
    STANDARD = "standard-webhooks"
    GITHUB = "github"
    SLACK = "slack"
    STRIPE = "stripe"

    @property
    def signature_header(self) -> str | None:
        """The header with the signature of the body; None where callers send the secret itself."""
        return _SIGNATURE_HEADERS.get(self)

    @property
    def proof(self) -> str:
        """What a caller does with the secret, and in which header, in words."""
        match self:
            case Scheme.HEADER:
                return "callers send the secret in the header X-Secret-Key"
            case Scheme.BEARER:
                return "callers send the secret in the header Authorization, after the word Bearer"
            case Scheme.STANDARD:
                return "callers sign with the secret, in the header webhook-signature"
            case Scheme.GITHUB:
                return "callers sign with the secret, in the header X-Hub-Signature-256"
            case Scheme.SLACK:
                return "callers sign with the secret, in the header X-Slack-Signature"
            case Scheme.STRIPE:
                return "callers sign with the secret, in the header Stripe-Signature"
            case other:
                assert_never(other)


_SIGNATURE_HEADERS: Final = {
    Scheme.STANDARD: "webhook-signature",
    Scheme.GITHUB: "x-hub-signature-256",
    Scheme.SLACK: "x-slack-signature",
    Scheme.STRIPE: "stripe-signature",
}


@dataclass(frozen=True, slots=True)
class Verified:
    #: what the service calls this delivery, if it says so outside the body
    delivery: str | None = None
    #: of the request, where the scheme has one: the same for nothing but a copy
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """A question whether anybody is here; the answer is its own text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One thing that a service says has happened."""

    payload: Json
    #: the same when the service says it again; without one it is never a repeat
    id: str | None = None
    #: what kind of thing, in the service's own words
    kind: str | None = None
    #: what the service says about it beside the payload
    about: Mapping[str, Json] = field(default_factory=dict)


def headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """
    Headers by their names in lower case. One that comes twice is joined, as HTTP has it, so that nobody further out
    can have looked at one of them and we at the other.
    """
    found: dict[str, str] = {}
    for name, value in pairs:
        lower = name.lower()
        found[lower] = f"{found[lower]}, {value}" if lower in found else value
    return found


def kept(scheme: Scheme, secret: str) -> str:
    """
    What to store of a secret, if it is good enough: its hash where it is sent along itself, the secret where it signs.
    """
    if len(secret) > LONGEST_SECRET:
        raise Invalid(
            f"the secret has {len(secret)} characters, over the limit of {LONGEST_SECRET}",
            hint="`openssl rand -hex 24` makes a good one",
        )
    if scheme is Scheme.STANDARD:
        return _STANDARD_PREFIX + b64encode(_standard_key(secret)).decode()
    if len(secret) < SHORTEST_SECRET:
        raise Invalid(
            f"the secret has {len(secret)} characters, and needs at least {SHORTEST_SECRET}",
            hint="`openssl rand -hex 24` makes a good one",
        )
    if scheme.signature_header is None:
        if not re.fullmatch(r"[\x21-\x7e]+", secret):
            raise Invalid("the secret cannot be sent in a header", hint="use letters, digits and signs, no spaces")
        return _hash(secret)
    if not secret.isprintable():
        raise Invalid("the secret is not usable", hint="use printable characters")
    return secret


def check_head(scheme: Scheme, kept: str, headers: Mapping[str, str], now: Instant) -> Refusal | None:
    """Return why a request will be refused, as far as its head shows; a signature needs only to be there."""
    if scheme.signature_header is not None and headers.get(scheme.signature_header):
        return None
    verified = verify(scheme, kept, headers, b"", now)
    return verified if isinstance(verified, Refusal) else None


def verify(scheme: Scheme, kept: str, headers: Mapping[str, str], body: bytes, now: Instant) -> Verified | Refusal:
    """Say whether a request was made by somebody who has the secret, and lately; `kept` is what was stored of it."""
    match scheme:
        case Scheme.HEADER:
            given = next((headers[name] for name in _SECRET_HEADERS if name in headers), "")
            return _shown(kept, given, headers)
        case Scheme.BEARER:
            kind, _, given = headers.get("authorization", "").partition(" ")
            return _shown(kept, given if kind.lower() == "bearer" else "", headers)
        case Scheme.STANDARD:
            delivery, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
            mac = _mac(_standard_key(kept), _plain(f"{delivery}.{stamp}."), body)
            entries = headers.get("webhook-signature", "").split(" ")
            right = f"v1,{b64encode(mac).decode()}"
            return _unnamed(delivery) or _late(stamp, now) or _signed(right, entries, delivery)
        case Scheme.GITHUB:
            right = f"sha256={_mac(kept.encode(), body).hex()}"
            delivered = headers.get("x-github-delivery") or None
            return _signed(right, [headers.get("x-hub-signature-256", "")], delivered)
        case Scheme.SLACK:
            stamp = headers.get("x-slack-request-timestamp", "")
            right = f"v0={_mac(kept.encode(), _plain(f'v0:{stamp}:'), body).hex()}"
            return _late(stamp, now) or _signed(right, [headers.get("x-slack-signature", "")], right)
        case Scheme.STRIPE:
            entries = headers.get("stripe-signature", "").split(",")
            stamps = [entry.removeprefix("t=") for entry in entries if entry.startswith("t=")]
            stamp = stamps[0] if len(stamps) == 1 else ""
            right = f"v1={_mac(kept.encode(), _plain(f'{stamp}.'), body).hex()}"
            return _late(stamp, now) or _signed(right, entries, right)
        case other:
            assert_never(other)


def read(
    scheme: Scheme, verified: Verified, headers: Mapping[str, str], body: bytes
) -> Challenge | tuple[Occurrence, ...]:
    """Read a request that was verified; Malformed is raised for what cannot be read."""
    if (events := cloudevent.unwrap(headers, body)) is not None:
        return tuple(_unwrapped(event, verified) for event in events)
    payload = strict.read(body)
    fields = payload if isinstance(payload, dict) else {}
    if scheme is Scheme.SLACK and fields.get("type") == "url_verification":
        return _challenge(fields.get("challenge"))
    own = {Scheme.SLACK: "event_id", Scheme.STRIPE: "id"}.get(scheme)
    inside = fields.get(own) if own else None
    delivery = inside if isinstance(inside, str) and inside else verified.delivery
    kind = headers.get("x-github-event") or None if scheme is Scheme.GITHUB else None
    return (Occurrence(payload=payload, id=delivery, kind=kind),)


def idempotency(text: str | None) -> str | None:
    """An Idempotency-Key, which the draft wants quoted and most send as it is; an empty one is none."""
    if text and (quoted := re.fullmatch(r'\s*"((?:[^"\\]|\\["\\])*)"\s*', text)):
        text = re.sub(r"\\(.)", r"\1", quoted[1])
    return text or None


def _unwrapped(event: cloudevent.CloudEvent, verified: Verified) -> Occurrence:
    """
    An event in the body names itself. One whose name is in headers, which no scheme signs, goes by the delivery's own
    id where there is one, so that a copy under another name is still a repeat.
    """
    name = event.name if event.enclosed else verified.delivery or event.name
    return Occurrence(payload=event.data, id=name, kind=event.type, about={"cloudEvent": dict(event.attributes)})


def _challenge(text: Json) -> Challenge:
    if not isinstance(text, str) or not text.isascii():
        raise Malformed("the challenge is not a text")
    return Challenge(text)


def _shown(kept: str, given: str, headers: Mapping[str, str]) -> Verified | Refusal:
    if not hmac.compare_digest(kept, _hash(given)):
        return Refusal("the secret is missing or wrong")
    return Verified(idempotency(headers.get("idempotency-key")))


def _signed(right: str, entries: Iterable[str], delivery: str | None) -> Verified | Refusal:
    """Every entry is compared, whether or not one before it was right."""
    found = [hmac.compare_digest(_plain(right), _plain(entry)) for entry in entries]
    return Verified(delivery, right) if any(found) else Refusal("the signature is missing or wrong")


def _unnamed(delivery: str) -> Refusal | None:
    return None if delivery else Refusal("webhook-id is missing")


def _late(stamp: str, now: Instant) -> Refusal | None:
    """A timestamp is whole seconds, and near the present on either side of it."""
    if not _STAMP.fullmatch(stamp):
        return Refusal("the timestamp is missing or is no number")
    if abs(now - int(stamp) * SECOND) > TOLERANCE:
        return Refusal("the timestamp is over 5 minutes from now")
    return None


def _standard_key(secret: str) -> bytes:
    text = secret.removeprefix(_STANDARD_PREFIX)
    try:
        key = b64decode(_plain(text + "=" * (-len(text) % 4)), validate=True)
    except ValueError:
        key = b""
    if text == secret or not 24 <= len(key) <= 64:
        raise Invalid(
            "the secret is not one of Standard Webhooks", hint="it is whsec_ and then the base64 of 24 to 64 bytes"
        )
    return key


def _mac(key: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(key, digestmod=sha256)
    for part in parts:
        mac.update(part)
    return mac.digest()


def _hash(secret: str) -> str:
    return sha256(_plain(secret)).hexdigest()


def _plain(text: str) -> bytes:
    """Any text as bytes, also one that is not Unicode; no two become the same."""
    return text.encode("utf-8", "surrogatepass")
