"""
The providers of other packages: entry points of the group `gatepost.providers`.

They are loaded when a trigger needs one, because a package may be slow to import. A package that cannot be loaded never
stops the others: its trigger waits, and `gatepost trigger list` and `gatepost doctor` say why.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from gatepost.channels.provider import Provider
from gatepost.channels.triggers.trigger import BUILT_IN_PROVIDERS, TriggerConfig
from gatepost.core import address
from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.inbox.event import OWN_CHANNELS

GROUP: Final = "gatepost.providers"


class LoadedProviders(NamedTuple):
    #: by name
    providers: Mapping[str, Provider]
    #: why one is left out, by name
    problems: Mapping[str, str]


def load_providers() -> LoadedProviders:
    """Load the providers of all installed packages; leave out those that cannot be loaded."""
    from importlib.metadata import entry_points  # slow, and most processes have no use for it

    providers: dict[str, Provider] = {}
    problems: dict[str, str] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        name = entry_point.name
        try:
            _check_provider_name(name)
            provider = entry_point.load()()
            if not isinstance(provider, Provider) or not (provider.receives or provider.sends):
                raise TypeError(f"{entry_point.value!r} makes no provider")
            providers[name] = provider
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (whatever it was, even SystemExit, the others still work)
            problems[name] = f"{entry_point.value} cannot be loaded: {str(error) or type(error).__name__}"
    return LoadedProviders(providers, problems)


def _check_provider_name(name: str) -> None:
    address.check_name(name, "name of a provider")
    if name in (*BUILT_IN_PROVIDERS, *OWN_CHANNELS):
        raise ValueError(f"{name!r} is built in")


def find_problem(name: str, loaded: LoadedProviders) -> str | None:
    """Return why a provider cannot be used; None if it can."""
    if name in BUILT_IN_PROVIDERS or name in loaded.providers:
        return None
    return loaded.problems.get(name, f"no installed package has the provider {name!r}")


def prepare_config(provider: str, config: TriggerConfig) -> TriggerConfig:
    """
    Return the configuration of a trigger that is to be stored, checked by its provider. Raise Invalid if there is no
    such provider, or it refuses the options.
    """
    if provider in BUILT_IN_PROVIDERS:
        if config.options:
            raise Invalid(f"a trigger of {provider!r} has no options", hint="leave `options` out")
        return config
    loaded = load_providers()
    if provider not in loaded.providers:
        names = ", ".join((*BUILT_IN_PROVIDERS, *loaded.providers))
        problem = loaded.problems.get(provider)
        raise Invalid(
            f"provider: {problem}" if problem else f"provider: {quote_value(provider)} is not installed",
            hint=f"use one of {names}, or install the package that has it",
        )
    plugin = loaded.providers[provider]
    try:
        plugin.check_options(config.options)
    except GatepostError as error:
        raise Invalid(f"options: {error.message}", hint=error.hint) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (the code of another package, which may raise SystemExit)
        raise Invalid(f"options: {provider} cannot use them: {str(error) or type(error).__name__}") from None
    return msgspec.structs.replace(config, sends=plugin.sends)
