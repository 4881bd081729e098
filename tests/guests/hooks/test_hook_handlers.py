"""What a hook reads of the machine: the handlers of users, and the settings, which it writes down."""

import json
import shutil
from pathlib import Path

from tests.guests.hooks.hook_calls import run_hook
from tests.support.command_line import CommandLine


class TestHandlers:
    """Handlers of users, by entry point."""

    #: the one that the how-to shows, and more
    CODE = f"""
{(Path(__file__).parents[3] / "docs/howto/hook-handlers.md").read_text().partition("```python")[2].partition("```")[0]}
print("what is printed here is not for the host")
broken = None
"""

    def install_handler(self, folder: Path, name: str, entry_points: str) -> Path:
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[gatepost.hooks]\n{entry_points}\n")
        return info

    def test_they_are_asked_from_the_next_hook_on(self, cli: CommandLine, tmp_path: Path) -> None:
        folder = tmp_path / "packages"
        folder.mkdir()
        (folder / "praising.py").write_text(self.CODE)
        cli.environ["PYTHONPATH"] = str(folder)
        run_hook(cli, "Stop")
        assert run_hook(cli, "Stop").out == ""
        info = self.install_handler(folder, "praising", "praise = praising:handler")
        assert json.loads(run_hook(cli, "Stop").out) == {"systemMessage": "well done, analyst"}
        assert json.loads(run_hook(cli, "Stop").out) == {"systemMessage": "well done, analyst"}
        assert run_hook(cli, "PostToolUse").out == ""
        shutil.rmtree(info)
        assert run_hook(cli, "Stop").out == ""

    def test_one_that_cannot_be_loaded_is_left_out_and_told_of(self, cli: CommandLine, tmp_path: Path) -> None:
        folder = tmp_path / "packages"
        self.install_handler(
            folder, "praising", "gone = nowhere:handler\nnone = praising:broken\npraise = praising:handler"
        )
        (folder / "praising.py").write_text(self.CODE)
        cli.environ["PYTHONPATH"] = str(folder)
        result = run_hook(cli, "Stop")
        assert "well done" in result.out
        assert "the hook handler 'gone' (nowhere:handler) is left out" in result.err
        assert "the hook handler 'none' (praising:broken) is left out" in result.err


class TestWrittenDown:
    """What is set is read once, and again when it has changed."""

    def read_digest_times(self, cli: CommandLine) -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in (cli.home / ".hooks").iterdir()}

    def test_agents_share_it(self, cli: CommandLine) -> None:
        run_hook(cli, "PostToolUse")
        before = self.read_digest_times(cli)
        run_hook(cli, "PostToolUse", GATEPOST_AGENT="quinn")
        assert self.read_digest_times(cli) == before
        state = json.loads((cli.home / "sessions" / "s-1" / "state.json").read_text())
        assert state["agent"] == "quinn"

    def test_what_is_set_anew_counts_at_once(self, cli: CommandLine) -> None:
        run_hook(cli, "Stop")
        assert run_hook(cli, "Stop").out == ""
        assert "ask for a decision" in run_hook(cli, "Stop", GATEPOST_STOP_DECISION__ENABLED="true").out
        assert run_hook(cli, "Stop").out == ""
        (cli.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
        assert "ask for a decision" in run_hook(cli, "Stop").out

    def test_no_secret_is_written_down(self, cli: CommandLine) -> None:
        run_hook(cli, "PostToolUse", GATEPOST_AUTH__JWT_SECRET="open-sesame-open-sesame-open-sesame")
        run_hook(cli, "PostToolUse", GATEPOST_STORE="postgresql://ann:open-sesame@127.0.0.1:1/none")
        assert len(self.read_digest_times(cli)) == 2
        for file in (cli.home / ".hooks").iterdir():
            assert "sesame" not in file.read_text()
            assert file.stat().st_mode & 0o777 == 0o600

    def test_what_cannot_be_read_is_made_anew(self, cli: CommandLine) -> None:
        run_hook(cli, "PostToolUse")
        [digest] = (cli.home / ".hooks").iterdir()
        for garbage in (b"", b"{}", b"[]", b"\xff", b'{"key": 7}'):
            digest.write_bytes(garbage)
            assert run_hook(cli, "PostToolUse").err == ""
            assert digest.read_bytes() != garbage
