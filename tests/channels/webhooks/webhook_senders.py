"""Services that send webhooks, and sign them as their documentation says."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.times import SECOND, Instant

SECRET: Final = "a secret of Ana's, 27 chars"
STANDARD_SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@dataclass(frozen=True)
class WebhookSender:
    scheme: Scheme
    secret: str
    sign: Callable[[str, bytes, int], dict[str, str]]
    #: the headers that hold the secret or the signature, and how much of each is not
    proof_headers: Mapping[str, int]
    #: signed headers
    signed_headers: tuple[str, ...] = ()
    #: whether the body is signed
    signs_body: bool = True
    extra_headers: Mapping[str, str] = field(default_factory=dict)

    def build_headers(self, body: bytes, sent_at: Instant, **overrides: str) -> dict[str, str]:
        """What goes along with a body that is sent then; `overrides` are headers, with _ for -."""
        header_map = {name.replace("_", "-"): value for name, value in overrides.items()}
        return (
            {"Content-Type": "application/json", **self.extra_headers}
            | self.sign(self.secret, body, sent_at // SECOND)
            | header_map
        )


def _sign_hex(secret: str, *parts: bytes) -> str:
    return hmac.digest(secret.encode(), b"".join(parts), hashlib.sha256).hex()


def _sign_standard(secret: str, body: bytes, sent_at: int) -> dict[str, str]:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.digest(key, b"msg_1.%d." % sent_at + body, hashlib.sha256)
    signature = f"v1,{base64.b64encode(mac).decode()}"
    return {"webhook-id": "msg_1", "webhook-timestamp": str(sent_at), "webhook-signature": signature}


SENDERS: Final = {
    sender.scheme: sender
    for sender in (
        WebhookSender(
            Scheme.HEADER,
            "sixteen-chars-ok",
            lambda secret, _, __: {"X-Secret-Key": secret},
            {"X-Secret-Key": 0},
            signs_body=False,
        ),
        WebhookSender(
            Scheme.BEARER,
            "sixteen-chars-ok",
            lambda secret, _, __: {"Authorization": f"Bearer {secret}"},
            {"Authorization": len("Bearer ")},
            signs_body=False,
        ),
        WebhookSender(
            Scheme.STANDARD,
            STANDARD_SECRET,
            _sign_standard,
            {"webhook-signature": 0},
            signed_headers=("webhook-id", "webhook-timestamp"),
        ),
        WebhookSender(
            Scheme.GITHUB,
            SECRET,
            lambda secret, body, _: {"X-Hub-Signature-256": f"sha256={_sign_hex(secret, body)}"},
            {"X-Hub-Signature-256": 0},
            extra_headers={"X-GitHub-Event": "issues", "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
        ),
        WebhookSender(
            Scheme.SLACK,
            SECRET,
            lambda secret, body, at: {
                "X-Slack-Request-Timestamp": str(at),
                "X-Slack-Signature": f"v0={_sign_hex(secret, f'v0:{at}:'.encode(), body)}",
            },
            {"X-Slack-Signature": 0},
            signed_headers=("X-Slack-Request-Timestamp",),
        ),
        WebhookSender(
            Scheme.STRIPE,
            SECRET,
            lambda secret, body, at: {"Stripe-Signature": f"t={at},v1={_sign_hex(secret, f'{at}.'.encode(), body)}"},
            {"Stripe-Signature": 0},
        ),
    )
}
