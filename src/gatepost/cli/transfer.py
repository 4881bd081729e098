"""`gatepost export` and `gatepost import`: everything there is, as lines of JSON."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Final

from gatepost import app, settings
from gatepost.actions import merge, transfer
from gatepost.actions.transfer import Line
from gatepost.cli import output
from gatepost.cli.here import Json
from gatepost.cli.plain import argument, flag
from gatepost.core import record
from gatepost.core.entity import Entity
from gatepost.core.gate import Gate
from gatepost.core.kept import DecisionRecord
from gatepost.core.plan import Plan
from gatepost.core.record import EventRecord, ItemRecord, KeyRecord, MessageRecord, TriggerRecord
from gatepost.core.settled import ResidentRecord
from gatepost.core.space import Space
from gatepost.errors import Conflict, GatepostError, Invalid, TooLarge, Unavailable
from gatepost.paths import AtomicFile
from gatepost.ports import Reader

Step = Callable[[int], None]

#: what JSON leaves as it is, and a terminal acts on; escaped, it is the same JSON
_CONTROLS: Final = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
#: what is counted, and in which order it is told
_NOUNS: Final[Mapping[type, str]] = {
    Entity: "entity",
    Space: "space",
    MessageRecord: "message",
    Gate: "gate",
    DecisionRecord: "decision",
    Plan: "plan",
    ResidentRecord: "resident",
    TriggerRecord: "trigger",
    KeyRecord: "key",
    EventRecord: "event",
    ItemRecord: "item",
}


def export(
    file: Annotated[str, argument("FILE|-", "Where to; - is stdout.")] = "-",
    force: Annotated[bool, flag("--force", "Replace the file if there is one.")] = False,
    secrets: Annotated[
        bool, flag("--secrets", "With the secrets of triggers and tools, and the administrator's keys.")
    ] = False,
    json: Annotated[bool, flag("--json", "Print what was exported, as JSON; with a FILE.")] = False,
) -> None:
    """
    Write everything there is, as of one moment, as lines of JSON. Of residents it holds what they are told to be, their
    memories and goals, and their cycles as they summed them up; the journals of their runs stay here.

    A file is written aside and put in place when it is complete. It holds all content, so only you may read it. Without
    --secrets nothing in it opens a door of the administrator's or forges a webhook: triggers are closed where it is
    imported, and keys are there as hashes, the administrator's not at all.

    Examples:
      gatepost export backup.jsonl
      gatepost export | gzip > backup.jsonl.gz
    """
    with app.prepare_store(settings.load(), report=output.talk) as store, _target(file, force=force) as stream:
        counts = dict.fromkeys(_NOUNS.values(), 0)

        def write(tx: Reader) -> None:
            in_terminal = file == "-" and sys.stdout.isatty()
            with _progress("exporting", None if in_terminal else transfer.size(tx), shown=not in_terminal) as step:
                for each in transfer.records(tx, secrets=secrets):
                    stream.write(_CONTROLS.sub(_escape, record.write(each)).encode() + b"\n")
                    if (noun := _NOUNS.get(type(each))) is not None:
                        counts[noun] += 1
                        step(noun in ("event", "message"))
            stream.flush()

        store.query(write)
    if json and file != "-":
        output.document({"file": file, **{output.count(2, noun)[2:]: number for noun, number in counts.items()}})
    output.talk(f"exported {_told(counts)}")


def import_(
    file: Annotated[str, argument("FILE|-", "An export; - is stdin.")],
    json: Json = False,
) -> None:
    """
    Add what was exported elsewhere to what is here.

    Entities are merged by name and events by id, so importing twice is importing once, and an import that was cut off
    is simply run again. It is stored a few hundred lines at a time; of a chunk with a bad line nothing is stored.

    Examples:
      gatepost import backup.jsonl
      zcat backup.jsonl.gz | gatepost import -
    """
    taken = merge.Taken()
    with (
        app.prepare_store(settings.load(), report=output.talk) as store,
        _source(file) as (stream, size),
        _progress("importing", size) as step,
    ):
        try:
            for chunk in transfer.chunks(_lines(stream, step)):
                taken += store.call(merge.take, chunk)
        except GatepostError as error:
            known = "; ".join(filter(None, (error.hint, _so_far(taken))))
            raise type(error)(error.message, hint=known) from None
    if json:
        output.document(asdict(taken))
    else:
        output.talk(f"imported {_told(_counts(taken))}; {taken.known} items were here before or are long done")


def _so_far(taken: merge.Taken) -> str:
    """What an import that ends with an error has stored, and that there is no harm in it."""
    counts = _counts(taken)
    if not any(counts.values()):
        return "nothing new was stored"
    return f"stored before that: {_told(counts)}; importing it again stores nothing twice"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _counts(taken: merge.Taken) -> Mapping[str, int]:
    return {noun: getattr(taken, output.count(2, noun)[2:]) for noun in _NOUNS.values()}


def _told(counts: Mapping[str, int]) -> str:
    """What there always is, and of the rest what there is."""
    told = [(noun, count) for noun, count in counts.items() if count or noun in ("entity", "event", "item")]
    return ", ".join(output.count(count, noun) for noun, count in told)


def _lines(stream: IO[bytes], step: Step) -> Iterator[Line]:
    number = 0
    while raw := stream.readline(record.LONGEST + 1):
        number += 1
        if len(raw) > record.LONGEST:
            raise TooLarge(f"line {number} has over {record.LONGEST} bytes")
        step(len(raw))
        try:
            yield number, record.read(raw)
        except Invalid as error:
            raise Invalid(f"line {number}: {error.message}", hint=error.hint) from None


@contextmanager
def _target(file: str, *, force: bool) -> Iterator[IO[bytes]]:
    """Where an export goes. A file appears when it is complete, or not at all."""
    if file == "-":
        yield sys.stdout.buffer
        return
    path = Path(file)
    if path.exists() and not force:
        raise Conflict(f"{file!r} is there already", hint="--force replaces it")
    try:
        with AtomicFile(file, is_durable=True) as stream:
            yield stream
    except OSError as error:
        raise Unavailable(f"{file!r} cannot be written: {error.strerror}") from None


@contextmanager
def _source(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    if file == "-":
        yield sys.stdin.buffer, None
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115 (closed below; only opening it is explained here)
    except OSError as error:
        raise Unavailable(f"{file!r} cannot be read: {error.strerror}") from None
    with stream:
        yield stream, os.fstat(stream.fileno()).st_size


@contextmanager
def _progress(what: str, total: int | None, *, shown: bool = True) -> Iterator[Step]:
    """A bar on stderr, if that is a terminal and nothing else is written there meanwhile."""
    if not shown or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda amount: bar.advance(task, amount)
