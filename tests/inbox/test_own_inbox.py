"""`gatepost inbox` without a verb: what waits for the person at the terminal."""

from tests.support.command_line import CommandLine

EITHER_WAY = True


def test_nothing_waits(cli: CommandLine) -> None:
    result = cli.run_ok("inbox")
    assert (result.out, result.err) == ("", "nothing waits for 'admin'\n")
    assert cli.run_ok("inbox", "--as", "husam", "--json").json == {
        "name": "husam",
        "pending": 0,
        "items": [],
        "decisions": [],
    }


def test_the_most_urgent_first_and_then_the_newest(cli: CommandLine) -> None:
    for text, priority in (("old", "normal"), ("low", "low"), ("now", "critical"), ("new", "normal")):
        cli.push("--to", "husam", text, "--priority", priority)
    result = cli.run_ok("inbox", "--as", "husam")
    heading, *rows = result.out.splitlines()
    assert heading.split() == ["EVENT", "PRIORITY", "AGE", "WHAT"]
    assert [row.partition('"')[2] for row in rows] == ['now"', 'new"', 'old"', 'low"']
    assert rows[0].split()[1] == "critical"
    assert result.err == "next: gatepost inbox done EVENT --as husam\n"
    inbox = cli.run_ok("inbox", "--as", "husam", "-n", "2", "--json").json
    assert (inbox["pending"], [item["content"] for item in inbox["items"]]) == (4, ["now", "new"])
    limited = cli.run_ok("inbox", "--as", "husam", "-n", "3")
    assert len(limited.out.splitlines()) == 4
    assert limited.err.startswith("1 more item pending: raise --limit to see them\n")


def test_of_very_many_only_the_most_urgent_are_read(cli: CommandLine) -> None:
    cli.monkeypatch.setattr("gatepost.inbox.own_inbox_commands._MAX_ITEMS", 3)
    for text, priority in (("low", "low"), ("old", "high"), ("now", "critical"), ("new", "high")):
        cli.push("--to", "husam", text, "--priority", priority)
    result = cli.run_ok("inbox", "--as", "husam", "-n", "1")
    assert result.err.startswith("at least 2 more items pending: raise --limit to see them\n")
    inbox = cli.run_ok("inbox", "--as", "husam", "--json").json
    assert [item["content"] for item in inbox["items"]] == ["now", "new", "old"]


def test_then_the_decisions_that_one_is_asked(cli: CommandLine) -> None:
    words = ["--option", "yes=Ship", "--option", "no", "--text", "--within", "2h"]
    decision = cli.run_ok("decision", "ask", "Ship it?", "--as", "analyst", "--of", "husam", *words).out.strip()
    cli.run_ok("decision", "ask", "Lunch?", "--as", "analyst", "--of", "admin", "--text")
    cli.run_ok("send", "husam", "Sign", "--as", "analyst")
    result = cli.run_ok("inbox", "--as", "husam")
    items, decisions = result.out.split("\n\n")
    assert "Ship it?" not in items
    assert '[Mail] Analyst (agent): "Sign"' in items
    heading, row = decisions.splitlines()
    assert heading.split() == ["DECISION", "BY", "DEADLINE", "OPTIONS", "QUESTION"]
    assert row.startswith(f"{decision}  analyst  2")
    assert row.endswith('yes, no, --text  "Ship it?"')
    assert result.err.splitlines() == [
        "next: gatepost inbox done EVENT --as husam",
        "next: gatepost reply EVENT TEXT --as husam",
        "next: gatepost decision answer DECISION OPTION --as husam",
    ]
    inbox = cli.run_ok("inbox", "--as", "husam", "--json").json
    assert [view["id"] for view in inbox["decisions"]] == [decision]
    assert [item["type"] for item in inbox["items"]] == ["mail", "decision"]
    cli.run_ok("decision", "answer", decision, "yes", "--as", "husam")
    assert cli.run_ok("inbox", "--as", "husam", "--json").json["decisions"] == []
    assert "Ship it?" not in cli.run_ok("inbox", "--as", "husam").out


def test_a_question_that_was_sent_back_waits_for_its_asker(cli: CommandLine) -> None:
    decision = cli.run_ok("decision", "ask", "Ship?", "--as", "analyst", "--of", "husam", "--text").out.strip()
    cli.run_ok("decision", "answer", decision, "--text", "When?", "--again", "--as", "husam")
    assert cli.run_ok("inbox", "--as", "husam").err == "nothing waits for 'husam'\n"


def test_who_one_is(cli: CommandLine) -> None:
    cli.push("--to", "admin", "for admin")
    cli.push("--to", "husam", "for husam")
    assert "for admin" in cli.run_ok("inbox").out
    result = cli.run_ok("inbox", GATEPOST_AGENT="husam")
    assert "for husam" in result.out
    assert result.err == "next: gatepost inbox done EVENT\n"


def test_of_an_agent(cli: CommandLine) -> None:
    cli.push("--broadcast", "all hands")
    result = cli.run_ok("inbox", "--as", "analyst")
    assert "all hands" in result.out
    assert result.err == "next: gatepost inbox drain --to analyst\n"


def test_mistakes(cli: CommandLine) -> None:
    result = cli("inbox", "--as", "husan")
    assert (result.code, result.error) == (2, "there is no entity 'husan'")
    assert "hint: did you mean 'husam'?" in result.err
    assert cli("inbox", "--as", "team:web").code == 2
    assert cli("inbox", "--limit", "0").code == 2
    result = cli("inbox", "--json", "list", "--to", "analyst")
    assert (result.code, result.error) == (2, "--json is before the verb")
    assert result.err.endswith("hint: write it after `gatepost inbox list`\n")
