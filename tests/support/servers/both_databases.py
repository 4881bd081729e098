"""On which databases a test runs by day."""

from typing import Final

import pytest

#: For a test in a module that says `POSTGRES_BY_NIGHT`, about what the databases do in different ways, such as writing
#: at the same moment: it runs on both by day too. Its name has no `postgres`, by which the others are told.
_BOTH: Final = ["sqlite", pytest.param("postgres", id="PostgreSQL")]
URL_OF_BOTH: Final = pytest.mark.parametrize("url", _BOTH, indirect=True)
KIT_OF_BOTH: Final = pytest.mark.parametrize("kit", _BOTH, indirect=True)
