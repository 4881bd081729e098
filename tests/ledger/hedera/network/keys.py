"""
Keys and signatures as a node of Hedera checks them.

A key is a protobuf `Key`: a single Ed25519 or ECDSA (secp256k1) key, or a threshold key. A signature names its key by
a prefix of the public key. ECDSA signs the Keccak-256 of the bytes, as `r || s`.
"""

from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature, encode_dss_signature
from eth_hash.auto import keccak

from tests.ledger.hedera.network.protobufs import basic_types_pb2

_ECDSA = ec.ECDSA(Prehashed(hashes.SHA256()))


class SigningKey:
    """A private key of an account."""

    def __init__(self, key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> None:
        self._key = key

    @staticmethod
    def generate(kind: str = "ed25519") -> "SigningKey":
        """`kind` is `ed25519` or `ecdsa`."""
        if kind == "ecdsa":
            return SigningKey(ec.generate_private_key(ec.SECP256K1()))
        return SigningKey(ed25519.Ed25519PrivateKey.generate())

    @staticmethod
    def parse(text: str) -> "SigningKey":
        """Read a key as `str` of it writes it."""
        key = serialization.load_der_private_key(bytes.fromhex(text), password=None)
        assert isinstance(key, ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey)
        return SigningKey(key)

    def __str__(self) -> str:
        """DER in hexadecimal digits, which the SDK reads by `PrivateKey.from_string`."""
        return self._key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).hex()

    @property
    def public_bytes(self) -> bytes:
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return self._key.public_key().public_bytes_raw()
        return self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint
        )

    @property
    def public_key(self) -> Any:
        """A protobuf `Key`."""
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return basic_types_pb2.Key(ed25519=self.public_bytes)
        return basic_types_pb2.Key(ECDSA_secp256k1=self.public_bytes)

    def sign(self, content: bytes) -> Any:
        """Return a protobuf `SignaturePair`."""
        if isinstance(self._key, ed25519.Ed25519PrivateKey):
            return basic_types_pb2.SignaturePair(pubKeyPrefix=self.public_bytes, ed25519=self._key.sign(content))
        numbers = decode_dss_signature(self._key.sign(keccak(content), _ECDSA))
        signature = b"".join(number.to_bytes(32) for number in numbers)
        return basic_types_pb2.SignaturePair(pubKeyPrefix=self.public_bytes, ECDSA_secp256k1=signature)


def has_signed(key: Any, content: bytes, signatures: Any) -> bool:
    """Return True if signatures of a content are enough for a key."""
    match key.WhichOneof("key"):
        case "ed25519":
            return any(_verify_ed25519(key.ed25519, content, pair) for pair in signatures.sigPair)
        case "ECDSA_secp256k1":
            return any(_verify_ecdsa(key.ECDSA_secp256k1, content, pair) for pair in signatures.sigPair)
        case "thresholdKey":
            signers = sum(has_signed(part, content, signatures) for part in key.thresholdKey.keys.keys)
            return signers >= max(int(key.thresholdKey.threshold), 1)
        case _:
            return False


def _verify_ed25519(public_bytes: bytes, content: bytes, pair: Any) -> bool:
    if pair.WhichOneof("signature") != "ed25519" or not public_bytes.startswith(pair.pubKeyPrefix):
        return False
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public_bytes).verify(pair.ed25519, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def _verify_ecdsa(public_bytes: bytes, content: bytes, pair: Any) -> bool:
    if pair.WhichOneof("signature") != "ECDSA_secp256k1" or not public_bytes.startswith(pair.pubKeyPrefix):
        return False
    numbers = (int.from_bytes(pair.ECDSA_secp256k1[:32]), int.from_bytes(pair.ECDSA_secp256k1[32:]))
    try:
        public_key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), public_bytes)
        public_key.verify(encode_dss_signature(*numbers), keccak(content), _ECDSA)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_well_formed(key: Any) -> bool:
    """Return True if a key has the right length, or is a threshold key of such keys."""
    match key.WhichOneof("key"):
        case "ed25519":
            return len(key.ed25519) == 32
        case "ECDSA_secp256k1":
            return len(key.ECDSA_secp256k1) == 33
        case "thresholdKey":
            keys = key.thresholdKey.keys.keys
            return 1 <= key.thresholdKey.threshold <= len(keys) and all(map(is_well_formed, keys))
        case _:
            return False


def format_key(key: Any | None) -> dict[str, str] | None:
    """Return a key as the mirror node shows it."""
    if key is None:
        return None
    match key.WhichOneof("key"):
        case "ed25519":
            return {"_type": "ED25519", "key": key.ed25519.hex()}
        case "ECDSA_secp256k1":
            return {"_type": "ECDSA_SECP256K1", "key": key.ECDSA_secp256k1.hex()}
        case _:
            return {"_type": "ProtobufEncoded", "key": key.SerializeToString().hex()}
