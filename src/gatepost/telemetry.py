"""
What the process says of itself: lines on stderr, for people or for machines. Nobody may log a secret; whatever has one
(headers, bodies, URLs with passwords, keys) is not logged at all.
"""

import logging
import sys
from typing import Literal

import structlog


def configure(form: Literal["console", "json"] | str, *, level: int = logging.INFO) -> None:
    """Write log lines to stderr from now on."""
    rendered: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            rendered,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
