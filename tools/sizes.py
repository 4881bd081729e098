"""Fail if a source file has more than 500 lines: a file has one idea."""

import sys
from pathlib import Path

LIMIT = 500
FOLDERS = ("src", "tests", "bench", "tools", "clients/typescript/src", "clients/typescript/tests", "web/src")
#: written by tools/typescript.py
GENERATED = {"models.ts", "operations.ts"}
ENDINGS = {".py", ".sql", ".ts", ".tsx", ".css"}


def main() -> int:
    root = Path(__file__).parent.parent
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in ENDINGS]
    own_files = [path for path in files if path.name not in GENERATED and "node_modules" not in path.parts]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in own_files}
    long = {path: size for path, size in sizes.items() if size > LIMIT}
    for path, size in long.items():
        print(f"{path.relative_to(root)}: {size} lines, over {LIMIT}; split it by idea", file=sys.stderr)
    return 1 if long else 0


if __name__ == "__main__":
    sys.exit(main())
