"""
What agents can do, in the codes of HCS-11.

It is apart from the profiles (`ledger/hcs/hcs11_profiles.py`) because configurations of agents have capabilities too,
and commands that read one must start fast.
"""

from enum import IntEnum
from typing import Final

from gatepost.errors import Invalid, quote_value


class Capability(IntEnum):
    """What an agent can do. People write the number, or the word with dashes: `code-generation`."""

    TEXT_GENERATION = 0
    IMAGE_GENERATION = 1
    AUDIO_GENERATION = 2
    VIDEO_GENERATION = 3
    CODE_GENERATION = 4
    LANGUAGE_TRANSLATION = 5
    SUMMARIZATION_EXTRACTION = 6
    KNOWLEDGE_RETRIEVAL = 7
    DATA_INTEGRATION = 8
    MARKET_INTELLIGENCE = 9
    TRANSACTION_ANALYTICS = 10
    SMART_CONTRACT_AUDIT = 11
    GOVERNANCE_FACILITATION = 12
    SECURITY_MONITORING = 13
    COMPLIANCE_ANALYSIS = 14
    FRAUD_DETECTION = 15
    MULTI_AGENT_COORDINATION = 16
    API_INTEGRATION = 17
    WORKFLOW_AUTOMATION = 18

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


_NAMES: Final = [capability.label for capability in Capability]


def parse_capability(value: str | int) -> int:
    """Return the code of a capability: of `4`, `"4"` or `"code-generation"`."""
    word = value.strip().lower().replace("_", "-").replace(" ", "-") if isinstance(value, str) else ""
    number = None if isinstance(value, str | bool) else value
    for code, name in enumerate(_NAMES):
        if number == code or word in (name, str(code)):
            return code
    from difflib import get_close_matches  # commands must start fast

    close_names = get_close_matches(word[:100], _NAMES, n=1, cutoff=0.5)
    hint = f"use a code from 0 to {max(Capability)}, or a name such as {Capability.CODE_GENERATION.label}"
    raise Invalid(
        f"{quote_value(value)} is not a capability", hint=f"did you mean {close_names[0]!r}?" if close_names else hint
    )
