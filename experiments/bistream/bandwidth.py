"""Bytes that reach units, counted beside equations 5 and 6 (Figures 11, 18, 19), and of aggregates (Figure 14)."""

from __future__ import annotations

from braid.optimizer.build import build_plan
from braid.optimizer.spreading import sent_bytes
from braid.plan.aggregation import Updates
from experiments.bistream.counting import SLOTS, count
from experiments.bistream.models import model, settings_for
from experiments.bistream.queries import QUERIES, TpchQuery
from experiments.bistream.size import Size
from experiments.claims import within
from experiments.outcome import Claim, Outcome

SETTINGS = ("JM16", "JB8", "JB8-CR2", "JB8-CR4")


def moved(size: Size) -> Outcome:
    """Counted bytes against the equations, for four partitions of each stream."""
    rows, claims = [], []
    for name in QUERIES:
        query = size.query(name)
        rates = _stream_bytes(query)
        found = {}
        for setting in settings_for(name, SETTINGS):
            logical_plan, strategy = query.draft()[0].logical_plan(), model(setting)
            run = count(logical_plan, strategy, query.whole())
            layout = strategy.layout(build_plan(logical_plan), SLOTS)
            expected = sent_bytes(layout, rates)
            found[setting] = run.total("bytesModelled") / sum(rates)
            rows.append((f"{name}, {setting}", f"{run.total('bytesModelled'):,}", f"{expected:,.0f}"))
            claims.append(
                Claim(
                    f"{name}, {setting}: bytes as the equation says",
                    f"{expected / sum(rates):.2f} of the input's",
                    f"{found[setting]:.2f} of the input's",
                    within(found[setting] * sum(rates), expected, 0.05),
                )
            )
        if "JB8-CR4" in found:
            claims.append(
                Claim(
                    f"{name}: random routing moves more than a matrix, subgroups less",
                    "JB8 > JM16, JB8-CR4 < JB8-CR2 < JB8",
                    ", ".join(f"{setting} {value:.2f}" for setting, value in found.items()),
                    found["JB8"] > found["JM16"] and found["JB8-CR4"] < found["JB8-CR2"] < found["JB8"],
                )
            )
    return Outcome(
        "moved",
        "Bytes that reach units, four partitions of each stream",
        f"{size.describe()}, all rows in one step; a row's bytes are those it is stored with.",
        "Figures 11, 18, 19",
        tuple(claims),
        ("query, setting", "counted", "equation"),
        tuple(rows),
    )


def updates(size: Size) -> Outcome:
    """Bytes that tasks send for an aggregate, batched and one by one."""
    rows, claims = [], []
    for name in QUERIES:
        sent: dict[Updates, int] = {}
        for way in ("batched", "immediate"):
            draft, left, right = size.query(name).draft()
            group, value = (left["nation"], right["extendedprice"]) if name != "band" else (left["shipmode"], None)
            calls = [("count", ())] if value is None else [("sum", (value,))]
            logical_plan = draft.aggregate([group], *calls, updates=way).logical_plan()
            run = count(logical_plan, model("JB16"), size.query(name).tables())
            sent[way] = sum(step["summary"]["updateBytes"] for step in run.steps)
        rows.append((name, f"{sent['batched']:,}", f"{sent['immediate']:,}"))
        claims.append(
            Claim(
                f"{name}: batched updates save bytes",
                "much less",
                f"{sent['immediate'] / max(1, sent['batched']):.1f} times fewer",
                sent["batched"] < sent["immediate"],
            )
        )
    return Outcome(
        "updates",
        "Bytes of aggregate updates",
        f"{size.describe()}, JB16.",
        "Figure 14",
        tuple(claims),
        ("query", "batched", "immediate"),
        tuple(rows),
    )


def _stream_bytes(query: TpchQuery) -> list[float]:
    """The bytes of each stream, stored once."""
    logical_plan = query.draft()[0].logical_plan()
    (tables,) = query.whole()
    return [float(count(logical_plan, model("JB8"), [{name: table}]).bytes_taken_in) for name, table in tables.items()]
