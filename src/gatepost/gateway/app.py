"""Puts the gateway together: routes, problems, limits, OpenAPI."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from gatepost.gateway import (
    agents,
    combined,
    decisions,
    entities,
    gates,
    health,
    hot,
    inbox,
    keys,
    plans,
    problems,
    runs,
    sessions,
    spaces,
    triggers,
)
from gatepost.gateway.describe import describe
from gatepost.gateway.middleware import Bodies, Counted
from gatepost.gateway.office import Office
from gatepost.runtime.live import GateFrames

_ABOUT = """
One durable inbox for every AI agent and every person who works with agents.

Send `x-secret-key`, or `x-public-key` with a bearer token. Errors are problems (RFC 9457) with a stable `type`. Lists
are `{items, next}` and go on with `after`. Writes take an `Idempotency-Key`.
"""


def create(office: Office) -> FastAPI:
    """Make the web application of an office whose store and signals are open."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        exchange, herald = office.exchange, GateFrames(office.store, office.hub)
        with exchange.subscribe(office.hub.on_signal), exchange.subscribe(office.doorkeeper.heard):
            async with herald.run():
                with exchange.subscribe(herald.on_signal):
                    yield
        await office.hub.close()

    app = FastAPI(
        title="Gatepost",
        version=office.version,
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url="/api/docs",
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        generate_unique_id_function=_name_operation,
        lifespan=lifespan,
    )
    app.state.office = office
    problems.install(app)
    app.router.routes.extend(_build_routes())
    app.add_middleware(Bodies, office=office)
    app.add_middleware(Counted, meters=office.meters)
    describe(app)
    return app


@cache
def _build_routes() -> tuple[BaseRoute, ...]:
    """
    Return the routes, ready to be used: FastAPI would finish them while the first caller, and everybody else, waits.
    They know nothing of an application, so that all applications of a process share them.
    """
    app = FastAPI(openapi_url=None, strict_content_type=False, generate_unique_id_function=_name_operation)
    hot.install(app)
    parts = (entities, agents, runs, inbox, spaces, plans, gates, decisions, triggers, sessions, keys, combined, health)
    for part in parts:
        app.include_router(part.router)
    triggers.install(app)
    nowhere = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(nowhere)
    return tuple(app.routes)


def _name_operation(route: APIRoute) -> str:
    return f"{route.tags[-1]}_{route.name}"
