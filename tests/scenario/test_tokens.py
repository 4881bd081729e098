"""Bearer tokens: what is let in, what is not, and how often an issuer is asked for its keys."""

import asyncio
import base64
import hashlib
import hmac
import json
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gatepost.actions import directory
from gatepost.core.entity import EntityKind
from gatepost.errors import Unavailable
from gatepost.gateway import jwks
from gatepost.gateway.auth import TokenRules
from tests.gateways import JWT_SECRET, RULES, Gateway, furnish, gateway, token

RSA: Final = rsa.generate_private_key(65537, 2048)
OTHER: Final = rsa.generate_private_key(65537, 2048)


@asynccontextmanager
async def office(tmp_path: Path, rules: TokenRules = RULES) -> AsyncIterator[Gateway]:
    async with gateway(f"sqlite:///{tmp_path}/office.db", rules=rules) as made:
        furnish(made.store)
        yield made


async def status(made: Gateway, text: str, path: str = "/api/inbox/analyst") -> int:
    async with made.client(x_public_key=made.key("public"), authorization=f"Bearer {text}") as me:
        answer = await me.get(path)
        assert text not in answer.text
        assert JWT_SECRET not in answer.text
        return answer.status_code


def forged(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_a_token_is_its_entity_and_nobody_else(tmp_path: Path) -> None:
    async with office(tmp_path) as made:
        made.store.call(
            directory.register, directory.EntitySpec(name="quinn", kind=EntityKind.AGENT, aliases=["0.0.4711"])
        )
        assert await status(made, token("analyst")) == 200
        assert await status(made, token("designer")) == 403
        assert await status(made, token("0.0.4711"), "/api/inbox/quinn") == 200


FAR: Final = int(time.time()) + 86_400
BAD: Final = {
    "no algorithm": (401, forged({"alg": "none"}, {"sub": "analyst", "exp": FAR})),
    "no algorithm, spelt otherwise": (401, forged({"alg": "nOnE"}, {"sub": "analyst", "exp": FAR})),
    "no signature": (401, token("analyst").rpartition(".")[0] + "."),
    "another secret": (401, token("analyst", secret="another secret of at least thirty-two bytes")),
    "another algorithm": (401, jwt.encode({"sub": "analyst", "exp": FAR}, JWT_SECRET * 2, algorithm="HS512")),
    "signed with a key of its own": (401, jwt.encode({"sub": "analyst", "exp": FAR}, RSA, algorithm="RS256")),
    "expired": (401, token("analyst", exp=int(time.time()) - 1)),
    "without end": (401, token("analyst", exp=None)),
    "with an endless end": (401, token("analyst", exp=float("inf"))),
    "not yet": (401, token("analyst", nbf=FAR)),
    "nobody": (401, token("analyst", sub=None)),
    "empty": (401, token("")),
    "not a name": (401, token("analyst", sub=["analyst"])),
    "several": (403, token("team:finance")),
    "everybody": (403, token("*")),
    "unknown": (403, token("nobody-here")),
    "retired": (403, token("developer")),
    "not a token": (401, "x"),
    "three dots": (401, "..."),
    "not base64": (401, "!.?.!"),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_bad_token_lets_nobody_in(case: str, tmp_path: Path) -> None:
    expected, text = BAD[case]
    async with office(tmp_path) as made:
        made.store.call(directory.retire, "developer")
        assert await status(made, text) == expected


async def test_audience_and_issuer_are_held_against_the_rules(tmp_path: Path) -> None:
    rules = TokenRules(secret=JWT_SECRET, audience="gatepost", issuer="https://id.example", claim="person")
    async with office(tmp_path, rules) as made:
        good: dict[str, Any] = {"aud": "gatepost", "iss": "https://id.example", "person": "analyst"}
        assert await status(made, token("someone", **good)) == 200
        for claim in good:
            assert await status(made, token("someone", **good | {claim: None})) == 401
            assert await status(made, token("someone", **good | {claim: "wrong"})) in (401, 403)


async def test_without_rules_no_token_is_good(tmp_path: Path) -> None:
    async with office(tmp_path, TokenRules()) as made:
        assert await status(made, token("analyst")) == 401


class Issuer:
    """Publishes keys over HTTP and counts how often it is asked."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"first": RSA}
        self.body: bytes | None = None
        self.asked = 0
        self.url = ""
        self.go = asyncio.Event()
        self.go.set()
        self.asking = asyncio.Event()

    async def __aenter__(self) -> "Issuer":
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/keys"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        self.asking.set()
        await self.go.wait()
        body = json.dumps({"keys": [self._jwk(kid, key) for kid, key in self.keys.items()]}).encode()
        body = body if self.body is None else self.body
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    def _jwk(self, kid: str, key: Any) -> dict[str, Any]:
        algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


def signed(key: Any = RSA, kid: str | None = "first", algorithm: str = "RS256", entity: str = "analyst") -> str:
    return jwt.encode(
        {"sub": entity, "exp": int(time.time()) + 60}, key, algorithm=algorithm, headers={"kid": kid} if kid else {}
    )


async def test_an_issuers_keys_are_fetched_once(tmp_path: Path) -> None:
    async with Issuer() as issuer, office(tmp_path, TokenRules(jwks_url=issuer.url)) as made:
        answers = await asyncio.gather(*(status(made, signed()) for _ in range(30)))
        assert answers == [200] * 30
        assert issuer.asked == 1
        assert await status(made, signed(entity="designer")) == 403
        assert issuer.asked == 1


async def test_what_an_issuer_did_not_sign_is_not_let_in(tmp_path: Path) -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    public = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"sub": "analyst", "exp": FAR}
    head = {"alg": "HS256", "kid": "first"}
    signing = forged(head, claims).rpartition(".")[0]
    confused = forged(head, claims, hmac.digest(public, signing.encode(), hashlib.sha256))
    async with Issuer() as issuer, office(tmp_path, TokenRules(jwks_url=issuer.url, secret=JWT_SECRET)) as made:
        issuer.keys["curve"] = curve
        assert await status(made, signed(curve, "curve", "ES256")) == 200
        for text in (
            confused,
            token("analyst"),
            signed(OTHER),
            signed(kid=None),
            signed(kid="curve"),
            signed(curve, "first", "ES256"),
            forged({"alg": "none", "kid": "first"}, claims),
        ):
            assert await status(made, text) == 401


async def test_unknown_keys_do_not_make_us_ask_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, office(tmp_path, TokenRules(jwks_url=issuer.url)) as made:
        assert await status(made, signed()) == 200
        issuer.keys = {"second": OTHER}
        for number in range(10):
            assert await status(made, signed(kid=f"made-up-{number}")) == 401
        assert issuer.asked == 1
        monkeypatch.setattr(jwks, "_AGAIN", -1.0)  # some time has passed
        assert await status(made, signed(OTHER, "second")) == 200
        assert issuer.asked == 2
        assert await status(made, signed()) == 401, "it was withdrawn"


async def test_while_an_issuer_is_away_its_last_keys_are_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, office(tmp_path, TokenRules(jwks_url=issuer.url)) as made:
        assert await status(made, signed()) == 200
        monkeypatch.setattr(jwks, "_KEEP", -1.0)
        monkeypatch.setattr(jwks, "_AGAIN", -1.0)
        for body in (b"", b"{}", b'{"keys": 1}', b'{"keys": [1]}', b"[" * 100_000, b" " * (jwks._MOST_BYTES + 1)):
            issuer.body = body
            assert await status(made, signed()) == 200
        await issuer.close()
        assert await status(made, signed()) == 200


async def test_nobody_whose_key_is_known_waits_for_an_issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, office(tmp_path, TokenRules(jwks_url=issuer.url)) as made:
        assert await status(made, signed()) == 200
        monkeypatch.setattr(jwks, "_KEEP", -1.0)
        monkeypatch.setattr(jwks, "_AGAIN", -1.0)
        issuer.go.clear()
        issuer.asking.clear()
        looking = asyncio.create_task(status(made, signed()))
        await issuer.asking.wait()
        assert await asyncio.gather(*(status(made, signed()) for _ in range(5))) == [200] * 5
        assert not looking.done()
        issuer.go.set()
        assert await looking == 200
        assert issuer.asked == 2


async def test_an_issuer_that_was_never_there_is_no_fault_of_the_caller(tmp_path: Path) -> None:
    async with Issuer() as issuer:
        pass
    async with office(tmp_path, TokenRules(jwks_url=issuer.url)) as made:
        answers = await asyncio.gather(*(status(made, signed()) for _ in range(5)))
        assert answers == [503] * 5


async def test_the_password_of_an_issuer_is_not_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with Issuer() as issuer:
        issuer.body = b"{}"
        url = issuer.url.replace("://", "://gatepost:open-sesame@")
        async with office(tmp_path, TokenRules(jwks_url=f"{url}?api_key=open-sesame")) as made:
            assert await status(made, signed()) == 503
    logged = capsys.readouterr().out
    assert "the issuer's keys cannot be fetched" in logged
    assert "sesame" not in logged


async def test_a_store_that_is_away_is_no_fault_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with office(tmp_path) as made:
        text, public = token("analyst"), made.key("public")
        real = made.store.read

        async def read(query: Any, *args: Any, **kwargs: Any) -> Any:
            if query is directory.find_live:
                raise Unavailable("away")
            return await real(query, *args, **kwargs)

        monkeypatch.setattr(made.store, "read", read)
        async with made.client(x_public_key=public, authorization=f"Bearer {text}") as me:
            assert (await me.get("/api/inbox/analyst")).status_code == 503


async def test_a_token_that_ends_ends_its_stream(tmp_path: Path) -> None:
    """At its time, and not at the next look at the rights of all readers."""
    async with office(tmp_path) as made:
        text = token("analyst", exp=math.ceil(time.time()) + 1)
        stream = await made.listen(
            "/api/inbox/analyst/stream", x_public_key=made.key("public"), authorization=f"Bearer {text}"
        )
        assert stream.status == 200
        told = [one async for one in stream]
        assert [one.event for one in told] == ["connected", "ended"], "it was given no sign of life before that"
        assert told[-1].data["resumeFrom"] == told[0].id
