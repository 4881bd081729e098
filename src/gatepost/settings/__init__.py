"""
Settings: where things are kept, what can be set, and where each value came from.

    forms      how a value is written: a duration, a size, a store
    declared   what can be set: add a field there, and nothing else
    loading    the home, the settings file, the environment
"""

from gatepost.paths import HOME_FOLDER as HOME
from gatepost.settings.declared import Settings, declared, variable
from gatepost.settings.forms import masked
from gatepost.settings.loading import FILE, Configuration, Value, anchored, find_file, find_home, load

__all__ = [
    "FILE",
    "HOME",
    "Configuration",
    "Settings",
    "Value",
    "anchored",
    "declared",
    "find_file",
    "find_home",
    "load",
    "masked",
    "variable",
]
