"""`braid experiments`: measure the papers' claims again, from a checkout."""

from __future__ import annotations

import typer

from braid.cli.checkout import load_beside


def list_experiments() -> None:
    """List the papers and their experiments."""
    for name, paper in load_beside("experiments", "command").PAPERS.items():
        typer.echo(f"{name}: {', '.join(experiment.name for experiment in paper.experiments)}")


def run_experiments(paper: str, names: list[str], full: bool, publish: bool, page_only: bool) -> bool:
    """Run a paper's experiments, or those named; whether no claim fails. `page_only` runs none."""
    command = load_beside("experiments", "command")
    if paper not in command.PAPERS:
        known = ", ".join(command.PAPERS)
        raise typer.BadParameter(f"There are no experiments {paper}. There are: {known}.", param_hint="'PAPER'")
    existing = [experiment.name for experiment in command.PAPERS[paper].experiments]
    for name in names:
        if name not in existing:
            text = f"{paper} has no experiment {name}. There are: {', '.join(existing)}."
            raise typer.BadParameter(text, param_hint="'NAME'")
    if page_only:
        command.publish_page(paper)
        return True
    return bool(command.run_experiments(paper, names, "full" if full else "quick", publish=publish))
