"""`braid bench`: the benchmarks of the checkout that Braid is installed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from braid.cli.checkout import load_beside


def run_bench(names: list[str], full: bool, fresh: bool, publish: bool, listed: bool, directory: Path | None) -> bool:
    """Run the benchmarks; whether every answer was right."""
    command, suite = (load_beside("benchmarks", name) for name in ("command", "suite"))
    if listed:
        _list(suite, "full" if full else "quick")
        return True
    unknown = [name for name in names if name not in suite.BENCHMARKS]
    if unknown:
        known = ", ".join(suite.BENCHMARKS)
        raise typer.BadParameter(f"There is no benchmark {unknown[0]}. There are: {known}.", param_hint="'NAME'")
    chosen = names or list(suite.FULL if full else suite.QUICK)
    size = "full" if full else "quick"
    place = directory if directory is not None else command.WORK / size
    return bool(command.run_benchmarks(chosen, size, place.resolve(), resume=not fresh, publish=publish))


def _list(suite: Any, size: str) -> None:
    width = max(len(name) for name in suite.BENCHMARKS)
    for name, make in suite.BENCHMARKS.items():
        typer.echo(f"{name:<{width}}  {make(size).title}")
