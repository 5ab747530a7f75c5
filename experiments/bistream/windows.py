"""Windows in memory: the longest that fits (Table 4), and the ripples of one that slides (Figure 6b)."""

from __future__ import annotations

import statistics
from functools import partial
from itertools import pairwise

from experiments.bistream import counting, queries
from experiments.bistream.counting import count
from experiments.bistream.memory import CAPACITY_BYTES, FEW_ROWS
from experiments.bistream.models import label, model, units_of
from experiments.bistream.queries import TITLES, paced
from experiments.bistream.size import Size, papers_rates
from experiments.claims import Claim, Measured, Verdict, all_of, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SETTINGS = ("JB8", "JB16", "JB36", "JM16", "JM36")
# Seconds that fit, by query and rows a second.
PRINTED: dict[str, dict[str, int]] = {
    "q5 50000": {"JB8": 278, "JB16": 549, "JB36": 1262, "JM16": 140, "JM36": 207},
    "q5 80000": {"JB8": 171, "JB16": 351, "JB36": 785, "JM16": 88, "JM36": 136},
    "q7 30000": {"JB8": 572, "JB16": 1167, "JB36": 2636, "JM16": 292, "JM36": 439},
    "q7 50000": {"JB8": 341, "JB16": 697, "JB36": 1543, "JM16": 173, "JM36": 262},
}
WINDOW_SECONDS = 6
STEP_SECONDS = 1.5
STEPS = 9
FULL_AFTER = 5  # steps
TOLERANCE = 0.1
# Figure 6b: minutes of the windows, each with ten sub-indexes.
MINUTES = (3, 5, 8)
RIPPLE_SECONDS = 960
SUB_INDEXES = 10
# A fall this large, of the mean, is a sub-index discarded and no chance.
LEAST_FALL = 0.03
MOST_ABOVE_MEAN = 1.2
MOST_DRIFT = 0.05
BLOCKS_EXPIRE = (
    "Ripples: a block expires whole, and until blocks of several steps are merged each has the rows of one. So memory "
    "falls a little at every step, and where few blocks are merged it does not ripple at all. How many a step merges "
    "depends on the time that it takes, so this differs from run to run."
)
SLICES_ARE_STEPS = (
    "Windows: what is held is a window and what has not been discarded yet, a whole sub-index at a time; units that "
    "few rows of a step reach fill unevenly."
)


def measure_longest(size: Size) -> Measured:
    """The bytes of a unit while a window slides at a row's rate, for every setting."""
    found: Measured = {}
    for row in PRINTED:
        name, rate = row.split()
        query = size.query(name)
        steps = list(paced(query.selected(), [size.window_share * float(rate)] * STEPS, STEP_SECONDS))
        plan = query.draft(WINDOW_SECONDS)[0].logical_plan()
        found[row] = {"rows": sum(table.num_rows for table in steps[0].values()) / STEP_SECONDS}
        for setting in SETTINGS:
            units = units_of(setting)
            run = count(plan, model(setting), steps)
            full = slice(FULL_AFTER, None)
            found[row][setting] = {
                "mean": statistics.fmean(run.mean(units)[full]),
                "fullest": statistics.fmean(run.fullest(units)[full]),
            }
    return found


def _seconds(measured: Measured, row: str, setting: str) -> float:
    """The longest window, if the fullest unit has the capacity of the paper's, at this run's rate."""
    return float(WINDOW_SECONDS * CAPACITY_BYTES / measured[row][setting]["fullest"])


def _ratios(row: str, measured: Measured) -> Verdict:
    here = {setting: _seconds(measured, row, setting) / _seconds(measured, row, "JB8") for setting in SETTINGS[1:]}
    printed = {setting: PRINTED[row][setting] / PRINTED[row]["JB8"] for setting in here}
    holds = all_of(*(within(value, printed[setting], TOLERANCE) for setting, value in here.items()))
    return Verdict(", ".join(f"{setting} {value:.2f}" for setting, value in here.items()), holds, FEW_ROWS)


def _inverse(slow: str, fast: str, measured: Measured) -> Verdict:
    rates = [measured[row]["rows"] for row in (slow, fast)]
    products = {s: _seconds(measured, fast, s) * rates[1] / _seconds(measured, slow, s) / rates[0] for s in SETTINGS}
    worst = max(products, key=lambda setting: abs(products[setting] - 1))
    here = f"window times rate changes to {products[worst]:.2f} at most ({worst})"
    return Verdict(here, within(products[worst], 1.0, TOLERANCE), FEW_ROWS)


def _printed(row: str) -> str:
    return ", ".join(f"{s} {PRINTED[row][s] / PRINTED[row]['JB8']:.2f}" for s in SETTINGS[1:])


def _row_title(row: str) -> str:
    name, rate = row.split()
    return f"{TITLES[name]}, {int(rate) // 1000} K rows a second"


def _longest_table(measured: Measured) -> tuple[Table, ...]:
    headings = ("query, rate", *(f"{setting}: paper, here" for setting in SETTINGS))
    rows = tuple(
        (_row_title(row), *(f"{PRINTED[row][s]:,} s, {_seconds(measured, row, s):,.0f} s" for s in SETTINGS))
        for row in PRINTED
    )
    return (Table(headings, rows, "The longest window that fits 1.5 GB a unit, by the fullest unit:"),)


def _longest_picture(measured: Measured) -> Picture:
    series = tuple(
        Series(label(setting), tuple((_row_title(row), _seconds(measured, row, setting)) for row in PRINTED))
        for setting in SETTINGS
    )
    return Picture("", "The longest window that fits 1.5 GB a unit", "query, rate", ("seconds",), series, "bars")


LONGEST = Experiment(
    "longest",
    "The longest window in the same memory",
    ("Table 4",),
    measure_longest,
    lambda measured, settings: (
        f"Streams of equal volume at {papers_rates(settings)}, counted after the selections, with windows of "
        f"{WINDOW_SECONDS} s that slide in steps of {STEP_SECONDS:g} s. The longest window is as much longer than that "
        "as the paper's 1.5 GB are more than the bytes of the fullest unit. JBx is a biclique, JMx a matrix of x units."
    ),
    (
        *(
            Claim(
                f"{row} ratios",
                f"{_row_title(row)}: longest windows over that of a biclique of 8 units (JB8)",
                _printed(row),
                partial(_ratios, row),
            )
            for row in PRINTED
        ),
        *(
            Claim(
                f"{slow.split()[0]} rates",
                f"{TITLES[slow.split()[0]]}: the longest window is inverse to the rate",
                "278 and 171 s at 50 and 80 K rows a second" if slow[:2] == "q5" else "572 and 341 s at 30 and 50 K",
                partial(_inverse, slow, fast),
            )
            for slow, fast in (("q5 50000", "q5 80000"), ("q7 30000", "q7 50000"))
        ),
    ),
    _longest_table,
    lambda measured: [_longest_picture(measured)],
    modules=(counting, queries),
)


def measure_ripples(size: Size) -> Measured:
    """The bytes of the mean and the fullest unit while three windows slide, in steps shorter than a sub-index."""
    query = size.query("q5")
    selected = query.selected()
    seconds = size.ripple_step_seconds
    rates = [2 * size.window_rows / seconds] * (RIPPLE_SECONDS // seconds)
    found: Measured = {"step_seconds": seconds}
    for minutes in MINUTES:
        plan = query.draft(60 * minutes)[0].logical_plan()
        run = count(plan, model("JB16"), paced(selected, rates, seconds))
        found[str(minutes)] = {"mean": run.mean(16), "fullest": run.fullest(16)}
    return found


def _settled(minutes: int, measured: Measured) -> list[float]:
    """The mean unit's bytes from the time on at which a window and a sub-index have passed."""
    first = round(60 * minutes * (1 + 1 / SUB_INDEXES) / measured["step_seconds"]) + 1
    return [float(size) for size in measured[str(minutes)]["mean"][first:]]


def _bounded(minutes: int, measured: Measured) -> Verdict:
    values = _settled(minutes, measured)
    mean, half = statistics.fmean(values), len(values) // 2
    above, drift = max(values) / mean, statistics.fmean(values[half:]) / statistics.fmean(values[:half]) - 1
    here = f"at most {above:.2f} of the mean after a window, second half {drift:+.1%}"
    return Verdict(here, above <= MOST_ABOVE_MEAN and abs(drift) <= MOST_DRIFT, SLICES_ARE_STEPS)


def _ripples(minutes: int, measured: Measured) -> Verdict:
    values = _settled(minutes, measured)
    mean = statistics.fmean(values)
    falls = [(a - b) / mean for a, b in pairwise(values) if a - b >= LEAST_FALL * mean]
    expected = len(values) * measured["step_seconds"] / (60 * minutes / SUB_INDEXES)
    here = f"{len(falls)} falls of {statistics.median(falls):.0%} of the mean" if falls else "no fall"
    text = f"{here}; {expected:.0f} sub-indexes ended"
    return Verdict(text, expected / 2 <= len(falls) <= 2 * expected, BLOCKS_EXPIRE)


def _longer(measured: Measured) -> Verdict:
    means = [statistics.fmean(_settled(minutes, measured)) for minutes in MINUTES]
    texts = ", ".join(f"{size / 1e6:.2f} MB" for size in means)
    here = f"{texts} for {', '.join(map(str, MINUTES))} minutes"
    return Verdict(here, means[0] < means[1] < means[2])


def _ripples_picture(measured: Measured) -> Picture:
    series = []
    for minutes in MINUTES:
        sizes = [size / 1e6 for size in measured[str(minutes)]["mean"]]
        times = [number * measured["step_seconds"] / 60 for number in range(len(sizes))]
        series.append(Series(f"window of {minutes} minutes", tuple(zip(times, sizes, strict=True))))
    title = "Q5, biclique of 16 units: memory of a unit while a window slides"
    return Picture("", title, "minutes of event time", ("megabytes, mean of the units",), tuple(series))


def _describe_ripples(measured: Measured, settings: Settings) -> str:
    return (
        f"Q5 on a biclique of 16 units, {settings['size.window_rows']:,} rows of each stream every "
        f"{measured['step_seconds']} s of event time for {RIPPLE_SECONDS // 60} minutes; sub-indexes of a tenth of a "
        "window, discarded whole. A ripple is a step after which the units hold clearly less than before it."
    )


RIPPLES = Experiment(
    "ripples",
    "Memory while a window slides",
    ("Figure 6b",),
    measure_ripples,
    _describe_ripples,
    (
        *(
            Claim(
                f"{minutes} bounded",
                f"window of {minutes} minutes: memory is bounded once a window has passed",
                "bounded",
                partial(_bounded, minutes),
            )
            for minutes in MINUTES
        ),
        *(
            Claim(
                f"{minutes} ripples",
                f"window of {minutes} minutes: memory falls each time a sub-index is discarded, and grows in between",
                "ripples",
                partial(_ripples, minutes),
            )
            for minutes in MINUTES
        ),
        Claim("longer", "a longer window needs more memory", "8 minutes most, 3 minutes least", _longer),
    ),
    pictures=lambda measured: [_ripples_picture(measured)],
    modules=(counting, queries),
)
