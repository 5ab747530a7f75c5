"""`braid experiments`: measure the papers' claims again, from a checkout."""

from __future__ import annotations

import typer

from braid.cli.checkout import load_beside


def list_experiments() -> None:
    """List the papers and their experiments."""
    for paper, module in load_beside("experiments", "command").PAPERS.items():
        names = ", ".join(experiment.__name__ for experiment in module.EXPERIMENTS)
        typer.echo(f"{paper}: {names}")


def run_experiments(paper: str, names: list[str], full: bool, publish: bool) -> bool:
    """Run a paper's experiments, or those named; whether every claim holds."""
    command = load_beside("experiments", "command")
    if paper not in command.PAPERS:
        known = ", ".join(command.PAPERS)
        raise typer.BadParameter(f"There are no experiments {paper}. There are: {known}.", param_hint="'PAPER'")
    existing = [experiment.__name__ for experiment in command.PAPERS[paper].EXPERIMENTS]
    for name in names:
        if name not in existing:
            text = f"{paper} has no experiment {name}. There are: {', '.join(existing)}."
            raise typer.BadParameter(text, param_hint="'NAME'")
    return bool(command.run_experiments(paper, names, "full" if full else "quick", publish=publish))
