"""The routes that are not operations yet."""

from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from gatepost.gateway import health, problems
from gatepost.gateway.describe import describe
from gatepost.gateway.middleware import Bodies, Counted
from gatepost.gateway.office import Office


def create(office: Office) -> FastAPI:
    app = FastAPI(
        title="Gatepost",
        version=office.version,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        generate_unique_id_function=_name_operation,
    )
    app.state.office = office
    problems.install(app)
    app.router.routes.extend(_build_routes())
    app.add_middleware(Bodies, office=office)
    app.add_middleware(Counted, meters=office.meters)
    describe(app)
    return app


def add_paths(document: dict[str, Any], app: FastAPI) -> dict[str, Any]:
    """Add what the old routes are described by."""
    old = app.openapi()
    for path, methods in old["paths"].items():
        for method, operation in methods.items():
            document["paths"].setdefault(path, {}).setdefault(method, operation)
    document["components"]["schemas"] = old["components"]["schemas"] | document["components"]["schemas"]
    return document


@cache
def _build_routes() -> tuple[BaseRoute, ...]:
    app = FastAPI(openapi_url=None, strict_content_type=False, generate_unique_id_function=_name_operation)
    for part in (health,):
        app.include_router(part.router)
    nowhere = {"type": "http", "method": "GET", "path": "/-", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(nowhere)
    return tuple(app.routes)


def _name_operation(route: APIRoute) -> str:
    return f"{route.tags[-1]}_{route.name}"
