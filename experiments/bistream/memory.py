"""Memory of the fullest unit: a biclique stores a row once, a matrix along a row or column (Figures 6a, 10, 15-17)."""

from __future__ import annotations

from functools import partial

from experiments.bistream import counting, queries
from experiments.bistream.counting import count
from experiments.bistream.models import label, model
from experiments.bistream.queries import QUERIES, TITLES, in_steps
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Verdict, all_of, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SETTINGS = ("JB16", "JM16")
PAPERS_RATIO = (3.3, 4.0)
TOLERANCE = 0.1
SQUARES = (4, 16, 36, 64)
# The other numbers of units of Figure 17.
MORE_UNITS = (8, 24, 32, 48)
CAPACITY_BYTES = 1_500_000_000  # the paper's threshold of a unit
FEW_ROWS = (
    "Fullest unit: random routing sends a task's rows to one unit for every 1,024 of them, so a step with few rows "
    "reaches few units, and some are fuller than others until many steps have passed."
)


def measure_stored(size: Size) -> Measured:
    """Bytes of the mean and of the fullest unit as rows come, and the rows that pass the selections."""
    found: Measured = {}
    for name in QUERIES:
        query = size.query(name)
        plan, steps = query.draft()[0].logical_plan(), in_steps(query.whole(), size.steps)
        found[name] = {"selected": {stream: table.num_rows for stream, table in query.selected().items()}}
        for setting in SETTINGS:
            run = count(plan, model(setting), steps)
            sides = [unit["bytes"] for unit in run.last["units"]]
            found[name][setting] = {
                "volumes": run.volumes,
                "mean": run.mean(16),
                "fullest": run.fullest(16),
                "rows": run.last["stateRows"],
                "streams": [sum(sides[:8]), sum(sides[8:])] if setting == "JB16" else None,
            }
    return found


def _fuller(query: str, measured: Measured) -> Verdict:
    once, copied = (measured[query][setting] for setting in SETTINGS)
    fullest, mean = (copied[what][-1] / once[what][-1] for what in ("fullest", "mean"))
    lowest, highest = PAPERS_RATIO
    here = f"{fullest:.2f} times by the fullest unit, {mean:.2f} by the mean"
    return Verdict(here, lowest * (1 - TOLERANCE) <= fullest <= highest * (1 + TOLERANCE), FEW_ROWS)


def _copies(query: str, measured: Measured) -> Verdict:
    selected = sum(measured[query]["selected"].values())
    once, copied = (measured[query][setting]["rows"] for setting in SETTINGS)
    here = f"{selected:,} rows pass the selections (DuckDB); {once:,} and {copied:,} are stored"
    return Verdict(here, once == selected and copied == 4 * selected)


def _always(query: str, measured: Measured) -> Verdict:
    once, copied = (measured[query][setting]["fullest"] for setting in SETTINGS)
    least = min(more / less for more, less in zip(copied, once, strict=True))
    return Verdict(f"at least {least:.2f} times, after every step", least > 1, FEW_ROWS)


def _stored_claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} fuller",
            f"{title}: a unit of a matrix needs more memory than one of a biclique of as many units",
            "19 M beside 5.8 M rows fit, 76 M beside 19 M (Figure 10): 3.3 to 4 times",
            partial(_fuller, query),
        ),
        Claim(
            f"{query} copies",
            f"{title}: a biclique stores every row once, a matrix of 16 units four times",
            "equations 1 and 2",
            partial(_copies, query),
        ),
        Claim(
            f"{query} always",
            f"{title}: the matrix fills its units faster at every volume",
            "always",
            partial(_always, query),
        ),
    )


def _stored_table(measured: Measured) -> tuple[Table, ...]:
    headings = ("query", "bytes of the streams", "biclique: mean unit", "fullest", "matrix: mean unit", "fullest")
    rows = []
    for query in QUERIES:
        streams = " and ".join(f"{size:,}" for size in measured[query]["JB16"]["streams"])
        ends = [f"{measured[query][s][what][-1]:,.0f}" for s in SETTINGS for what in ("mean", "fullest")]
        rows.append((TITLES[query], streams, *ends))
    return (Table(headings, tuple(rows)),)


def _stored_picture(query: str, measured: Measured) -> Picture:
    series = []
    for setting in reversed(SETTINGS):  # the matrix first: it has the same colour in every picture
        run = measured[query][setting]
        megabytes = [size / 1e6 for size in run["fullest"]]
        series.append(Series(label(setting), tuple(zip(run["volumes"], megabytes, strict=True))))
    return Picture(
        query, f"{TITLES[query]}: memory of the fullest unit", "rows that came", ("megabytes",), tuple(series)
    )


def _describe_stored(measured: Measured, settings: Settings) -> str:
    scale = settings["size.scales"]
    return (
        f"Q5 and Q7 of TPC-H scale {scale['q5']:g}, Band of scale {scale['band']:g}, in {settings['size.steps']} "
        "steps, whole history, counted by the engine in one process. As in the paper, rows come at other rates in the "
        "two streams, so that both bring about the same volume: a scale has all its suppliers and a part of its line "
        "items, Band's second stream a sample. A unit's memory is the bytes of the rows it stores."
    )


STORED = Experiment(
    "stored",
    "Memory of a unit, 16 units, whole history",
    ("Figure 6a",),
    measure_stored,
    _describe_stored,
    tuple(claim for query in QUERIES for claim in _stored_claims(query)),
    _stored_table,
    lambda measured: [_stored_picture(query, measured) for query in QUERIES],
    modules=(counting, queries),
)


def measure_volume(size: Size) -> Measured:
    """The bytes of a unit when all rows have come, for all numbers of units."""
    found: Measured = {}
    for name in QUERIES:
        query = size.query(name)
        plan, tables = query.draft()[0].logical_plan(), [query.whole()]
        kinds = {"JB": sorted(SQUARES + MORE_UNITS), "JM": SQUARES}
        found[name] = {}
        for kind, counts in kinds.items():
            for units in counts:
                run = count(plan, model(f"{kind}{units}"), tables)
                ends = {"mean": run.mean(units)[-1], "fullest": run.fullest(units)[-1]}
                found[name].setdefault(kind, {})[str(units)] = {"rows": run.volumes[-1], **ends}
    return found


def largest_volume(run: Measured, what: str = "fullest") -> float:
    """The rows that may come until a unit has reached its capacity, if all fill at the pace measured."""
    return float(run["rows"] * CAPACITY_BYTES / run[what])


def _growth(query: str, kind: str, measured: Measured, what: str = "fullest") -> float:
    runs = measured[query][kind]
    return largest_volume(runs["64"], what) / largest_volume(runs["4"], what)


def _grows(query: str, kind: str, expected: float, measured: Measured) -> Verdict:
    growth, mean = (_growth(query, kind, measured, what) for what in ("fullest", "mean"))
    here = f"{growth:.1f} times by the fullest unit, {mean:.1f} by the mean, from 4 to 64 units"
    return Verdict(here, within(growth, expected, TOLERANCE), FEW_ROWS)


def _linear(query: str, measured: Measured) -> Verdict:
    """Of every number of units: the volume a unit holds, beside that of four units."""
    runs = measured[query]["JB"]
    base = largest_volume(runs["4"]) / 4
    shares = {units: largest_volume(run) / int(units) / base for units, run in runs.items()}
    worst = min(shares, key=lambda units: shares[units])
    here = f"a unit of {worst} holds {shares[worst]:.2f} of what one of 4 holds; {len(shares)} numbers of units"
    return Verdict(here, all_of(*(within(share, 1.0, TOLERANCE) for share in shares.values())), FEW_ROWS)


def _volume_claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} biclique",
            f"{title}: what fits a biclique grows linearly with its units",
            "nearly (76 M to 290 M rows from 16 to 64 units)",
            partial(_grows, query, "JB", 16.0),
        ),
        Claim(
            f"{query} matrix",
            f"{title}: what fits a matrix grows with the square root of its units",
            "19 M to 37 M rows from 16 to 64 units",
            partial(_grows, query, "JM", 4.0),
        ),
        Claim(
            f"{query} every number",
            f"{title}: at every number of units, each unit of a biclique adds as much",
            "linear",
            partial(_linear, query),
        ),
    )


def _volume_table(measured: Measured) -> tuple[Table, ...]:
    counts = sorted(SQUARES + MORE_UNITS)
    rows = []
    for query in QUERIES:
        for kind, name in (("JB", "biclique"), ("JM", "matrix")):
            runs = measured[query][kind]
            texts = [f"{largest_volume(runs[str(n)]) / 1e6:,.0f}" if str(n) in runs else "" for n in counts]
            rows.append((f"{TITLES[query]}, {name}", *texts))
    caption = "Millions of rows that may come until the fullest unit has 1.5 GB:"
    return (Table(("query, model", *(f"{units} units" for units in counts)), tuple(rows), caption),)


def _volume_picture(query: str, measured: Measured) -> Picture:
    series = tuple(
        Series(name, tuple((int(units), largest_volume(run) / 1e6) for units, run in measured[query][kind].items()))
        for kind, name in (("JM", "matrix"), ("JB", "biclique"))
    )
    title = f"{TITLES[query]}: rows until the fullest unit has 1.5 GB"
    return Picture(query, title, "units", ("million rows",), series)


VOLUME = Experiment(
    "volume",
    "What fits the memory of 4 to 64 units",
    ("Figure 10", "Figure 15", "Figure 16", "Figure 17"),
    measure_volume,
    lambda measured, settings: (
        "The same rows in one step. The volume is the rows that came, times the paper's 1.5 GB, over the bytes of the "
        "fullest unit: what would fit if units went on filling as they did."
    ),
    tuple(claim for query in QUERIES for claim in _volume_claims(query)),
    _volume_table,
    lambda measured: [_volume_picture(query, measured) for query in QUERIES],
    modules=(counting, queries),
)
