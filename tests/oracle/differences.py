"""Compares answers with the record; what may differ is listed in `differences.toml`."""

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parent
LIST_FILE: Final = FOLDER / "differences.toml"
_ABSENT: Final = "(absent)"
_EXPECTED_FIELDS: Final = frozenset({"status", "exit", "type", "fingerprint"})


@dataclass(frozen=True)
class Record:
    """The answers of one corpus, a line of JSON each, in the order of its cases."""

    path: Path

    def read(self) -> dict[str, Any]:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return {document.pop("case"): document for document in map(json.loads, lines)}

    def write(self, answers: Mapping[str, Any]) -> None:
        text = "".join(
            json.dumps({"case": case, **answer}, ensure_ascii=False) + "\n" for case, answer in answers.items()
        )
        self.path.write_text(text, encoding="utf-8")


REQUESTS: Final = Record(FOLDER / "requests.jsonl")
COMMANDS: Final = Record(FOLDER / "commands.jsonl")


@dataclass(frozen=True)
class Difference:
    """A case whose answer may differ from the record, and what it is now."""

    case: str
    reason: str
    expected: Mapping[str, Any]

    def matches(self, answer: Any) -> bool:
        return all(summarize(answer)[name] == value for name, value in self.expected.items())


def summarize(answer: Any) -> dict[str, Any]:
    """Return what a listed difference can say of an answer."""
    body = answer.get("body")
    return {
        "status": answer.get("status"),
        "exit": answer.get("exit"),
        "type": body.get("type") if isinstance(body, dict) else None,
        "fingerprint": hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:12],
    }


def read_differences(text: str) -> dict[str, Difference]:
    """Read the list; one that is not complete, or names a case twice, is an error."""
    differences: dict[str, Difference] = {}
    for entry in tomllib.loads(text).get("difference", []):
        reason, cases = entry.pop("reason", ""), entry.pop("cases", [])
        if not reason or not cases or not entry or not entry.keys() <= _EXPECTED_FIELDS:
            raise ValueError(f"a difference needs `reason`, `cases` and one of {sorted(_EXPECTED_FIELDS)}: {entry}")
        for case in cases:
            if case in differences:
                raise ValueError(f"{case!r} is listed twice")
            differences[case] = Difference(case, reason, entry)
    return differences


def compare(recorded: Mapping[str, Any], answers: Mapping[str, Any], listed: Mapping[str, Difference]) -> Sequence[str]:
    """Return what is wrong: a difference that is not listed, and a listed one that is another or none."""
    faults = []
    for case, answer in answers.items():
        recorded_answer, difference = recorded.get(case), listed.get(case)
        if recorded_answer is None:
            faults.append(f"{case}: is not in the record; record it with `python -m tests.oracle.record --again`")
        elif difference is None and answer != recorded_answer:
            faults.append(f"{case}: {describe(recorded_answer, answer)}")
        elif difference is not None and answer == recorded_answer:
            faults.append(f"{case}: is listed as a difference and is none")
        elif difference is not None and not difference.matches(answer):
            faults.append(
                f"{case}: differs, and not as listed {dict(difference.expected)}: {describe(recorded_answer, answer)}"
            )
    faults += [f"{case}: is in the record and not in the corpus" for case in recorded if case not in answers]
    return faults


def describe(recorded_answer: Any, answer: Any) -> str:
    """Say where two answers differ, and how the second would be listed."""
    summary = {name: value for name, value in summarize(answer).items() if value is not None}
    return f"{'; '.join(_find_differences(recorded_answer, answer)[:4])}  (now {summary})"


def _find_differences(recorded: Any, answer: Any, path: str = "") -> list[str]:
    if isinstance(recorded, dict) and isinstance(answer, dict):
        names = [*recorded, *(name for name in answer if name not in recorded)]
        return [
            text
            for name in names
            for text in _find_differences(recorded.get(name, _ABSENT), answer.get(name, _ABSENT), f"{path}.{name}")
        ]
    if isinstance(recorded, list) and isinstance(answer, list) and len(recorded) == len(answer):
        pairs = enumerate(zip(recorded, answer, strict=True))
        return [text for index, (old, new) in pairs for text in _find_differences(old, new, f"{path}[{index}]")]
    return [] if recorded == answer else [f"{path.lstrip('.')}: {_shorten(recorded)} -> {_shorten(answer)}"]


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else text[:117] + "..."
