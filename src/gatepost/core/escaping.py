"""
Write text from outside so that it cannot pass for something else: on a line, on a terminal, in Markdown.

Most text is printable ASCII, in which nothing is invisible, and is returned as it is. The patterns are compiled when
another text comes: a command has to start fast.
"""

import re
from typing import Final

#: controls, soft hyphen, bidi marks, joiners, invisible operators and fillers, line separators, variation selectors,
#: tags, surrogates, private use, non-characters
_INVISIBLE: Final = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
#: controls except tab and line break, embeddings, overrides and isolates of bidi, surrogates
_DECEPTIVE: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
#: what formats, or is the beginning of a link or a character reference, in the middle of a line
_MARKDOWN_SIGN: Final = r"[\\`*_~\[\]<>&|!#]"


def escape_unsafe(text: str) -> str:
    """Replace characters that could break a line, hide or deceive, or begin a tag, by `\\uXXXX`."""
    return escape_invisible(text).replace("<", "\\u003c")


def escape_invisible(text: str) -> str:
    """Replace characters that could break a line, hide or deceive by `\\uXXXX`."""
    if _is_plain(text):
        return text
    return re.sub(_INVISIBLE, lambda match: _escape_code_point(ord(match[0])), text)


def remove_invisible(text: str) -> str:
    return text if _is_plain(text) else re.sub(_INVISIBLE, "", text)


def has_invisible(text: str) -> bool:
    """Return True if a text has a character that could break a line, hide or deceive."""
    return not _is_plain(text) and re.search(_INVISIBLE, text) is not None


def escape_deceptive(text: str) -> str:
    """
    Replace what could turn the direction of a text around, and control characters, by `\\uXXXX`. Line breaks stay, and
    so do the joiners and the variation selectors of emoji: it is for chats, where a text has many lines.
    """
    one_break = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(_DECEPTIVE, lambda match: _escape_code_point(ord(match[0])), one_break)


def escape_markdown(text: str) -> str:
    """Return a text, such as the name of a stranger, so that Markdown shows it as it is, on one line."""
    return re.sub(_MARKDOWN_SIGN, r"\\\g<0>", escape_deceptive(text).replace("\n", " "))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _escape_code_point(code: int) -> str:
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
