"""Who calls: every kind of credential, good and bad."""

from collections.abc import Mapping
from typing import Final

from gatepost.actions import keys
from tests.gateways import Gateway, create_token

_UNKNOWN_KEY: Final = "sk_" + "x" * 43
_OTHER_SECRET: Final = "another secret of at least thirty-two bytes"


def build_credential(gateway: Gateway, name: str) -> Mapping[str, str]:
    """Return the headers of a caller; one that is named in no other way is an agent with a key of its own."""
    match name:
        case "unknown":
            return {"x-secret-key": _UNKNOWN_KEY}
        case "empty":
            return {"x-secret-key": ""}
        case "revoked":
            return {"x-secret-key": _revoke(gateway, gateway.create_key("admin"))}
        case "trigger":
            return {"x-secret-key": gateway.create_key("trigger", "analyst")}
        case "public key as a secret":
            return {"x-secret-key": gateway.create_key("public")}
        case "public key alone":
            return {"x-public-key": gateway.create_key("public")}
        case "token alone":
            return {"authorization": f"Bearer {create_token('husam')}"}
        case "secret key as a public one":
            return {"x-public-key": gateway.admin_key, "authorization": f"Bearer {create_token('husam')}"}
        case _ if name in TOKENS:
            return {"x-public-key": gateway.create_key("public"), "authorization": f"Bearer {TOKENS[name]}"}
        case _:
            return {"x-secret-key": gateway.create_key("agent", name)}


#: what comes with a public key
TOKENS: Final = {
    "husam": create_token("husam"),
    "expired token": create_token("husam", exp=1),
    "endless token": create_token("husam", exp=None),
    "forged token": create_token("husam", secret=_OTHER_SECRET),
    "token of a stranger": create_token("stranger"),
    "no token": "nonsense",
}


def _revoke(gateway: Gateway, secret: str) -> str:
    gateway.store.run_sync(keys.revoke, secret[:11])
    return secret
