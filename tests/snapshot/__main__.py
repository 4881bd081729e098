"""
Write the snapshot of all operations, commands and tools anew, or only some files of it. `git diff` then shows what is
answered otherwise than before.

    python -m tests.snapshot
    python -m tests.snapshot tests/snapshot/operations/gates.txt
"""

import sys
from pathlib import Path

from tests.snapshot.record import list_files, record
from tests.support.servers.migrated_files import copy_migrated_files


def main(arguments: list[str]) -> int:
    paths = [Path(argument).resolve() for argument in arguments] or list_files()
    changed = 0
    with copy_migrated_files():
        for path in paths:
            text = record(path)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
                print(f"{path} has changed")  # noqa: T201
                changed += 1
    print(f"{len(paths)} files, {changed} changed")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
