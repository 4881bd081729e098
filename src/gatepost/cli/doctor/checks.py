"""
The checks of `gatepost doctor`, in the order of their lines.

A check is a function `check_NAME` that yields its findings, and none if it has nothing to say about this home. An error
that it raises is a finding too, so no check keeps another from being made. A check of the home gets the settings; a
check of the store also gets the store, and is left out if there is none or if it cannot be opened.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from gatepost import app, settings
from gatepost.cli.doctor import home_checks as home, reach_checks as reach, store_checks as contents
from gatepost.cli.doctor.finding import Finding
from gatepost.core.ports import Store
from gatepost.errors import GatepostError, NoStore
from gatepost.settings import Configuration

HOME_CHECKS: Final[tuple[Callable[[Configuration], Iterator[Finding]], ...]] = (
    home.check_home,
    home.check_settings,
    home.check_key,
    home.check_secrets,
    home.check_gateway,
    home.check_transport,
    home.check_ledger,
    home.check_speech,
    home.check_hooks,
)
STORE_CHECKS: Final[tuple[Callable[[Configuration, Store], Iterator[Finding]], ...]] = (
    contents.check_schema,
    contents.check_disk,
    contents.check_room,
    contents.check_integrity,
    contents.check_accounts,
    contents.check_orphans,
    contents.check_clock,
    reach.check_notify,
    reach.check_triggers,
    reach.check_voice,
    reach.check_routes,
    reach.check_providers,
    reach.check_models,
)


def run_checks() -> Iterator[Finding]:
    """Yield the findings of all checks that can be made."""
    try:
        configuration = settings.load()
    except GatepostError as error:
        yield Finding.of_error("settings", error)
        return
    for check in HOME_CHECKS:
        yield from _run_check(check, configuration)
    url = settings.mask_passwords(configuration.settings.store.url)
    try:
        with app.prepare_store(configuration, can_create=False) as store:
            yield Finding("store", True, url)
            for store_check in STORE_CHECKS:
                yield from _run_check(store_check, configuration, store)
    except NoStore:
        yield home.describe_missing_store(configuration)
    except GatepostError as error:
        yield Finding.of_error("store", error)


def _run_check(check: Callable[..., Iterator[Finding]], *subjects: Any) -> Iterator[Finding]:
    try:
        yield from check(*subjects)
    except GatepostError as error:
        yield Finding.of_error(check.__name__.removeprefix("check_"), error)
