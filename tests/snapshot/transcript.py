"""
A transcript: what was asked, and under it what was answered. People write what is asked, and `python -m tests.snapshot`
writes the answers.

    # A gate ends once.
    POST /api/gates {"owner": "analyst", "name": "Sign-off"} => gate=id
      201 application/json
      {"id": "$gate", "name": "Sign-off", ...

    PUT /api/gates/$gate/resolution {}
      200 application/json
      ...

A line that is indented was answered; a line that begins with `#` is a comment; every other line is a step, and lines
after it that begin with `|` belong to it. `requests.py` and `commands.py` say which steps there are. After `=>` a step
names values of its answer: `$gate` stands for it in later steps, and in all answers.

An answer is shown as it is, but for what is drawn at random or depends on the machine. An id that has no name is shown
as `<gate 1>`, by the order in which ids appear; so are secrets and hashes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import Any, Final

#: columns of a document that stands on one line
_WIDTH: Final = 118
_INDENT: Final = "  "
#: ids, keys, hashes; an id of zeros is one that somebody has typed, and a key may end with a dash
_RANDOM: Final = re.compile(r"\b(?:([a-z]{2,8})_(?!0{32})[0-9a-f]{32}\b|([splc]k)_[A-Za-z0-9_-]{8,}|[0-9a-f]{64}\b)")

#: characters of a secret that is made for somebody, at least
_SECRET_LENGTH: Final = 32


@dataclass
class Step:
    """What is asked."""

    text: str
    #: how values of the answer are named, such as `id` by `gate`
    names: Mapping[str, str]
    #: the lines after it, without their bars
    options: list[str] = field(default_factory=list)
    #: what it was answered when the snapshot was written
    recorded: list[str] = field(default_factory=list)
    #: its line in the file
    number: int = 0

    @property
    def lines(self) -> Iterator[str]:
        names = " ".join(f"{name}={path}" if path else name for name, path in self.names.items())
        yield f"{self.text} => {names}" if names else self.text
        yield from (f"| {option}" for option in self.options)


def parse(text: str) -> list[str | Step]:
    """Return the comments and the steps."""
    parts: list[str | Step] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            parts.append(line)
        elif line.startswith(("| ", _INDENT)):
            step = parts[-1] if parts else None
            assert isinstance(step, Step), f"line {number} belongs to no step"
            (step.options if line[0] == "|" else step.recorded).append(line[2:])
        elif line:
            words, _, names = line.partition(" => ")
            pairs = [pair.partition("=") for pair in names.split()]
            parts.append(Step(words, {name: path for name, _, path in pairs}, number=number))
    return parts


def render(parts: Sequence[str | Step], answers: Mapping[int, Sequence[str]]) -> str:
    """Return the text of a transcript; answers have the numbers of their steps."""
    lines: list[str] = []
    for part in parts:
        if isinstance(part, str):
            is_first = not lines or not lines[-1].startswith("#")
            lines += ["", part] if lines and is_first else [part]
        else:
            lines += [] if not lines or lines[-1].startswith("#") else [""]
            lines += [*part.lines, *(f"{_INDENT}{line}" if line else "" for line in answers.get(part.number, ()))]
    return "\n".join(lines) + "\n"


class Values:
    """The values that have names, and what is shown for those that are drawn at random."""

    def __init__(self, values: Mapping[str, Any], masks: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._shown: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._masks = dict(masks or {})
        for name, value in values.items():
            self.name(name, value)

    def name(self, name: str, value: Any) -> None:
        assert name not in self._values, f"${name} is named twice"
        self._values[name] = value
        if isinstance(value, str) and _RANDOM.fullmatch(value):
            self._shown[value] = f"${name}"
        elif isinstance(value, str) and len(value) >= _SECRET_LENGTH:
            self._masks[value] = f"${name}"

    def hide(self, text: str, mask: str) -> None:
        """Show something else for a text that is not the same everywhere."""
        self._masks[text] = mask

    def fill(self, text: str) -> str:
        """Put the values in the place of their names."""
        return Template(text).safe_substitute(self._values)

    def mask(self, text: str) -> str:
        """Put names in the place of values."""
        for match, mask in self._masks.items():
            text = text.replace(match, mask)
        return _RANDOM.sub(self._show, text)

    def _show(self, match: re.Match[str]) -> str:
        value, kind = match[0], match[1] or match[2] or "hash"
        if value not in self._shown:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._shown[value] = f"<{kind} {self._counts[kind]}>"
        return self._shown[value]


def split_stories(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps of each story, without the step `anew` that is between two of them."""
    stories: list[list[Step]] = [[]]
    for step in steps:
        if step.text == "anew":
            stories.append([])
        else:
            stories[-1].append(step)
    return stories


def find(document: Any, path: str) -> Any:
    """Return the value at a path such as `items.0.id`."""
    value = document
    for part in path.split("."):
        assert isinstance(value, list) or part in value, f"there is no {path} in {document}"
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def dump_json(document: Any) -> str:
    """Return JSON as Gatepost writes it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def format_json(text: str) -> list[str]:
    """Return a document in lines to read; one that is not written in the usual way stays as it is."""
    try:
        document = json.loads(text)
    except ValueError:
        return text.split("\n")
    if dump_json(document) != text:
        return text.split("\n")
    return _format_value(document, "")


def _format_value(value: Any, prefix: str) -> list[str]:
    line = prefix + json.dumps(value, ensure_ascii=False)
    if len(line) <= _WIDTH or not isinstance(value, dict | list):
        return [line]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    items = value.items() if isinstance(value, dict) else [(None, item) for item in value]
    blocks = [_format_value(item, "" if key is None else f"{json.dumps(key)}: ") for key, item in items]
    return [
        prefix + opening,
        *(f"  {line}" for block in blocks for line in [*block[:-1], f"{block[-1]},"]),
        closing,
    ]
