"""The first steps of a newcomer, in real processes."""

from tests.support.command_line import CommandLine


def test_from_nothing_to_a_drained_inbox(empty_cli: CommandLine) -> None:
    add_result = empty_cli.run_process("agent", "add", "analyst")
    assert (add_result.code, add_result.out) == (0, "analyst\n")
    assert add_result.err == f"made a new store: sqlite:///{empty_cli.database}\nregistered 'analyst'\n"
    assert empty_cli.home.stat().st_mode & 0o777 == 0o700
    assert empty_cli.database.stat().st_mode & 0o777 == 0o600

    push_result = empty_cli.run_process("inbox", "push", "--to", "analyst", "Pull the Q4 revenue numbers")
    assert push_result.code == 0
    assert push_result.out.startswith("evt_")
    assert push_result.err == "pushed to analyst\n"

    drain_result = empty_cli.run_process("inbox", "drain", "--to", "analyst")
    header, line = drain_result.out.splitlines()
    assert header.startswith("INBOX (1 event, ")
    assert line == '[Event: cli] "Pull the Q4 revenue numbers"'
    assert drain_result.err == ""

    second_drain = empty_cli.run_process("inbox", "drain", "--to", "analyst")
    assert (second_drain.code, second_drain.out, second_drain.err) == (0, "", "the inbox of 'analyst' is empty\n")

    doctor_result = empty_cli.run_process("doctor")
    assert doctor_result.code == 0
    assert "1 item accepted by 2 inboxes, all accounted for" in doctor_result.out


def test_version(empty_cli: CommandLine) -> None:
    assert empty_cli("--version").out.startswith("gatepost 0.")


def test_without_words_it_helps(empty_cli: CommandLine) -> None:
    result = empty_cli()
    assert result.code == 0
    assert result.out.startswith("Usage: gatepost")
    noun_result = empty_cli("space")
    assert (noun_result.code, noun_result.out) == (2, "")
    assert noun_result.err.startswith("Usage: gatepost space")
    assert not empty_cli.home.exists()


def test_a_maker_that_died_leaves_no_store_without_administrator(empty_cli: CommandLine) -> None:
    empty_cli.run_ok("person", "add", "husam")
    empty_cli.database.unlink()
    empty_cli.database.touch()
    assert empty_cli("person", "list").error == f"there is no store yet: sqlite:///{empty_cli.database}"
    empty_cli.run_ok("person", "add", "husam")
    assert "admin" in empty_cli.run_ok("person", "list").out
