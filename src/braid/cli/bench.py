"""`braid bench`: the benchmarks of the checkout that Braid is installed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from braid.cli.checkout import load_beside

SCALE = "scale"
SCALE_TITLE = "How the work of a step grows with the number of slots; runs when it is named"


def run_bench(
    names: list[str],
    full: bool,
    fresh: bool,
    publish: bool,
    listed: bool,
    directory: Path | None,
    small: bool = False,
    strategy: str | None = None,
    page_only: bool = False,
) -> bool:
    """Run the benchmarks; whether every answer was right. `page_only` runs none."""
    command, suite = (load_beside("benchmarks", name) for name in ("command", "suite"))
    if listed:
        _list(suite, "full" if full else "quick")
        return True
    if page_only:
        command.write_documents()
        return True
    if names == [SCALE]:
        scale = load_beside("benchmarks", "scale.command")
        place = directory if directory is not None else command.WORK / SCALE
        size = "small" if small else "standard"
        return bool(scale.run_scale(size, place.resolve(), resume=not fresh, publish=publish, strategy=strategy))
    if small or strategy is not None or SCALE in names:
        raise typer.BadParameter(
            "The benchmark scale runs alone; --small and --strategy are its own.", param_hint="'NAME'"
        )
    unknown = [name for name in names if name not in suite.BENCHMARKS]
    if unknown:
        known = ", ".join((*suite.BENCHMARKS, SCALE))
        raise typer.BadParameter(f"There is no benchmark {unknown[0]}. There are: {known}.", param_hint="'NAME'")
    chosen = names or list(suite.FULL if full else suite.QUICK)
    size = "full" if full else "quick"
    place = directory if directory is not None else command.WORK / size
    return bool(command.run_benchmarks(chosen, size, place.resolve(), resume=not fresh, publish=publish))


def _list(suite: Any, size: str) -> None:
    width = max(len(name) for name in (*suite.BENCHMARKS, SCALE))
    for name, make in suite.BENCHMARKS.items():
        typer.echo(f"{name:<{width}}  {make(size).title}")
    typer.echo(f"{SCALE:<{width}}  {SCALE_TITLE}")
