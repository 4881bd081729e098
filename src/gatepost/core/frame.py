"""A frame of a live stream: something that is shown while it happens, and not stored."""

from msgspec import Struct

from gatepost.core.event import Json
from gatepost.core.signals import Signal


class Frame(Struct, frozen=True):
    #: whose readers it is for: `space:ID`, `inbox:NAME` or `run:ID`
    topic: str
    #: the name of the event as readers see it, such as `agent.active`
    event: str
    data: Json


#: what a transport carries to other processes
TransportMessage = Signal | Frame
