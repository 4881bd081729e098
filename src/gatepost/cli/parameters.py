"""
The parameters of a command: how they are declared, and how they become values of a function or fields of a request.

`argument`, `option`, `flag` and `number` declare a parameter. A function has them in its annotations; a request needs
them only where its fields do not say enough:

    required field         an argument           NAME
    bool                   a switch              --free-text
    tuple                  a repeatable option   --member NAME --member NAME
    the one who acts       --as NAME
    any other field        an option of its name

The help is the description of the field, unless the declaration has a better one for the command line.
What is typed for a request is parsed by the type of its field and checked as a query of HTTP is, with the same
sentences.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter as PythonParameter, signature
from typing import Annotated, Any, Final, get_args, get_origin

import click
import msgspec
from msgspec import inspect

from gatepost.cli import inputs
from gatepost.core.times import Duration, parse_duration
from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.operations.access import ActAs
from gatepost.operations.decoding import find_description, get_decoder, list_kinds
from gatepost.operations.operation import Request
from gatepost.operations.validation import relabel

Parse = Callable[[str], Any]

#: values of an enumeration stand in the help of a longer list
_MAX_METAVAR_LENGTH: Final = 20
_LIST_TYPES: Final = (inspect.ListType, inspect.VarTupleType)


class ParameterSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a command: `--flag METAVAR`, or an argument if it has no flag."""

    flag: str | None
    metavar: str
    #: without one, that of the field
    help: str
    short: str | None = None
    is_switch: bool = False
    #: the values of a field for a switch that is given, and for one that is not
    switch_values: tuple[bool | None, bool | None] = (True, None)
    #: returns the value of a text, or raises Invalid
    parse: Parse | None = None
    #: what completion offers; an option without `parse` takes nothing else
    choices: Sequence[str] = ()
    #: the value of a required field that is not typed
    default: str | None = None
    #: if set, the current agent is the value that is not typed, and this is the error if there is none
    no_agent: str | None = None

    @property
    def reads_stdin(self) -> bool:
        return self.parse in inputs.STDIN_READERS

    @property
    def label(self) -> str:
        """How errors name it."""
        return self.flag or self.metavar.partition("|")[0]

    @property
    def usage(self) -> str:
        """How hints name it: with a value."""
        return f"{self.flag} {self.metavar}" if self.flag and self.metavar else self.label

    def build(
        self, name: str, *, required: bool = False, multiple: bool = False, default: Any = None
    ) -> click.Parameter:
        """Return the parameter for click; `name` is what the function or the request calls it."""
        first_word = self.help.partition(" ")[0]
        begins_with_value = not first_word.rstrip(";").isalpha()  # `openai:NAME, ...` must be typed as it is written
        help_text = f"{self.help if begins_with_value else self.help[:1].upper() + self.help[1:]}".rstrip(".") + "."
        if self.default is not None or self.no_agent is not None:
            required, default = False, self.default or None
        options: dict[str, Any] = {"required": required, "type": SpecType(self), "help": help_text}
        if not required:
            options["default"] = default  # a required parameter must have none, not even None
        if self.flag is None:
            return click.Argument([name], metavar=self.metavar if required else f"[{self.metavar}]", **options)
        names = [self.flag, *([self.short] if self.short else []), name]
        if self.is_switch:
            return click.Option(names, is_flag=True, default=False, help=help_text)
        return click.Option(
            names,
            multiple=multiple,
            metavar=self.metavar,
            **options,
            show_default=default not in (None, "") and not multiple,
        )


def argument(metavar: str, help: str = "", *, parse: Parse | None = None) -> ParameterSpec:
    return ParameterSpec(flag=None, metavar=metavar, help=help, parse=parse)


def option(
    flag: str,
    metavar: str,
    help: str = "",
    *,
    short: str | None = None,
    parse: Parse | None = None,
    choices: Sequence[str] = (),
    default: str | None = None,
) -> ParameterSpec:
    """Declare an option with one value, or with several where its type is a list. Only a TEXT may be empty."""
    return ParameterSpec(
        flag=flag, metavar=metavar, help=help, short=short, parse=parse, choices=choices, default=default
    )


def current_agent(flag: str, help: str, *, no_agent: str) -> ParameterSpec:
    """Declare an option of a request whose default is the current agent; `no_agent` is the error if there is none."""
    return ParameterSpec(flag=flag, metavar="NAME", help=help, no_agent=no_agent)


def flag(name: str, help: str = "", *, on: bool | None = True, off: bool | None = None) -> ParameterSpec:
    """Declare a switch. A field of a request gets the value `on` or `off`; None stands for its default."""
    return ParameterSpec(flag=name, metavar="", help=help, is_switch=True, switch_values=(on, off))


def number(flag: str, help: str, *, minimum: int = 1, maximum: int = 10_000, short: str | None = None) -> ParameterSpec:
    """Declare an option whose value is a whole number."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or not minimum <= int(text) <= maximum:
            raise Invalid(f"{quote_value(text)} is not a number from {minimum} to {maximum}")
        return int(text)

    return option(flag, "N", help, short=short, parse=parse)


JsonFlag = Annotated[bool, flag("--json", "print JSON")]
NoOpenFlag = Annotated[bool, flag("--no-open", "do not open the page in a browser")]
Timeout = Annotated[
    Duration | None,
    option("--for", "10m", "how long to wait at most; by default until the end", parse=parse_duration),
]
AS: Final = option("--as", "NAME", "who acts; by default the current agent, else the administrator")


class SpecType(click.ParamType[Any]):
    """The value of a parameter. Errors are our own, so that every door has the same sentences."""

    name = "text"

    def __init__(self, spec: ParameterSpec) -> None:
        self.spec = spec

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        if not isinstance(value, str) or (ctx is not None and ctx.resilient_parsing):
            return value  # a default, or a line that is being completed
        spec = self.spec
        if spec.flag is not None and not value.strip() and not spec.metavar.startswith("TEXT"):
            # An unset variable of a script must not pass for an option that is left out.
            removal = f"--no-{spec.flag.removeprefix('--')}"
            can_remove = ctx is not None and any(removal in parameter.opts for parameter in ctx.command.params)
            hint = f"{removal} empties it" if can_remove else "leave it out, or give it a value"
            raise Invalid(f"{spec.flag} is empty", hint=hint)
        parse = spec.parse or (partial(check_choice, spec.choices) if spec.flag is not None and spec.choices else None)
        if parse is None:
            return value
        try:
            return parse(value)
        except GatepostError as error:
            if spec.flag is not None:
                error.message = f"{spec.flag}: {error.message}"
            raise

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002
        from click.shell_completion import CompletionItem

        return [CompletionItem(choice) for choice in self.spec.choices if choice.startswith(incomplete)]


def check_choice(choices: Sequence[str], value: str) -> str:
    """Return the value if it is one of those that an option may have."""
    if value in choices:
        return value
    from difflib import get_close_matches  # few commands need it, and all must start fast

    by_word = {choice.lower(): str(choice) for choice in choices}
    close = get_close_matches(value.lower(), by_word, 1)
    raise Invalid(
        f"{quote_value(value)} is not one of {', '.join(choices)}",
        hint=f"did you mean {by_word[close[0]]!r}?" if close else None,
    )


def list_function_parameters(function: Callable[..., Any]) -> Iterator[click.Parameter]:
    """Return the parameters of a function that are annotated with their specs."""
    for name, parameter in signature(function).parameters.items():
        if get_origin(parameter.annotation) is not Annotated:
            continue
        kind, spec = get_args(parameter.annotation)
        is_required = parameter.default is PythonParameter.empty
        is_list = any(getattr(inner, "__origin__", None) is list for inner in (kind, *get_args(kind)))
        yield spec.build(
            name, required=is_required, multiple=is_list, default=None if is_required else parameter.default
        )


class RequestParameters:
    """The parameters of a request. `fields` says how some of its fields are typed, or what value they have."""

    def __init__(self, request: type[Request[Any]], fields: Mapping[str, Any]) -> None:
        if unknown := fields.keys() - set(request.__struct_fields__):
            raise TypeError(f"{request.__name__} has no field {min(unknown)!r}")
        access = request.operation.access
        #: the field that says who acts, if the administrator does by default
        self.actor_field = access.fields[0] if isinstance(access, ActAs) and access.default is not None else None
        if self.actor_field is not None:
            fields = {**fields, self.actor_field: fields.get(self.actor_field, AS)}
        self._request = request
        self._values = {name: value for name, value in fields.items() if not isinstance(value, ParameterSpec)}
        own_fields = msgspec.structs.fields(request)
        self._fields = {field.name: field for field in own_fields if field.name not in self._values}
        self.specs = {name: _complete_spec(fields.get(name), field) for name, field in self._fields.items()}
        #: the order of the arguments is that in which they are declared
        self._order = [*fields, *self._fields]

    def list_parameters(self) -> Iterator[click.Parameter]:
        """Return the arguments, as they are declared, and the options, in the order of the fields; --as is last."""
        arguments = [self._fields[name] for name, spec in self.specs.items() if spec.flag is None]
        options = [self._fields[name] for name, spec in self.specs.items() if spec.flag is not None]
        arguments.sort(key=lambda field: self._order.index(field.name))
        options.sort(key=lambda field: field.name == self.actor_field)
        for field in (*arguments, *options):
            is_list = any(isinstance(kind, _LIST_TYPES) for kind in list_kinds(field.type))
            default = getattr(field.default, "value", field.default)
            is_shown = isinstance(default, str | int) and default != ""
            yield self.specs[field.name].build(
                field.name,
                required=field.required,
                multiple=is_list,
                default=default if is_shown and not is_list else None,
            )

    def build_request(self, values: Mapping[str, Any]) -> Request[Any]:
        """Return the request of what was typed; raise Invalid, which names the parameter, if something is wrong."""
        fields = {name: value for name, value in self._values.items() if value is not None}
        for name, value in values.items():
            spec = self.specs[name]
            field_value = spec.switch_values[not value] if spec.is_switch else value
            field_value = spec.default if field_value is None else field_value
            if field_value not in (None, ()):
                fields[name] = field_value
        labels = {name: spec.label for name, spec in self.specs.items()}
        return get_decoder(self._request.operation).decode_text(fields, labels)

    def relabel(self, error: GatepostError) -> None:
        """Name the parameters in an error that names the fields of the request."""
        names = {field.name: field.encode_name for field in self._fields.values()}
        labels = {names[name]: spec.label for name, spec in self.specs.items()}
        relabel(error, labels, {names[name]: spec.usage for name, spec in self.specs.items()})


def _complete_spec(spec: ParameterSpec | None, field: Any) -> ParameterSpec:
    """Return the spec of a field. What is not declared is taken from the field."""
    if spec is not None and spec.help:
        return spec
    kinds = list_kinds(field.type)
    name = field.name.replace("_", "-")
    choices = [value.value for kind in kinds if isinstance(kind, inspect.EnumType) for value in kind.cls]
    metavar = "N" if any(isinstance(kind, inspect.IntType) for kind in kinds) else name.rpartition("-")[2].upper()
    help_text = find_description(field.type) or f"its {name}"
    if choices and len("|".join(choices)) <= _MAX_METAVAR_LENGTH:
        metavar = "|".join(choices)
    elif choices:
        help_text = f"{help_text}: {', '.join(choices)}"
    if spec is not None:
        return msgspec.structs.replace(spec, help=help_text, choices=spec.choices or choices)
    if field.required:
        return ParameterSpec(flag=None, metavar=name.upper(), help=help_text, choices=choices)
    if any(isinstance(kind, inspect.BoolType) for kind in kinds):
        return flag(f"--{name}", help_text)
    return option(f"--{name}", metavar, help_text, choices=choices)
