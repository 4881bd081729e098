"""
Count the imports between modules that leave their room.

    python -m tools.links             the figures, and where these links lead
    python -m tools.links --summary   the figures alone

A link is an import of one module of the package by another. Links of `core`, `operations`, `stores` and `errors`, on
which all rooms stand, are left out. The second figure also leaves out what is there to put rooms together: commands,
and the rooms after `export` in docs/architecture.md (the settings, the worker, the clients, the doors, the test kit).
"""

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import gatepost

PACKAGE: Final = Path(gatepost.__file__).parent
FOUNDATIONS: Final = {"core", "operations", "stores", "errors"}
#: rooms and modules that put rooms together
ASSEMBLIES: Final = {
    *("executor", "api", "settings", "app", "worker", "client"),
    *("embedded", "mcp", "gateway", "cli", "testing"),
}

Link = tuple[str, str]


def find_modules() -> dict[str, Path]:
    """Return the path of each module, by its name below the package, such as `inbox.event`."""
    paths = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path for path, parts in paths.items() if parts != ("__init__",)}


def find_links(modules: dict[str, Path]) -> set[Link]:
    links = set()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gatepost."):
                source = (node.module or "").removeprefix("gatepost.")
                targets = {f"{source}.{alias.name}" for alias in node.names}
                links |= {(name, target if target in modules else source) for target in targets}
    return links


def get_room(module: str) -> str:
    return module.partition(".")[0]


def describe(links: set[Link]) -> str:
    leaving = sum(get_room(source) != get_room(target) for source, target in links)
    return f"{leaving} of {len(links)} links leave their room: {leaving / len(links):.1%}"


def main(arguments: list[str]) -> None:
    links = {
        link for link in find_links(find_modules()) if FOUNDATIONS.isdisjoint((get_room(link[0]), get_room(link[1])))
    }
    if "--summary" not in arguments:
        leaving = [link for link in links if get_room(link[0]) != get_room(link[1])]
        for title, counts in (
            ("pairs of rooms", Counter(f"{get_room(source)} -> {get_room(target)}" for source, target in leaving)),
            ("to", Counter(target for _, target in leaving)),
            ("from", Counter(source for source, _ in leaving)),
        ):
            print(f"{title}: {', '.join(f'{name} {count}' for name, count in counts.most_common(15))}")
    print(describe(links))
    features = {
        (source, target)
        for source, target in links
        if not source.endswith("commands") and ASSEMBLIES.isdisjoint((get_room(source), get_room(target)))
    }
    print(f"without commands and what puts rooms together: {describe(features)}")


if __name__ == "__main__":
    main(sys.argv[1:])
