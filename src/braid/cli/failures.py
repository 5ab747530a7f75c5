"""How a command fails: the error without its traceback and exit code 1, or with it under --debug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.text import Text

from braid.errors import BraidError

USAGE = (typer.Exit, typer.Abort, typer.BadParameter)


@contextmanager
def reported(debug: bool) -> Iterator[None]:
    """Turn an error into a message on stderr and exit code 1. Wrong usage passes, to be reported with code 2."""
    try:
        yield
    except BraidError as error:
        if debug:
            raise
        _print_error(str(error))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        _print_error("Stopped. What was committed stays; run the command again to continue.")
        raise typer.Exit(1) from None
    except USAGE:
        raise
    except Exception as error:  # a defect: its traceback is shown on request only
        if debug:
            raise
        _print_error(f"{type(error).__name__}: {error}\nHint: run again with --debug to see where it happened.")
        raise typer.Exit(1) from None


def _print_error(message: str) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("Error: ", "bold red"), message))
