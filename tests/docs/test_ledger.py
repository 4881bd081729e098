"""The page about the ledger is true: its commands print what it says, and its settings are settings."""

import re
import shlex
from pathlib import Path

import click
import pytest

from gatepost import settings
from gatepost.cli.root import ROOT
from gatepost.ledger import posting_actions as ledger_posts
from gatepost.ledger.topic import TopicKind
from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

FILE = Path(__file__).parents[2] / "docs" / "ledger.md"
PAGE = FILE.read_text(encoding="utf-8")
[SETTINGS] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
#: commands that need a public ledger
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line
]
UAID = "uaid:aid:QmX;uid=0.0.9002@0.0.9001;nativeId=hedera:testnet:0.0.9001"


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    run_block(Block("command", "gatepost init"), tmp_path)
    blocks = list(parse_blocks(PAGE))
    assert len(blocks) > 5
    for block in blocks:
        output = run_block(block, tmp_path)
        assert is_as_expected(output, block.expected), f"{block.text}\n{output}"


def test_its_settings_are_all_that_a_public_ledger_needs(tmp_path: Path) -> None:
    (tmp_path / "gatepost.toml").write_text(SETTINGS, encoding="utf-8")
    loaded_settings = settings.load({"GATEPOST_HOME": str(tmp_path)}).settings
    assert loaded_settings.ledger.url == "hedera:testnet"
    settings.check_ledger(loaded_settings)


@pytest.mark.parametrize("line", LINES)
def test_its_other_commands_are_written_right(line: str) -> None:
    program, noun, verb, *words = shlex.split(line.replace("$UAID", UAID), comments=True)
    assert (program, noun) == ("gatepost", "ledger")
    group = ROOT.get_command(click.Context(ROOT), noun)
    assert isinstance(group, click.Group)
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    command.make_context(verb, words)


def test_it_speaks_of_every_kind_of_topic_that_is_ours() -> None:
    assert [kind for kind in TopicKind if kind is not TopicKind.PEER and f"`{kind}`" not in PAGE] == []


def test_its_price_of_a_message_is_the_one_in_the_code() -> None:
    assert f"| {ledger_posts.MESSAGE_PRICE} |" in PAGE


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", PAGE))))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (FILE.parent / target).exists()
