"""Files on a ledger: what is written is read again, a real one is read, and no message of others does harm."""

import json
import random
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given, strategies as st

from gatepost.errors import Invalid
from gatepost.ledger.hcs import hcs1_files as hcs1
from gatepost.ledger.hcs.hcs1_files import FileMemo, build_file, check_content, join_parts, parse_memo, read_file

SAMPLE = Path(__file__).parents[4] / "shared/samples/mirror-node/testnet-hcs1-file-0.0.10448507.json"
needs_sample = pytest.mark.skipif(not SAMPLE.exists(), reason=f"NOT CHECKED: there is no sample at {SAMPLE}")

DIGEST = "af96d14f28628027e7ccaa15cfac66ac002db3bc80e8272a7c2352adcfadc3ec"


def decompress(content: bytes, method: str, *, max_size: int) -> bytes:
    result: bytes = (
        brotli.decompress(content) if method == "brotli" else zstandard.decompress(content, max_output_size=max_size)
    )
    assert len(result) <= max_size
    return result


def build_part(place: Any, text: Any) -> bytes:
    return json.dumps({"o": place, "c": text}).encode()


@needs_sample
def test_a_real_file_is_read_and_its_hash_is_that_of_its_memo() -> None:
    sample = json.loads(SAMPLE.read_bytes())
    messages = [b64decode(message["message"]) for message in sample["messages"]]
    assert parse_memo(sample["_topic_memo"]) == FileMemo(DIGEST, "brotli")
    media_type, content = read_file(sample["_topic_memo"], messages, decompress)
    assert (media_type, sha256(content).hexdigest()) == ("application/schema+json", DIGEST)
    assert json.loads(content)["$schema"]
    with pytest.raises(Invalid, match="the file is compressed, and cannot be read here"):
        read_file(sample["_topic_memo"], messages)
    with pytest.raises(Invalid, match="does not have the hash of its memo"):
        read_file(f"{'0' * 64}:brotli:base64", messages, decompress)


@given(st.binary(max_size=5_000), st.sampled_from(["", "zstd", "brotli"]), st.randoms())
def test_a_file_is_read_as_it_was_written_in_any_order_and_repeated(
    content: bytes, method: str, shuffle: random.Random
) -> None:
    stored = {"zstd": zstandard.compress, "brotli": brotli.compress}[method](content) if method else b""
    memo, messages = build_file(content, "text/plain", (method, stored) if method else None)
    assert all(len(message) <= 1_024 for message in messages)
    assert memo == f"{sha256(content).hexdigest()}:{method or 'zstd'}:base64"
    messages = messages * 2
    shuffle.shuffle(messages)
    assert read_file(memo, messages, decompress if method else None) == ("text/plain", content)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_535, 65_536])
def test_others_can_read_a_file_that_is_not_compressed(size: int) -> None:
    content = b"x" * size
    _, messages = build_file(content)
    _, frame = join_parts(messages)
    assert zstandard.decompress(frame) == content


@pytest.mark.parametrize(
    ("memo", "sentence"),
    [
        ("", "'' is not the memo of a file"),
        ("hcs-10:0:60:1", "'hcs-10:0:60:1' is not the memo of a file"),
        (f"{DIGEST[1:]}:zstd:base64", "is not the memo of a file"),
        (f"{DIGEST}:gzip:base64", "a file with 'gzip' and 'base64' cannot be read"),
        (f"{DIGEST}:zstd:hex", "a file with 'zstd' and 'hex' cannot be read"),
    ],
)
def test_a_memo_of_something_else_is_refused(memo: str, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_memo(memo)
    assert sentence in caught.value.message


def test_a_memo_in_capitals_names_the_same_file() -> None:
    assert parse_memo(f"{DIGEST.upper()}:zstd:base64") == FileMemo(DIGEST, "zstd")
    assert check_content(FileMemo(sha256(b"x").hexdigest(), "zstd"), b"x") == b"x"


HEAD = "data:text/plain;base64,"


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([], "part 0 of the file is missing"),
        ([build_part(0, HEAD), build_part(2, "AAAA")], "part 1 of the file is missing"),
        ([build_part(1, "AAAA")], "part 0 of the file is missing"),
        ([build_part(0, HEAD), build_part(0, "AAAA")], "part 0 of the file is there twice, with different texts"),
        ([b"{"], "a part of the file is not JSON"),
        ([b"\xff"], "a part of the file is not UTF-8"),
        ([b"[" * 100_000], "a part of the file is nested over 100 deep"),
        ([b'{"o": 1e999}'], "a part of the file has a number in it that is too large: 1e999"),
        ([b"7"], "a part of the file is not an object"),
        ([b'{"c": "x"}'], "the place of a part of the file is null, not a number from 0"),
        ([build_part(True, "x")], "the place of a part of the file is true, not a number from 0"),
        ([build_part(-1, "x")], "the place of a part of the file is -1, not a number from 0"),
        ([build_part(0, 7)], "part 0 of the file is not text"),
        ([build_part(hcs1.MAX_PARTS, "x")], "the file has over 1500 parts"),
        ([build_part(10**30, "x")], "the file has over 1500 parts"),
        ([build_part(0, "x" * 5_000_000)], "the messages of the file have over 4194304 bytes"),
        ([build_part(0, "AAAA")], "the file does not begin with `data:TYPE;base64,`"),
        ([build_part(0, f"{HEAD}A")], "the file is not base64"),
        ([build_part(0, f"{HEAD}é")], "the file is not base64"),
    ],
)
def test_parts_that_do_not_make_a_file_are_refused(messages: list[bytes], sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        join_parts(messages)
    assert caught.value.message == sentence


def test_a_frame_that_lies_about_its_size_is_left_to_the_library() -> None:
    content = b"hello"
    memo, _ = build_file(content)
    frame = bytearray(join_parts(build_file(content)[1])[1])
    frame[5] += 1
    calls = []

    def refuse(content: bytes, method: str, *, max_size: int) -> bytes:
        calls.append((content, method, max_size))
        raise Invalid("it is damaged")

    with pytest.raises(Invalid, match="it is damaged"):
        read_file(memo, [build_part(0, HEAD + b64encode(frame).decode())], refuse)
    assert calls == [(bytes(frame), "zstd", hcs1.MAX_FOREIGN_SIZE)]


JSON_PARTS = st.builds(build_part, st.integers(-1, 3) | st.none(), st.text(max_size=20) | st.just(HEAD) | st.integers())


@given(st.lists(st.binary(max_size=50) | JSON_PARTS, max_size=5), st.text(max_size=80))
def test_whatever_is_on_the_topic_only_invalid_is_raised(messages: list[bytes], memo: str) -> None:
    for text in (memo, f"{DIGEST}:zstd:base64"):
        with pytest.raises(Invalid):
            read_file(text, messages)
