"""The settings of a gateway, as it shows them: what it runs with, where that is from, and what its file has by now."""

from dataclasses import replace
from pathlib import Path

import pytest

from gatepost import settings
from gatepost.gateway.settings_view import show_settings
from gatepost.operations.access import Caller, CallerKind
from gatepost.settings.api import SettingsView, SettingView, ShowSettings
from tests.support.gateways.local_gateways import open_gateway

ADMIN = Caller(CallerKind.ADMINISTRATOR)


async def show_after(
    home: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, **variables: str
) -> SettingsView:
    """Start with one settings file, and look when it has another content."""
    monkeypatch.setenv("GATEPOST_HOME", str(home))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (home / "gatepost.toml").write_text(before)
    configuration = settings.load()
    async with open_gateway(f"sqlite:///{home}/gatepost.db") as gateway:
        (home / "gatepost.toml").write_text(after)
        answer = await show_settings(replace(gateway.app_state, configuration=configuration), ShowSettings(), ADMIN)
    assert isinstance(answer, SettingsView)
    return answer


def find_setting(view: SettingsView, name: str) -> SettingView:
    return next(setting for setting in view.settings if setting.name == name)


async def test_a_setting_says_where_its_value_is_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[inbox]\nremember = "2d"\n'
    view = await show_after(tmp_path, monkeypatch, text, text, GATEPOST_LIMITS__HOPS="9")
    assert (view.home, view.file, view.problem) == (str(tmp_path), str(tmp_path / "gatepost.toml"), None)
    remember = find_setting(view, "inbox.remember")
    assert (remember.value, remember.default, remember.origin) == ("2d", "1d", view.file)
    assert (remember.variable, remember.line) == ("GATEPOST_INBOX__REMEMBER", '[inbox]\nremember = "2d"')
    hops = find_setting(view, "limits.hops")
    assert (hops.value, hops.origin, hops.line) == ("9", "GATEPOST_LIMITS__HOPS", "[limits]\nhops = 9")
    assert [setting.name for setting in view.settings if setting.next_value is not None] == []


async def test_a_change_of_the_file_counts_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = await show_after(tmp_path, monkeypatch, "", '[inbox]\nremember = "3d"\n')
    remember = find_setting(view, "inbox.remember")
    assert (remember.value, remember.next_value) == ("1d", "3d")


async def test_a_file_that_cannot_be_read_leaves_the_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = await show_after(tmp_path, monkeypatch, "", "[inbox\n")
    assert view.problem is not None
    assert "is not TOML" in view.problem
    assert find_setting(view, "inbox.remember").next_value is None


async def test_no_secret_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "s3cret-" * 6
    text = f'transport = "redis://u:{secret}@127.0.0.1"\n[auth]\njwt_secret = "{secret}"\n'
    view = await show_after(tmp_path, monkeypatch, text, text)
    assert secret not in repr(view.settings)
    assert find_setting(view, "auth.jwt_secret").value == "***"
    assert find_setting(view, "transport").line == 'transport = "..."'
