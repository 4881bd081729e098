"""The SDK of the HCS standards, in a process of its own (`standards.mjs`), as a test calls it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.programs import cache
from tests.support.waits import LAST_RESORT

_SCRIPT: Final = Path(__file__).with_name("standards.mjs")


class SdkError(Exception):
    """What the SDK threw."""


class StandardsSdk:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def call(self, method: str, **params: Any) -> Any:
        """Call a method of the script, and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps({'method': method, 'params': params})}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the SDK has ended; stderr says why"
        answer = json.loads(line)
        if "error" in answer:
            raise SdkError(answer["error"])
        return answer.get("result")


@contextmanager
def open_sdk() -> Iterator[StandardsSdk]:
    node = cache.find_node()
    assert node is not None
    command = [node, _SCRIPT, cache.find_folder(cache.LEDGER)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        try:
            yield StandardsSdk(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(LAST_RESORT) == 0
        finally:
            process.kill()
