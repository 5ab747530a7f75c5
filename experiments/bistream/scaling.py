"""Scaling out, measured: what a new unit must copy before it takes new rows, beside equations 3 and 4 (section 4.2)."""

from __future__ import annotations

import tempfile
from functools import partial

from braid.optimizer.build import build_plan
from braid.optimizer.spreading import copies, scaling_gain, units_to_grow
from braid.optimizer.strategies import Biclique, Matrix, Strategy
from braid.placement.units import units_of
from braid.testing import InlineQuery
from experiments.bistream import counting, queries
from experiments.bistream.counting import ROWS_PER_BATCH, SLOTS
from experiments.bistream.queries import Tables, in_steps
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

# A side grows: before and after, and which stream's side.
GROWTHS: dict[str, tuple[Strategy, Strategy, int]] = {
    "matrix, a row": (Matrix(4, 4), Matrix(5, 4), 0),
    "matrix, a column": (Matrix(4, 4), Matrix(4, 5), 1),
    "biclique, a unit of the first side": (Biclique((8, 8)), Biclique((9, 8)), 0),
    "biclique, a unit of the second side": (Biclique((8, 8)), Biclique((8, 9)), 1),
}
MOST_STEPS = 200
FULL_SHARE = 0.8  # of its capacity is what the fullest unit has when the side grows
TOLERANCE = 0.05


def measure_scaling(size: Size) -> Measured:
    """Each growth: what the units stored before it, and what was copied for it."""
    query = size.query("q5")
    plan, tables = query.draft()[0].logical_plan(), query.whole()
    steps = in_steps({name: table.slice(0, table.num_rows - 1) for name, table in tables.items()}, size.steps)
    last = {name: table.slice(table.num_rows - 1) for name, table in tables.items()}
    found: Measured = {}
    for name, (before, after, stream) in GROWTHS.items():
        with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
            small = InlineQuery(plan, directory, strategy=before, slots=SLOTS, rows_per_batch=ROWS_PER_BATCH)
            progress = [small.run(number, batch) for number, batch in enumerate(steps)][-1]
            sizes = _by_stream(small)
            grown = InlineQuery(plan, directory, strategy=after, slots=SLOTS, rows_per_batch=ROWS_PER_BATCH)
            _settle(grown, size.steps, last)
            layout = before.layout(build_plan(plan), SLOTS)
            capacity = max(unit["bytes"] for unit in progress["units"]) / FULL_SHARE if progress else 0.0
            once = [size / copies(layout, number) for number, size in enumerate(sizes)]
            found[name] = {
                "added": _units(grown) - _units(small),
                "least": units_to_grow(layout, stream),
                "copied": sum(_by_stream(grown)) - sum(sizes),
                "capacity": capacity,
                "equation": scaling_gain(layout, stream, capacity, once),
            }
    return found


def _settle(query: InlineQuery, first: int, tables: Tables) -> None:
    """Run steps of a row of each stream until the engine has placed all rows again, a part of them in each step."""
    for number in range(first, first + MOST_STEPS):
        query.run(number, tables)
        manifest = query.steps.manifest
        if {block.epoch for block in manifest.blocks} == {manifest.layout.epoch}:
            return
    raise AssertionError(f"rows were not placed again within {MOST_STEPS} steps")


def _by_stream(query: InlineQuery) -> list[int]:
    """The bytes stored of each stream, copies included."""
    blocks = query.steps.manifest.blocks
    return [sum(block.size for block in blocks if block.stream == stream) for stream in (0, 1)]


def _units(query: InlineQuery) -> int:
    layout = query.steps.manifest.layout
    return len(units_of(layout, 2))


def _gain(growth: Measured) -> float:
    """The share of the new units' memory that copies leave free."""
    return 1 - float(growth["copied"] / (growth["added"] * growth["capacity"]))


def _as_equation(name: str, measured: Measured) -> Verdict:
    growth = measured[name]
    here = f"{_gain(growth):.3f} of the new memory is free, the equation says {growth['equation']:.3f}"
    return Verdict(here, abs(_gain(growth) - growth["equation"]) <= TOLERANCE)


def _least(name: str, measured: Measured) -> Verdict:
    growth = measured[name]
    return Verdict(f"by {growth['added']}, no smaller step than {growth['least']}", growth["added"] == growth["least"])


def _better(measured: Measured) -> Verdict:
    gains = {name: _gain(growth) for name, growth in measured.items()}
    matrix = max(gain for name, gain in gains.items() if name.startswith("matrix"))
    biclique = min(gain for name, gain in gains.items() if name.startswith("biclique"))
    return Verdict(f"{biclique:.2f} beside {matrix:.2f}", biclique > matrix)


def _claims() -> tuple[Claim, ...]:
    text = "the memory of a new unit of a biclique is freer for new rows than that of a matrix"
    found = [Claim("better", text, "1 beside less", _better)]
    for name in GROWTHS:
        paper = "equations 3 and 4" if name.startswith("matrix") else "1"
        text = f"{name}: share of the new memory that is free for new rows"
        found.append(Claim(f"{name} gain", text, paper, partial(_as_equation, name)))
        wanted = "a whole row or column" if name.startswith("matrix") else "one unit"
        text = f"{name}: the side grows by the least number of units"
        found.append(Claim(f"{name} least", text, wanted, partial(_least, name)))
    return tuple(found)


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = tuple(
        (name, str(growth["added"]), f"{growth['copied']:,}", f"{_gain(growth):.3f}", f"{growth['equation']:.3f}")
        for name, growth in measured.items()
    )
    return (Table(("growth", "new units", "bytes copied", "free, measured", "equation"), rows),)


def _picture(measured: Measured) -> Picture:
    measured_series = Series("measured", tuple((name, _gain(growth)) for name, growth in measured.items()))
    equation = Series("equation", tuple((name, growth["equation"]) for name, growth in measured.items()))
    title = "Memory of new units that is free for new rows"
    return Picture("", title, "what grows", ("share of their capacity",), (measured_series, equation), "bars")


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        "Q5, whole history, streams of equal volume. A run stops with its fullest unit at four fifths of its capacity, "
        "and starts again with one row, column or unit more; what is stored more when all rows are placed again "
        "was copied for it. The equations are the functions of Braid's optimizer."
    )


GAINS = Experiment(
    "gains",
    "Scaling out: what a new unit must copy first",
    ("§4.2",),
    measure_scaling,
    _describe,
    _claims(),
    _table,
    lambda measured: [_picture(measured)],
    modules=(counting, queries),
)
