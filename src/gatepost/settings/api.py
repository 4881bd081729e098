"""The settings that a gateway runs with. They are set where it is started; nothing here changes them."""

from typing import Annotated

from msgspec import Meta

from gatepost.operations.access import Administrator
from gatepost.operations.fields import describe
from gatepost.operations.operation import Request, View, read

#: the group of these operations in OpenAPI
TAG = "settings"


class SettingView(View, kw_only=True):
    name: Annotated[str, Meta(examples=["inbox.remember"])]
    meaning: str
    form: Annotated[str, describe("what a value looks like")]
    value: Annotated[str | None, describe("its value, without passwords and secrets; null if it has none")]
    default: str | None
    origin: Annotated[str, describe("where the value is from: `default`, the settings file, or a variable")]
    variable: Annotated[str, describe("the environment variable that sets it, and is stronger than the file")]
    line: Annotated[str, describe("how the settings file sets it")]
    next_value: Annotated[
        str | None, describe("the value that it has when the gateway starts again, if that is another one")
    ]


class SettingsView(View, kw_only=True):
    home: Annotated[str | None, describe("the folder of the gateway")]
    file: Annotated[str | None, describe("the settings file; null if there is none")]
    problem: Annotated[str | None, describe("why the settings file cannot be read now")]
    settings: list[SettingView]


@read("GET /api/settings", access=Administrator(), needs_gateway=True)
class ShowSettings(Request[SettingsView]):
    """Show every setting of the gateway, its value, and where the value is from. Passwords are masked."""
