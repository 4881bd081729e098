"""Compile C for tests that need a program, or a library, that is not Python."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


def compile_c(source: Path, target: Path, *, is_library: bool = False) -> Path:
    """Compile a file with the C compiler of this machine, or the one from PyPI; return the target."""
    compiler = ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
    if compiler[0] != "cc" and not find_spec("ziglang"):
        pytest.fail("there is no C compiler here: `make test` gets one, and so does `pip install ziglang`")
    options = ["-shared", "-fPIC", "-ldl"] if is_library else []
    subprocess.run([*compiler, "-O1", "-Wall", "-Werror", str(source), "-o", str(target), *options], check=True)
    return target
