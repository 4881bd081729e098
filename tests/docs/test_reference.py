"""What the reference shows is so."""

import json
import re
from pathlib import Path

from gatepost.residents import agent_config_json as agent_config

PAGE = Path(__file__).parents[2] / "docs/reference/agent-config.md"


def test_the_configuration_it_shows_is_one_and_has_every_field() -> None:
    [example] = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    document = json.loads(example)
    parsed_document = agent_config.build_document(agent_config.parse(document))
    assert document.keys() == parsed_document.keys()
    assert document["model"] == parsed_document["model"]
    assert document["tools"][0] == parsed_document["tools"][0]
    assert (document["mind"], document["loop"]) == (parsed_document["mind"], parsed_document["loop"])
