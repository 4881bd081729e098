"""Show the settings that this gateway runs with, and those that the settings file has by now."""

import asyncio
from collections.abc import Mapping

from gatepost import settings
from gatepost.errors import GatepostError
from gatepost.gateway.gateway_state import GatewayState
from gatepost.operations.access import Caller
from gatepost.settings import Configuration, Value, list_settings, variable_name, write_line
from gatepost.settings.api import SettingsView, SettingView, ShowSettings


@ShowSettings.gateway_handler
async def show_settings(state: GatewayState, request: ShowSettings, caller: Caller) -> SettingsView:
    configuration = state.configuration
    if configuration is None:  # a program put this gateway together
        return SettingsView(home=None, file=None, problem=None, settings=[])
    file, problem, values = configuration.file, None, configuration.values
    try:
        present = await asyncio.to_thread(settings.load)
        file, values = present.file, present.values
    except GatepostError as error:
        problem = error.message
    return SettingsView(
        home=str(configuration.home),
        file=str(file) if file else None,
        problem=problem,
        settings=_view_settings(configuration, values),
    )


def _view_settings(running: Configuration, present: Mapping[str, Value]) -> list[SettingView]:
    views = []
    for name, field in list_settings():
        value, next_value = running.values[name], present[name]
        default = Value(field.default, "default", value.converter)
        views.append(
            SettingView(
                name=name,
                meaning=field.metadata["meaning"],
                form=value.converter.description,
                value=str(value) or None,
                default=str(default) or None,
                origin=value.origin,
                variable=variable_name(name),
                line=write_line(name, next_value),
                next_value=str(next_value) if next_value.value != value.value else None,
            )
        )
    return views
