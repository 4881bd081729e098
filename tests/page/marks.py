"""Which tests of the page run by day: one way through each view. The others run when what they test has changed."""

from typing import Final

import pytest

#: what the page is made from, and how it is looked at
SOURCES: Final = (
    "web/src",
    "web/public",
    "web/index.html",
    "web/package-lock.json",
    "web/tsconfig.json",
    "web/vite.config.ts",
    "clients/typescript/src",
    "tests/page",
)
by_night: Final = pytest.mark.nightly_unless_changed(*SOURCES)
