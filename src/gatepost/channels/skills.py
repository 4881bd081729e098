"""Skills: what an agent may do beside what every agent may. Residents keep them; channels ask for them."""

from collections.abc import Sequence
from typing import Final

from gatepost.directory.entity import Entity
from gatepost.reactions import RoomQuestion

#: the skill to make routing rules and triggers
ROUTING: Final = "routing"


class FindSkills(RoomQuestion[Sequence[str]]):
    """Ask residents for the skills of an agent, a guest or a resident."""

    def __init__(self, agent: Entity) -> None:
        self.agent = agent
