"""
Whatever a settings file looks like: putting our entries in changes nothing else in it, and taking them out gives it
back, byte for byte, or without them if somebody changed it since.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from gatepost.errors import Invalid, Malformed
from gatepost.guests.host_settings import hook_entries, installation, jsonc_editing, toml_editing
from gatepost.guests.host_settings.hook_entries import HOSTS, HookFormat
from tests.guests.host_settings.settings_files import OLD_COMMANDS, build_values, is_ours, write_jsonc, write_toml

PROGRAM = "/opt/my tools/gatepost"
#: the hosts that read strict JSON, and what their files may begin with
STRICT_HOSTS = {"claude": ["", "\ufeff"], "codex": [""]}
hosts = st.sampled_from([host for host in HOSTS if host != "opencode"])  # which has a file of its own


@st.composite
def settings_texts(
    draw: st.DrawFn, *, with_old: bool = False, with_comments: bool = True, is_host_readable: bool = False
) -> tuple[str, dict[str, Any], str]:
    """A host, what its settings file says, and how that is written: with `is_host_readable` as the host reads it."""
    host = draw(hosts)
    value = draw(
        build_values(
            list(hook_entries.build_entries(host, PROGRAM)),
            is_flat=host in hook_entries.FLAT_HOSTS,
            with_old=with_old,
        )
    )
    if not is_host_readable or host not in STRICT_HOSTS:
        return host, value, draw(write_jsonc(value, with_comments=with_comments))
    return host, value, draw(write_jsonc(value, with_comments=False, with_commas=False, prefixes=STRICT_HOSTS[host]))


def parse_value(text: str) -> Any:
    root = jsonc_editing.parse(text)
    return None if root is None else root.value


@given(settings_texts(with_old=True))
def test_any_such_text_is_read_as_json_reads_it(file: tuple[str, dict[str, Any], str]) -> None:
    _, value, text = file
    assert parse_value(text) == value


@given(settings_texts(is_host_readable=True))
def test_out_again_is_as_it_was_byte_for_byte_and_in_twice_is_in_once(file: tuple[str, dict[str, Any], str]) -> None:
    host, _, text = file
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(text.encode())
        assert installation.install(path, HookFormat(host), hook_entries.build_entries(host, PROGRAM)).is_changed
        installed = path.read_bytes()
        assert not installation.install(path, HookFormat(host), hook_entries.build_entries(host, PROGRAM)).is_changed
        assert path.read_bytes() == installed
        state = installation.inspect_file(
            path, HookFormat(host), lambda agent, _: hook_entries.build_entries(host, PROGRAM, agent=agent)
        )
        assert set(state.names) == hook_entries.build_entries(host, PROGRAM).keys()
        assert installation.uninstall(path, HookFormat(host)).is_restored
        assert path.read_bytes() == text.encode()
        assert [item.name for item in Path(folder).iterdir()] == ["settings.json"]


@given(settings_texts())
def test_putting_in_keeps_every_other_value_and_every_comment(file: tuple[str, dict[str, Any], str]) -> None:
    host, value, text = file
    our_entries = hook_entries.build_entries(host, PROGRAM)
    added = HookFormat(host).add_to_json(text, our_entries)
    assert jsonc_editing.list_comments(added) == jsonc_editing.list_comments(text)
    hooks = value.get("hooks", {})
    expected = hooks | {event: [*hooks.get(event, []), entry] for event, entry in our_entries.items()}
    head = {} if value else HookFormat(host).build_head()
    assert parse_value(added) == head | value | {"hooks": expected}


@given(settings_texts())
def test_taking_out_undoes_putting_in_to_the_byte_unless_something_was_empty(
    file: tuple[str, dict[str, Any], str],
) -> None:
    host, value, text = file
    our_entries = hook_entries.build_entries(host, PROGRAM)
    hooks = value.get("hooks", {"": [0]})
    assume(value and hooks and all(hooks.get(event, [0]) for event in our_entries))
    assert HookFormat(host).strip_from_json(HookFormat(host).add_to_json(text, our_entries), value) == text


@given(settings_texts(with_old=True, is_host_readable=True), st.text(max_size=4), st.booleans())
def test_what_somebody_changed_since_stays(file: tuple[str, dict[str, Any], str], key: str, at_root: bool) -> None:
    host, _, text = file
    assume(key not in ("hooks", "version"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(text.encode())
        installation.install(path, HookFormat(host), hook_entries.build_entries(host, PROGRAM))
        changed = path.read_bytes().decode()
        root = jsonc_editing.parse(changed)
        assert root is not None
        container = root if at_root else root.get("hooks")
        assert container is not None
        changed = jsonc_editing.append(changed, container, (key, ["theirs"]))
        path.write_bytes(changed.encode())
        assert not installation.uninstall(path, HookFormat(host)).is_restored
        remaining = path.read_bytes().decode()
    assert select_foreign(parse_value(remaining), host) == select_foreign(parse_value(changed), host)
    assert jsonc_editing.list_comments(remaining) == jsonc_editing.list_comments(changed)
    assert "gatepost' hook" not in remaining


@given(settings_texts(with_old=True))
def test_older_entries_of_ours_go_and_those_of_others_stay(file: tuple[str, dict[str, Any], str]) -> None:
    host, value, text = file
    remaining = HookFormat(host).strip_from_json(text)
    assert select_foreign(parse_value(remaining), host) == select_foreign(value, host)
    assert jsonc_editing.list_comments(remaining) == jsonc_editing.list_comments(text)
    assert not any(json.dumps(command) in remaining for command in OLD_COMMANDS)
    if not any(command in json.dumps(value) for command in map(json.dumps, OLD_COMMANDS)):
        assert remaining == text


def select_foreign(document: Any, host: str) -> tuple[dict[str, Any], list[Any]]:
    """All that is not ours: what is not hooks, and every entry of others, event by event in its order."""
    hooks = sorted(document.get("hooks", {}).items())
    groups: list[Any] = [(event, group) for event, groups in hooks for group in groups]
    if host not in hook_entries.FLAT_HOSTS:
        groups = [
            (event, group.get("matcher"), entry) if isinstance(group, dict) else (event, group)
            for event, group in groups
            for entry in (group["hooks"] if isinstance(group, dict) else [None])
        ]
    rest = {name: value for name, value in document.items() if name != "hooks"}
    return rest, [
        foreign_entry
        for foreign_entry in groups
        if not is_ours(foreign_entry[-1]) and "gatepost' hook" not in str(foreign_entry[-1])
    ]


@given(settings_texts(with_old=True), st.data())
def test_what_cannot_be_read_is_refused_with_its_place_and_left_alone(
    file: tuple[str, dict[str, Any], str], data: st.DataObject
) -> None:
    host, _, text = file
    offset = data.draw(st.integers(0, len(text)))
    junk = data.draw(st.sampled_from(["", "}", ",", '"', "/*", "nul", "\x00", "-", "'", "]", "\\", "NaN"]))
    broken = (text[:offset] + junk + text[offset + data.draw(st.integers(0, 3)) :]).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(broken)
        try:
            installation.install(path, HookFormat(host), hook_entries.build_entries(host, PROGRAM))
        except Invalid as error:
            message = error.message
        else:
            return
        assert re.search(r"\(line \d+, column \d+\)$", message), message
        assert path.read_bytes() == broken
        assert [item.name for item in Path(folder).iterdir()] == ["settings.json"]


@given(write_toml())
def test_taking_out_of_toml_undoes_putting_in_to_the_byte(text: str) -> None:
    our_entries = hook_entries.build_entries("codex", PROGRAM)
    added = HookFormat("codex").add_to_toml(text, our_entries)
    assert added.startswith(text)
    assert HookFormat("codex").strip_from_toml(added) == text
    assert added.count("\r") in (0, added.count("\n"))
    before, after = toml_editing.parse(text), toml_editing.parse(added)
    hooks = before.get("hooks", {})
    expected = hooks | {event: [*hooks.get(event, []), group] for event, group in our_entries.items()}
    assert after == before | {"hooks": expected}


@given(write_toml(with_old=True))
def test_older_entries_in_toml_go_and_those_of_others_stay(text: str) -> None:
    remaining = HookFormat("codex").strip_from_toml(text)
    assert select_foreign(_parse_events(remaining), "codex") == select_foreign(_parse_events(text), "codex")
    assert remaining.count("#") == text.count("#")
    if toml_editing.parse(remaining) == toml_editing.parse(text):
        assert remaining == text


def _parse_events(text: str) -> dict[str, Any]:
    """What it says, with `hooks` holding events only."""
    document = toml_editing.parse(text)
    hooks = document.pop("hooks", {})
    state = hooks.pop("state", None)
    return document | {"state": state, "hooks": hooks}


def test_a_file_is_read_once_however_much_there_is_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be of several megabytes, and a host of thousands of projects."""
    read_sizes: list[int] = []

    def count_reads(parse: Callable[[str], Any]) -> Callable[[str], Any]:
        def parse_and_count(text: str) -> Any:
            read_sizes.append(len(text))
            return parse(text)

        return parse_and_count

    monkeypatch.setattr(jsonc_editing, "parse", count_reads(jsonc_editing.parse))
    our_entries = hook_entries.build_entries("claude", PROGRAM)
    text = json.dumps({"hooks": {event: [{"hooks": []}] for event in [*our_entries, "PreToolUse"]}}, indent=2)
    added = HookFormat("claude").add_to_json(text, our_entries)
    assert HookFormat("claude").strip_from_json(added) == text
    assert len(read_sizes) == 2
    read_sizes.clear()

    monkeypatch.setattr(toml_editing, "parse", count_reads(toml_editing.parse))
    text = "".join(f'[projects."/home/{number}"]\ntrust_level = "trusted"\n\n' for number in range(100))
    added = HookFormat("codex").add_to_toml(text, hook_entries.build_entries("codex", PROGRAM))
    assert HookFormat("codex").strip_from_toml(added) == text
    assert len([size for size in read_sizes if size > len(text) / 2]) == 3


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1', "line 1, column 8"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('\ufeff{"a" 1}', "line 1, column 6"),
        ("[1, 2]", "line 1, column 1"),
        ('{"hooks": []}', "line 1, column 11"),
        ('{"hooks": {"Stop": {}}}', "line 1, column 20"),
        ("{} {}", "line 1, column 4"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": /* b }', "line 1, column 7"),
        ('{"a": 01}', "line 1, column 7"),
        ("[" * 200, "line 1, column 101"),
    ],
)
def test_it_says_where(text: str, place: str) -> None:
    with pytest.raises(Malformed, match=rf"\({place}\)"):
        HookFormat("claude").add_to_json(text, hook_entries.build_entries("claude", PROGRAM))
