"""
Our plugin for OpenCode: a file of its own, which OpenCode loads when it starts. It calls our hooks, as the settings
file of another program would:

    // Gatepost: `gatepost hooks install --host opencode` writes this file. The next install overwrites changes.
    const settings = {"program": "/usr/bin/gatepost", "agent": "ann", "events": ["SessionStart", ...], "version": "..."}

The code below these lines (`opencode_plugin.js`) is the same for everybody. Its digest is the version, so the plugin of
an older release, and one that was changed by hand, counts as outdated.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from gatepost.errors import Invalid
from gatepost.guests.host_settings.entry_format import Entries, EntryCommand, EntryFormat

FILE: Final = "gatepost.js"
_HEAD: Final = (
    "// Gatepost: `gatepost hooks install --host opencode` writes this file. The next install overwrites changes.\n"
    "const settings = "
)
_HINT: Final = "move that file away"


def locate_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's settings."""
    user = Path(environ.get("HOME") or Path.home())
    return Path(environ.get("XDG_CONFIG_HOME") or user / ".config") / "opencode"


def build_entries(
    program: str, events: Collection[str], agent: str | None, home: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return what to install for each event: the settings of the plugin without the events."""
    own = {name: value for name, value in (("agent", agent), ("home", home)) if value is not None}
    settings = {"program": program} | own | {"version": _read_code()[1]}
    return dict.fromkeys(events, settings)


@cache
def _read_code() -> tuple[str, str]:
    """Return the code of the plugin, and its version."""
    code = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    return code, _compute_version(code)


def _compute_version(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def parse(text: str) -> dict[str, Any]:
    """Return the settings of a plugin of ours, with the version of its code; `other` if the file is not ours."""
    first_line, _, code = text.removeprefix(_HEAD).partition("\n")
    try:
        settings = json.loads(first_line) if text.startswith(_HEAD) else None
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        return {"other": text} if text.strip() else {}
    return settings | {"version": _compute_version(code)}


@dataclass(frozen=True, slots=True)
class PluginFormat(EntryFormat):
    """The plugin. The name of an entry is an event that it passes on; its value is as `build_entries` returns it."""

    install_command = "hooks install"
    backup_infix = "gatepost"

    def list_entries(self, document: object) -> list[tuple[str, dict[str, Any]]]:
        if not isinstance(document, dict) or not isinstance(document.get("program"), str):
            return []
        settings = {name: value for name, value in document.items() if name != "events"}
        events = document.get("events")
        return [(str(event), settings) for event in events] if isinstance(events, list) else []

    def list_commands(self, document: object) -> list[EntryCommand]:
        return [
            EntryCommand(settings["program"], agent=settings.get("agent"), home=settings.get("home"))
            for _, settings in self.list_entries(document)[:1]
        ]

    def remove_entries(self, document: object) -> object:
        return {"other": document["other"]} if isinstance(document, dict) and "other" in document else {}

    def add_to_json(self, text: str, entries: Entries) -> str:
        if text.strip():
            raise Invalid("it is not a plugin of Gatepost", hint=_HINT)
        settings = next(iter(entries.values()), {}) | {"events": list(entries)}
        return f"{_HEAD}{json.dumps(settings)}\n{_read_code()[0]}"

    def strip_from_json(self, text: str, before: Mapping[str, Any] | None = None) -> str:  # noqa: ARG002
        return "" if self.list_entries(parse(text)) else text
