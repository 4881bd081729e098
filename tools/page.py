"""
Build the page into src/gatepost/page, which the gateway serves and a wheel contains.

    python -m tools.page                   build it, unless it is there and made from these sources
    python -m tools.page --present-node    ... but do not install Node.js

The sources are web and the TypeScript client. A file beside the built ones has their digest, so a page that came with a
source distribution, or was copied, is recognised whatever the times of its files are.
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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


def is_built() -> bool:
    """Return True if the page is there, and made from the sources as they are now."""
    return (PAGE / "index.html").exists() and DIGEST.exists() and DIGEST.read_text().strip() == compute_digest()


def build(node: Path) -> None:
    """Check the types of the page and build it. What Vite builds replaces the page that was there."""
    digest = compute_digest()
    ensure_packages(WEB, node)
    modules = WEB / "node_modules"
    run_node(node, modules / "typescript" / "bin" / "tsc", folder=WEB)
    run_node(node, modules / "vite" / "bin" / "vite.js", "build", "--logLevel", "warn", folder=WEB)
    DIGEST.write_text(f"{digest}\n")


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
    sys.exit(main(sys.argv[1:]))
