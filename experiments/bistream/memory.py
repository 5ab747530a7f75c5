"""Memory: a biclique stores every row once, a matrix along a whole row or column (Figures 6, 10, 15 to 17, Table 4)."""

from __future__ import annotations

from experiments.bistream.counting import Counted, count
from experiments.bistream.models import model
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.claims import within
from experiments.outcome import Claim, Curve, Outcome

UNITS = (4, 16, 36, 64)
TABLE_4 = {"JB8": 278, "JB16": 549, "JB36": 1262, "JM16": 140, "JM36": 207}


def stored(size: Size) -> Outcome:
    """Rows stored by JB16 and JM16 as rows come, over the whole history."""
    runs: dict[tuple[str, str], Counted] = {}
    for name in QUERIES:
        query = size.query(name)
        for setting in ("JB16", "JM16"):
            runs[name, setting] = count(query.draft()[0].logical_plan(), model(setting), query.tables())
    rows = []
    claims = []
    for name in QUERIES:
        once, copied = (runs[name, setting].last["stateRows"] for setting in ("JB16", "JM16"))
        lone = count(size.query(name).draft()[0].logical_plan(), model("JB4"), size.query(name).tables()).last[
            "stateRows"
        ]
        rows.append((name, f"{lone:,}", f"{once:,}", f"{copied:,}", f"{copied / once:.2f}"))
        claims.append(
            Claim(
                f"{name}: JM16 stores more rows than JB16",
                "3.3 to 4 times",
                f"{copied / once:.2f} times; JB16 stores {once / lone:.2f} of the rows that pass the selections",
                within(copied / once, 4.0, 0.001) and once == lone,
            )
        )
    curves = tuple(
        Curve(f"{setting}, {name}", tuple(zip(run.volumes, _bytes_a_unit(run, 16), strict=True)))
        for (name, setting), run in runs.items()
    )
    return Outcome(
        "stored",
        "Stored rows and memory of a unit, 16 units, whole history",
        f"{size.describe()}, counted by the engine in one process.",
        "Figure 6a",
        tuple(claims),
        ("query", "rows selected", "JB16 rows", "JM16 rows", "JM16 / JB16"),
        tuple(rows),
        curves,
        ("rows that came", "bytes of a unit, mean"),
    )


def volume(size: Size) -> Outcome:
    """The largest volume that fits: a unit's memory is fixed, the rows it holds are counted."""
    rows, claims, curves = [], [], []
    for name in QUERIES:
        query = size.query(name)
        largest: dict[str, dict[int, float]] = {"JB": {}, "JM": {}}
        for kind, by_units in largest.items():
            for units in UNITS:
                run = count(query.draft()[0].logical_plan(), model(f"{kind}{units}"), query.tables())
                by_units[units] = run.volumes[-1] * size.unit_rows * units / run.last["stateRows"]
        growth = {kind: by_units[64] / by_units[4] for kind, by_units in largest.items()}
        rows += [
            (f"{name}, {kind}", *(f"{by_units[units]:,.0f}" for units in UNITS)) for kind, by_units in largest.items()
        ]
        curves += [Curve(f"{kind}, {name}", tuple(by_units.items())) for kind, by_units in largest.items()]
        claims.append(
            Claim(
                f"{name}: largest volume from 4 to 64 units",
                "JB grows nearly linearly (16 to 64 units: 3.8 times), JM by the square root (1.9 times)",
                f"JB {growth['JB']:.1f} times, JM {growth['JM']:.1f} times for 16 times the units",
                within(growth["JB"], 16, 0.1) and within(growth["JM"], 4, 0.1),
            )
        )
    return Outcome(
        "volume",
        f"Rows that fit when a unit holds {size.unit_rows:,}",
        f"{size.describe()}. Rows that came, for every row that is stored, copies included.",
        "Figures 10, 15 to 17",
        tuple(claims),
        ("query, model", *(f"{units} units" for units in UNITS)),
        tuple(rows),
        tuple(curves),
        ("units", "rows that fit"),
    )


def windows(size: Size) -> Outcome:
    """The longest window that fits, as ratios of Table 4, and that memory stays bounded while it slides."""
    fitting, rippling = {}, {}
    for setting in TABLE_4:
        query = size.query("q5", window_seconds=size.batches / 4)
        run = count(query.draft()[0].logical_plan(), model(setting), query.tables())
        units = int(setting[2:])
        full = [step for step in run.steps if step["batchId"] > size.batches / 2]
        rows_a_second = sum(step["stateRows"] for step in full) / len(full) / (size.batches / 4)
        fitting[setting] = size.unit_rows * units / rows_a_second
        rippling[setting] = max(step["stateRows"] for step in full) / min(step["stateRows"] for step in full)
    ratios = {setting: fitting[setting] / fitting["JB8"] for setting in TABLE_4}
    printed = {setting: seconds / TABLE_4["JB8"] for setting, seconds in TABLE_4.items()}
    claims = [
        Claim(
            f"longest window of {setting} over that of JB8, Q5",
            f"{printed[setting]:.2f}",
            f"{ratios[setting]:.2f}",
            within(ratios[setting], printed[setting], 0.1),
        )
        for setting in TABLE_4
        if setting != "JB8"
    ]
    claims.append(
        Claim(
            "memory is bounded after one window and ripples as sub-indexes are discarded",
            "bounded, with ripples",
            f"largest over smallest after the first windows: {max(rippling.values()):.2f}",
            max(rippling.values()) < 1.5,
        )
    )
    return Outcome(
        "windows",
        "Longest window in the same memory, Q5",
        f"{size.describe()}, window of a quarter of the run.",
        "Figure 6b, Table 4",
        tuple(claims),
        ("setting", "paper, s at 50 K/s", "over JB8", "here, over JB8"),
        tuple((s, str(TABLE_4[s]), f"{printed[s]:.2f}", f"{ratios[s]:.2f}") for s in TABLE_4),
    )


def _bytes_a_unit(run: Counted, units: int) -> list[float]:
    return [step["stateBytes"] / units for step in run.steps]
