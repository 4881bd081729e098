"""Private keys on disk, and the content of files, of the Hedera adapter."""

import hashlib
import json
import os
import traceback
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from hiero_sdk_python import PrivateKey, PublicKey  # type: ignore[import-untyped]
from hypothesis import given, strategies as st

from gatepost.errors import Conflict, Invalid, Unavailable
from gatepost.ledger.hcs.hcs1_files import build_file
from gatepost.ledger.hedera.compression import compress, decompress
from gatepost.ledger.hedera.keys import KeyFolder, convert_mirror_key, import_key, read_key
from gatepost.ledger.topic_json import parse_messages

SAMPLES = Path(__file__).parents[4] / "shared/samples/mirror-node"
needs_samples = pytest.mark.skipif(not SAMPLES.exists(), reason=f"NOT CHECKED: there are no samples at {SAMPLES}")
LIMIT = 1_000_000
BOMB_SIZE = 100_000_000


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_private(path: Path, content: str | bytes, mode: int = 0o600) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def write_pem(path: Path, key: object, encryption: KeySerializationEncryption | None = None) -> Path:
    assert hasattr(key, "private_bytes")
    return write_private(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path / "keys")
    assert not keys.has_key("ada")
    public_key = keys.make_key("ada")
    assert keys.has_key("ada")
    assert KeyFolder(tmp_path / "keys").make_key("ada") == public_key
    assert keys.make_key("bob") != public_key
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "keys/ada.key").stat().st_mode & 0o777 == 0o600
    assert list_names(tmp_path / "keys") == ["ada.key", "bob.key"]
    signature = keys.read_key("ada").sign(b"content")
    PublicKey.from_string_der(public_key).verify(signature, b"content")


def test_callers_who_make_a_key_at_the_same_time_get_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        public_keys = list(threads.map(lambda _: KeyFolder(tmp_path).make_key("ada"), range(40)))
    assert len(set(public_keys)) == 1
    assert list_names(tmp_path) == ["ada.key"]


def test_a_key_is_on_the_disk_before_anybody_can_see_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Unavailable, match="cannot be written: No space left on device"):
        KeyFolder(tmp_path).make_key("ada")
    assert list_names(tmp_path) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    keys = KeyFolder(tmp_path)
    keys.make_key("ada")
    path = tmp_path / "ada.key"
    path.chmod(mode)
    for call in (lambda: keys.make_key("ada"), lambda: read_key(path), lambda: import_key(tmp_path, "bob", path)):
        with pytest.raises(Invalid, match="other users can read the private key") as error:
            call()
        assert error.value.hint == f"chmod 600 {path}"
    with pytest.raises(Unavailable, match="nothing can be signed for 'ada'"):
        keys.read_key("ada")
    path.chmod(0o600)
    keys.read_key("ada")


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(Invalid, match="others can write to the folder of keys") as error:
        KeyFolder(folder).make_key("ada")
    assert error.value.hint == f"chmod 700 {folder}"
    assert list_names(folder) == []


@pytest.mark.parametrize("owner", ["../ada", "a/b", "", ".", "Ada", "ada\n"])
def test_an_owner_that_is_no_name_has_no_key(tmp_path: Path, owner: str) -> None:
    keys = KeyFolder(tmp_path)
    assert not keys.has_key(owner)
    with pytest.raises(Invalid):
        keys.make_key(owner)


def test_keys_are_read_in_every_form(tmp_path: Path) -> None:
    ed25519, ecdsa = PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()
    pem_ed25519, pem_ecdsa = Ed25519PrivateKey.generate(), generate_private_key(SECP256K1())
    legacy_ecdsa = "3030020100300706052b8104000a04220420" + ecdsa.to_string_raw()
    forms = [
        (ed25519, write_private(tmp_path / "1", ed25519.to_string_der())),
        (ed25519, write_private(tmp_path / "2", f"0x{ed25519.to_string_raw()}\n")),
        (ecdsa, write_private(tmp_path / "3", f" {ecdsa.to_string_der()} \n")),
        (ecdsa, write_private(tmp_path / "4", legacy_ecdsa)),
        (PrivateKey(pem_ed25519), write_pem(tmp_path / "5", pem_ed25519)),
        (PrivateKey(pem_ecdsa), write_pem(tmp_path / "6", pem_ecdsa)),
    ]
    for number, (key, file) in enumerate(forms):
        public_key = key.public_key().to_string_der()
        assert read_key(file).public_text == public_key
        assert import_key(tmp_path / "keys", f"owner-{number}", file) == public_key
        assert KeyFolder(tmp_path / "keys").make_key(f"owner-{number}") == public_key


def test_an_import_replaces_no_other_key(tmp_path: Path) -> None:
    keys = KeyFolder(tmp_path / "keys")
    public_key = keys.make_key("ada")
    assert import_key(tmp_path / "keys", "ada", tmp_path / "keys/ada.key") == public_key
    other = write_private(tmp_path / "other", PrivateKey.generate_ecdsa().to_string_der())
    with pytest.raises(Conflict, match="'ada' has another private key, which is not replaced"):
        import_key(tmp_path / "keys", "ada", other)
    assert keys.make_key("ada") == public_key


def test_what_is_no_key_is_refused_and_never_quoted(tmp_path: Path) -> None:
    secret = PrivateKey.generate_ed25519().to_string_raw()
    password = BestAvailableEncryption(b"password")
    files = [
        write_private(tmp_path / "1", secret[:-1]),
        write_private(tmp_path / "2", f"{secret}ff"),
        write_private(tmp_path / "3", f"key={secret}"),
        write_private(tmp_path / "4", b"\xff\xfe" + secret.encode("utf-16")),
        write_private(tmp_path / "5", f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\n"),
        write_private(tmp_path / "6", ""),
        write_private(tmp_path / "7", secret * 1_000),
        write_pem(tmp_path / "8", Ed25519PrivateKey.generate(), password),
        write_pem(tmp_path / "9", generate_private_key(SECP256R1())),
    ]
    for file in files:
        with pytest.raises(Invalid, match="is not a private key that can be used here") as failure:
            read_key(file)
        error = failure.value
        frames = traceback.TracebackException(type(error), error, error.__traceback__.tb_next, capture_locals=True)  # type: ignore[union-attr]
        assert error.__context__ is None
        for text in (*frames.format(), error.message_with_hint, repr(error)):
            assert secret[:40] not in text
    key = KeyFolder(tmp_path).make_key("ada")
    assert repr(KeyFolder(tmp_path).read_key("ada")) == f"SigningKey(public_key={key!r})"


def test_a_key_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="there is no private key at"):
        read_key(tmp_path / "missing")
    with pytest.raises(Invalid, match="cannot be read: Is a directory"):
        read_key(tmp_path)


def test_keys_of_a_mirror_node_that_are_no_single_keys_have_no_form() -> None:
    ecdsa = PrivateKey.generate_ecdsa().public_key()
    assert convert_mirror_key("ECDSA_SECP256K1", ecdsa.to_string_raw()) == ecdsa.to_string_der()
    assert convert_mirror_key("ProtobufEncoded", "2a0408011000") is None
    assert convert_mirror_key("ED25519", "00") is None
    assert convert_mirror_key("ED25519", "not hex") is None
    assert convert_mirror_key("ECDSA_SECP256K1", "02" + "ff" * 32) is None


@given(st.one_of(st.binary(max_size=2_000), st.text(max_size=500).map(str.encode)))
def test_a_content_that_was_compressed_is_the_same_again(content: bytes) -> None:
    method, compressed = compress(content)
    assert method in ("brotli", "zstd")
    assert decompress(compressed, method, max_size=len(content)) == content
    for other_method, other in (
        ("brotli", brotli.compress(content)),
        ("zstd", zstandard.compress(content)),
        ("zstd", zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(content)),
    ):
        assert decompress(other, other_method, max_size=len(content)) == content


def test_the_smaller_result_is_taken() -> None:
    text = b'{"version":"1.0","type":1,"display_name":"Analyst","bio":"writes reports"}' * 10
    method, compressed = compress(text)
    assert (method, len(compressed)) == ("brotli", len(brotli.compress(text, quality=11)))
    assert len(compressed) <= len(zstandard.ZstdCompressor(level=19).compress(text))


@pytest.mark.parametrize("size", [0, 1, 70_000, LIMIT])
def test_a_content_up_to_the_limit_is_decompressed_and_a_longer_one_is_not(size: int) -> None:
    content = os.urandom(size // 2) + bytes(size - size // 2)
    for method, compressed in (("brotli", brotli.compress(content, quality=5)), ("zstd", zstandard.compress(content))):
        assert decompress(compressed, method, max_size=size) == content
        if size:
            with pytest.raises(Invalid, match=f"the file is larger than {size - 1} bytes"):
                decompress(compressed, method, max_size=size - 1)


def test_a_bomb_ends_at_the_limit_and_takes_no_memory() -> None:
    import tracemalloc

    zeros = bytes(BOMB_SIZE)
    bombs = {
        "brotli": brotli.compress(zeros, quality=3),
        "zstd": zstandard.ZstdCompressor(level=3, write_content_size=False).compress(zeros),
    }
    del zeros
    for method, bomb in bombs.items():
        assert len(bomb) < BOMB_SIZE // 1_000
        tracemalloc.start()
        with pytest.raises(Invalid, match="the file is larger than"):
            decompress(bomb, method, max_size=LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 20_000_000


@pytest.mark.parametrize("method", ["brotli", "zstd"])
def test_a_damaged_file_is_refused(method: str) -> None:
    content = os.urandom(5_000)
    compressed = brotli.compress(content) if method == "brotli" else zstandard.compress(content)
    for damaged in (b"", b"nonsense", compressed[:-1], compressed[:100], compressed + b"\0more", compressed * 2):
        with pytest.raises(Invalid, match="the file"):
            decompress(damaged, method, max_size=LIMIT)
    with pytest.raises(Invalid, match="'gzip' is not a method of compression"):
        decompress(compressed, "gzip", max_size=LIMIT)


def test_a_window_of_gigabytes_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30, write_content_size=False)
    encoder = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = encoder.compress(b"small") + encoder.flush()
    with pytest.raises(Invalid, match="the file is not compressed with zstd, or is damaged"):
        decompress(frame, "zstd", max_size=LIMIT)


def test_a_file_of_the_local_ledger_is_read() -> None:
    content = os.urandom(20_000)
    memo, messages = build_file(content)
    text = "".join(json.loads(message)["c"] for message in messages)
    method = memo.split(":")[1]
    assert decompress(b64decode(text.partition(",")[2]), method, max_size=len(content)) == content


@needs_samples
def test_a_real_file_is_decompressed_and_has_the_hash_of_its_memo() -> None:
    document = (SAMPLES / "testnet-hcs1-file-0.0.10448507.json").read_text()
    expected_hash, method, _ = json.loads(document)["_topic_memo"].split(":")
    parts = sorted((json.loads(message.content) for message in parse_messages(document)), key=lambda part: part["o"])
    compressed = b64decode("".join(part["c"] for part in parts).partition(",")[2])
    assert hashlib.sha256(decompress(compressed, method, max_size=LIMIT)).hexdigest() == expected_hash
