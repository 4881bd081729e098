"""Work items at the command line, with their events and notes."""

import pytest

from tests.support.command_line import WITHOUT_GATEWAY, CommandLine

EITHER_WAY = True


@pytest.fixture
def task(cli: CommandLine) -> str:
    cli.run_ok("work", "add", "phase:design", "--title", "Design")
    words = ["--title", "Write the schema", "--parent", "phase:design", "--topic", "0.0.123", "--as", "analyst"]
    return cli.run_ok("work", "add", "task:schema", *words).out.strip()


def test_add(cli: CommandLine, task: str) -> None:
    assert task == "task:schema"
    result = cli.run_ok("work", "add", "stage:1")
    assert (result.out, result.err) == ("stage:1\n", "added '1'\n")
    item = cli.run_ok("work", "add", "project:x", "--title", "X", "--json").json
    assert (item["type"], item["id"], item["title"], item["status"], item["madeBy"]) == (
        "project",
        "x",
        "X",
        None,
        "admin",
    )


def test_list(cli: CommandLine, task: str) -> None:
    cli.run_ok("work", "event", task, "blocked")
    heading, first, second = cli.run_ok("work", "list").out.splitlines()
    assert heading.split() == ["ITEM", "STATUS", "PARENT", "BY", "UPDATED", "TITLE"]
    assert first.split()[:2] == ["phase:design", "admin"]
    assert second.split()[:4] == ["task:schema", "blocked", "phase:design", "analyst"]
    assert second.endswith("Z  Write the schema")
    for words in (["--type", "task"], ["--status", "blocked"], ["--parent", "phase:design"]):
        assert [item["id"] for item in cli.run_ok("work", "list", *words, "--json").json] == ["schema"]
    result = cli.run_ok("work", "list", "--type", "stage")
    assert (result.out, result.err) == ("", "no such work items\n")


def test_list_of_nothing(cli: CommandLine) -> None:
    assert cli.run_ok("work", "list").err == "no work items yet\n"
    assert cli.run_ok("work", "list", "--json").json == []


def test_show(cli: CommandLine, task: str) -> None:
    assert "status   no events yet\n" in cli.run_ok("work", "show", task).out
    for event in ("started", "paused", "resumed", "paused", "resumed"):
        cli.run_ok("work", "event", task, event)
    cli.run_ok("work", "event", task, "blocked", "--reason", "undecided", "--as", "analyst")
    cli.run_ok("note", task, "look")
    result = cli.run_ok("work", "show", "task:0.0.123")
    facts, _, events = result.out.partition("\n\n")
    assert "status   blocked\nparent   phase:design\ntopic    0.0.123\nmade by  analyst\n" in facts
    assert facts.endswith("notes    1")
    assert [line.split()[0] for line in events.splitlines()] == [
        "EVENT",
        "task.paused",
        "task.resumed",
        "task.paused",
        "task.resumed",
        "task.blocked",
    ]
    assert events.endswith('"undecided"\n')
    assert result.err.splitlines() == [
        "next: gatepost work event task:schema EVENT",
        "next: gatepost note task:schema TEXT",
        "next: gatepost work notes task:schema",
    ]
    document = cli.run_ok("work", "show", task, "--json").json
    assert (document["notes"], len(document["events"]), document["events"][-1]["type"]) == (1, 5, "task.blocked")


def test_an_event_reaches_those_whom_the_rules_name(cli: CommandLine, task: str) -> None:
    result = cli.run_ok("work", "event", task, "blocked", "--reason", "-", "--as", "analyst", stdin=b"undecided\n")
    assert result.out.startswith("work_")
    assert result.err == "task.blocked: admin has it\n"
    [event] = cli.run_ok("inbox", "--json").json["items"]
    assert (event["content"], event["priority"]) == (
        "task:schema (Write the schema), by analyst: undecided",
        0,
    )
    assert cli.run_ok("work", "event", task, "reviewed").err == (
        "task.reviewed: nobody else gets it, because the setting work.notify names nobody else who is there\n"
    )


def test_an_item_that_nobody_has_added_is_added(cli: CommandLine) -> None:
    result = cli.run_ok("note", "task:new", "look", "--as", "analyst", "--json")
    assert result.json["created"] is True
    assert cli.run_ok("work", "event", "phase:new", "started").err.startswith("added phase:new; phase.started: ")
    assert [item["id"] for item in cli.run_ok("work", "list", "--json").json] == ["new", "new"]
    result = cli.run_ok("work", "event", "task:new", "complete", "--as", "husam")
    assert result.err == "task.complete: analyst has it\n"


@WITHOUT_GATEWAY
def test_the_rules_of_the_settings(cli: CommandLine, task: str) -> None:
    rules = '{"*.complete" = {to = ["husam", "team:web"], priority = 2}}'
    result = cli.run_ok("work", "event", task, "complete", "--json", GATEPOST_WORK__NOTIFY=rules)
    assert sorted(result.json["recipients"]) == ["husam", "quinn"]


def test_notes(cli: CommandLine, task: str) -> None:
    assert cli.run_ok("work", "notes", task).err == "no notes on task:schema yet\n"
    result = cli.run_ok("note", task, "The **second**\nis simpler", "--as", "analyst")
    assert result.out.startswith("note_")
    assert result.err == "posted on task:schema\n"
    words = ["--notify", "husam", "--notify", "team:web", "--priority", "high", "--as", "analyst"]
    result = cli.run_ok("note", task, "-", *words, stdin=b"look\n")
    assert result.err == "posted on task:schema: husam, quinn have it\n"
    [event] = cli.run_ok("inbox", "list", "--to", "husam", "--json").json
    assert (event["type"], event["content"], event["priority"], event["subject"]) == (
        "note",
        "look",
        1,
        "Write the schema",
    )
    lines = cli.run_ok("work", "notes", task).out.splitlines()
    assert [line.partition(" ")[2] for line in lines] == [
        "analyst",
        " The **second**",
        " is simpler",
        "",
        "analyst to husam, team:web",
        " look",
    ]
    assert [note["text"] for note in cli.run_ok("work", "notes", task, "--json").json][1] == "look"
    assert "there are more than 1" in cli.run_ok("work", "notes", task, "-n", "1").err
    assert cli.run_ok("note", task, "x", "--notify", "analyst", "--as", "analyst").err.endswith("nobody else gets it\n")


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (["add", "task:schema"], 1, "there is a task 'schema' already", "use another id"),
        (["add", "tsk:1"], 2, "'tsk' is not a type of work item", "use one of task, phase"),
        (["add", "task"], 2, "'task' is not a reference", "write it as TYPE:ID"),
        (["add", "task:a/b"], 2, "'a/b' is not the id of a work item", "use letters"),
        (["add", "task:1", "--title", "a\nb"], 2, "'a\\nb' is not a title", ""),
        (["add", "task:1", "--parent", "phase:desing"], 1, "there is no phase 'desing'", "did you mean phase:design?"),
        (["add", "task:1", "--topic", "0.0.123"], 1, "there is a topic '0.0.123' already", ""),
        (["add", "task:1", "--as", "husan"], 2, "there is no entity 'husan'", "did you mean 'husam'?"),
        (["list", "--type", "job"], 2, "'job' is not a type of work item", ""),
        (["list", "--parent", "phase:none"], 1, "there is no phase 'none'", ""),
        (["show", "task:shema"], 1, "there is no task 'shema'", "did you mean task:schema?"),
        (["show", "task:unrelated"], 1, "there is no task 'unrelated'", "`gatepost work add task:ID` or the tool"),
        (["event", "task:schema", "Two Words"], 2, "'Two Words' is not an event of a work item", "use a word"),
        (["event", "task:schema", "phase.complete"], 2, "'phase.complete' is an event of a phase", ""),
        (["event", "task:schema", "note"], 2, "a note is not an event", "post a note instead"),
        (["event", "task:schema", "blocked", "--reason", "x" * 4_001], 2, "the reason has 4001 characters", ""),
        (["notes", "task:shema"], 1, "there is no task 'shema'", "did you mean task:schema?"),
    ],
)
def test_mistakes(cli: CommandLine, task: str, words: list[str], code: int, message: str, hint: str) -> None:
    result = cli("work", *words)
    assert (result.code, result.out) == (code, "")
    assert message in result.error
    assert hint in result.err
    assert len(cli.run_ok("work", "list", "--json").json) == 2
    assert cli.run_ok("work", "show", task, "--json").json["events"] == []


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (["task:schema", " "], 2, "the text is empty", ""),
        (["task:schema", "-"], 2, "stdin is empty", "the command that writes to it may have failed"),
        (["task:schema"], 2, "TEXT is missing", ""),
        (["task:schema", "x", "--notify", "husan"], 2, "there is no entity 'husan'", "did you mean 'husam'?"),
        (
            ["task:schema", "x", "--notify", "husam,quinn"],
            2,
            "'husam,quinn' is not an address",
            "name each by itself: a name, an alias, team:NAME or team:NAME/ROLE",
        ),
        (["task:schema", "x", "--notify", "ALL"], 2, "a note cannot notify every agent", "name them, or a team"),
        (["task:schema", "x", "--priority", "urgent"], 2, "--priority: 'urgent' is not a priority", ""),
        (["task:schema", "x" * 262_145], 2, "the note is 262145 bytes, over the limit of 262144", ""),
    ],
)
def test_mistakes_in_notes(cli: CommandLine, task: str, words: list[str], code: int, message: str, hint: str) -> None:
    result = cli("note", *words)
    assert (result.code, result.out) == (code, "")
    assert message in result.error
    assert hint in result.err
    assert cli.run_ok("work", "notes", task, "--json").json == []
    assert cli.run_ok("inbox", "list", "--to", "*", "--all", "--json").json == []
