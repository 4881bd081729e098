"""Mistakes that people make at a terminal: the same plain sentence with a gateway and without one."""

import shlex
import socket
from typing import Final

import pytest

from gatepost.gateway import serve
from tests.support.collected_failures import CollectedFailures
from tests.support.command_line import WITHOUT_GATEWAY, CommandLine

EITHER_WAY = True

NOT_UTF8 = b"x\xff".decode(errors="surrogateescape")


MISTAKES: Final = [
    (["agent", "list", "web"], 2, "this command does not take the argument 'web'", "options begin with --"),
    (["--json", "agent", "list"], 2, "no such option '--json'", "write options after the command"),
    (["agent", "list", "--team"], 2, "--team needs a value", ""),
    (["space", "post", "q4"], 2, "TEXT is missing", "`gatepost space post --help` explains it"),
    (["decision", "answer", "", "yes"], 2, "'' is not the id of a decision", "such an id is dec_ and 32 digits"),
    (["gate", "show", "a/b"], 2, "'a/b' is not the id of a gate", "such an id is gate_ and 32 digits"),
    (["inbox", "show", "evt_42"], 2, "'evt_42' is not the id of an event", "such an id is evt_ and 32 digits"),
    (["key", "revoke", "a/b"], 2, "KEY: 'a/b' is not a name or an id", ""),
    (["inbox", "push", "--session", "a/b", "x"], 2, "--session: 'a/b' is not the id of a guest session", ""),
    (["agent", "list", "--team", NOT_UTF8], 2, "--team is not valid UTF-8", "convert it first"),
    (["agent", "list", "-n", NOT_UTF8], 2, "--limit: 'x\\udcff' is not a number from 1 to 100000", ""),
    (["key", "revoke", NOT_UTF8], 2, "KEY is not valid UTF-8", ""),
    (["agent", "pause", "husam"], 1, "'husam' is a person, not an agent", ""),
    (["agent", "show", "husam"], 1, "'husam' is a person, not an agent", ""),
    (["export", "--json"], 2, "--json needs a FILE", "an export to stdout is JSON lines already"),
    (["up", "--host", "ü..b"], 3, "'ü..b' cannot be resolved to an address", "listen on 127.0.0.1"),
]


def test_one_sentence_that_helps(cli: CommandLine) -> None:
    with CollectedFailures() as failures:
        for words, code, error, hint in MISTAKES:
            with failures.check(" ".join(map(ascii, words))):
                result = cli(*words)
                assert (result.code, result.out, result.error) == (code, "", error)
                assert hint in result.err


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["agent", "list", "--colour", "--help"], "gatepost agent list [OPTIONS]"),
        (["agent", "list", "-h", "--colour"], "gatepost agent list [OPTIONS]"),
        (["agent", "add", "one", "two", "--help"], "gatepost agent add [OPTIONS] NAME"),
        (["inbox", "push", "--to", "a", "--to", "b", "--help"], "gatepost inbox push [OPTIONS] [TEXT|-]"),
        (["agent", "--colour", "--help"], "gatepost agent [OPTIONS] COMMAND [ARGS]..."),
        (["--colour", "--help"], "gatepost [OPTIONS] [COMMAND] [ARGS]..."),
    ],
)
def test_help_is_printed_beside_words_that_are_wrong(cli: CommandLine, words: list[str], usage: str) -> None:
    result = cli.run_ok(*words)
    assert (result.out.splitlines()[0], result.err) == (f"Usage: {usage}", "")


def test_help_behind_two_dashes_is_an_argument(cli: CommandLine) -> None:
    assert cli("agent", "list", "--colour", "--", "--help").error == "no such option '--colour'"


GATE = ("gate", "add", "Tea", "--owner", "analyst")
ASK = ("decision", "ask", "Ship?", "--as", "analyst", "--of", "husam")
PLAN = ("plan", "set", "--owner", "analyst", "--name", "Tea")
PUSH = ("inbox", "push", "--to", "analyst")
TIME = "2126-02-18T15:07:00Z"
TIME_HINT = "a time such as 2026-02-18T15:07:00Z"
DURATION_HINT = "write a number and a unit, such as 90s, 10m, 5 hours, 1 day"


WRONG_OPTIONS: Final = [
    ((*GATE, "--kind", "timer"), "a timer needs a deadline", "give --within 2h or --until TIME"),
    ((*GATE, "--within", "2h", "--until", TIME), "give only one of --within and --until", ""),
    (
        (*GATE, "--until", "2h"),
        "--until: '2h' is not a time",
        f"give a duration as --within 2h, and here {TIME_HINT}",
    ),
    ((*GATE, "--within", TIME), f"--within: '{TIME}' is not a duration", "give a time as --until TIME, and here a"),
    ((*GATE, "--within", "2"), "--within: '2' is not a duration", DURATION_HINT),
    (
        (*GATE, "--kind", "event"),
        "a gate of the kind 'event' must say what it awaits",
        "give --awaits WHAT: TYPE or",
    ),
    (
        (*GATE, "--kind", "Human"),
        "--kind: 'Human' is not one of human, timer, event, mail, command, ci",
        "'human'?",
    ),
    ((*GATE, "--awaits", "analyst", "--kind", "mail"), "'analyst' would wait for itself", "--awaits WHAT"),
    (("gate", "list", "--kind", "sesion"), "ci, session", "did you mean 'session'?"),
    (
        ASK,
        "there is no way to answer the question",
        "give --option ID=LABEL, or let it be answered in words: --text",
    ),
    ((*ASK, "--text", "--urgency", "soon"), "--urgency: 'soon' is not a priority", "use 0 to 4, or critical"),
    ((*ASK, "--text", "--within", "2h", "--until", TIME), "give only one of --within and --until", ""),
    (
        (*ASK, "--option", "a", "--default", "a"),
        "a default counts at the deadline, and there is none",
        "--within 2h",
    ),
    ((*PLAN, "--at", TIME, "--catch-up", "all", "x"), "--catch-up needs --cron", "fires once, however late"),
    ((*PLAN, "--after", "1h", "--at", TIME), "give only one of --after, --at, --cron and --on-gate", ""),
    ((*PLAN, "--at", "1h"), "--at: '1h' is not a time", f"give a duration as --after 5h, and here {TIME_HINT}"),
    ((*PLAN, "--at", "2126-02-18 15:07"), "--at: '2126-02-18 15:07' has no time zone", "+01:00"),
    ((*PLAN, "--after", TIME), f"--after: '{TIME}' is not a duration", "give a time as --at TIME"),
    (PLAN, "a plan must say when it is due", "give --after 5h, --at TIME, --cron EXPR or --on-gate GATE"),
    ((*PLAN, "--at", TIME, "--zone", "UTC"), "--zone needs --cron", "a time has its own offset"),
    ((*PLAN, "--cron", "0 9 * * *", "--zone", "Berln"), "--zone: 'Berln' is not a time zone", "'Europe/Berlin'"),
    ((*PLAN, "--cron", "60 * * * *"), "its minute is wrong", "the minute is 0 to 59; also *, a list (1,15)"),
    ((*PLAN, "--cron", "0 9 * * Mo"), "its day of week is wrong", "SUN to SAT"),
    ((*PLAN, "--cron", "0 9 30 2 *"), "its day of month is wrong", "February has at most 29"),
    (
        ("key", "create", "--agent", "quinn", "--public"),
        "give only one of --agent, --trigger and --public",
        "for each",
    ),
    ((*PUSH, "--ttl", "10", "x"), "--ttl: '10' is not a duration", DURATION_HINT),
    ((*PUSH, "--ttl", "99999999999d", "x"), "--ttl: '99999999999d' is too long", "at most a hundred years"),
    (("send", "analyst", "x", "--ack-within", "5"), "--ack-within: '5' is not a duration", DURATION_HINT),
    ((*PUSH, "--ttl", "0000m", "x"), "--ttl: '0000m' is not over zero", "use a duration over zero"),
    ((*PUSH, ""), "the text is empty", "give TEXT"),
    ((*PUSH, "-"), "stdin is empty", "the command that writes to it may have failed"),
    ((*PUSH, "--data", "[" * 200 + "]" * 200), "nested over 100 deep", "send it flatter"),
    (("agent", "show", ""), "'' is not a name", "give the name or an alias of an agent or person"),
    (("agent", "show", "team:web"), "'team:web' is not one entity", "give the name of one agent or person"),
    (("agent", "add", "x", "--role", "lead"), "a role ('lead') needs a team", "give --team TEAM"),
    (("agent", "add", "x" * 99), f"'{'x' * 59}…' is not a name", "use up to 63 lower-case letters"),
    (("space", "post", "tea", "--as", "husam", ""), "the message is empty", "give TEXT"),
]


def test_a_sentence_names_the_options_of_the_command(cli: CommandLine) -> None:
    cli.run_ok("space", "create", "Tea", "--member", "husam")
    with CollectedFailures() as failures:
        for words, error, hint in WRONG_OPTIONS:
            with failures.check(shlex.join(words)[:100]):
                result = cli(*words)
                assert (result.code, result.out) == (2, "")
                assert result.error.endswith(error)
                assert hint in result.err
                assert "`within`" not in result.err


def test_an_answer_is_explained_by_its_options(cli: CommandLine) -> None:
    def answer(*words: str) -> tuple[str, str]:
        result = cli("decision", "answer", decision, *words, "--as", "husam")
        return result.error, result.err.splitlines()[-1]

    decision = cli.run_ok(*ASK, "--option", "yes=Ship", "--option", "no").out.strip()
    assert answer() == ("the answer is empty", "hint: give OPTION (yes, no)")
    assert answer("maybe") == ("'maybe' is not an option of this decision", "hint: give OPTION (yes, no)")
    assert answer("yes", "--reject")[0] == "give only one of OPTION, --again and --reject"
    decision = cli.run_ok(*ASK, "--option", "yes=Ship", "--text").out.strip()
    assert answer() == ("the answer is empty", "hint: give OPTION (yes) or --text TEXT")
    assert answer("--again") == ("a question is sent back with words", "hint: give --text TEXT")


def test_a_name_that_is_taken(cli: CommandLine) -> None:
    cli.run_ok("agent", "retire", "quinn")
    cli.run_ok("space", "create", "Tea")
    for words, error, hint in [
        (("agent", "add", "analyst"), "the name 'analyst' is taken", "choose another name"),
        (("agent", "add", "quinn"), "the name 'quinn' belongs to an agent that is retired", "stays with its history"),
        (("person", "add", "bead-42"), "the name 'bead-42' is taken: it is an alias of 'quinn'", "choose another name"),
        (("space", "create", "Tea"), "there is a space 'tea' already", "choose another id: --id ID"),
        (
            ("person", "retire", "admin"),
            "'admin' cannot be retired: it gets the alerts that have no other recipient",
            "",
        ),
    ]:
        result = cli(*words)
        assert (result.code, result.error) == (1, error)
        assert hint in result.err


def test_an_entity_that_is_retired(cli: CommandLine) -> None:
    cli.run_ok("agent", "retire", "quinn")
    for words, consequence in [
        (("inbox", "push", "--to", "quinn", "x"), " and receives nothing"),
        (("inbox", "push", "--to", "analyst", "--as", "quinn", "x"), " and sends nothing"),
        (("decision", "ask", "Ship?", "--text", "--as", "analyst", "--of", "quinn"), " and cannot answer"),
        (("agent", "set", "quinn", "--team", "web"), ""),
        (("space", "create", "Tea", "--member", "quinn"), ""),
    ]:
        result = cli(*words)
        assert (result.code, result.error) == (1, f"'quinn' is retired{consequence}")
        assert result.err.endswith("hint: name one that is not: it never comes back\n")


def test_what_is_not_there(cli: CommandLine) -> None:
    event, plan = f"evt_{'0' * 32}", f"plan_{'0' * 32}"
    forgotten = "hint: it may have been delivered and forgotten since\n"
    for words, hint in [
        (("inbox", "show", event), forgotten),
        (("inbox", "done", event), forgotten),
        (("inbox", "replay", event), forgotten),
        (("inbox", "discard", event, "--to", "analyst"), forgotten),
        (("inbox", "sent", f"mail_{'0' * 32}"), "`gatepost inbox sent` lists the mail of its sender"),
        (("plan", "delete", plan), "`gatepost plan list` lists them"),
        (("trigger", "show", "nobody"), "`gatepost trigger list` lists them"),
        (("space", "post", "tea", "--as", "husam", "x"), "`gatepost space list` lists them"),
        (("space", "read", "tea", "--as", "husam"), "`gatepost space list` lists them"),
    ]:
        result = cli(*words)
        assert result.code == 1
        assert result.error.startswith("there is no ")
        assert hint in result.err
    cli.run_ok("space", "create", "Tea")
    refusal = cli("space", "post", "tea", "--as", "husam", "x")
    assert (refusal.code, refusal.error) == (1, "'husam' is not a member of the space 'tea'")
    assert refusal.err.endswith("hint: `gatepost space join tea husam` adds it\n")


def test_a_current_agent_that_is_not_there(cli: CommandLine) -> None:
    cli.environ["GATEPOST_AGENT"] = "analist"
    for words in (("inbox",), ("inbox", "drain"), ("send", "husam", "x"), ("space", "post", "tea", "x")):
        result = cli(*words)
        assert (result.code, result.error) == (2, "there is no entity 'analist'")
        assert "`gatepost agent add analist` adds it, `gatepost config show` says where it is set" in result.err
    assert "did you mean 'analyst'?" in cli("inbox", "--as", "analist").err


def test_mail_without_a_sender_has_no_reply(cli: CommandLine) -> None:
    event = cli.push("--to", "husam", "--type", "mail", "Hello")
    result = cli("reply", event, "x", "--as", "husam")
    assert (result.code, result.error) == (1, f"{event!r} cannot be replied to: it has no sender")
    assert "use `gatepost send` to write to somebody" in result.err
    assert cli("inbox", "thread", event).error == f"there is no thread {event!r}"


NEAR_MISSES: Final = [
    (["trigger", "route", "add", "jira"], "give --to ADDRESS"),
    (["agent", "add", "My Agent"], "a letter or digit first, such as 'my-agent'"),
    (["gate", "check", "--hook", "stop"], "did you mean 'Stop'?"),
    (["gate", "add", "X", "--owner", "analyst", "--kind", "decision"], "use `gatepost decision ask`"),
    (["completion"], "`gatepost completion --help` explains it"),
    (["completion", "Bash"], "did you mean 'bash'?"),
    (["config", "set", "x"], "did you mean `gatepost config show`?"),
    (["agent", "list", "--json=yes"], "write --json alone"),
    ([*PUSH, "-5 degrees"], "a text that begins with - is written after --"),
    (["agent", "ls"], "did you mean `gatepost agent list`?"),
    (["agent", "lst"], "did you mean `gatepost agent list`?"),
    (["agent", "create", "x"], "did you mean `gatepost agent add`?"),
    (["agent", "Delete", "x"], "did you mean `gatepost agent retire`?"),
    (["agent", "xyzzy"], "there are add, list, show, set,"),
    (["push", "x"], "did you mean `gatepost inbox push`?"),
    (["mail", "analyst", "x"], "did you mean `gatepost send`?"),
    (["task", "list"], "did you mean `gatepost work`?"),
    (["mcp", "serve"], "`gatepost mcp` alone starts it"),
    (["mcp", "start"], "`gatepost mcp` alone starts it"),
    (["mcp", "add"], "did you mean `gatepost mcp install`?"),
    (["mcp", "analyst"], "`gatepost mcp --as NAME` names an agent or a person"),
    (["inbox", "analyst"], "`gatepost inbox --as NAME` names an agent or a person"),
    (["inbox", "--to", "analyst"], "did you mean --as?"),
    (["ledger", "list"], "did you mean `gatepost ledger topics`?"),
    (["ledger", "show", "0.0.1"], "did you mean `gatepost ledger messages`?"),
    (["ledger", "check", "x"], "did you mean `gatepost ledger verify`?"),
    (["work", "start", "task:7"], "did you mean `gatepost work event`?"),
    (["gate", "done", "x"], "did you mean `gatepost gate resolve`?"),
    (["send", "--to", "analyst", "x"], "leave out --to, and write `gatepost send [TO] [TEXT|-]`"),
    (["reply", "--event", "x", "y"], "leave out --event, and write `gatepost reply EVENT TEXT|-`"),
    (["reply", f"gate_{'0' * 32}", "x"], "give an id that begins with evt_"),
    (["reply", f"evt_{'0' * 32}", ""], "give TEXT, or - to read it from stdin"),
    (["note", "hello", "task:7"], "write it as TYPE:ID, such as task:7"),
    ([*PUSH, "--dedup-key", "by:x", "y"], "begins with 'by:', a prefix that only Gatepost adds"),
    (
        ["decision", "ask", "Pay?", "--action", "pay", "--allow", "accept edit"],
        "use one or more of accept,edit,respond,ignore, with commas between",
    ),
    (["people"], "did you mean `gatepost person`?"),
    (["agents"], "did you mean `gatepost agent`?"),
    (["list"], "say first what it is about, as in `gatepost inbox list`"),
    (["start"], "did you mean `gatepost up`?"),
    (["xyzzy"], "`gatepost --help` lists the commands"),
    (["help", "agent"], "write `gatepost agent --help`"),
    (["help"], "write `gatepost --help`"),
    (["version"], "write `gatepost --version`"),
    (["-V"], "did you mean --version?"),
    (["--home", "x", "agent", "list"], "name the home in GATEPOST_HOME"),
    ([*PUSH, "--To", "x"], "did you mean --to?"),
    ([*PUSH, "-tpye", "mail", "x"], "did you mean --type?"),
    ([*PUSH, "\N{EN DASH}type", "mail", "x"], "write --type, with two hyphens"),
    ([*PUSH, "\N{EM DASH}type=mail", "x"], "write --type, with two hyphens"),
]


def test_what_was_probably_meant(cli: CommandLine) -> None:
    with CollectedFailures() as failures:
        for words, hint in NEAR_MISSES:
            with failures.check(shlex.join(words)[:100]):
                result = cli(*words)
                assert (result.code, result.out) == (2, "")
                assert result.error
                assert hint in result.err


def test_a_dash_in_a_text_is_a_dash(cli: CommandLine) -> None:
    cli.run_ok(*PUSH, "\N{EN DASH} typed by hand")


def test_a_configuration_that_is_wrong(cli: CommandLine) -> None:
    for document, error in [
        ('{"modle": "demo"}', "--config: 'modle' is not a field of the configuration"),
        ('{"model": 5}', "--config: model: 5 is neither text nor an object"),
        ('{"tools": [{"nme": 1}]}', "--config: 'nme' is not a field of tools[0]"),
        ("[1]", "--config: stdin is not a JSON object"),
        ("[" * 200 + "]" * 200, "--config: stdin is nested over 100 deep"),
    ]:
        result = cli("agent", "add", "x", "--config", "-", stdin=document.encode())
        assert (result.code, result.error) == (2, error)
        assert "single quotes" not in result.err


def test_the_administrator_learns_what_does_not_concern_an_entity(cli: CommandLine) -> None:
    decision = cli.run_ok(*ASK, "--text").out.strip()
    gate = cli.run_ok(*GATE, "--awaits", "husam").out.strip()
    for id, words in [
        (decision, ("decision", "answer", decision, "--text", "Yes", "--as", "quinn")),
        (decision, ("decision", "withdraw", decision, "--as", "quinn")),
        (decision, ("decision", "revise", decision, "Now?", "--text", "--as", "quinn")),
        (gate, ("gate", "resolve", gate, "--as", "quinn")),
        (gate, ("gate", "waiter", gate, "quinn", "--as", "quinn")),
    ]:
        result = cli(*words)
        assert (result.code, result.error) == (1, f"{id!r} does not concern 'quinn'")
        assert "hint: it concerns a" in result.err
    missing = f"gate_{'0' * 32}"
    assert cli("gate", "resolve", missing, "--as", "quinn").error == f"there is no gate {missing!r}"


@WITHOUT_GATEWAY
def test_what_is_no_export(cli: CommandLine) -> None:
    result = cli("import", "-", stdin=b"hello\n", GATEPOST_STORE=f"sqlite:///{cli.cwd}/new.db")
    assert (result.code, result.error) == (2, "this is not an export of Gatepost")


@WITHOUT_GATEWAY
def test_hooks_of_a_file_that_is_not_there(cli: CommandLine) -> None:
    assert cli.run_ok("hooks", "uninstall", "--file", "none.json").err == "there is no such file: nothing to remove\n"


def test_words_cannot_act_on_a_terminal(cli: CommandLine) -> None:
    assert "\x1b" not in cli("agent", "list", "\x1b[31mx\u202e").err
    assert "\x1b" not in cli("agent", "show", "\x1b[31mx").err


@pytest.mark.parametrize("variables", [{}, {"COMP_WORDS": "gatepost", "COMP_CWORD": "x"}])
def test_completion_without_the_variables_of_a_shell_says_nothing(cli: CommandLine, variables: dict[str, str]) -> None:
    cli.environ |= {"_GATEPOST_COMPLETE": "bash_complete", **variables}
    result = cli("agent", "list")
    assert (result.code, result.out, result.err) == (1, "", "")


@pytest.mark.parametrize("url", ["postgresql:u:S3kret@h/db", "postgresql://u:S3kret P@127.0.0.1:1/db"])
def test_a_password_is_masked_in_a_url_that_is_wrong(cli: CommandLine, url: str) -> None:
    result = cli("config", "show", GATEPOST_STORE=url)
    assert "S3kret" not in result.out + result.err
    assert " P@" not in result.out + result.err


def test_help_shows_values_as_they_are_typed(cli: CommandLine) -> None:
    assert "openai:NAME, anthropic:NAME" in " ".join(cli.run_ok("agent", "add", "--help").out.split())
    for words in (("inbox", "push"), ("note",), ("send",)):
        assert "[default: normal]" in cli.run_ok(*words, "--help").out
    assert "Why; everybody concerned gets it." in cli.run_ok("gate", "resolve", "--help").out


@WITHOUT_GATEWAY
def test_a_person_at_a_terminal_learns_what_mcp_waits_for(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.cli.mcp_connection.serve_agent", lambda *_, **__: None)
    monkeypatch.setattr("os.isatty", lambda _: False)
    assert cli.run_ok("mcp").err == ""
    monkeypatch.setattr("os.isatty", lambda _: True)
    assert "`gatepost mcp install` lets one start this command" in cli.run_ok("mcp").err


def test_a_gateway_whose_port_is_taken_begins_no_work(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "open_gateway", lambda _: pytest.fail("the gateway began before it had its port"))
    with socket.create_server(("127.0.0.1", 0)) as other_program:
        port = other_program.getsockname()[1]
        result = cli("up", "--port", str(port))
    assert (result.code, result.error) == (3, f"cannot listen on 127.0.0.1:{port}: Address already in use")
