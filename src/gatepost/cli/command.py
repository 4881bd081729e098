"""
How a command is declared, and how it runs: arguments -> request -> client -> output.

A noun (`gatepost key`) has verbs. Most of them send one request, whose fields are their parameters (`parameters.py`):

    keys = Noun("key", "Create, list and revoke keys.")

    @keys.send("revoke", RevokeKey, id=argument("KEY", "its id or its prefix"))
    def revoke(key: KeyView) -> Outcome:
        "Revoke a key for good."
        return Outcome(key.prefix, "revoked")

    @keys.list("list", ListKeys, columns=("PREFIX", "NAME"), empty="no keys yet")
    def list_keys(key: KeyView) -> TableRow: ...

    @keys.show("show", ShowKey)
    def show(key: KeyView) -> Facts: ...

The docstring is the help, with its examples; the function has the name of its verb, and says what the answer looks
like. A keyword changes how a field is typed (`argument`, `option`, `flag`), or gives it a value that is not typed:
`active=True`, or None for its default. What is wrong with the parameters is reported before anything is opened.

A verb that does more is a function of its own, whose parameters have their specs in their annotations:
`@keys.command("wait")`, or with a request that was typed as above `@decisions.request("ask", AskDecision)`. A verb is
built when it is run, and when help or completion lists it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

import click
import msgspec
from click.core import ParameterSource
from click.exceptions import Exit

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.parameters import JsonFlag, RequestParameters, SpecType, list_function_parameters, number
from gatepost.errors import GatepostError, Invalid
from gatepost.operations.operation import Page, Request
from gatepost.settings import Configuration

if TYPE_CHECKING:
    from gatepost.cli.gateway_or_store import CommandConnection

F = TypeVar("F", bound=Callable[..., Any])
TableRow = Sequence[str]
Facts = Iterable[tuple[str, object]]
Fetch = Callable[["CommandConnection", Any], Any]

_MAX_LIMIT: Final = 100_000
#: ends each help that speaks of the current agent
_CURRENT_AGENT: Final = (
    "The current agent is that of the guest session in which the command runs, else the value of GATEPOST_AGENT, or of"
    " `agent` in gatepost.toml."
)
#: what asks for the help of a command
HELP_NAMES: Final = ("-h", "--help")
LimitOption = Annotated[int, number("--limit", "how many at most", maximum=_MAX_LIMIT, short="-n")]


class Outcome(NamedTuple):
    """What a command prints after it has done something: a line of data on stdout, and perhaps a message on stderr."""

    line: str
    message: str = ""
    #: what `--json` prints, if it is not the answer
    document: Any = None


class HelpFirst(click.Command):
    """A command whose help is printed whenever it is asked for, also beside words that are wrong."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        # A command keeps the option for its help, with the names that its first context had.
        return super().make_context(info_name, args, parent, **{"help_option_names": list(HELP_NAMES)} | extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)  # parsing empties the list
        try:
            return self.parse_words(ctx, args)
        except (click.UsageError, Invalid):
            own_words = words[: words.index("--")] if "--" in words else words
            if ctx.resilient_parsing or not set(ctx.help_option_names).intersection(own_words):
                raise
            output.line_out(ctx.get_help())
            raise Exit(0) from None

    def parse_words(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args)


class VerbCommand(HelpFirst):
    """A command. Its help is a docstring: examples, and whatever else is indented there, stay as they are."""

    def __init__(self, name: str, docstring: str | None, **options: Any) -> None:
        text = _format_help(docstring)
        super().__init__(name, help=text, **options)
        texts = [text, *(getattr(parameter, "help", None) or "" for parameter in self.params)]
        if any("current agent" in help_text for help_text in texts):
            self.epilog = _CURRENT_AGENT

    def parse_words(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # a line that is being completed may be unfinished
            if not "".join(args).isascii():
                from gatepost.cli.usage_errors import check_dashes  # most command lines have none

                check_dashes(args, [name for parameter in self.get_params(ctx) for name in parameter.opts])
            self._check_values(*self.make_parser(ctx).parse_args(list(args)))
        return super().parse_words(ctx, args)

    def _check_values(self, values: Mapping[str, Any], _: Any, order: Sequence[click.Parameter]) -> None:
        """Refuse an option with one value that is given two, the first of which would be lost; and stdin for two."""
        single = [word for word in order if isinstance(word, click.Option) and not (word.multiple or word.is_flag)]
        for option in single:
            if single.count(option) > 1:
                raise Invalid(f"{option.opts[0]} is given {single.count(option)} times", hint="give it once")
        readers = [
            word
            for word in self.params
            if isinstance(word.type, SpecType) and word.type.spec.reads_stdin and values.get(word.name) == "-"
        ]
        if len(readers) > 1:
            raise Invalid("stdin can be read only once", hint="read one of the values from a file: @FILE")


def _format_help(docstring: str | None) -> str:
    return re.sub(r"\n\n(?=\S.*\n )", "\n\n\b\n", cleandoc(docstring or ""))


def build_verb(name: str, function: Callable[..., None], short_help: str | None = None) -> VerbCommand:
    """Return the command of a function, whose parameters have their specs in their annotations."""
    parameters = list(list_function_parameters(function))
    return VerbCommand(name, function.__doc__, short_help=short_help, callback=function, params=parameters)


def build_request_verb(
    name: str,
    request: type[Request[Any]],
    fields: Mapping[str, Any],
    function: Callable[..., None],
    short_help: str | None = None,
) -> VerbCommand:
    """Return the command of a function that gets a request, the settings, and parameters of its own."""
    parameters = RequestParameters(request, fields)
    own_parameters = list(list_function_parameters(function))

    def run(**values: Any) -> None:
        own_values = {parameter.name: values.pop(parameter.name) for parameter in own_parameters}
        configuration = settings.load()
        request = _build_request(parameters, values, configuration)
        try:
            function(request, configuration, **own_values)
        except GatepostError as error:
            parameters.relabel(error)
            raise

    run.__name__ = function.__name__
    return VerbCommand(
        name,
        function.__doc__,
        short_help=short_help,
        callback=run,
        params=[*parameters.list_parameters(), *own_parameters],
    )


class Noun(HelpFirst, click.Group):
    """What verbs are about: `inbox` in `gatepost inbox push`."""

    def __init__(self, name: str, help: str) -> None:
        super().__init__(name, help=help, no_args_is_help=True)
        self._builders: dict[str, Callable[[], click.Command]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._builders)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.commands and cmd_name in self._builders:
            self.commands[cmd_name] = self._builders[cmd_name]()
        return self.commands.get(cmd_name)

    def command(self, name: str) -> Callable[[F], F]:  # type: ignore[override]
        """Declare a verb whose parameters are those of the function."""

        def register(function: F) -> F:
            self._builders[name] = partial(build_verb, name, function)
            return function

        return register

    def import_verbs(self, module: str, *names: str) -> None:
        """Declare verbs of this noun that another module declares, which is imported when one of them is used."""

        def build(name: str) -> click.Command:
            import_module(module)  # adds the command, or puts its own builder in the place of this one
            return self.commands.get(name) or self._builders[name]()

        for name in names:
            self._builders[name] = partial(build, name)

    def without_verb(self, function: F) -> F:
        """Declare what the noun does without a verb: its parameters and its help are those of the function."""

        def run(**values: Any) -> None:
            context = click.get_current_context()
            if context.invoked_subcommand is None:
                function(**values)
                return
            for parameter in self.params:
                if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
                    verb = f"{context.command_path} {context.invoked_subcommand}"
                    raise Invalid(f"{parameter.opts[0]} is before the verb", hint=f"write it after `{verb}`")

        self.callback, self.short_help, self.help = run, self.help, _format_help(function.__doc__)
        self.params.extend(list_function_parameters(function))
        self.no_args_is_help, self.invoke_without_command = False, True
        return function

    def request(self, name: str, request: type[Request[Any]], /, **fields: Any) -> Callable[[F], F]:
        """Declare a verb whose function gets a request, the settings, and parameters of its own."""

        def register(function: F) -> F:
            self._builders[name] = partial(build_request_verb, name, request, fields, function)
            return function

        return register

    def show(
        self,
        name: str,
        request: type[Request[Any]],
        /,
        *,
        fetch: Fetch | None = None,
        document: Callable[[Any], Any] = msgspec.to_builtins,
        **fields: Any,
    ) -> Callable[[F], F]:
        """
        Declare a verb that prints one thing: the answer to a request, or what `fetch` returns for it. The function
        returns the facts about it, or prints it and returns None; `--json` prints the `document` of it instead.
        """

        def print_answer(list_facts: Callable[[Any], Facts | None], _: Request[Any], answer: Any, json: bool) -> None:
            if json:
                output.document(document(answer))
            else:
                output.facts(*(list_facts(answer) or ()))

        return self._declare(name, request, fields, fetch, print_answer)

    def send(
        self, name: str, request: type[Request[Any]], /, *, fetch: Fetch | None = None, **fields: Any
    ) -> Callable[[F], F]:
        """
        Declare a verb that changes something. The function describes the answer or, if there is none, the request; with
        two parameters it gets both.
        """

        def print_outcome(describe: Callable[..., Outcome], sent: Request[Any], answer: Any, json: bool) -> None:
            values = [answer, sent] if sent.operation.answer is not None else [sent]
            outcome = describe(*values[: len(signature(describe).parameters)])
            value = msgspec.to_builtins(answer) if outcome.document is None else outcome.document
            output.done(value, outcome.line, outcome.message, json=json)

        return self._declare(name, request, fields, fetch, print_outcome)

    def _declare(
        self,
        name: str,
        request: type[Request[Any]],
        fields: dict[str, Any],
        fetch: Fetch | None,
        print_answer: Callable[..., None],
    ) -> Callable[[F], F]:
        def register(function: F) -> F:
            def send(filled: Request[Any], configuration: Configuration, json: JsonFlag = False) -> None:
                from gatepost.cli.gateway_or_store import connect  # help does without

                with connect(configuration) as connection:
                    answer = connection.send(filled) if fetch is None else fetch(connection, filled)
                print_answer(function, filled, answer, json)

            send.__name__, send.__doc__ = function.__name__, function.__doc__
            self.request(name, request, **fields)(send)
            return function

        return register

    def list(
        self,
        name: str,
        request: type[Request[Page[Any]]],
        /,
        *,
        columns: Sequence[str],
        empty: str | Callable[[Any], str],
        count: int = 100,
        **fields: Any,
    ) -> Callable[[F], F]:
        """Declare a verb that prints a table of `count` items, unless `--limit` says another number."""

        def register(build_row: F) -> F:
            def print_table(items: Sequence[Any]) -> None:
                output.table(columns, map(build_row, items))

            def list_items(
                filled: Request[Page[Any]],
                configuration: Configuration,
                limit: LimitOption = count,
                json: JsonFlag = False,
            ) -> None:
                from gatepost.cli.gateway_or_store import connect

                with connect(configuration) as connection:
                    items = connection.list_all(filled, limit + 1)
                message = empty(filled) if callable(empty) else empty
                output.listing(items, limit, print_table, empty=message, json=json)

            list_items.__name__, list_items.__doc__ = build_row.__name__, build_row.__doc__
            self.request(name, request, **{"after": None, "limit": None, **fields})(list_items)
            return build_row

        return register


def _build_request(parameters: RequestParameters, values: dict[str, Any], configuration: Configuration) -> Request[Any]:
    """Return the request of what was typed. Who acts, or is meant, is by default the current agent."""
    if parameters.actor_field is not None:
        from gatepost.cli.current_agent import choose_actor

        values[parameters.actor_field] = choose_actor(values[parameters.actor_field], configuration)
    for name, spec in parameters.specs.items():
        if spec.no_agent is not None:
            from gatepost.cli.current_agent import choose_agent

            values[name] = choose_agent(values[name], spec.label, configuration, otherwise=spec.no_agent)
    return parameters.build_request(values)
