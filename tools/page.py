"""
Build the page into src/gatepost/page, which the gateway serves and a wheel contains.

    python -m tools.page                   build it, unless it is there and made from these sources
    python -m tools.page --present-node    ... but do not install Node.js

The sources are web and the TypeScript client. A file beside the built ones has their digest, so a page that came with a
source distribution, or was copied, is recognised whatever the times of its files are.
"""

import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.clone_lock import hold_lock
from tools.node import ROOT, BuildError, ensure_node, ensure_packages, require_node, run_node

WEB: Final = ROOT / "web"
CLIENT: Final = ROOT / "clients" / "typescript" / "src"
PAGE: Final = ROOT / "src" / "gatepost" / "page"
DIGEST: Final = PAGE / "sources.sha256"


def list_sources() -> Iterator[Path]:
    """Yield every file that the page is made from, in a fixed order."""
    for folder in (WEB, CLIENT):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "node_modules" not in path.relative_to(folder).parts:
                yield path


def compute_digest() -> str:
    digest = hashlib.sha256()
    for path in list_sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def exists() -> bool:
    """Return True if a page is there, whatever it was made from."""
    return (PAGE / "index.html").exists()


def is_built() -> bool:
    """Return True if the page is there, and made from the sources as they are now."""
    return exists() and DIGEST.exists() and DIGEST.read_text().strip() == compute_digest()


def build(node: Path) -> None:
    """Check the types of the page and build it. What was there is replaced once Vite has built all of it."""
    digest = compute_digest()
    ensure_packages(WEB, node)
    modules = WEB / "node_modules"
    run_node(node, modules / "typescript" / "bin" / "tsc", folder=WEB)
    work = ROOT / "build" / "page"
    shutil.rmtree(work, ignore_errors=True)
    options = ("--logLevel", "warn", "--emptyOutDir", "--outDir", work / "new")
    run_node(node, modules / "vite" / "bin" / "vite.js", "build", *options, folder=WEB)
    (work / "new" / DIGEST.name).write_text(f"{digest}\n")
    if PAGE.exists():
        shutil.move(PAGE, work / "old")
    shutil.move(work / "new", PAGE)
    shutil.rmtree(work)


def main(arguments: list[str]) -> int:
    if is_built():
        return 0
    print("building the page ...", file=sys.stderr, flush=True)
    try:
        build(require_node() if "--present-node" in arguments else ensure_node())
    except BuildError as error:
        print(f"the page was not built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        with hold_lock():
            sys.exit(main(sys.argv[1:]))
    except OSError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
