"""The page about providers is true: its provider is one, its driver drives it."""

import re
from pathlib import Path
from typing import Any

from gatepost.channels.provider import MessageToSend, Provider
from gatepost.testing.channels import ProviderDriver, RemoteChannelDriver, RemoteChannelSuite

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "provider.md").read_text(encoding="utf-8")


def test_what_it_shows_is_so() -> None:
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(code, names)  # noqa: S102 (it is ours)
    assert isinstance(names["Echo"](), Provider)
    driver = names["EchoDriver"]()
    assert isinstance(driver, ProviderDriver)
    assert isinstance(driver, RemoteChannelDriver)
    assert driver.build_trigger().provider == "echo"
    assert issubclass(names["TestEcho"], RemoteChannelSuite)
    assert MessageToSend.__dataclass_fields__.keys() >= {"id", "options", "replaces"}
