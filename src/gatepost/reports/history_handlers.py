"""The history of a store."""

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration
from gatepost.operations.access import Caller
from gatepost.reports import history_rows as history
from gatepost.reports.history_api import HistoryView, ShowHistory


@ShowHistory.handler
def show_history(tx: Reader, request: ShowHistory, caller: Caller) -> HistoryView:
    return HistoryView.of(history.measure(tx, parse_field("within", request.within, parse_duration)))
