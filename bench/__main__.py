"""Run every benchmark, or those named: `python -m bench [name ...]`."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import bench


def main(names: list[str]) -> None:
    known = [module.name for module in iter_modules(bench.__path__) if not module.name.startswith("_")]
    for name in names or known:
        if name not in known:
            sys.exit(f"no benchmark is called {name!r}; there are: {', '.join(known) or 'none yet'}")
        import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
