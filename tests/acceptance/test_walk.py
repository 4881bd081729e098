"""The first walk of a newcomer, in real processes."""

from tests.acceptance.office import Office


def test_from_nothing_to_a_drained_inbox(gatepost: Office) -> None:
    added = gatepost.process("agent", "add", "analyst")
    assert (added.code, added.out) == (0, "analyst\n")
    assert added.err == f"made a new store: sqlite:///{gatepost.database}\nregistered 'analyst'\n"
    assert gatepost.home.stat().st_mode & 0o777 == 0o700
    assert gatepost.database.stat().st_mode & 0o777 == 0o600

    pushed = gatepost.process("inbox", "push", "--to", "analyst", "Pull the Q4 revenue numbers")
    assert pushed.code == 0
    assert pushed.out.startswith("evt_")
    assert pushed.err == "pushed to analyst\n"

    drained = gatepost.process("inbox", "drain", "--to", "analyst")
    header, line = drained.out.splitlines()
    assert header.startswith("INBOX (1 event, ")
    assert line == '[Event: cli] "Pull the Q4 revenue numbers"'
    assert drained.err == ""

    again = gatepost.process("inbox", "drain", "--to", "analyst")
    assert (again.code, again.out, again.err) == (0, "", "nothing waits for 'analyst'\n")

    healthy = gatepost.process("doctor")
    assert healthy.code == 0
    assert "1 item accepted by 2 inboxes, all accounted for" in healthy.out


def test_version(gatepost: Office) -> None:
    assert gatepost("--version").out.startswith("gatepost 0.")


def test_without_words_it_helps(gatepost: Office) -> None:
    bare = gatepost()
    assert bare.code == 0
    assert bare.out.startswith("Usage: gatepost")
    noun = gatepost("inbox")
    assert (noun.code, noun.out) == (2, "")
    assert noun.err.startswith("Usage: gatepost inbox")
    assert not gatepost.home.exists()


def test_a_maker_that_died_leaves_no_store_without_administrator(gatepost: Office) -> None:
    gatepost.done("person", "list")
    gatepost.database.unlink()
    gatepost.database.touch()
    assert "admin" in gatepost.done("person", "list").out
