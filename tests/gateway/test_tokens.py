"""Bearer tokens: what is let in, what is not, and how often an issuer is asked for its keys."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Unavailable
from gatepost.gateway import authentication as auth
from gatepost.gateway.authentication import TokenRules
from gatepost.gateway.streams import server_sent_events as stream_module
from tests.support.gateways.local_gateways import (
    JWT_SECRET,
    TOKEN_RULES,
    Gateway,
    create_entities,
    create_token,
    open_gateway,
)
from tests.support.waits import LAST_RESORT

RSA_KEY: Final = rsa.generate_private_key(65537, 2048)
OTHER_KEY: Final = rsa.generate_private_key(65537, 2048)


@asynccontextmanager
async def open_server(tmp_path: Path, rules: TokenRules = TOKEN_RULES) -> AsyncIterator[Gateway]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db", rules=rules) as gateway:
        create_entities(gateway.store)
        yield gateway


async def get_status(gateway: Gateway, text: str, path: str = "/api/inbox/analyst") -> int:
    async with gateway.open_client(x_public_key=gateway.create_key("public"), authorization=f"Bearer {text}") as client:
        answer = await client.get(path)
        assert text not in answer.text
        assert JWT_SECRET not in answer.text
        return answer.status_code


def forge_token(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = (json.dumps(header).encode(), json.dumps(claims).encode(), signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def test_a_token_is_its_entity_and_nobody_else(tmp_path: Path) -> None:
    async with open_server(tmp_path) as gateway:
        gateway.store.run_sync(
            directory.register, directory.EntitySpec(name="quinn", kind=EntityKind.AGENT, aliases=["0.0.4711"])
        )
        assert await get_status(gateway, create_token("analyst")) == 200
        assert await get_status(gateway, create_token("designer")) == 403
        assert await get_status(gateway, create_token("0.0.4711"), "/api/inbox/quinn") == 200


FUTURE_TIME: Final = int(time.time()) + 86_400
BAD_TOKENS: Final = {
    "no algorithm": (401, forge_token({"alg": "none"}, {"sub": "analyst", "exp": FUTURE_TIME})),
    "no algorithm, spelt otherwise": (401, forge_token({"alg": "nOnE"}, {"sub": "analyst", "exp": FUTURE_TIME})),
    "no signature": (401, create_token("analyst").rpartition(".")[0] + "."),
    "another secret": (401, create_token("analyst", secret="another secret of at least thirty-two bytes")),
    "another algorithm": (401, jwt.encode({"sub": "analyst", "exp": FUTURE_TIME}, JWT_SECRET * 2, algorithm="HS512")),
    "signed with a key of its own": (
        401,
        jwt.encode({"sub": "analyst", "exp": FUTURE_TIME}, RSA_KEY, algorithm="RS256"),
    ),
    "expired": (401, create_token("analyst", exp=int(time.time()) - 1)),
    "without end": (401, create_token("analyst", exp=None)),
    "with an endless end": (401, create_token("analyst", exp=float("inf"))),
    "not yet": (401, create_token("analyst", nbf=FUTURE_TIME)),
    "nobody": (401, create_token("analyst", sub=None)),
    "empty": (401, create_token("")),
    "not a name": (401, create_token("analyst", sub=["analyst"])),
    "several": (403, create_token("team:finance")),
    "everybody": (403, create_token("*")),
    "unknown": (403, create_token("nobody-here")),
    "retired": (403, create_token("developer")),
    "not a token": (401, "x"),
    "three dots": (401, "..."),
    "not base64": (401, "!.?.!"),
}


@pytest.mark.parametrize("case", BAD_TOKENS)
async def test_a_bad_token_lets_nobody_in(case: str, tmp_path: Path) -> None:
    expected, text = BAD_TOKENS[case]
    async with open_server(tmp_path) as gateway:
        gateway.store.run_sync(directory.retire, "developer")
        assert await get_status(gateway, text) == expected


async def test_audience_and_issuer_are_held_against_the_rules(tmp_path: Path) -> None:
    rules = TokenRules(secret=JWT_SECRET, audience="gatepost", issuer="https://id.example", claim="person")
    async with open_server(tmp_path, rules) as gateway:
        valid_claims: dict[str, Any] = {"aud": "gatepost", "iss": "https://id.example", "person": "analyst"}
        assert await get_status(gateway, create_token("someone", **valid_claims)) == 200
        for claim in valid_claims:
            assert await get_status(gateway, create_token("someone", **valid_claims | {claim: None})) == 401
            assert await get_status(gateway, create_token("someone", **valid_claims | {claim: "wrong"})) in (401, 403)


async def test_without_rules_no_token_is_good(tmp_path: Path) -> None:
    async with open_server(tmp_path, TokenRules()) as gateway:
        assert await get_status(gateway, create_token("analyst")) == 401


class Issuer:
    """Publishes keys over HTTP and counts how often it is asked."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {"first": RSA_KEY}
        self.body: bytes | None = None
        self.request_count = 0
        self.url = ""
        self.answer_allowed = asyncio.Event()
        self.answer_allowed.set()
        self.request_received = asyncio.Event()

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
        self.request_count += 1
        self.request_received.set()
        await self.answer_allowed.wait()
        body = json.dumps({"keys": [self._jwk(kid, key) for kid, key in self.keys.items()]}).encode()
        body = body if self.body is None else self.body
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    def _jwk(self, kid: str, key: Any) -> dict[str, Any]:
        algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, RSAPrivateKey) else jwt.algorithms.ECAlgorithm
        return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


def sign_token(key: Any = RSA_KEY, kid: str | None = "first", algorithm: str = "RS256", entity: str = "analyst") -> str:
    return jwt.encode(
        {"sub": entity, "exp": int(time.time()) + 60}, key, algorithm=algorithm, headers={"kid": kid} if kid else {}
    )


async def test_an_issuers_keys_are_fetched_once(tmp_path: Path) -> None:
    async with Issuer() as issuer, open_server(tmp_path, TokenRules(jwks_url=issuer.url)) as gateway:
        answers = await asyncio.gather(*(get_status(gateway, sign_token()) for _ in range(30)))
        assert answers == [200] * 30
        assert issuer.request_count == 1
        assert await get_status(gateway, sign_token(entity="designer")) == 403
        assert issuer.request_count == 1


async def test_what_an_issuer_did_not_sign_is_not_let_in(tmp_path: Path) -> None:
    curve_key = ec.generate_private_key(ec.SECP256R1())
    public = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"sub": "analyst", "exp": FUTURE_TIME}
    head = {"alg": "HS256", "kid": "first"}
    signing_input = forge_token(head, claims).rpartition(".")[0]
    confused_token = forge_token(head, claims, hmac.digest(public, signing_input.encode(), hashlib.sha256))
    async with Issuer() as issuer, open_server(tmp_path, TokenRules(jwks_url=issuer.url, secret=JWT_SECRET)) as gateway:
        issuer.keys["curve"] = curve_key
        assert await get_status(gateway, sign_token(curve_key, "curve", "ES256")) == 200
        for text in (
            confused_token,
            create_token("analyst"),
            sign_token(OTHER_KEY),
            sign_token(kid=None),
            sign_token(kid="curve"),
            sign_token(curve_key, "first", "ES256"),
            forge_token({"alg": "none", "kid": "first"}, claims),
        ):
            assert await get_status(gateway, text) == 401


async def test_unknown_keys_do_not_make_us_ask_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, open_server(tmp_path, TokenRules(jwks_url=issuer.url)) as gateway:
        assert await get_status(gateway, sign_token()) == 200
        issuer.keys = {"second": OTHER_KEY}
        for number in range(10):
            assert await get_status(gateway, sign_token(kid=f"made-up-{number}")) == 401
        assert issuer.request_count == 1
        monkeypatch.setattr(auth, "_JWKS_RETRY_TIME", -1.0)  # some time has passed
        assert await get_status(gateway, sign_token(OTHER_KEY, "second")) == 200
        assert issuer.request_count == 2
        assert await get_status(gateway, sign_token()) == 401, "it was withdrawn"


async def test_while_an_issuer_is_away_its_last_keys_are_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, open_server(tmp_path, TokenRules(jwks_url=issuer.url)) as gateway:
        assert await get_status(gateway, sign_token()) == 200
        monkeypatch.setattr(auth, "_JWKS_CACHE_TIME", -1.0)
        monkeypatch.setattr(auth, "_JWKS_RETRY_TIME", -1.0)
        for body in (b"", b"{}", b'{"keys": 1}', b'{"keys": [1]}', b"[" * 100_000, b" " * (auth._MAX_JWKS_SIZE + 1)):
            issuer.body = body
            assert await get_status(gateway, sign_token()) == 200
        await issuer.close()
        assert await get_status(gateway, sign_token()) == 200


async def test_nobody_whose_key_is_known_waits_for_an_issuer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Issuer() as issuer, open_server(tmp_path, TokenRules(jwks_url=issuer.url)) as gateway:
        assert await get_status(gateway, sign_token()) == 200
        monkeypatch.setattr(auth, "_JWKS_CACHE_TIME", -1.0)
        monkeypatch.setattr(auth, "_JWKS_RETRY_TIME", -1.0)
        issuer.answer_allowed.clear()
        issuer.request_received.clear()
        status_task = asyncio.create_task(get_status(gateway, sign_token()))
        await issuer.request_received.wait()
        assert await asyncio.gather(*(get_status(gateway, sign_token()) for _ in range(5))) == [200] * 5
        assert not status_task.done()
        issuer.answer_allowed.set()
        assert await status_task == 200
        assert issuer.request_count == 2


async def test_an_issuer_that_was_never_there_is_no_fault_of_the_caller(tmp_path: Path) -> None:
    async with Issuer() as issuer:
        pass
    async with open_server(tmp_path, TokenRules(jwks_url=issuer.url)) as gateway:
        answers = await asyncio.gather(*(get_status(gateway, sign_token()) for _ in range(5)))
        assert answers == [503] * 5


async def test_the_password_of_an_issuer_is_not_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with Issuer() as issuer:
        issuer.body = b"{}"
        url = issuer.url.replace("://", "://gatepost:open-sesame@")
        async with open_server(tmp_path, TokenRules(jwks_url=f"{url}?api_key=open-sesame")) as gateway:
            assert await get_status(gateway, sign_token()) == 503
    log_output = capsys.readouterr().out
    assert "the issuer's keys cannot be fetched" in log_output
    assert "sesame" not in log_output


async def test_a_store_that_is_away_is_no_fault_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_server(tmp_path) as gateway:
        text, public = create_token("analyst"), gateway.create_key("public")
        original_read = gateway.store.read

        async def read(query: Any, *args: Any, **kwargs: Any) -> Any:
            if query is directory.find_live:
                raise Unavailable("away")
            return await original_read(query, *args, **kwargs)

        monkeypatch.setattr(gateway.store, "read", read)
        async with gateway.open_client(x_public_key=public, authorization=f"Bearer {text}") as client:
            assert (await client.get("/api/inbox/analyst")).status_code == 503


class SteppedClock:
    """Stands for `time` in a stream: the token is good for a moment when it is asked first, and then no more."""

    def __init__(self) -> None:
        self._times = chain([FUTURE_TIME - 1, FUTURE_TIME - 0.01], repeat(FUTURE_TIME))

    def time(self) -> float:
        return next(self._times)


async def test_a_token_that_ends_ends_its_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its time, and not at the next look at the rights of all readers."""
    monkeypatch.setattr(stream_module, "PING_INTERVAL", LAST_RESORT)
    monkeypatch.setattr(stream_module, "time", SteppedClock())
    async with open_server(tmp_path) as gateway:
        text = create_token("analyst", exp=FUTURE_TIME)
        stream = await gateway.open_stream(
            "/api/inbox/analyst/stream", x_public_key=gateway.create_key("public"), authorization=f"Bearer {text}"
        )
        assert stream.status == 200
        frames = [frame async for frame in stream]
        assert [frame.event for frame in frames] == ["connected", "ended"]
        assert frames[-1].data["resumeFrom"] == frames[0].id


async def test_a_token_that_ends_in_a_distant_age_is_good_for_streams_too(tmp_path: Path) -> None:
    async with open_server(tmp_path) as gateway:
        headers = {
            "x-public-key": gateway.create_key("public"),
            "authorization": f"Bearer {create_token('analyst', exp=10**400)}",
        }
        async with await gateway.open_stream("/api/inbox/analyst/stream", **headers) as stream:
            frame = await anext(aiter(stream))
            assert (stream.status, frame.event) == (200, "connected")
