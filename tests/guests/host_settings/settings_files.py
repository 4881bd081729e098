"""Settings files as people write them: JSON with comments, trailing commas, and white space of every kind."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

#: what may stand between two tokens; a line comment brings its line end along
WHITESPACE = ["", "", "", " ", "\n", "\n  ", "\n\t", "\r\n    ", "  \n\n  "]
COMMENTS = [
    " // note\n",
    '\n  // "hooks": {}\r\n  ',
    "/* { [ , */",
    ' /* "Stop": [ */ ',
    "//\n",
    "/**/",
    "\n/* a\n   b */\n",
]
#: commands of others, some of which name us without being us
OTHER_COMMANDS = [
    "echo done",
    "gatepost hook Stop | tee log",
    "/opt/gatepost hooks status",
    "sh -c 'gatepost hook Stop'",
    "GATEPOST_HOME=/x gatepost hook Stop",
    "it's",
    "",
]
#: what earlier releases, or copies of us elsewhere, have written
OLD_COMMANDS = [
    "gatepost hook Stop",
    "gatepost hook Stop --host codex",
    "/old/venv/bin/gatepost hook Stop",
    "'/a b/gatepost' hook PreCompact --host codex",
    "gatepost hook Stop --host codex --agent ann",
]

_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["//", "/*", '"', "{"])
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
_other_entries = st.sampled_from(OTHER_COMMANDS).map(lambda command: {"type": "command", "command": command})
_old_entries = st.sampled_from(OLD_COMMANDS).map(lambda command: {"type": "command", "command": command, "timeout": 60})


def _build_groups(entries: st.SearchStrategy[dict[str, Any]], *, is_flat: bool) -> st.SearchStrategy[list[Any]]:
    group = st.fixed_dictionaries({"hooks": st.lists(entries, max_size=3)}, optional={"matcher": st.just("Bash|Edit")})
    return st.lists(entries if is_flat else group, max_size=3)


def build_values(events: list[str], *, is_flat: bool, with_old: bool) -> st.SearchStrategy[dict[str, Any]]:
    """What a settings file says: anything, and perhaps hooks of others, and `with_old` older ones of ours."""
    entries = _other_entries | _old_entries if with_old else _other_entries
    hooks = st.dictionaries(
        st.sampled_from([*events, "PreToolUse"]), _build_groups(entries, is_flat=is_flat), max_size=4
    )
    rest = st.dictionaries(st.text(max_size=4).filter(lambda key: key not in ("hooks", "version")), _values, max_size=4)
    return st.builds(lambda first, hooks, last: first | hooks | last, rest, st.just({}) | hooks.map(_wrap_hooks), rest)


def _wrap_hooks(hooks: dict[str, Any]) -> dict[str, Any]:
    return {"hooks": hooks}


@st.composite
def write_jsonc(
    draw: st.DrawFn,
    value: Any,
    *,
    with_comments: bool = True,
    with_commas: bool = True,
    prefixes: Sequence[str] = ("", "\ufeff"),
) -> str:
    """A value, written in some way."""
    gaps = st.sampled_from(WHITESPACE + (COMMENTS if with_comments else []))
    head = draw(st.sampled_from(prefixes))
    return head + draw(gaps) + draw(_write_value(value, gaps, ["", ","] if with_commas else [""])) + draw(gaps)


@st.composite
def _write_value(draw: st.DrawFn, value: Any, gaps: st.SearchStrategy[str], endings: Sequence[str]) -> str:
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    if is_ours(value):  # a remark within an entry of ours would go with it
        gaps = st.sampled_from(WHITESPACE)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    parts: list[str] = []
    for part in value.items() if isinstance(value, dict) else value:
        name = f"{json.dumps(part[0])}{draw(gaps)}:{draw(gaps)}" if isinstance(value, dict) else ""
        item = part[1] if isinstance(value, dict) else part
        parts.append(draw(gaps) + name + draw(_write_value(item, gaps, endings)) + draw(gaps))
    comma = draw(st.sampled_from(endings)) if parts else ""
    return opening + ",".join(parts) + comma + (draw(gaps) if comma or not parts else "") + closing


def is_ours(value: Any) -> bool:
    return isinstance(value, dict) and value.get("command") in OLD_COMMANDS


#: what may stand in a config.toml; `%d` makes the names of tables differ
OTHER_TABLES = [
    "[table%d]\nkey = 1 # [[hooks.Stop]]\n",
    '[table%d]\ntext = """\n[[hooks.Stop.hooks]]\ncommand = "gatepost hook Stop"\n"""\n',
    "[table%d]\nlist = [\n  [1],\n[2],\n]\n",
    '[hooks.state."%d"]\nenabled = true\n',
    '[[hooks.Stop]]\nmatcher = "%d"\n[[hooks.Stop.hooks]]\ncommand = "true"\n',
    '  [[hooks."PreToolUse"]] # %d\n  hooks = [{ command = "guard" }]\n',
]
#: the same, of ours: by themselves, beside another, and written in line
OUR_TABLES = [
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "gatepost hook Stop --host codex"\ntimeout = %d\n',
    '[[hooks.Stop]]\nhooks = [{ command = "/old/venv/bin/gatepost hook Stop", timeout = %d }]\n',
    '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = "%d"\n[[hooks.Stop.hooks]]\ncommand = "gatepost hook Stop"\n',
]


@st.composite
def write_toml(draw: st.DrawFn, *, with_old: bool = False) -> str:
    """A config.toml."""
    pieces = draw(st.lists(st.sampled_from(OTHER_TABLES + (OUR_TABLES if with_old else [])), max_size=6))
    head = draw(st.sampled_from(["", 'model = "gpt"\n', "# mine\n\n", "\ufeff"]))
    separators = st.sampled_from(["", "\n", "\n# a remark\n", "\n\n"])
    text = head + "".join(piece % number + draw(separators) for number, piece in enumerate(pieces))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
