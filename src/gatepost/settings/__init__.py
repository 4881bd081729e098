"""
Settings: where the home is, what can be set, and where each value came from.

    fields_and_defaults   what can be set: add a field there, and nothing else
    converters            how each kind of value is written
    loading               the home, the settings file, the environment

It imports no room after `api`; the rules of a room's own settings are imported late, so that commands start fast.
"""

from gatepost.paths import HOME_FOLDER as HOME
from gatepost.settings.converters import Converter, mask_passwords
from gatepost.settings.fields_and_defaults import Settings, check_ledger, list_settings, variable_name
from gatepost.settings.loading import (
    FILE,
    Configuration,
    Value,
    find_file,
    find_home,
    find_near_misses,
    load,
    resolve_variables,
    write_line,
    write_value,
)

__all__ = [
    "FILE",
    "HOME",
    "Configuration",
    "Converter",
    "Settings",
    "Value",
    "check_ledger",
    "find_file",
    "find_home",
    "find_near_misses",
    "list_settings",
    "load",
    "mask_passwords",
    "resolve_variables",
    "variable_name",
    "write_line",
    "write_value",
]
