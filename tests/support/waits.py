"""How long a test waits at most."""

from typing import Final

#: seconds after which something that a test waits for is missing. A wait ends by a signal; only a hang takes as long as
#: this, on a machine that is busy with other work too.
LAST_RESORT: Final = 300.0
