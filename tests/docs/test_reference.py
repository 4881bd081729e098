"""What the reference shows is so."""

import json
import re
from pathlib import Path

from gatepost.core import agent_config

PAGE = Path(__file__).parents[2] / "docs/reference/agent-config.md"


def test_the_configuration_it_shows_is_one_and_has_every_field() -> None:
    [shown] = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    document = json.loads(shown)
    read = agent_config.build_document(agent_config.parse(document))
    assert document.keys() == read.keys()
    assert document["model"] == read["model"]
    assert document["tools"][0] == read["tools"][0]
    assert (document["mind"], document["loop"]) == (read["mind"], read["loop"])
