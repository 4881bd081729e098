"""
Build the page before hatchling packs it, so that no wheel and no source distribution is without it.

An editable install needs no page: `make up` builds it when it is first served.
"""

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the signature of hatchling
        if version == "editable":
            return
        command = [sys.executable, "-m", "tools.page", "--present-node"]
        if subprocess.run(command, cwd=self.root, check=False).returncode:
            self.app.abort("a distribution of Gatepost contains its page: run `make page`, then build it again")
