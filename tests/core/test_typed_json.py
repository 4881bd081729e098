"""The first use of a type, by several threads at once."""

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import gatepost
from gatepost.core import typed_json

ROOT = Path(gatepost.__file__).parent

#: each type is new, and has a type in it that is new
PROGRAM = """
import sys
import threading
from types import ModuleType

from gatepost.core import typed_json

SOURCE = '''
import msgspec

class Inner(msgspec.Struct):
    number: "int" = 1
    text: "str | None" = None

class Outer(msgspec.Struct):
    inner: "Inner | None" = None
    items: "list[Inner]" = []
'''
sys.setswitchinterval(1e-6)
DOCUMENT = {"inner": {"number": 1}, "items": [{"text": "a"}]}
for number in range(500):
    module = sys.modules[f"types_{number}"] = ModuleType(f"types_{number}")
    exec(SOURCE, module.__dict__)
    barrier = threading.Barrier(6)
    uses = (
        lambda: typed_json.convert(DOCUMENT, module.Outer),
        lambda: typed_json.decode('{"inner": {"number": 1}, "items": [{"text": "a"}]}', module.Outer),
        lambda: typed_json.make_decoder(module.Outer)('{"inner": {"number": 1}, "items": [{"text": "a"}]}'),
    )

    def use(thread):
        barrier.wait()
        assert uses[thread % 3]().items[0].text == "a"

    threads = [threading.Thread(target=use, args=[thread]) for thread in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("done")
"""


def test_threads_that_use_a_type_for_the_first_time_at_once_do_not_crash() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_a_type_that_a_value_does_not_fit_is_ready_all_the_same() -> None:
    with pytest.raises(msgspec.ValidationError):
        typed_json.convert("a", int)
    assert typed_json.convert(1, int) == 1


def test_nothing_else_has_msgspec_prepare_a_type() -> None:
    """A call with a type anywhere else may be the first use of the type, beside another thread."""
    found_calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in ROOT.rglob("*.py")
        if path.name != "typed_json.py" and "msgspec" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and prepares_type(node)
    ]
    assert found_calls == []


def prepares_type(call: ast.Call) -> bool:
    name = ast.unparse(call.func).removeprefix("msgspec.").removeprefix("json.")
    return name in {"convert", "Decoder"} or (
        name == "decode" and any(keyword.arg == "type" for keyword in call.keywords)
    )
