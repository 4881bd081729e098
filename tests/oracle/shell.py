"""Runs the commands of the corpus in this process, in order, on a store of their own, and returns what they print."""

import io
import json
import os
import shlex
import string
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, Final

import pytest

from gatepost import app, settings
from gatepost.cli.main import run
from tests import resident_runs
from tests.oracle.masks import Masks
from tests.oracle.replay import silence_logs

#: what the machine of the test must not say to commands
_FOREIGN_PREFIXES: Final = ("GATEPOST_", "CLAUDE", "CODEX_", "GEMINI_", "CURSOR_", "OPENAI_", "ANTHROPIC_")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command. `$gate` in its words or on its stdin stands for what was captured under that name."""

    id: str
    words: str
    stdin: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    #: names for values of the JSON that it prints, such as `gate` for `id`
    capture: Mapping[str, str] = field(default_factory=dict)
    #: what has to be there before, and cannot be made by commands
    has_runs: bool = False


def run_commands(commands: Sequence[Command]) -> dict[str, Any]:
    """Return the exit code and the masked JSON of every command."""
    with TemporaryDirectory() as temporary_path, pytest.MonkeyPatch.context() as patch:
        folder = Path(temporary_path).resolve()
        for part in ("here", "user"):
            (folder / part).mkdir()
        for variable in [name for name in os.environ if name.startswith(_FOREIGN_PREFIXES)]:
            patch.delenv(variable)
        home = folder / "home"
        for variable, value in {"GATEPOST_HOME": str(home), "HOME": str(folder / "user"), "NO_COLOR": "1"}.items():
            patch.setenv(variable, value)
        patch.chdir(folder / "here")
        texts = {
            str(folder): "<folder>",
            str(Path(sys.executable).parent): "<bin>",
            f"cli:{os.getpid()}": "cli:<process>",
        }
        masks = Masks(texts=texts)
        values: dict[str, Any] = {"folder": str(folder)}
        with silence_logs():
            return {command.id: _run(command, masks, values, patch) for command in commands}


def _run(command: Command, masks: Masks, values: dict[str, Any], patch: pytest.MonkeyPatch) -> dict[str, Any]:
    masks.begin(command.id)
    if command.has_runs:
        values |= _prepare_runs()
    words = shlex.split(string.Template(command.words).safe_substitute(values))
    stdin = string.Template(command.stdin).safe_substitute(values).encode()
    with TemporaryFile() as file:
        with patch.context() as inner_patch, _redirect_output(file):
            for name, value in command.environ.items():
                inner_patch.setenv(name, value)
            inner_patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            code = run(words)
        file.seek(0)
        output = file.read().decode()
    if not output.strip():
        return {"exit": code}
    documents = _parse(output)
    if documents is None:
        return {"exit": code, "printsText": True}
    for name, path in command.capture.items():
        values[name] = _find(documents, path)
    return {"exit": code, "body": masks.mask(documents)}


@contextmanager
def _redirect_output(file: IO[bytes]) -> Iterator[None]:
    """While entered, what is printed goes to the file, also by those who write to descriptors; errors go nowhere."""
    saved = [os.dup(1), os.dup(2)]
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(file.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        try:
            with (
                os.fdopen(os.dup(1), "w", encoding="utf-8") as out,
                os.fdopen(os.dup(2), "w", encoding="utf-8") as err,
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                yield
        finally:
            for descriptor, saved_descriptor in enumerate(saved, 1):
                os.dup2(saved_descriptor, descriptor)
                os.close(saved_descriptor)


def _parse(output: str) -> Any:
    """Return the document, or a list of those that have a line each; None for what is no JSON."""
    try:
        return json.loads(output)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in output.splitlines()]
    except ValueError:
        return None


def _find(document: Any, path: str) -> Any:
    for part in path.split("."):
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document


def _prepare_runs() -> dict[str, Any]:
    """Give the store a resident with one run that has ended and one that waits for a tool."""
    with app.prepare_store(settings.load(os.environ)) as store:
        resident_runs.create_resident(store)
        past_run = resident_runs.begin_run(store)
        resident_runs.finish_run(store, past_run)
        return {"past": past_run.run_id, "run": resident_runs.begin_run(store).run_id}
