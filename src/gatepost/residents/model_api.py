"""The models that residents think with here: where they come from, and what this gateway lacks for them."""

from typing import Annotated

from msgspec import Meta

from gatepost.operations.access import Administrator
from gatepost.operations.fields import describe
from gatepost.operations.operation import Request, View, read

#: the group of these operations in OpenAPI
TAG = "agents"


class ModelProblemView(View):
    """What the model of a resident lacks where the answer comes from: its library or its key."""

    message: Annotated[str, Meta(examples=["OPENAI_API_KEY is not set, so the demo replaces openai:gpt-5"])]
    fix: Annotated[str, Meta(examples=["set OPENAI_API_KEY where the gateway runs, and start it again"])]


class ModelInUseView(View):
    """A model that live residents are configured with."""

    name: Annotated[str, Meta(examples=["openai:gpt-5"])]
    agents: Annotated[list[str], describe("the residents that have it, or have it as their fallback")]
    problem: ModelProblemView | None


class ModelProviderView(View):
    """A provider of models. Its key is never shown, only whether there is one."""

    name: Annotated[str, Meta(examples=["openai"])]
    library_installed: bool
    key_variable: Annotated[str | None, describe("the environment variable with its key; null if it needs none")]
    key_set: Annotated[bool, describe("whether the variable has a key where the answer comes from")]
    base_url: Annotated[str | None, describe("the server, if it is not the usual one of the provider")]
    install: Annotated[str, describe("the command that installs its library")]


class ModelsView(View):
    providers: list[ModelProviderView]
    in_use: list[ModelInUseView]


@read("GET /api/models", access=Administrator())
class ShowModels(Request[ModelsView]):
    """Show the providers of models and the models in use, and what each lacks here: its library, or its key."""
