"""
Write `src/gatepost/api.py`, from which users import requests and the models of answers.

    python tools/facade.py            write it
    python tools/facade.py --check    exit with 1 if it is not as it would be written
"""

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[1] / "src" / "gatepost"
FACADE: Final = SOURCE / "api.py"
HEAD: Final = '''\
# ruff: noqa: F403, PLC0414
"""
What Gatepost can be asked from outside: every request, and the models of the answers.

    from gatepost.api import PushEvent

A name is imported from its room when it is first used. `tools/facade.py` writes this file.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
'''
TAIL: Final = """\
_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(f"gatepost.{_MODULES[name]}"), name)
    if not name.startswith("_"):
        from gatepost.operations.discovery import find_modules

        for module in find_modules("api"):  # of a noun that was added after this file was written
            if module != __name__ and hasattr(import_module(module), name):
                return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
"""


def find_names() -> dict[str, list[str]]:
    """
    Return the public classes of each module of requests, in the order of the modules. A plain `Struct` is a record that
    lies beside its request, not a model of the answer. The page of a list has no class of its own.
    """
    names: dict[str, list[str]] = {"operations.operation": ["Page"]}
    for path in sorted(SOURCE.rglob("*api.py")):
        if path != FACADE and path.stem.rpartition("_")[2] == "api":
            tree = ast.parse(path.read_text())
            classes = [
                node.name
                for node in tree.body
                if isinstance(node, ast.ClassDef)
                and node.name[0] != "_"
                and "Struct" not in map(ast.unparse, node.bases)
            ]
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            if classes:
                names[module] = sorted(classes)
    return dict(sorted(names.items()))


def build_facade() -> str:
    names = find_names()
    every = [name for classes in names.values() for name in classes]
    assert len(every) == len(set(every)), "two modules have a class of one name"
    imports = "".join(
        f"    from gatepost.{module} import {'*' if module.endswith('api') else 'Page as Page'}\n" for module in names
    )
    table = "".join(_write_entries(names))
    return f"{HEAD}{imports}\n#: the names that each module has\n_NAMES: Final = {{\n{table}}}\n{TAIL}"


def _write_entries(names: dict[str, list[str]]) -> Iterator[str]:
    for module, classes in names.items():
        text = " ".join(classes)
        lines = [text] if len(text) <= 110 else textwrap.wrap(text, 109)
        if len(lines) == 1 and len(module) + len(lines[0]) <= 109:
            yield f'    "{module}": "{lines[0]}",\n'
        else:
            rows = [f'        "{line}{"" if line == lines[-1] else " "}"\n' for line in lines]
            yield f'    "{module}": (\n{"".join(rows)}    ),\n'


def main(arguments: list[str]) -> int:
    text = build_facade()
    if "--check" not in arguments:
        FACADE.write_text(text)
    elif not FACADE.exists() or FACADE.read_text() != text:
        print("src/gatepost/api.py is not as the requests are; `python tools/facade.py` writes it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
