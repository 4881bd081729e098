"""Message templates: which one decides, what it says, and what is said of a wrong one."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.wording import text_template
from gatepost.channels.wording.message_template import MAX_ITEMS, MAX_LINE_LENGTH, MAX_SESSION_LENGTH, parse_templates
from gatepost.channels.wording.payload_lines import Line, build_lines, find_skip_reason
from gatepost.channels.wording.text_template import Scope
from gatepost.errors import Invalid
from gatepost.inbox.event import Priority

PULL_REQUEST = {
    "action": "opened",
    "number": 7,
    "pull_request": {"title": "Fix the till", "draft": False, "merged_at": None, "head": {"sha": "5bd5f19a" * 5}},
    "repository": {"full_name": "acme/shop"},
    "sender": {"login": "octocat"},
    "labels": [{"name": "bug"}, {"name": "till"}],
    "commits": [{"id": "a" * 40, "message": "One\n\nmore"}, {"id": "b" * 40, "message": "Two"}],
}
REVIEW = {
    "match": {"action": ["opened", "reopened"], "pull_request.draft": False},
    "message": "{{repository.full_name}}: {{sender.login}} {{action}} pull request #{{number}} {{pull_request.title}}",
    "session": "pr-{{number}}",
    "priority": "high",
    "subject": "review",
}


def render(text: str, payload: object = PULL_REQUEST) -> str:
    return text_template.render(text_template.parse(text), Scope(payload), MAX_LINE_LENGTH).text


def build(templates: object, payload: object = PULL_REQUEST, **headers: str) -> list[Line]:
    header_map = {name.replace("_", "-"): value for name, value in headers.items()}
    return build_lines(parse_templates(templates), header_map, payload, scheme="github")


def test_a_template_says_what_it_is_about() -> None:
    [line] = build([REVIEW])
    assert line == Line(
        text="acme/shop: octocat opened pull request #7 Fix the till",
        subject="review",
        session="pr-7",
        priority=Priority.HIGH,
        is_known=True,
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{{pull_request.title|quote}}", '"Fix the till"'),
        ("{{ pull_request.title | quote }}", '"Fix the till"'),
        ("{{milestone.title|no milestone}}", "no milestone"),
        ('{{milestone.title|"count | }} {{"}}', "count | }} {{"),
        ("{{commits[0].message|first_line}}", "One"),
        ("{{number|first_line}}.", "."),
        ("{{pull_request.head.sha|short}}", "5bd5f19"),
        ("{{commits|count}} commits", "2 commits"),
        ("{{labels}}", "bug, till"),
        ("{{repository}}", "acme/shop"),
        ("{{pull_request.draft}}", "false"),
        ('{{labels[0]}} {{labels[-1].name|quote|"none"}}', 'bug "till"'),
        ("{single} braces } are {text", "{single} braces } are {text"),
    ],
)
def test_a_placeholder_is_filled(text: str, line: str) -> None:
    assert render(text) == line


@pytest.mark.parametrize(
    ("filter_name", "value", "text"),
    [
        ("short", "refs/heads/main", "branch main"),
        ("short", "refs/tags/v1.0", "tag v1.0"),
        ("short", "main", "main"),
        ("short", 5, "5"),
        ("date", "2026-02-18T15:07:00+01:00", "2026-02-18"),
        ("date", 1_771_427_220, "2026-02-18"),
        ("date", 1_771_427_220_000, "2026-02-18"),
        ("date", "soon", "soon"),
        ("date", 10**40, str(10**40)),
        ("date", -1.5, "-1.5"),
        ("words", "review_requested", "review requested"),
        ("first_line", "\n\n  one\rtwo", "one"),
        ("first_line", "", "missing"),
        ("count", {"a": 1}, "1"),
        ("count", "text", "missing"),
        ("quote", 'say "hi"', "\"say 'hi'\""),
        ("quote", "", "missing"),
        ("words|quote", "a_b", '"a b"'),
    ],
)
def test_a_filter_changes_a_value(filter_name: str, value: object, text: str) -> None:
    assert render(f'{{{{x|{filter_name}|"missing"}}}}', {"x": value}) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{{gone}}: {{sender.login}} {{gone}} acted", "octocat acted"),
        ("a  {{gone}}  b", "a b"),
        ("issue #{{gone}} {{pull_request.title|quote}}", 'issue "Fix the till"'),
        ("{{action}} ({{gone}})", "opened"),
        ("{{action}} ({{gone}}, {{number}})", "opened (7)"),
        ("{{action}} ({{number}}, {{gone}})", "opened (7)"),
        ("{{action}} ({{gone}}, {{gone}}) [{{gone}}] '{{gone}}' end", "opened end"),
        ("{{action}}: {{gone}}: {{number}}", "opened: 7"),
        ("{{action}} {{gone}}: {{number}}", "opened: 7"),
        ("{{action}} - {{gone}} - {{number}}", "opened - 7"),
        ("{{action}}, {{gone}}", "opened"),
        ("Deployed: {{action}}.", "Deployed: opened."),
        ("v{{gone}}beta", "vbeta"),
        ("{{gone}}", ""),
    ],
)
def test_a_missing_value_leaves_no_trace(text: str, line: str) -> None:
    assert render(text) == line


def test_what_a_value_says_stays_as_it_is() -> None:
    assert render("{{x}} {{x|quote}}", {"x": "f() : #, ( ) {{number}} \x01\x02"}) == (
        'f() : #, ( ) {{number}} "f() : #, ( ) {{number}}"'
    )


def test_a_line_is_one_plain_line_of_limited_length() -> None:
    hostile_text = "a\nb\r\x00\u2028\u202e\ud800\u200bc\t" + "x" * 1_000_000
    line = render("{{x}} {{y}} {{y}} {{y}} {{y}}", {"x": hostile_text, "y": "y" * 300})
    assert line.startswith("a b c xxx")
    assert line.isprintable()
    assert len(line) == MAX_LINE_LENGTH
    assert line.endswith("...")


def test_the_first_template_that_matches_decides() -> None:
    templates = [
        {"match": {"action": "closed"}, "message": "closed"},
        {"match": {"action": "opened", "number": [6, 7]}, "message": "first"},
        {"message": "second"},
    ]
    assert [line.text for line in build(templates)] == ["first"]
    assert [line.text for line in build(templates, {"action": "closed"})] == ["closed"]
    assert [line.text for line in build(templates, {"action": "x"})] == ["second"]


@pytest.mark.parametrize(
    ("match", "is_held"),
    [
        ({"pull_request.draft": False}, True),
        ({"pull_request.draft": 0}, False),
        ({"pull_request.draft": None}, False),
        ({"pull_request.merged_at": None}, True),
        ({"nothing": None}, True),
        ({"nothing": "*"}, False),
        ({"pull_request.merged_at": "*"}, False),
        ({"pull_request": "*"}, True),
        ({"number": 7.0}, True),
        ({"number": "7"}, False),
        ({"number": True}, False),
        ({"labels": "bug"}, False),
        ({"labels[0].name": ["till", "bug"]}, True),
        ({"@event": "pull_request"}, True),
        ({"@event": "push"}, False),
        ({}, True),
    ],
)
def test_a_match_compares_exactly(match: dict[str, object], is_held: bool) -> None:
    [line] = build([{"match": match, "message": "held"}], X_GitHub_Event="pull_request")
    assert (line.text == "held") is is_held


def test_without_a_template_that_matches_the_line_is_made_by_itself() -> None:
    [line] = build([{"match": {"action": "closed"}, "message": "closed"}], X_GitHub_Event="pull_request")
    assert line.text.startswith('acme/shop: octocat opened pull request "Fix the till"')
    assert line.subject == "pull_request"


def test_a_template_without_a_message_changes_the_rest() -> None:
    [line] = build([{"priority": "fyi", "session": "{{repository.full_name}} {{number}}"}], X_GitHub_Event="issues")
    assert line.text.startswith("acme/shop: ")
    assert (line.priority, line.session, line.subject) == (Priority.FYI, "acme/shop-7", "issues")


def test_a_message_without_any_value_is_replaced() -> None:
    [line] = build([{"message": "{{gone}}"}], X_GitHub_Event="pull_request")
    assert line.text.startswith("acme/shop: octocat")


def test_a_session_with_a_missing_value_is_that_of_the_trigger() -> None:
    templates = parse_templates([{"message": "x", "session": "pr-{{gone}}"}])
    session = "repo-{{repository.full_name}}"
    [line] = build_lines(templates, {}, PULL_REQUEST, session=session)
    assert line.session == "repo-acme/shop"
    [line] = build_lines(templates, {}, {}, session=session)
    assert line.session is None


def test_a_session_has_harmless_characters_only() -> None:
    [line] = build([{"message": "x", "session": "{{x}}"}], {"x": " a\n(b) <c>" + "d" * 500})
    assert line.session is not None
    assert line.session.startswith("a-b-c-ddd")
    assert len(line.session) <= MAX_SESSION_LENGTH


def test_each_item_of_a_list_becomes_a_line() -> None:
    template = {
        "forEach": "commits",
        "message": "{{index}} {{item.id|short}} {{item.message|first_line}} in {{repository.full_name}}",
        "session": "commit-{{item.id|short}}",
    }
    lines = build([template])
    assert [line.text for line in lines] == ["0 aaaaaaa One in acme/shop", "1 bbbbbbb Two in acme/shop"]
    assert [line.session for line in lines] == ["commit-aaaaaaa", "commit-bbbbbbb"]


@pytest.mark.parametrize("commits", [[], None, "text", {"a": 1}])
def test_a_template_for_each_item_does_not_match_without_items(commits: object) -> None:
    templates = [{"forEach": "commits", "message": "{{item.id}}"}, {"message": "no commits"}]
    assert [line.text for line in build(templates, {"commits": commits})] == ["no commits"]


def test_a_long_list_is_cut_and_the_last_line_says_so() -> None:
    lines = build([{"forEach": "rows", "message": "{{item}}" + "x" * 1_000}], {"rows": list(range(MAX_ITEMS + 35))})
    assert len(lines) == MAX_ITEMS
    assert lines[-1].text.startswith("199xxx")
    assert lines[-1].text.endswith("... (and 35 more)")
    assert len(lines[-1].text) <= MAX_LINE_LENGTH


def test_a_payload_is_skipped_for_a_reason() -> None:
    templates = [
        {"match": {"sender.login": "bot"}, "skip": True, "reason": "bots talk too much"},
        {"match": {"action": "pinged"}, "skip": True},
        {"message": "x"},
    ]
    for payload, reason in (
        ({"sender": {"login": "bot"}}, "bots talk too much"),
        ({"action": "pinged"}, "template 2 skips it"),
        (PULL_REQUEST, None),
    ):
        assert find_skip_reason(parse_templates(templates), {}, payload) == reason
        assert bool(build(templates, payload)) is (reason is None)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("text", "templates[0]: 'text' is not an object"),
        (None, "templates[0]: null is not an object"),
        ({}, "templates[0]: it says nothing of the payload"),
        ({"match": {"a": 1}}, "templates[0]: it says nothing of the payload"),
        ({"messages": "x"}, "'messages' is not a field of templates[0]"),
        ({"message": 5}, "templates[0].message: 5 is not text"),
        ({"message": ""}, "templates[0].message: the template is empty"),
        ({"message": "a\nb"}, "templates[0].message: 'a\\nb' is not one line of printable text"),
        (
            {"message": "a {{b"},
            "templates[0].message: '{{b' at character 3 is not a placeholder: there is no }} after it",
        ),
        ({"message": "a }} b"}, "templates[0].message: '}} b' at character 3 is not a placeholder"),
        ({"message": "{{a..b}}"}, "templates[0].message: 'a..b' is not a path: a key is missing, at character 3"),
        ({"message": "{{}}"}, "templates[0].message: the path is empty"),
        ({"message": "{{a|}}"}, "templates[0].message: the placeholder 'a|' has nothing after a bar"),
        ({"message": "{{a|First-Line}}"}, "templates[0].message: 'First-Line' is not a filter"),
        ({"message": "{{a|upper}}"}, "templates[0].message: 'upper' is not a filter"),
        ({"message": "{{a|quote|none}}"}, "templates[0].message: 'none' is not a filter"),
        (
            {"message": "{{a|no one|quote}}"},
            "templates[0].message: the placeholder 'a|no one|quote' has more after its",
        ),
        ({"message": "{{a}}" * 51}, "templates[0].message: the template has too many placeholders"),
        ({"message": "x" * 2_001}, "templates[0].message: the template has 2001 characters"),
        ({"message": "x", "match": "a"}, "templates[0].match: 'a' is not an object"),
        ({"message": "x", "match": {"a..b": 1}}, "templates[0].match: 'a..b' is not a path"),
        ({"message": "x", "match": {"a": {"b": 1}}}, "templates[0].match.a: an object is not a value to compare with"),
        ({"message": "x", "match": {"a.b": [1, []]}}, "templates[0].match.a.b[1]: a list is not a value"),
        ({"message": "x", "match": {"a": []}}, "templates[0].match.a: there is no value in it"),
        ({"message": "x", "forEach": "a."}, "templates[0].forEach: 'a.' is not a path"),
        ({"forEach": "a"}, "templates[0].message: it is missing, and forEach needs it"),
        ({"message": "x", "priority": "urgent"}, "templates[0].priority: 'urgent' is not a priority"),
        ({"message": "x", "priority": [1]}, "templates[0].priority: a list is not text or a whole number"),
        ({"message": "x", "skip": True}, "templates[0].message: it cannot be combined with skip"),
        ({"message": "x", "skip": "yes"}, "templates[0].skip: 'yes' is not true or false"),
        ({"message": "x", "reason": "y"}, "templates[0].reason: it needs skip"),
    ],
)
def test_a_wrong_template_is_refused_with_the_place(template: object, problem: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_templates([template])
    assert caught.value.message.startswith(problem)


@pytest.mark.parametrize("templates", ["text", {"message": "x"}, [{"message": "x"}] * 51])
def test_templates_are_a_list_of_limited_length(templates: object) -> None:
    with pytest.raises(Invalid, match=r"^templates: "):
        parse_templates(templates)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
payloads: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5) | st.sampled_from("abc"), inner, max_size=5)
    ),
    max_leaves=30,
)
placeholders = st.builds(
    lambda path, filters: f"{{{{{path}{''.join(f'|{name}' for name in filters)}}}}}",
    st.sampled_from(["a", "a.b", "b[0]", "c", "item", "item.a", "index", "@event"]),
    st.lists(st.sampled_from(["first_line", "quote", "short", "date", "words", "count"]), max_size=3),
)
texts = st.lists(placeholders | st.sampled_from([" ", ": ", ", ", " (", ") ", '"', "#", " - ", "x"]), min_size=1)


@given(texts.map("".join), st.sampled_from([None, "a", "b", "c.a"]), payloads)
def test_no_payload_makes_a_template_fail(text: str, for_each: str | None, payload: object) -> None:
    try:
        templates = parse_templates([{"message": text, "session": text, "subject": text, "forEach": for_each}])
    except Invalid:
        return
    for line in build_lines(templates, {}, payload):
        for value in (line.text, line.session or "x", line.subject or "x"):
            assert 0 < len(value) <= MAX_LINE_LENGTH
            assert "\n" not in value
            value.encode()


@given(st.text() | st.from_regex(r"[a{}|.\" ]{1,20}", fullmatch=True))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    with suppress(Invalid):
        text_template.render(text_template.parse(text), Scope({"a": {"a": 1}}), MAX_LINE_LENGTH)
