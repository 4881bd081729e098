"""
The README is true: what it shows is done, in its order, in a home of its own, and comes out as it says.

Of a command that succeeds the README shows what it prints, of one that fails what it says. `...` stands for anything,
and every time for every other.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.processes import fork_server
from tests.support.processes.forked_command import make_command_folder
from tests.support.waits import LAST_RESORT

README = Path(__file__).parents[2] / "README.md"
GATEWAY = "http://127.0.0.1:4283"
#: where a gateway has to run for what follows
GATEWAY_HEADING = "\n## Spaces, plans and services"


@dataclass(frozen=True)
class Block:
    """A piece of the README that is to be run, and what it says comes out."""

    kind: str
    text: str
    expected: str = ""


def parse_blocks(text: str) -> Iterator[Block]:
    """The blocks that can be run; the output of a program is the block of text that follows it."""
    code_blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for (kind, body), (next_kind, output) in zip(code_blocks, [*code_blocks[1:], ("", "")], strict=True):
        if kind == "console":
            for command in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command_line, _, expected = re.sub(r"\\\n\s*", "", command).partition("\n")
                yield Block("command", command_line, expected)
        elif kind == "python":
            yield Block("program", body, output if next_kind == "text" else "")


def run_block(block: Block, folder: Path, gateway: str = GATEWAY) -> str:
    """Run a block in a folder; what it printed or, if it failed, what it said."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    folders = [str(make_command_folder()), str(Path(sys.executable).parent), environ["PATH"]]
    environ["PATH"] = os.pathsep.join(folders)
    text = block.text.replace(GATEWAY, gateway)
    arguments = ["bash", "-c", text] if block.kind == "command" else [sys.executable, "-c", text]
    result = fork_server.run(
        arguments, cwd=folder, env=environ, capture_output=True, text=True, timeout=LAST_RESORT, check=False
    )
    return str(result.stderr if result.returncode else result.stdout)


def is_as_expected(output: str, expected: str) -> bool:
    pattern = r"\S+".join(map(re.escape, _mask_times(expected).strip().split("...")))
    return re.fullmatch(pattern, _mask_times(output).strip()) is not None


def _mask_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_what_it_shows_is_so(tmp_path: Path) -> None:
    offline_text, _, online_text = README.read_text(encoding="utf-8").partition(GATEWAY_HEADING)
    run_block(Block("command", "gatepost init"), tmp_path)
    offline_blocks = list(parse_blocks(offline_text))
    assert len(offline_blocks) > 5
    for block in offline_blocks:
        assert is_as_expected(output := run_block(block, tmp_path), block.expected), f"{block.text}\n{output}"
    with run_gateway_process(tmp_path / ".gatepost") as gateway:
        online_blocks = list(parse_blocks(online_text))
        assert {block.kind for block in online_blocks} == {"command", "program"}
        for block in online_blocks:
            output = run_block(block, tmp_path, gateway.url)
            assert is_as_expected(output, block.expected), f"{block.text}\n{output}"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")))))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (README.parent / target).exists()


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"^make (\w+)", README.read_text(encoding="utf-8"), re.MULTILINE)))
)
def test_its_targets_are_there(target: str) -> None:
    assert re.search(rf"^{target}:.*##", (README.parent / "Makefile").read_text(), re.MULTILINE)
