"""
Compress and decompress the content of files on a ledger (HCS-1).

A file comes from anybody, and a few bytes can stand for gigabytes. So content is decompressed in steps, and no step
makes more than a few megabytes; the first one that exceeds the limit is the last.
"""

from typing import Final

import brotli  # type: ignore[import-untyped]
import zstandard

from gatepost.errors import Invalid, quote_value

#: bytes after which a step of brotli ends; it may end up to twice as far
_BROTLI_STEP: Final = 64 * 1024
#: compressed bytes of a step of Zstandard; four of them can be a block of 128 KiB
_ZSTD_STEP: Final = 64
#: bytes that Zstandard may look back; every decoder should support 8 MB (RFC 8878, 3.1.1.1.2)
_ZSTD_WINDOW: Final = 8 * 1024 * 1024
_ZSTD_LEVEL: Final = 19


def compress(content: bytes) -> tuple[str, bytes]:
    """Return the method whose result is the smallest, and that result."""
    results = {
        "brotli": brotli.compress(content, quality=11),
        "zstd": zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(content),
    }
    return min(results.items(), key=lambda result: len(result[1]))


def decompress(content: bytes, method: str, *, max_size: int) -> bytes:
    try:
        match method:
            case "brotli":
                return _decompress_brotli(content, max_size)
            case "zstd":
                return _decompress_zstd(content, max_size)
            case _:
                raise Invalid(f"{quote_value(method)} is not a method of compression", hint="use zstd or brotli")
    except (brotli.error, zstandard.ZstdError):
        raise Invalid(f"the file is not compressed with {method}, or is damaged") from None


def _decompress_brotli(content: bytes, max_size: int) -> bytes:
    decoder = brotli.Decompressor()
    result = bytearray()
    pending = content
    while not decoder.is_finished():
        part = decoder.process(pending, output_buffer_limit=_BROTLI_STEP)
        if not part and not pending:
            raise Invalid("the file ends too early")
        pending = b""
        _append(result, part, max_size)
    return bytes(result)


def _decompress_zstd(content: bytes, max_size: int) -> bytes:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    result = bytearray()
    for start in range(0, len(content), _ZSTD_STEP):
        if decoder.eof:
            raise Invalid("the file has more bytes after its end")
        _append(result, decoder.decompress(content[start : start + _ZSTD_STEP]), max_size)
    if not decoder.eof:
        raise Invalid("the file ends too early")
    if decoder.unused_data:
        raise Invalid("the file has more bytes after its end")
    return bytes(result)


def _append(result: bytearray, part: bytes, max_size: int) -> None:
    if len(result) + len(part) > max_size:
        raise Invalid(f"the file is larger than {max_size} bytes")
    result += part
