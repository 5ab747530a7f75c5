"""`braid`: the commands, the options they share, and the exit codes (0 ok, 1 failed, 2 wrong usage)."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from braid.cli.bench import run_bench
from braid.cli.demo import DEFAULT_ROWS, run_demo
from braid.cli.experiments import list_experiments, run_experiments
from braid.cli.failures import reported

app = typer.Typer(
    name="braid",
    help="Windowed joins of streams with any predicate, on Spark, exactly once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

experiments = typer.Typer(
    help="What the papers claim, measured again.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(experiments, name="experiments")

Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks, and Spark's own log.")]


def main() -> None:
    """The entry point of the `braid` command."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"braid {version('braid-spark')} (PySpark {version('pyspark')})")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    debug: Debug = False,
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Windowed joins of streams with any predicate, on Spark, exactly once."""
    context.obj = debug


@app.command()
def demo(
    context: typer.Context,
    directory: Annotated[
        Path, typer.Option("--dir", file_okay=False, help="The directory of feeds, results and checkpoint.")
    ] = Path("braid-demo"),
    rows: Annotated[int, typer.Option(min=1, help="How many rows to send, rounded up to whole files.")] = DEFAULT_ROWS,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete an earlier demo in the directory first.")] = False,
    debug: Debug = False,
) -> None:
    """Join two generated position feeds: which vehicles came within 100 m and 5 s of each other?

    Needs no network and no arguments. Run again, it continues on the same checkpoint with new rows.
    """
    show_all = debug or context.obj is True
    with reported(show_all):
        run_demo(directory, rows, fresh, show_all)


@app.command()
def bench(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="Which to run; all by default.")] = None,
    full: Annotated[bool, typer.Option("--full", help="The sizes for reports, and every benchmark.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the benchmarks and stop.")] = False,
    small: Annotated[bool, typer.Option("--small", help="Of scale, the smallest sizes: to see that it runs.")] = False,
    strategy: Annotated[
        str | None, typer.Option("--strategy", help="Of scale, how its joins run: Biclique(routing='random').")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything again, also what an interrupted run has finished.")
    ] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep the records in the checkout, and make docs/benchmarks.md of them.")
    ] = False,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Run nothing: make the page and README's figures of the kept records.")
    ] = False,
    directory: Annotated[
        Path | None, typer.Option("--dir", file_okay=False, help="The directory of data and measurements.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Measure Braid beside other systems, each in its own process, with every answer compared.

    Needs a checkout. Interrupted and started again, it goes on after the last finished measurement.
    """
    show_all = debug or context.obj is True
    with reported(show_all):
        if not run_bench(names or [], full, fresh, publish, listed, directory, small, strategy, page_only):
            raise typer.Exit(1)


@experiments.command("list")
def experiments_list(context: typer.Context) -> None:
    """Name the papers and their experiments."""
    with reported(context.obj is True):
        list_experiments()


@experiments.command("run")
def experiments_run(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Whose claims: see braid experiments list.")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which of them; without any, all.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The size of the published page.")] = False,
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep the records in the checkout, and make the paper's page of them.")
    ] = False,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Run nothing: judge the kept records, and make the page of them.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Measure a paper's claims again, and say which hold.

    Needs a checkout. Fails if a claim does not hold.
    """
    show_all = debug or context.obj is True
    with reported(show_all):
        if not run_experiments(paper, names or [], full, publish, page_only):
            raise typer.Exit(1)
