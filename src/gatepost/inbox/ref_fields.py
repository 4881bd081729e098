"""References to things, in requests and answers."""

from gatepost.inbox.event import Ref
from gatepost.operations.fields import RecordView
from gatepost.operations.operation import RequestPart


class RefSpec(RequestPart):
    """A subject in another system."""

    type: str
    id: str


class RefView(RecordView[Ref]):
    """A subject in another system."""

    type: str
    id: str
