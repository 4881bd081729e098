"""
`gatepost setup` in a home with Claude Code, Codex and OpenCode: one command, and the questions that the programs ask
themselves. Each program proves that it is woken, and an uninstall leaves every file that we write as it was.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.programs.guest import GATEPOST, Guest
from tests.programs.model import ScriptedModel
from tests.programs.terminal import DOWN, ENTER, Terminal
from tests.programs.waking import KINDS, WakingClaude, WakingGuest, press_until
from tests.support.gateways.gateway_process import run_gateway_process

#: the programs of the user
NAMES = ("claude", "codex", "opencode")
#: what setup writes, and no program
OWN_FILES = (".claude/settings.json", ".codex/hooks.json", ".config/opencode/plugin/gatepost.js")
#: what setup writes; the programs write into the others themselves
FILES = (*OWN_FILES, ".claude.json", ".codex/config.toml", ".config/opencode/opencode.json")


@pytest.fixture
def user(programs: Path, model: ScriptedModel, tmp_path: Path) -> Iterator[Mapping[str, WakingGuest]]:
    """The programs of one user, who has their commands on the PATH; nothing of Gatepost is installed."""
    if not list(programs.glob("node_modules/opencode-linux-x64/bin/opencode")):
        pytest.skip("NOT CHECKED: there is no OpenCode for this machine")
    folder = tmp_path / "bin"
    folder.mkdir()
    with ExitStack() as stack:
        guests = {}
        for name in NAMES:
            program = KINDS[name].program_class(tmp_path / "user", tmp_path / "project", model.url)
            (folder / name).symlink_to(program.build_program()[0])
            program.environ |= {"GATEPOST_HOME": str(tmp_path / "home")}
            guests[name] = KINDS[name](Guest(program, model, tmp_path / "home"), "setup")
            stack.callback(guests[name].resources.close)
        for guest in guests.values():
            guest.guest.program.environ["PATH"] = f"{folder}:{guest.guest.program.environ['PATH']}"
        # the person has not been asked yet
        claude = tmp_path / "user/.claude.json"
        claude.write_text(json.dumps({**json.loads(claude.read_text()), "projects": {}}))
        yield guests


def read_files(user: Mapping[str, WakingGuest]) -> dict[str, bytes | None]:
    """Return the files that setup writes."""
    home = user["claude"].guest.program.home
    return {name: (home / name).read_bytes() if (home / name).exists() else None for name in FILES}


def run_setup(user: Mapping[str, WakingGuest], *options: str) -> set[str]:
    """Run `gatepost setup`; return what was done to the files, of which each program has two."""
    document = json.loads(user["claude"].guest.run_gatepost("setup", "--json", *options))
    assert [program["host"] for program in document["programs"]] == list(NAMES)
    changes = [change["change"] for program in document["programs"] for change in program["changes"]]
    assert len(changes) == 2 * len(NAMES)
    return set(changes)


def test_it_is_undone_byte_for_byte(user: Mapping[str, WakingGuest]) -> None:
    before = read_files(user)
    assert run_setup(user, "--dry-run") == {"add"}
    assert read_files(user) == before
    assert run_setup(user) == {"add"}
    installed = read_files(user)
    assert all(installed[name] != text for name, text in before.items())
    assert run_setup(user) == {"nothing"}
    assert read_files(user) == installed
    assert run_setup(user, "--uninstall") == {"restore"}
    assert read_files(user) == before


def test_each_program_proves_that_it_is_woken(user: Mapping[str, WakingGuest]) -> None:
    guest = user["claude"].guest
    model = guest.model
    before = read_files(user)
    with run_gateway_process(guest.home), ExitStack() as stack:
        environ = guest.program.environ
        setup = stack.enter_context(Terminal([str(GATEPOST), "setup"], cwd=guest.program.project, environ=environ))
        setup.wait_for("Push one test item to each agent")
        setup.type(f"y{ENTER}")
        for title in ("Claude Code", "Codex", "OpenCode"):
            setup.wait_for(f"{title}: waiting for a session")
        start_claude(user["claude"])
        setup.wait_for("Claude Code: pushed, woken")
        for name in ("codex", "opencode"):
            user[name].prompt(user[name].open())
        setup.wait()
        steps = r"woken in [\d.]+ s, shown in [\d.]+ s, proved in [\d.]+ s"
        proofs = re.findall(rf"^(.+): pushed, {steps}$", setup.read_text(), re.MULTILINE)
        assert set(proofs) == {"Claude Code", "Codex", "OpenCode"}
    assert len(model.exchanges) == 5, "two prompts, and the three items"
    for ann in user.values():
        ann.resources.close()
    guest.run_gatepost("setup", "--uninstall")
    after = read_files(user)
    for name in OWN_FILES:
        assert after[name] == before[name]
    for name in set(FILES) - set(OWN_FILES):
        assert b"gatepost" not in (after[name] or b""), name


def start_claude(ann: WakingGuest) -> None:
    """Start Claude Code, and answer its own question whether the folder is to be trusted."""
    assert isinstance(ann, WakingClaude)
    terminal = ann.open()
    terminal.wait_for("Yes, I trust this folder")
    place = terminal.mark()

    def is_yes_chosen() -> bool:
        """The arrow was drawn last after a move down: the first answer, which is above, is no."""
        drawn = terminal.read_bytes(place)
        return drawn.rfind("\x1b[1B\u276f".encode()) > drawn.rfind("\x1b[4A\u276f".encode())

    press_until(terminal, DOWN, is_yes_chosen)
    place = terminal.mark()
    press_until(terminal, ENTER, lambda: terminal.mark() > place)
