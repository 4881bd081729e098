"""Routes are found by their segments, and by the method among those that fit."""

import pytest

from gatepost.errors import NotFound
from gatepost.gateway.web_app import Router
from gatepost.operations.problems import MethodNotAllowed


@pytest.fixture
def router() -> Router[str]:
    router: Router[str] = Router()
    for route in (
        "GET /api/inbox",
        "POST /api/inbox",
        "POST /api/inbox/batch",
        "GET /api/inbox/{name}",
        "POST /api/inbox/{name}/drain",
        "GET /api/inbox/batch/all",
        "DELETE /api/spaces/{id}/members/{name}",
    ):
        method, path = route.split(" ")
        router.add(method, path, route)
    return router


@pytest.mark.parametrize(
    ("method", "path", "route", "parameters"),
    [
        ("GET", "/api/inbox", "GET /api/inbox", {}),
        ("POST", "/api/inbox", "POST /api/inbox", {}),
        ("POST", "/api/inbox/batch", "POST /api/inbox/batch", {}),
        ("GET", "/api/inbox/batch", "GET /api/inbox/{name}", {"name": "batch"}),
        ("POST", "/api/inbox/batch/drain", "POST /api/inbox/{name}/drain", {"name": "batch"}),
        ("GET", "/api/inbox/batch/all", "GET /api/inbox/batch/all", {}),
        ("GET", "/api/inbox/{name}", "GET /api/inbox/{name}", {"name": "{name}"}),
        ("GET", "/api/inbox/a%2Fdrain", "GET /api/inbox/{name}", {"name": "a/drain"}),
        ("GET", "/%61pi/inbox/b%C3%BC", "GET /api/inbox/{name}", {"name": "b\u00fc"}),
        (
            "DELETE",
            "/api/spaces/q4/members/ann",
            "DELETE /api/spaces/{id}/members/{name}",
            {"id": "q4", "name": "ann"},
        ),
    ],
)
def test_a_route_is_found(router: Router[str], method: str, path: str, route: str, parameters: dict[str, str]) -> None:
    assert router.find(method, path) == (route, parameters)


@pytest.mark.parametrize(
    "path", ["", "/", "/api", "/api/", "/api/inbox/", "//api/inbox", "/api/inbox//drain", "/api/inbox/a/b", "api/inbox"]
)
def test_another_path_is_not_found(router: Router[str], path: str) -> None:
    with pytest.raises(NotFound):
        router.find("GET", path)


def test_another_method_is_not_allowed(router: Router[str]) -> None:
    with pytest.raises(MethodNotAllowed) as error:
        router.find("PUT", "/api/inbox/batch")
    assert error.value.allowed == ["GET", "POST"]
