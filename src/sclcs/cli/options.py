"""Options of commands, made from settings when a command is used.

The settings need pydantic, whose import takes longer than everything else that ``sclcs --help``
does; so a command is registered without them and completed when it is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from sclcs.cli.output import parse_parameters

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Command = Callable[..., None]


def split_names(values: list[str] | None) -> list[str] | None:
    """Return names given by repeated options or with commas; None if there are none."""
    if not values:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def with_settings(*models: str, leave_out: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Give a command the fields of classes of :mod:`sclcs.settings` as options.

    Parameters
    ----------
    *models : str
        Their names; they are imported when the command is used.
    leave_out : tuple of str
        Fields that are no options of the command.

    Returns
    -------
    callable
        A decorator. The command has ``**settings`` for the options that were given; register it
        with ``cls=SettingsCommand``.
    """

    def decorate(command: Command) -> Command:
        def complete() -> Command:
            return _complete(command, models, leave_out)

        def stub() -> None:
            """Stand for the command in the list of commands."""

        stub.__name__, stub.__doc__ = command.__name__, command.__doc__
        stub.complete = complete  # type: ignore[attr-defined]
        stub.command = command  # type: ignore[attr-defined]
        return stub

    return decorate


class SettingsCommand(TyperCommand):
    """A command of :func:`with_settings`, completed when it is called."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Parse arguments with all options."""
        return self.completed.make_context(*args, **kwargs)

    @cached_property
    def completed(self) -> Any:  # noqa: ANN401
        """The command with the options of its settings."""
        app = typer.Typer(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown"
        )
        app.command(self.name)(self.callback.complete())  # type: ignore[union-attr]
        return typer.main.get_command(app)


def _complete(command: Command, models: tuple[str, ...], leave_out: tuple[str, ...]) -> Command:
    """Return a command with all its options in its signature."""
    fields = _fields(models, leave_out)
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    more = {name: _annotation(name, field) for name, field in fields.items()}
    if not all(_is_front(field) for field in fields.values()):
        more["help_all"] = Annotated[
            bool | None,
            typer.Option(
                "--help-all",
                callback=_show_all(fields),
                is_eager=True,
                help="Show all options and exit.",
            ),
        ]

    def run(**values: Any) -> None:  # noqa: ANN401
        values.pop("help_all", None)
        given = {name: values.pop(name) for name in fields}
        settings = {
            name: _read(value, fields[name])
            for name, value in given.items()
            if value is not None and value not in ([], ())
        }
        command(**values, **settings)

    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in more.items()
    ]
    first = 0
    while first < len(own) and _comes_first(own[first]):
        first += 1
    every = [*own[:first], *options, *own[first:]]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return run


def _comes_first(parameter: inspect.Parameter) -> bool:
    """Whether a parameter is an argument, or says where the result goes."""
    details = parameter.annotation.__metadata__[0]
    return isinstance(details, typer.models.ArgumentInfo) or parameter.name == "out"


def _show_all(fields: dict[str, FieldInfo]) -> Callable[[typer.Context, bool | None], None]:
    """Return what prints the help with the options that few people need."""
    from sclcs._core import extra

    def show(context: typer.Context, wanted: bool | None) -> None:
        if not wanted:
            return
        for parameter in context.command.params:
            if parameter.name in fields:
                group = extra(fields[parameter.name], "group")
                parameter.hidden = False  # type: ignore[attr-defined]
                parameter.rich_help_panel = group or None  # type: ignore[attr-defined]
        typer.echo(context.get_help())
        raise typer.Exit

    return show


def _fields(models: tuple[str, ...], leave_out: tuple[str, ...]) -> dict[str, FieldInfo]:
    """Return the fields of settings, those that most people need first."""
    import sclcs.settings

    found = {
        name: field
        for model in (getattr(sclcs.settings, name) for name in models)
        for name, field in ((name, model.model_fields[name]) for name in model.names())
        if name not in leave_out
    }
    return dict(sorted(found.items(), key=lambda item: not _is_front(item[1])))


def _is_front(field: FieldInfo) -> bool:
    from sclcs._core import extra

    return bool(extra(field, "front"))


def _annotation(name: str, field: FieldInfo) -> Any:  # noqa: ANN401
    """Return the annotation of an option: its type for the command line, and its help."""
    from sclcs._core import as_sentence, default_of, extra, flag_of

    kind, flag = _cli_type(field.annotation), flag_of(name, field)
    default = default_of(field)
    shown = "" if default in (None, (), "", False) else f" [{default}]"
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if kind is bool else flag,
        help=as_sentence(field.description or "") + shown,
        metavar=extra(field, "metavar") or _metavar(field),
        hidden=not _is_front(field),
        show_default=False,
    )
    return Annotated[kind | None, option]


def _metavar(field: FieldInfo) -> str | None:
    """Return what stands for a value in the help: its choices, its type, names."""
    kind = field.annotation
    if get_origin(kind) is dict:
        return "NAME=VALUE"
    if get_origin(kind) is list:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    read = _cli_type(field.annotation)
    return {int: "INTEGER", float: "NUMBER", str: "TEXT"}.get(
        read, None if read is bool else "NAMES"
    )


def _cli_type(kind: Any) -> Any:  # noqa: ANN401
    """Return as what the command line reads a field."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _cli_type(arguments[0])
    if kind in {bool, int, float, str}:
        return kind
    if origin in {list, dict}:
        return list[str]
    if origin is Literal:
        return str
    first = next(part for part in arguments if part is not type(None))  # of a union
    return _cli_type(first)


def _read(value: Any, field: FieldInfo) -> Any:  # noqa: ANN401
    """Return what an option holds: names may have commas, parameters are name=value."""
    from sclcs._core import extra

    if not isinstance(value, list | tuple):
        return value
    if get_origin(field.annotation) is dict:
        return parse_parameters(list(value))
    return split_names(list(value)) if extra(field, "commas", True) else list(value)
