"""
Find modules by their names: the last word of a module's name is its layer.

Requests are in modules called `api` or `key_api`, their handlers in `handlers` or `key_handlers` beside them, and
commands in `commands` or `key_commands`. So a noun is added by adding files, and nothing else lists them.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module

import gatepost


@cache
def find_modules(layer: str) -> tuple[str, ...]:
    """Return the names of all modules of a layer, in the order of their names."""
    return tuple(name for name in list_modules() if name.rpartition(".")[2].rpartition("_")[2] == layer)


def import_modules(layer: str) -> None:
    """Import all modules of a layer."""
    for name in find_modules(layer):
        import_module(name)


@cache
def list_modules() -> tuple[str, ...]:
    """Return the names of all modules of the package, in their order."""
    return tuple(sorted(_walk(list(gatepost.__path__), f"{gatepost.__name__}.")))


def _walk(paths: list[str], prefix: str) -> Iterator[str]:
    from pkgutil import iter_modules  # most commands know their module, and must start fast

    for module in iter_modules(paths, prefix):
        yield module.name
        if module.ispkg:
            folder = module.name.rpartition(".")[2]
            yield from _walk([f"{path}/{folder}" for path in paths], f"{module.name}.")
