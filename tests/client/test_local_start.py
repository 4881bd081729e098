"""What a command imports before it does anything."""

import subprocess
import sys

PROGRAM = """
import sys
import gatepost.client.local_client
print(*sorted({"asyncio", "ssl", "httpx", "anyio", "mcp"} & set(sys.modules)))
"""


def test_a_client_on_the_store_starts_without_an_event_loop() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
