"""
Private keys on disk: one file for each entity, which only this user can read.

A key is on the disk before its public key is returned. So an account that was made with it can be used after a crash,
whenever the crash comes. A key is never replaced: it may be the only one of an account with money.

A file holds a key as DER in hex, as PEM, or as 32 bytes in hex. The last form does not say of which kind the key is,
and is read as ed25519; a key for ECDSA (secp256k1) must be DER or PEM. Keys are written as DER in hex.

No error contains a key or a part of one, and no function that raises one has a key in a variable that could be printed
with a traceback. Errors of libraries may quote what they cannot read, so they are dropped, and not chained to ours. A
key is read when something is signed, and not kept.

A public key is text: DER in hex, as `PublicKey.to_string_der` of the SDK returns it and `from_string_der` reads it.
"""

import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hiero_sdk_python.crypto.private_key import PrivateKey  # type: ignore[import-untyped]
from hiero_sdk_python.crypto.public_key import PublicKey  # type: ignore[import-untyped]

from gatepost.core.address import check_name
from gatepost.errors import Conflict, Invalid, Unavailable, quote_value
from gatepost.paths import AtomicFile, is_private, is_shared

#: bytes of a file with a key
_MAX_FILE_SIZE: Final = 16 * 1024
_RAW_LENGTH: Final = 32
#: what comes before the 32 bytes of a public key for ed25519 in DER
_ED25519_HEAD: Final = bytes.fromhex("302a300506032b6570032100")
_FORMATS: Final = "give a file with an ed25519 or ECDSA (secp256k1) key as DER in hex, or as PEM without a password"


class SigningKey:
    """A private key that does not print itself, as that of the SDK does."""

    __slots__ = ("_key", "public_key")

    def __init__(self, key: Any) -> None:
        """`key` is a PrivateKey of the SDK."""
        self._key = key
        #: a PublicKey of the SDK
        self.public_key = key.public_key()

    def __repr__(self) -> str:
        return f"SigningKey(public_key={self.public_text!r})"

    @property
    def public_text(self) -> str:
        text: str = self.public_key.to_string_der()
        return text

    def sign(self, content: bytes) -> bytes:
        signature: bytes = self._key.sign(content)
        return signature

    def serialize(self) -> bytes:
        text: str = self._key.to_string_der()
        return text.encode()


class KeyFolder:
    """The private keys of entities, in a folder: `{owner}.key`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def make_key(self, owner: str) -> str:
        """Make a key for ed25519, unless there is a key, and return the public key of the one on the disk."""
        path = _get_path(self._folder, owner)
        if not path.exists():
            _prepare_folder(self._folder)
            with suppress(FileExistsError):  # another process was first
                _write_key(path, SigningKey(PrivateKey.generate_ed25519()))
        return read_key(path).public_text

    def has_key(self, owner: str) -> bool:
        try:
            return _get_path(self._folder, owner).is_file()
        except Invalid:
            return False

    def read_key(self, owner: str) -> SigningKey:
        """Return the private key; raise Unavailable if it is not here, or cannot be used as it is."""
        try:
            return read_key(_get_path(self._folder, owner))
        except Invalid as error:
            raise Unavailable(f"nothing can be signed for {owner!r}: {error.message}", hint=error.hint) from None


def import_key(folder: Path, owner: str, source: Path) -> str:
    """
    Copy a key to the folder of keys and return its public key. Raise Conflict if the owner has another key, and Invalid
    if the file holds no key, or others can read it.
    """
    path = _get_path(folder, owner)
    key = read_key(source)
    _prepare_folder(folder)
    with suppress(FileExistsError):
        _write_key(path, key)
    if read_key(path).public_text != key.public_text:
        raise Conflict(
            f"{owner!r} has another private key, which is not replaced",
            hint=f"move {str(path)!r} away first; without it nobody can use the account that was made with it",
        )
    return key.public_text


def read_key(path: Path) -> SigningKey:
    """Return the private key in a file; raise Invalid if it holds none, or others can read it."""
    name = quote_value(str(path), 200)
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if not is_private(status):
                raise Invalid(f"other users can read the private key {name}", hint=f"chmod 600 {path}")
            key = _parse_key(file.read(_MAX_FILE_SIZE)) if S_ISREG(status.st_mode) else None
    except FileNotFoundError:
        raise Invalid(f"there is no private key at {name}") from None
    except OSError as error:
        raise Invalid(f"the private key {name} cannot be read: {error.strerror}") from None
    if key is None:
        raise Invalid(f"{name} is not a private key that can be used here", hint=_FORMATS)
    return key


def parse_public_key(text: str) -> Any:
    """Return a public key as the SDK has it."""
    try:
        return PublicKey.from_string_der(text)
    except ValueError:
        raise Invalid(f"{quote_value(text)} is not a public key") from None


def convert_mirror_key(kind: str, text: str) -> str | None:
    """Return a public key that a mirror node has given; None if it is not a single key."""
    try:
        raw = bytes.fromhex(text)
        match kind:
            case "ED25519" if len(raw) == _RAW_LENGTH:
                key = PublicKey.from_der(_ED25519_HEAD + raw)
            case "ECDSA_SECP256K1":
                key = PublicKey.from_bytes_ecdsa(raw)
            case _:
                return None
    except ValueError:
        return None
    converted: str = key.to_string_der()
    return converted


def _get_path(folder: Path, owner: str) -> Path:
    return folder / f"{check_name(owner)}.key"


def _prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise Unavailable(f"the folder of keys {str(folder)!r} cannot be made: {error.strerror}") from None
    if is_shared(status):
        raise Invalid(f"others can write to the folder of keys {str(folder)!r}", hint=f"chmod 700 {folder}")


def _write_key(path: Path, key: SigningKey) -> None:
    """Write a new file, and return when it is on the disk; raise FileExistsError if the path exists."""
    try:
        with AtomicFile(str(path), mode=0o600, is_durable=True, must_be_new=True) as file:
            file.write(key.serialize() + b"\n")
        if os.name != "nt":  # there a folder cannot be opened
            descriptor = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    except FileExistsError:
        raise
    except OSError as error:
        raise Unavailable(f"the private key {str(path)!r} cannot be written: {error.strerror}") from None


def _parse_key(content: bytes) -> SigningKey | None:
    """Return None if it is no key: an error of a library could quote it."""
    try:
        if b"-----BEGIN" in content:
            key = load_pem_private_key(content, password=None)
            if isinstance(key, EllipticCurvePrivateKey):
                return SigningKey(PrivateKey(key)) if isinstance(key.curve, SECP256K1) else None
            return SigningKey(PrivateKey(key)) if isinstance(key, Ed25519PrivateKey) else None
        raw = bytes.fromhex(content.decode("ascii").strip().removeprefix("0x"))
        is_raw = len(raw) == _RAW_LENGTH
        return SigningKey(PrivateKey.from_bytes_ed25519(raw) if is_raw else PrivateKey.from_der(raw))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
