"""
The oracle: what every route and every command answers, recorded once and compared from then on.

    python -m tests.oracle.record            write the record; refuses if there is one
    python -m tests.oracle.record --again    write it again
    pytest tests/oracle -n 0                 replay the corpus, and compare with the record

**Requests** (`corpus.py`, `operations.py`, `queries.py`, `stories.py`, `waits.py`) are asked in order of one gateway in
this process, on SQLite, with a clock that goes on by one second with each request. Every operation of the OpenAPI is
asked by every kind of caller, with bad bodies, with names that are not there, and twice under one Idempotency-Key;
lists are asked with good and bad queries; stories follow a noun through its states. The record has the status, the
media type, a few headers and the body; of streams, the first frames.

**Commands** (`commands.py`, `shell.py`) are run in order in this process, on a store of their own without a gateway.
The record has the exit code, and the JSON on stdout if there is any: an error has none.

Masked are ids (by the case that showed them first: the same id has the same mask everywhere), keys and their hashes,
cursors, the version, measured seconds, and in commands the time, the process and the paths of folders. Times of
requests are shown by their distance from the start, which is the same in every run. Not compared are `title`, `detail`
and `hint` of problems and of the doctor's checks, what is written to stderr, text that is no JSON, values of metrics,
the ids of frames in streams, and all of the OpenAPI but its operations and the names of their parameters.

An answer may differ from the record only if `differences.toml` lists the case, with a reason and what the answer is
now. A listed difference that does not occur is an error. The record itself is never changed to fit new code.
A new case goes to the end of its corpus, where it changes no number and no time of the others.
"""

import sys
from collections.abc import Sequence

from tests.oracle.commands import build_commands
from tests.oracle.corpus import build_corpus
from tests.oracle.differences import COMMANDS, REQUESTS
from tests.oracle.replay import replay
from tests.oracle.shell import run_commands


def main(arguments: Sequence[str]) -> int:
    existing = [record.path.name for record in (REQUESTS, COMMANDS) if record.path.exists()]
    if existing and list(arguments) != ["--again"]:
        sys.stderr.write(
            f"error: {existing[0]!r} exists\nhint: list what differs in differences.toml, or use --again\n"
        )
        return 2
    REQUESTS.write(replay(build_corpus()))
    COMMANDS.write(run_commands(build_commands()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
