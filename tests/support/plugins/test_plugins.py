"""The plugins of these tests: what a test costs, what runs by day, and what ends a test that hangs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.durations import main as print_durations

ROOT = Path(__file__).parents[3]
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-W", "ignore", "-q")


def run_pytest(folder: Path, plugin: str, *arguments: str) -> str:
    """Run pytest with a plugin in a project of its own; return what it prints."""
    settings = (
        "[pytest]",
        "addopts = -m 'not nightly'",
        "markers =",
        " nightly: .",
        " nightly_unless_changed(*paths): .",
    )
    (folder / "pytest.ini").write_text("\n".join(settings))
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-p", plugin, f"--rootdir={folder}", *arguments, str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_each_test_has_its_costs(tmp_path: Path, workers: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_costs.py").write_text(
        "import subprocess, sys, time\n"
        "CODE = 'import time\\nwhile time.process_time() < 0.3: pass'\n"
        "def test_own(): exec(CODE.replace('0.3', '0.2 + start'), {'start': time.process_time()})\n"
        "def test_child(): subprocess.run([sys.executable, '-c', CODE])\n"
    )
    run_pytest(tmp_path, "tests.support.plugins.durations", *workers)
    record = tmp_path / "build" / "durations.json"
    costs = json.loads(record.read_text())
    own, child = costs["test_costs.py::test_own"], costs["test_costs.py::test_child"]
    assert own["own_processor"] >= 0.2
    assert child["child_processor"] >= 0.3
    assert child["call"] > child["setup"] + child["teardown"]

    assert print_durations([str(record)]) == 0
    folder, total, *_ = capsys.readouterr().out.splitlines()[1:]
    assert folder.split()[3:] == ["2", "."]
    assert total.split()[3:] == ["2", "all"]
    assert float(total.split()[0]) >= 0.5


def test_a_missing_record_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_durations([str(tmp_path / "none.json")]) == 1
    assert "there is no record" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", '{"test": {"unknown": 1}}', '{"test": 1}'])
def test_a_damaged_record_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "costs.json").write_text(content)
    assert print_durations([str(tmp_path / "costs.json")]) == 1
    assert "is damaged; `make test` writes another" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--fils"], ["one.json", "two.json"]])
def test_unknown_words_are_not_ignored(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert print_durations(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_what_covers_unchanged_files_runs_by_night(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    source = tmp_path / "sources" / "view.ts"
    source.write_text("1")
    (tmp_path / "test_view.py").write_text(
        "import pathlib, pytest\n"
        "@pytest.mark.nightly_unless_changed('sources')\n"
        "def test_view(): assert pathlib.Path(__file__).parent.joinpath('sources/view.ts').read_text() != '3'\n"
        "def test_by_day(): pass\n"
    )

    def run(*arguments: str) -> str:
        return run_pytest(tmp_path, "tests.support.plugins.day_and_night", *arguments)

    assert "1 passed, 1 deselected" in run(), "no record"
    source.write_text("2")
    assert "1 passed, 1 deselected" in run(), "still no record: nobody knows what has changed"
    assert "2 passed" in run("-m", "nightly or not nightly")
    assert "1 passed, 1 deselected" in run(), "nothing has changed since"
    source.write_text("3")
    assert "1 failed, 1 passed" in run()
    assert "1 failed, 1 passed" in run(), "what failed runs again"
    source.write_text("4")
    assert "2 passed" in run()
    assert "1 passed, 1 deselected" in run()


@pytest.mark.nightly_unless_changed(
    "tests/support/plugins/hang_guard.py",
    "tests/support/plugins/process_tree.py",
    "tests/support/plugins/test_plugins.py",
)
def test_a_test_that_hangs_is_named_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(
        "import subprocess, sys, threading, time\n"
        "def run(code): subprocess.run([sys.executable, '-c', code])\n"
        "def test_that_waits(): threading.Event().wait()\n"
        "def test_that_polls():\n"
        "    while True:\n"
        "        end = time.thread_time() + 0.01\n"
        "        while time.thread_time() < end: pass\n"
        "        time.sleep(1)\n"
        "def test_that_spins():\n"
        "    while True: pass\n"
        "def test_that_waits_for_a_child(): run('import time; time.sleep(100000)')\n"
        "def test_with_a_busy_child(): run('while True: pass')\n"
        "def test_that_takes_its_time(): run('import time\\nwhile time.process_time() < 2: pass')\n"
        "def test_that_will_not_end():\n"
        "    while True:\n"
        "        try: threading.Event().wait()\n"
        "        except BaseException: pass\n"
        "def test_after_it(): pass\n"
    )
    limits = ("-o", "hang_processor_seconds=4", "-o", "hang_idle_turns=4", "-o", "hang_grace_turns=2")
    output = run_pytest(tmp_path, "tests.support.plugins.hang_guard", *limits, "-n", "1", "-rA")
    passed = {line.partition("::")[2] for line in output.splitlines() if line.startswith("PASSED")}
    assert passed == {"test_that_takes_its_time", "test_after_it"}
    assert output.count("\nthe test hangs: it has hardly used the processor in 4 turns") == 3
    assert output.count("\nthe test hangs: it has") == 5
    assert "crashed while running 'test_hangs.py::test_that_will_not_end'" in output
    assert "Fatal Python error: Aborted" in output
