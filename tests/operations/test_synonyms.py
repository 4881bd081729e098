"""A request takes its text by each of the usual names, and a claim by its id, where only one field can be meant."""

import json
from typing import Any

import pytest

from gatepost.channels.chat_api import SendChat
from gatepost.errors import Invalid
from gatepost.gates.decision_api import AnswerDecision
from gatepost.inbox.item_api import AckClaim, ReleaseClaim
from gatepost.inbox.push.api import PushEvent
from gatepost.mail.mail_api import ReplyToEvent, SendMail
from gatepost.mail.work_api import PostNote
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import Request
from gatepost.operations.operation_tool import load_tools
from gatepost.spaces.api import PostMessage

TEXTS = ("text", "content", "note")
#: a request, the values of the fields in its path, and the field of its text
REQUESTS: list[tuple[type[Request[Any]], dict[str, str], str]] = [
    (PushEvent, {}, "content"),
    (PostMessage, {"id": "q4-report"}, "content"),
    (SendChat, {}, "content"),
    (SendMail, {}, "text"),
    (ReplyToEvent, {"id": "evt_1"}, "text"),
    (AnswerDecision, {"id": "dec_1"}, "text"),
    (PostNote, {"type": "task", "id": "0.0.1"}, "note"),
]
_FIELDS = {PushEvent: {"to": "ann"}, SendMail: {"to": "ann"}}


def decode(request: type[Request[Any]], path: dict[str, str], **fields: Any) -> Any:
    body = json.dumps(_FIELDS.get(request, {}) | fields).encode()
    return get_decoder(request.operation).decode(path, b"", body)


@pytest.mark.parametrize(("request_", "path", "field"), REQUESTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_text_is_taken_by_each_of_its_names(request_: type[Request[Any]], path: dict[str, str], field: str) -> None:
    for name in TEXTS:
        assert getattr(decode(request_, path, **{name: "tea"}), field) == "tea"
    other_names = [name for name in TEXTS if name != field]
    for names in ([field, other_names[0]], other_names):
        with pytest.raises(Invalid, match="is not a field of it"):
            decode(request_, path, **dict.fromkeys(names, "tea"))


@pytest.mark.parametrize("request_", [AckClaim, ReleaseClaim])
def test_a_claim_is_taken_by_its_id(request_: type[Request[Any]]) -> None:
    request = decode(request_, {"name": "ann"}, id="clm_1", owner="me", fence=1)
    assert request.claim_id == "clm_1"


def test_what_is_wrong_is_said_about_the_field() -> None:
    with pytest.raises(Invalid, match="content: a list is not text"):
        decode(PostMessage, {"id": "q4-report"}, text=["tea"])


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("reply", {"event": "evt_1", "content": "tea"}, "text"),
        ("post_to_space", {"space": "q4-report", "text": "tea"}, "content"),
        ("post_note", {"entity_id": "0.0.1", "entity_type": "task", "text": "tea"}, "note"),
    ],
)
def test_tools_take_them_too(tool: str, arguments: dict[str, str], field: str) -> None:
    assert getattr(load_tools()[tool].decode(arguments, "ann"), field) == "tea"


def test_a_filter_has_one_name() -> None:
    with pytest.raises(Invalid, match="is not a field of it"):
        load_tools()["read_inbox"].decode({"content": "tea"}, "ann")
