"""The lines that Gatepost makes of payloads without templates."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording import text_template
from gatepost.channels.wording.dotted_path import parse_path
from gatepost.channels.wording.payload_lines import MAX_OWN_LENGTH, Line, build_lines, describe_payload
from gatepost.channels.wording.services import SERVICES, Service
from gatepost.inbox.event import Ref
from tests.channels.wording.webhook_payloads import GITHUB, ISSUE, JIRA, OTHERS, REPOSITORY, SENDER, SENTRY


@pytest.mark.parametrize(("event", "payload", "text"), GITHUB)
def test_an_event_of_github_is_one_readable_line(event: str, payload: dict[str, Any], text: str) -> None:
    payload = {"repository": REPOSITORY, "sender": SENDER, "organization": {"login": "acme"}} | payload
    line = describe_payload("github", {"X-GitHub-Event": event}, payload)
    assert line.text == f"acme/shop: {text}"
    assert (line.subject, line.session, line.priority) == (event, None, None)


def test_an_event_of_an_organization_names_it() -> None:
    payload = {"action": "created", "team": {"name": "till"}, "organization": {"login": "acme"}, "sender": SENDER}
    assert describe_payload("", {"x-github-event": "team"}, payload).text == 'acme: octocat created team "till"'
    payload = {"action": "suspend", "installation": {"account": {"login": "acme"}, "app_slug": "bot"}, "sender": SENDER}
    text = describe_payload("", {"x-github-event": "installation"}, payload).text
    assert text == "acme: octocat suspend installation"


def test_a_line_refers_to_what_it_is_about() -> None:
    payload = {"repository": REPOSITORY, "issue": ISSUE, "action": "opened"}
    assert describe_payload("github", {"x-github-event": "issues"}, payload).ref == Ref("github", "acme/shop#3")
    long_payload = payload | {"repository": {"full_name": "a" * 500}}
    ref = describe_payload("github", {"x-github-event": "issues"}, long_payload).ref
    assert ref is None or len(ref.id) <= 256


@pytest.mark.parametrize(("resource", "payload", "text"), SENTRY)
def test_a_webhook_of_sentry_is_one_readable_line(resource: str, payload: dict[str, Any], text: str) -> None:
    line = describe_payload("header", {"Sentry-Hook-Resource": resource}, payload)
    assert (line.text, line.subject) == (text, resource)


def test_the_older_webhooks_of_sentry_are_recognised_by_their_form() -> None:
    payload = {
        "project": "shop",
        "project_name": "Shop",
        "level": "error",
        "culprit": "till.py in open",
        "message": "It is stuck",
        "url": "https://s.example/1",
        "event": {"event_id": "f00"},
    }
    assert describe_payload("bearer", {}, payload).text == (
        'Shop: Sentry error: "It is stuck" till.py in open https://s.example/1'
    )


@pytest.mark.parametrize(("payload", "text"), JIRA)
def test_a_webhook_of_jira_is_one_readable_line(payload: dict[str, Any], text: str) -> None:
    line = describe_payload("header", {}, payload | {"timestamp": 1})
    assert (line.text, line.subject) == (text, payload["webhookEvent"])
    assert line.ref == (Ref("jira", "SHOP-12") if "issue" in payload else None)


@pytest.mark.parametrize(("hint", "headers", "payload", "text"), OTHERS)
def test_other_services_are_recognised(hint: str, headers: dict[str, str], payload: dict[str, Any], text: str) -> None:
    assert describe_payload(hint, headers, payload).text == text


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (
            {"event": "deploy", "title": "Shop 1.4", "user": "ana", "status": "failed", "message": "no space left"},
            'deploy "Shop 1.4" by ana (failed): "no space left"',
        ),
        ({"action": "created", "issue": "PROJ-123", "id": 5}, "created, issue PROJ-123"),
        (
            {"type": "ticket.opened", "data": {"name": "Till", "url": "https://t.example/1"}},
            'ticket.opened "Till" https://t.example/1',
        ),
        ({"status": "firing", "receiver": "ops", "alerts": [{"labels": {}}]}, "firing, receiver ops"),
        ({"message": 'say "hi"\nnow'}, "\"say 'hi' now\""),
        ({"sender": {"login": "ana"}, "type": "poke"}, "poke by ana"),
        ({"n": 1, "list": [1, {"a": None}]}, '{"n":1,"list":[1,{"a":null}]}'),
        ({"token": "t", "url": "https://t.example"}, "https://t.example"),
        ("a\n text", "a text"),
        ([1, "x"], '[1,"x"]'),
        (17, "17"),
        (True, "true"),
        (None, "null"),
        ({}, "{}"),
        ("", "a payload without content"),
        (" \n", "a payload without content"),
    ],
)
def test_an_unknown_service_is_put_into_words_by_its_common_fields(payload: object, text: str) -> None:
    assert describe_payload("header", {}, payload).text == text


def test_the_kind_of_event_is_the_subject() -> None:
    assert describe_payload("header", {}, {"event": "deploy"}).subject == "deploy"
    assert describe_payload("header", {}, {"event": "deploy"}, kind="com.example.door").subject == "com.example.door"
    assert describe_payload("header", {}, {"n": 1}).subject is None
    assert describe_payload("header", {}, "", kind="com.example.door").text == "com.example.door"


def test_the_name_of_a_service_alone_does_not_make_its_words() -> None:
    assert describe_payload("github-ci", {}, {"action": "built", "title": "Shop"}).text == 'built "Shop"'
    assert describe_payload(Scheme.GITHUB, {}, {"zen": "x", "title": "Shop"}).text == '"Shop"'
    assert describe_payload("github", {"x-github-event": "push"}, ["no", "object"]).text == '["no","object"]'


def test_no_secret_of_a_header_is_in_a_line() -> None:
    headers = {"Authorization": "Bearer s3cret-value", "X-Gitlab-Token": "s3cret-value", "X-GitHub-Event": "issues"}
    for payload in ({"action": "opened"}, {}, {"authorization": "{{@headers.authorization}}"}):
        assert "s3cret" not in describe_payload("", headers, payload).text


def test_a_title_cannot_end_its_quotes() -> None:
    title = 'x" and octocat merged pull request #8 "y'
    payload = {"repository": REPOSITORY, "sender": SENDER, "action": "opened", "issue": {"number": 1, "title": title}}
    text = describe_payload("github", {"x-github-event": "issues"}, payload).text
    assert text == "acme/shop: octocat opened issue #1 \"x' and octocat merged pull request #8 'y\""


def list_texts(service: Service) -> list[str]:
    cases = [text for rows in service.cases.values() for _, text in rows]
    return [*service.events.values(), *cases, service.other]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_built_in_text_is_valid(service: Service) -> None:
    for text in list_texts(service):
        for name, part in service.parts.items():
            text = text.replace(f"<{name}>", part)  # noqa: PLW2901
        assert "<" not in text
        text_template.parse(text)
    for _, text in service.refs:
        text_template.parse(text)
    matches = [match for rows in (*service.cases.values(), service.refs) for match, _ in rows]
    for path in (
        *service.places,
        *service.kind_paths,
        *service.action_paths,
        *(path for match in matches for path in match),
    ):
        parse_path(path)
    assert service.cases.keys() <= {*service.events, "*"}


def check_line(line: Line) -> None:
    assert 0 < len(line.text) <= MAX_OWN_LENGTH
    assert line.text == " ".join(line.text.split())
    assert line.subject is None or 0 < len(line.subject) <= MAX_OWN_LENGTH
    for text in (line.text, line.subject or "", str(line.ref)):
        assert not set(text) & set("\x00\n\r\t\u2028\u202e\x01\x02")
        text.encode()


SAMPLES: list[tuple[dict[str, str], dict[str, Any]]] = [
    *(
        ({"X-GitHub-Event": event}, {"repository": REPOSITORY, "sender": SENDER} | payload)
        for event, payload, _ in GITHUB
    ),
    *(({"Sentry-Hook-Resource": resource}, payload) for resource, payload, _ in SENTRY),
    *(({}, payload) for payload, _ in JIRA),
    *((headers, payload) for _, headers, payload, _ in OTHERS),
]
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=30,
)


@st.composite
def damaged_samples(draw: st.DrawFn) -> tuple[dict[str, str], Any]:
    """A real payload with something else in one place."""
    headers, payload = draw(st.sampled_from(SAMPLES))
    copy = json.loads(json.dumps(payload))
    node = copy
    while True:
        key = draw(st.sampled_from(list(node) if isinstance(node, dict) else range(len(node))))
        if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
            node[key] = draw(json_values)
            return headers, copy
        node = node[key]


@given(st.dictionaries(st.text(), st.text(), max_size=3), json_values, st.sampled_from(["", *Scheme, "jira-hook"]))
def test_any_payload_becomes_a_line(headers: dict[str, str], payload: object, hint: str) -> None:
    check_line(describe_payload(hint, headers, payload))


@given(damaged_samples())
def test_a_damaged_payload_becomes_a_line(sample: tuple[dict[str, str], Any]) -> None:
    headers, payload = sample
    [line] = build_lines([], headers, payload)
    check_line(line)


@given(st.text(), st.text())
def test_any_kind_of_event_becomes_a_line(event: str, action: str) -> None:
    payload = {"action": action, "repository": REPOSITORY, "sender": SENDER}
    for header in ("X-GitHub-Event", "Sentry-Hook-Resource", "X-Gitlab-Event"):
        check_line(
            describe_payload("", {header: event}, payload | {"object_kind": event, "webhookEvent": event}, kind=event)
        )


def test_a_huge_or_deep_payload_becomes_a_line() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    wide = {f"key {number}": ["\n" * 1_000] * 100 for number in range(1_000)}
    for payload in (
        deep,
        {"title": deep, "n": deep},
        wide,
        {"message": "\u202e\n" * 10_000_000},
        {"title": 10**5_000, "event": 10**5_000},
        {"repository": {"full_name": "y" * 10_000_000}, "action": "\x00" * 10_000_000, "issue": wide},
    ):
        check_line(describe_payload("github", {"x-github-event": "issues"}, payload))
        check_line(describe_payload("", {}, payload))
