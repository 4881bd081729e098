"""
CloudEvents 1.0 over HTTP: parse the three forms.

The content type says which form it is, and is checked before any header, as the specification says:

    application/cloudevents+json         structured: the body is the event, its attributes and its data
    application/cloudevents-batch+json   batch: an array of such events
    anything else, with ce-* headers     binary: the headers are the attributes, the body is the data

Source and id together identify an event for ever. The source is a URI reference and has no space in it, so no other
pair can have the name `SOURCE ID`.
"""

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.errors import Malformed, TooLarge, quote_value

#: events in a batch
MAX_BATCH_SIZE: Final = 1_000

_REQUIRED_ATTRIBUTES: Final = ("specversion", "id", "source", "type")
_ATTRIBUTE_NAME: Final = re.compile(r"[a-z0-9]+")
_QUOTED_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_JSON_TYPE: Final = re.compile(r"(?:application|text)/(?:[^;/]+\+)?json")
_TEXT_TYPE: Final = re.compile(r"text/.+|application/(?:[^;/]+\+)?xml")


class CloudEvent(Struct, frozen=True, kw_only=True):
    attributes: Mapping[str, str | int | float | bool]
    data: Json
    #: whether the attributes were in the body, which a signature covers
    is_structured: bool

    @property
    def type(self) -> str:
        return str(self.attributes["type"])

    @property
    def name(self) -> str:
        return f"{self.attributes['source']} {self.attributes['id']}"


def unwrap(headers: Mapping[str, str], body: bytes) -> list[CloudEvent] | None:
    """Return the events of a request (header names in lower case); None if it is not a CloudEvent."""
    media_type = _parse_media_type(headers.get("content-type", ""))
    if media_type == "application/cloudevents+json":
        return [_parse_structured(strict.parse_json(body))]
    if media_type == "application/cloudevents-batch+json":
        return _parse_batch(strict.parse_json(body))
    if media_type.startswith("application/cloudevents"):
        raise Malformed(f"{media_type!r} is not a format that is read here", hint="send application/cloudevents+json")
    if any(f"ce-{attribute}" in headers for attribute in _REQUIRED_ATTRIBUTES):
        return [_parse_binary(headers, body, media_type)]
    return None


def _parse_batch(document: Json) -> list[CloudEvent]:
    if not isinstance(document, list):
        raise Malformed("a batch of CloudEvents is an array")
    if len(document) > MAX_BATCH_SIZE:
        raise TooLarge(
            f"a batch of {len(document)} CloudEvents is over the limit of {MAX_BATCH_SIZE}", hint="send several"
        )
    return [_parse_structured(item) for item in document]


def _parse_structured(document: Json) -> CloudEvent:
    if not isinstance(document, dict):
        raise Malformed("a CloudEvent is an object")
    attributes = {
        name: value for name, value in document.items() if name not in ("data", "data_base64") and value is not None
    }
    if any(isinstance(value, dict | list) for value in attributes.values()):
        raise Malformed("an attribute of a CloudEvent is a string, a number or a boolean")
    return CloudEvent(
        attributes=_check_attributes(attributes), data=_read_data(document, attributes), is_structured=True
    )


def _read_data(document: dict[str, Json], attributes: Mapping[str, Json]) -> Json:
    base64_text = document.get("data_base64")
    if base64_text is None:
        return document.get("data")
    if "data" in document or not isinstance(base64_text, str):
        raise Malformed("a CloudEvent has either data or data_base64, which is a string")
    try:
        raw = b64decode(base64_text, validate=True)
    except ValueError:
        raise Malformed("data_base64 of the CloudEvent is not base64") from None
    return _decode_content(raw, _parse_media_type(str(attributes.get("datacontenttype", ""))))


def _parse_binary(headers: Mapping[str, str], body: bytes, media_type: str) -> CloudEvent:
    attributes = {
        name.removeprefix("ce-"): _decode_header(value) for name, value in headers.items() if name.startswith("ce-")
    }
    if "content-type" in headers:
        attributes["datacontenttype"] = headers["content-type"]
    return CloudEvent(
        attributes=_check_attributes(attributes), data=_decode_content(body, media_type), is_structured=False
    )


def _decode_header(value: str) -> str:
    """Decode a header: quotes with backslashes (older senders write them), then percent encoding, once."""
    if match := _QUOTED_STRING.fullmatch(value):
        value = re.sub(r"\\(.)", r"\1", match[1])
    try:
        return unquote_to_bytes(value.encode("latin-1")).decode()
    except UnicodeError:
        raise Malformed("a ce- header is not UTF-8", hint="write other characters than ASCII as %XX of UTF-8") from None


def _decode_content(raw: bytes, media_type: str) -> Json:
    if not raw:
        return None
    if not media_type or _JSON_TYPE.fullmatch(media_type):
        return strict.parse_json(raw, "the data of the CloudEvent")
    if not _TEXT_TYPE.fullmatch(media_type):
        raise Malformed(
            f"data of the type {media_type!r} is neither JSON nor text", hint="send a reference to it instead"
        )
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Malformed("the data of the CloudEvent is not UTF-8") from None


def _check_attributes(attributes: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the attributes; raise Malformed if a required one is missing or a name is wrong."""
    if attributes.get("specversion") != "1.0":
        raise Malformed(
            f"CloudEvents of version {quote_value(str(attributes.get('specversion')))} are not read here, only 1.0"
        )
    for name in _REQUIRED_ATTRIBUTES:
        if not isinstance(attributes.get(name), str) or not attributes[name]:
            raise Malformed(f"the CloudEvent has no {name}")
    if re.search(r"\s", attributes["source"]):
        raise Malformed("the source of the CloudEvent has a space in it", hint="a source is a URI or a path")
    for name in attributes:
        if not _ATTRIBUTE_NAME.fullmatch(name):
            raise Malformed(f"{quote_value(name)} is not the name of a CloudEvent's attribute")
    return attributes


def _parse_media_type(text: str) -> str:
    """Return the media type without its parameters."""
    return text.partition(";")[0].strip().lower()
