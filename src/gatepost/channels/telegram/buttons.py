"""
Buttons under messages on Telegram: what their presses send back.

A button has up to 64 bytes of data. Telegram warns that a changed client can send any data as a press, so the data ends
in a signature by a key that only the gateway has. It covers the chat, so data that was seen in one chat is worth
nothing in another, and the message, if its id is known: a message has no id before it is sent, but it has one when its
buttons are put under it later.

    d:{32 digits of the decision's id}:{round}:{option}:{signature}
    r:{32 digits of the message's id}:{option}:{signature}    under a reply
    p:a:{pairing code}:{signature}        p:d:...    approve, deny

A round of a decision has its own data, so that a press under an old question is recognised. Whether the presser may
answer or approve is not decided here.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import Final, assert_never

from msgspec import Struct

from gatepost.channels.telegram.message_parts import shorten_text
from gatepost.core import ids
from gatepost.core.text import has_visible_text
from gatepost.errors import Invalid, quote_value
from gatepost.gates.decision import MAX_OPTIONS, MAX_ROUNDS

#: bytes of data, by the rules of Telegram
MAX_DATA_BYTES: Final = 64
#: UTF-16 units of a label; Telegram shows about as many
MAX_LABEL_LENGTH: Final = 40

_DECISION_DATA: Final = re.compile(r"d:([0-9a-f]{32}):([1-9]):(0|[1-9][0-9]?)")
_REPLY_DATA: Final = re.compile(r"r:([0-9a-f]{32}):(0|[1-9][0-9]?)")
_PAIRING_DATA: Final = re.compile(r"p:([ad]):([A-Za-z0-9]{4,32})")
#: bytes of a signature; nobody can try many, as each try is a press that Telegram passes on
_SIGNATURE_BYTES: Final = 16
_PURPOSE: Final = b"gatepost telegram button\n"


class DecisionButton(Struct, frozen=True, kw_only=True):
    """A button that answers a decision."""

    decision: str
    #: the number of the option, from 0
    option: int
    #: the round that the question is of, from 1
    iteration: int = 1


class ReplyButton(Struct, frozen=True, kw_only=True):
    """A button under a reply of an agent."""

    #: the id of the message that is sent
    message: str
    #: the number of the button, from 0
    option: int


class PairingButton(Struct, frozen=True, kw_only=True):
    """A button by which an administrator approves or denies a chat."""

    code: str
    is_approval: bool


Button = DecisionButton | ReplyButton | PairingButton


def build_callback_data(button: Button, key: bytes, *, chat: int) -> str:
    """Return the data of a button in a chat."""
    match button:
        case DecisionButton():
            number = ids.check("dec", button.decision).removeprefix("dec_")
            if not (0 <= button.option < MAX_OPTIONS and 1 <= button.iteration <= MAX_ROUNDS):
                raise Invalid(
                    f"option {button.option} of round {button.iteration} cannot be a button",
                    hint=f"a decision has up to {MAX_OPTIONS} options and {MAX_ROUNDS} rounds",
                )
            content = f"d:{number}:{button.iteration}:{button.option}"
        case ReplyButton():
            content = f"r:{ids.check('out', button.message).removeprefix('out_')}:{button.option}"
        case PairingButton():
            content = f"p:{'a' if button.is_approval else 'd'}:{button.code}"
            if not _PAIRING_DATA.fullmatch(content):
                raise Invalid(
                    f"{quote_value(button.code)} is not a pairing code", hint="use 4 to 32 letters and digits"
                )
        case other:
            assert_never(other)
    return f"{content}:{_sign(content, key, chat)}"


def parse_callback_data(data: str, key: bytes, *, chat: int) -> Button | None:
    """Return the button that a press came from; None if no such button was made for this chat."""
    content, _, signature = data.rpartition(":")
    expected_signature = _sign(content, key, chat)
    if not hmac.compare_digest(_to_bytes(signature), _to_bytes(expected_signature)):
        return None
    if match := _DECISION_DATA.fullmatch(content):
        return DecisionButton(decision=f"dec_{match[1]}", iteration=int(match[2]), option=int(match[3]))
    if match := _REPLY_DATA.fullmatch(content):
        return ReplyButton(message=f"out_{match[1]}", option=int(match[2]))
    if match := _PAIRING_DATA.fullmatch(content):
        return PairingButton(code=match[2], is_approval=match[1] == "a")
    return None


def build_label(text: str, fallback: str) -> str:
    """Return the label of a button, on one line; `fallback` if nothing of the text can be seen."""
    line = shorten_text(" ".join(text.split()), MAX_LABEL_LENGTH)
    return line if has_visible_text(line) else fallback


def _sign(content: str, key: bytes, chat: int) -> str:
    mac = hmac.digest(key, _PURPOSE + _to_bytes(f"{chat}\n\n{content}"), sha256)
    return urlsafe_b64encode(mac[:_SIGNATURE_BYTES]).decode().rstrip("=")


def _to_bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
