"""
Whatever a settings file looks like: putting our MCP server in changes nothing else in it, and taking it out gives the
file back, byte for byte, or without it if somebody changed it since.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import assume, example, given, strategies as st

from gatepost.guests.host_settings import installation, jsonc_editing, mcp_entries, toml_editing
from gatepost.guests.host_settings.mcp_entries import McpFormat
from tests.guests.host_settings.settings_files import build_values, write_jsonc, write_toml

PROGRAM = "/opt/my tools/gatepost"
JSON_HOSTS = [host for host in mcp_entries.HOSTS if host != "codex"]
#: servers of others, some of which name us without being us
OTHER_SERVERS = [
    {"command": "docs", "args": []},
    {"command": "sh", "args": ["-c", "gatepost mcp"]},
    {"command": "gatepost", "args": ["mcp"]},  # ours only under our name
    {"url": "http://127.0.0.1/mcp"},
    {},
    None,
]
OTHER_TABLES = [
    "[mcp_servers.docs]\ncommand = 'docs' # [mcp_servers.gatepost]\n",
    "[mcp_servers.docs.env]\nA = '[mcp_servers.gatepost]'\n",
    "[mcp_servers.gatepost-test]\ncommand = 'gatepost'\nargs = ['mcp']\n",
]


@st.composite
def settings_texts(draw: st.DrawFn) -> tuple[str, dict[str, Any], str]:
    """A host, what its settings file says, and how that is written, as the host reads it."""
    host = draw(st.sampled_from(JSON_HOSTS))
    value = draw(build_values(["Stop"], is_flat=False, with_old=True))
    names = st.text(max_size=4) | st.just("gatepost-test")
    servers = draw(st.none() | st.dictionaries(names, st.sampled_from(OTHER_SERVERS), max_size=3))
    if servers is not None:
        value |= {McpFormat(host).key: servers}
    is_strict = host in ("claude", "claude-desktop")
    return host, value, draw(write_jsonc(value, with_comments=not is_strict, with_commas=not is_strict))


def build_entries(host: str, agent: str | None = "ann") -> dict[str, Any]:
    return mcp_entries.build_entries(host, PROGRAM, agent, "/home/ann/.gatepost")


def parse_value(text: str) -> Any:
    root = jsonc_editing.parse(text)
    return None if root is None else root.value


@given(settings_texts())
def test_out_again_is_as_it_was_byte_for_byte_and_in_twice_is_in_once(file: tuple[str, dict[str, Any], str]) -> None:
    host, value, text = file
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(text.encode())
        assert installation.install(path, McpFormat(host), build_entries(host)).is_changed
        installed = path.read_bytes()
        key = McpFormat(host).key
        servers = value.get(key, {}) | build_entries(host)
        head = {} if value else McpFormat(host).build_head()
        assert parse_value(installed.decode()) == head | value | {key: servers}
        assert jsonc_editing.list_comments(installed.decode()) == jsonc_editing.list_comments(text)
        assert not installation.install(path, McpFormat(host), build_entries(host)).is_changed
        assert installation.install(path, McpFormat(host), build_entries(host, None)).is_changed
        assert installation.uninstall(path, McpFormat(host)).is_restored
        assert path.read_bytes() == text.encode()
        assert [item.name for item in Path(folder).iterdir()] == ["settings.json"]


@given(settings_texts())
def test_taking_out_undoes_putting_in_to_the_byte_unless_something_was_empty(
    file: tuple[str, dict[str, Any], str],
) -> None:
    host, value, text = file
    assume(value and value.get(McpFormat(host).key, {"": 0}))
    form = McpFormat(host)
    assert form.strip_from_json(form.add_to_json(text, build_entries(host)), value) == text
    assert form.strip_from_json(text) == text


@given(settings_texts(), st.text(max_size=4), st.booleans())
def test_what_somebody_changed_since_stays(file: tuple[str, dict[str, Any], str], key: str, at_root: bool) -> None:
    host, value, text = file
    servers_key = McpFormat(host).key
    assume(key != servers_key)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_bytes(text.encode())
        installation.install(path, McpFormat(host), build_entries(host))
        changed = path.read_bytes().decode()
        root = jsonc_editing.parse(changed)
        assert root is not None
        container = root if at_root else root.get(servers_key)
        assert container is not None
        path.write_bytes(jsonc_editing.append(changed, container, (key, ["theirs"])).encode())
        assert not installation.uninstall(path, McpFormat(host)).is_restored
        remaining = path.read_bytes().decode()
    addition = {key: ["theirs"]}
    head = {} if value else McpFormat(host).build_head()  # it may be of use to whoever changed the file
    expected = head | value | (addition if at_root else {servers_key: value.get(servers_key, {}) | addition})
    assert parse_value(remaining) == expected
    assert jsonc_editing.list_comments(remaining) == jsonc_editing.list_comments(text)


@given(write_toml(with_old=True), st.lists(st.sampled_from(OTHER_TABLES), unique=True))
def test_taking_out_of_toml_undoes_putting_in_to_the_byte(text: str, tables: list[str]) -> None:
    text += "".join(tables)
    form, entries = McpFormat("codex"), build_entries("codex")
    added = form.add_to_toml(text, entries)
    assert added.startswith(text)
    assert form.strip_from_toml(added) == text
    assert form.strip_from_toml(text) == text
    before = toml_editing.parse(text)
    assert toml_editing.parse(added) == before | {"mcp_servers": before.get("mcp_servers", {}) | entries}


_toml_scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(allow_nan=False)
_toml_values = st.recursive(
    _toml_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@example({"a": [float("inf"), 1e100, True, "\x7f\U0001f6aa"]})
@given(st.dictionaries(st.text(), _toml_values, max_size=4))
def test_any_table_is_written_as_it_is_read(table: dict[str, Any]) -> None:
    """What a user has added to our entry may be anything."""
    text = toml_editing.append_tables("", toml_editing.write_table(["a", "b c"], table), what="", hint="")
    assert toml_editing.parse(text) == {"a": {"b c": table}}
