"""The history of a store."""

from gatepost.actions import history
from gatepost.api.access import Caller
from gatepost.api.history import HistoryView, ShowHistory
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration
from gatepost.ports import Reader


@ShowHistory.handler
def show_history(tx: Reader, request: ShowHistory, caller: Caller) -> HistoryView:
    return HistoryView.of(history.show(tx, parse_field("within", request.within, parse_duration)))
