"""
The README is true: what it shows is done, in its order, in a home of its own, and comes out as it says.

Of a command that succeeds the README shows what it prints, of one that fails what it says. `...` stands for anything,
and every time for every other.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.uplinks import running

README = Path(__file__).parents[2] / "README.md"
GATEWAY = "http://127.0.0.1:4283"
#: where a gateway has to run for what follows
LIVE = "\n## Spaces, plans and services"


@dataclass(frozen=True)
class Block:
    """A piece of the README that is to be run, and what it says comes out."""

    kind: str
    text: str
    expected: str = ""


def blocks(text: str) -> Iterator[Block]:
    """The blocks that can be run; the output of a program is the block of text that follows it."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for (kind, body), (after, output) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind == "console":
            for command in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                words, _, expected = re.sub(r"\\\n\s*", "", command).partition("\n")
                yield Block("command", words, expected)
        elif kind == "python":
            yield Block("program", body, output if after == "text" else "")


def ran(block: Block, folder: Path, gateway: str = GATEWAY) -> str:
    """Run a block in a folder; what it printed or, if it failed, what it said."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    text = block.text.replace(GATEWAY, gateway)
    words = ["bash", "-c", text] if block.kind == "command" else [sys.executable, "-c", text]
    ended = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)
    return ended.stderr if ended.returncode else ended.stdout


def agrees(output: str, expected: str) -> bool:
    wanted = r"\S+".join(map(re.escape, _timeless(expected).strip().split("...")))
    return re.fullmatch(wanted, _timeless(output).strip()) is not None


def _timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_what_it_shows_is_so(tmp_path: Path) -> None:
    alone, _, live = README.read_text(encoding="utf-8").partition(LIVE)
    ran(Block("command", "gatepost init"), tmp_path)
    first = list(blocks(alone))
    assert len(first) > 5
    for block in first:
        assert agrees(output := ran(block, tmp_path), block.expected), f"{block.text}\n{output}"
    with running(tmp_path / ".gatepost") as gateway:
        second = list(blocks(live))
        assert {block.kind for block in second} == {"command", "program"}
        for block in second:
            output = ran(block, tmp_path, gateway.url)
            assert agrees(output, block.expected), f"{block.text}\n{output}"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")))))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (README.parent / target).exists()


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"^make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)))
)
def test_its_targets_are_there(target: str) -> None:
    assert re.search(rf"^{target}:.*##", (README.parent / "Makefile").read_text(), re.MULTILINE)
