"""`braid experiments`: the papers' claims, measured again, from a checkout."""

from __future__ import annotations

import typer

from braid.cli.checkout import load_beside


def list_experiments() -> None:
    """Name the papers and their experiments."""
    for paper, module in load_beside("experiments", "command").PAPERS.items():
        names = ", ".join(experiment.__name__ for experiment in module.EXPERIMENTS)
        typer.echo(f"{paper}: {names}")


def run_experiments(paper: str, full: bool, publish: bool) -> bool:
    """Run a paper's experiments; whether every claim holds."""
    command = load_beside("experiments", "command")
    if paper not in command.PAPERS:
        known = ", ".join(command.PAPERS)
        raise typer.BadParameter(f"There are no experiments {paper}. There are: {known}.", param_hint="'PAPER'")
    return bool(command.run_experiments(paper, "full" if full else "quick", publish=publish))
