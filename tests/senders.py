"""Services that send webhooks, and sign them as their documentation says."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gatepost.core.times import SECOND, Instant
from gatepost.core.webhook import Scheme

SECRET: Final = "a secret of Ana's, 27 chars"
WHSEC: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True)
class Sender:
    scheme: Scheme
    secret: str
    sign: Callable[[str, bytes, int], dict[str, str]]
    #: the headers that hold the secret or the signature, and how much of each is not
    proof: Mapping[str, int]
    #: signed headers
    covered: tuple[str, ...] = ()
    #: whether the body is signed
    seals: bool = True
    extra: Mapping[str, str] = field(default_factory=dict)

    def headers(self, body: bytes, at: Instant, **more: str) -> dict[str, str]:
        """What goes along with a body that is sent then; `more` has _ for -."""
        given = {name.replace("_", "-"): value for name, value in more.items()}
        return {"Content-Type": "application/json", **self.extra} | self.sign(self.secret, body, at // SECOND) | given


def _hex(secret: str, *parts: bytes) -> str:
    return hmac.digest(secret.encode(), b"".join(parts), hashlib.sha256).hex()


def _standard(secret: str, body: bytes, at: int) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.digest(key, b"msg_1.%d." % at + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(mac).decode()}"
    return {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": signature}


SENDERS: Final = {
    sender.scheme: sender
    for sender in (
        Sender(
            Scheme.HEADER,
            "sixteen-chars-ok",
            lambda secret, _, __: {"X-Secret-Key": secret},
            {"X-Secret-Key": 0},
            seals=False,
        ),
        Sender(
            Scheme.BEARER,
            "sixteen-chars-ok",
            lambda secret, _, __: {"Authorization": f"Bearer {secret}"},
            {"Authorization": len("Bearer ")},
            seals=False,
        ),
        Sender(
            Scheme.STANDARD,
            WHSEC,
            _standard,
            {"webhook-signature": 0},
            covered=("webhook-id", "webhook-timestamp"),
        ),
        Sender(
            Scheme.GITHUB,
            SECRET,
            lambda secret, body, _: {"X-Hub-Signature-256": f"sha256={_hex(secret, body)}"},
            {"X-Hub-Signature-256": 0},
            extra={"X-GitHub-Event": "issues", "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
        ),
        Sender(
            Scheme.SLACK,
            SECRET,
            lambda secret, body, at: {
                "X-Slack-Request-Timestamp": str(at),
                "X-Slack-Signature": f"v0={_hex(secret, f'v0:{at}:'.encode(), body)}",
            },
            {"X-Slack-Signature": 0},
            covered=("X-Slack-Request-Timestamp",),
        ),
        Sender(
            Scheme.STRIPE,
            SECRET,
            lambda secret, body, at: {"Stripe-Signature": f"t={at},v1={_hex(secret, f'{at}.'.encode(), body)}"},
            {"Stripe-Signature": 0},
        ),
    )
}
