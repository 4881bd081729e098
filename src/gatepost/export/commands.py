"""`gatepost export` and `gatepost import`: the whole store as lines of JSON, and back."""

import json as json_codec
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import IO, Annotated, Never

from click.exceptions import Exit

from gatepost import app, paths, settings
from gatepost.cli import inputs, output
from gatepost.cli.command import build_verb
from gatepost.cli.gateway_or_store import find_gateway, find_other_store
from gatepost.cli.parameters import JsonFlag, argument, flag
from gatepost.errors import Conflict, Invalid, Unavailable
from gatepost.export import export_actions as verbs, import_actions as store_import
from gatepost.paths import AtomicFile
from gatepost.settings import gateway_files
from gatepost.stores.statements import find_newest_version


def export(
    file: Annotated[str, argument("FILE|-", "the file to write; - is stdout")] = "-",
    force: Annotated[bool, flag("--force", "replace the file if it exists")] = False,
    secrets: Annotated[
        bool, flag("--secrets", "include the secrets of triggers and tools, and the administrator's keys")
    ] = False,
    json: Annotated[bool, flag("--json", "print what was exported as JSON; needs a FILE")] = False,
) -> None:
    """
    Write the whole store, as of one moment, as lines of JSON: a line for each row of each table.

    The file appears when it is complete. It holds all content, so only you can read it. Without --secrets nothing in it
    gives the rights of the administrator or signs a webhook: imported triggers are inactive, and keys are hashes,
    without those of the administrator. Secrets in the URL, the body or the command of a tool stay in it.

    Of a damaged store it writes the rows that can be read, names the others, and exits with 1.

    Examples:
      gatepost export backup.jsonl
      gatepost export | gzip > backup.jsonl.gz
    """
    if json and file == "-":
        raise Invalid("--json needs a FILE", hint="an export to stdout is JSON lines already")
    configuration = settings.load()
    find_gateway(configuration)  # an export of another store than that of the gateway is refused
    in_terminal = file == "-" and sys.stdout.isatty()
    progress, count = output.Progress(), 0
    with (
        app.prepare_store(configuration, register=False, can_create=False) as store,
        _open_target(file, force=force) as stream,
    ):

        def write(line: bytes) -> None:
            nonlocal count
            stream.write(line)
            count += 1
            if not in_terminal:
                progress.show(f"{output.count(count, 'line')} exported so far")

        summary = store.read_sync(verbs.export_store, write, secrets=secrets)
        stream.flush()
    if json:
        output.document({"file": file, "rows": summary.rows, "unreadable": summary.omissions})
    _report("exported", summary)
    if summary.omissions:
        raise Exit(1)


def import_(
    file: Annotated[str, argument("FILE|-", "an export; - is stdin")],
    repair: Annotated[
        bool,
        flag(
            "--repair", "for a damaged store: leave out rows that are not valid or refer to lost rows; balance accounts"
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """
    Fill an empty store with an export of another, on SQLite or PostgreSQL.

    All rows are stored, or none. An export of an older Gatepost, from schema 9 on, is migrated first. No gateway may
    run. Import only a file that you trust: it can hold keys, active triggers, and commands of tools and gates. They
    are listed.

    Examples:
      gatepost import backup.jsonl
      GATEPOST_STORE=postgresql://localhost/gatepost gatepost import backup.jsonl
      zcat backup.jsonl.gz | gatepost import -
    """
    configuration = settings.load()
    with _open_source(file) as (stream, size):
        gateway = gateway_files.find_gateway(configuration.home)
        if (other_store := find_other_store(configuration, gateway)) is not None:
            output.talk(f"warning: the gateway of this home uses the store {other_store}, and sees nothing of this")
        elif gateway is not None:
            raise Conflict("a gateway is running on this store", hint="stop it: an import has the store to itself")
        lines = _read_lines(stream, size)
        with (
            _migrate_lines(lines, configuration.home, repair=repair) as migrated_lines,
            app.prepare_store(configuration, report=output.talk, register=False) as store,
        ):
            summary = store.run_sync(store_import.import_store, migrated_lines, repair=repair)
    if json:
        output.document({"rows": summary.rows, "omitted": summary.omissions, "rights": summary.rights})
    else:
        _report("imported", summary)


def _report(what: str, summary: verbs.Summary) -> None:
    for omission in summary.omissions[:20]:
        output.talk(f"left out: {omission}")
    if len(summary.omissions) > 20:
        output.talk(f"left out: {len(summary.omissions) - 20} more")
    for right in summary.rights:
        output.talk(f"it has {right}")
    output.talk(f"{what} {output.count(summary.rows.total(), 'row')} of {output.count(len(summary.rows), 'table')}")


def _read_lines(stream: IO[bytes], size: int | None) -> Iterator[bytes]:
    """Yield the lines, and say how far it is: in percent, if the size is known."""
    progress, count, byte_count = output.Progress(), 0, 0
    while line := stream.readline(store_import.MAX_LINE_LENGTH + 1):
        count, byte_count = count + 1, byte_count + len(line)
        share = f" ({byte_count * 100 // size} %)" if size else ""
        progress.show(f"{output.count(count, 'line')} read so far{share}")
        yield line


@contextmanager
def _migrate_lines(lines: Iterator[bytes], home: Path, *, repair: bool) -> Iterator[Iterable[bytes]]:
    """Yield the lines of an export as the present schema has them: those of an older one go through a scratch store."""
    first = next(lines, b"{}")
    head = store_import.read_head(first)
    if head.schema == find_newest_version("sqlite"):
        yield chain([first], lines)
        return
    paths.make_home(home)
    with TemporaryDirectory(prefix=".import-", dir=home) as folder:  # for this user alone, and on the same disk
        url, file = f"sqlite:///{folder}/scratch.db", Path(folder, "migrated.jsonl")
        with closing(app.open_store(url)) as store:
            store.migrate(version=head.schema)
            summary = store.run_sync(store_import.import_store, chain([first], lines), repair=repair, is_scratch=True)
        with closing(app.open_store(url)) as store, file.open("wb") as target:
            store.migrate()
            store.read_sync(verbs.export_store, target.write, secrets=True)
        with file.open("rb") as source:
            new_head = json_codec.loads(source.readline()) | {
                "secrets": head.has_secrets
            }  # what it has is checked by this
            try:
                yield chain([json_codec.dumps(new_head).encode()], source)
            except Invalid as error:
                message = f"after the migration from schema {head.schema}, {error.message}"
                raise Invalid(message, hint=error.hint) from None
        for omission in summary.omissions:
            output.talk(f"left out before the migration: {omission}")
        output.talk(f"migrated the export from schema {head.schema}")


@contextmanager
def _open_target(file: str, *, force: bool) -> Iterator[IO[bytes]]:
    """Open the target of an export. A file appears when it is complete, or not at all."""
    if file == "-":
        yield sys.stdout.buffer
        return
    path = Path(file)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise Conflict(f"{file!r} is not a regular file", hint="name a new file, or - for standard output")
    if path.exists() and not force:
        raise Conflict(f"{file!r} exists", hint="--force replaces it")
    try:
        with _exit_on_signals(), AtomicFile(file, is_durable=True, is_locked=True) as stream:
            yield stream
    except OSError as error:
        raise Unavailable(f"{file!r} cannot be written: {error.strerror}") from None


@contextmanager
def _exit_on_signals() -> Iterator[None]:
    """While entered, SIGTERM and SIGHUP end this process by an exception, so that no temporary file is left."""

    def exit_process(number: int, _: FrameType | None) -> Never:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]  # nohup ignores SIGHUP
    for number in handled:
        signal.signal(number, exit_process)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _open_source(file: str) -> Iterator[tuple[IO[bytes], int | None]]:
    if file == "-":
        if sys.stdin is None:
            raise Unavailable("there is no stdin to read", hint="name a file")
        yield sys.stdin.buffer, None
        return
    with inputs.open_file(file) as stream:
        yield stream, os.fstat(stream.fileno()).st_size


commands = [
    build_verb("export", export, "Write the whole store as lines of JSON."),
    build_verb("import", import_, "Fill an empty store with an export."),
]
