"""What the paper says of its Figure 7, judged by the messages that the engine counted."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.claims import Claim, Measured, Verdict
from experiments.semijoin.one_way import AT_DESTINATION, AT_SOURCE, NAMES, SIMPLE, total

FIGURES = {
    "a": "attributes of s2, 5 bytes each",
    "b": "rows of s2 a second",
    "c": "selectivity factor of s2",
    "d": "window of s2, ms",
    "e": "latency, ms",
    "f": "bandwidth, kbps",
    "g": "interval, ms",
}
# Of the first value of a curve: what stays.
FLAT = 0.1
NEAR = 0.1
# Of s1, at which the curves of figure 7c change.
EQUAL_FACTOR = 0.1
SEMIJOINS = tuple(name for name in NAMES if name not in SIMPLE)
NO_PROCESSING = (
    "What is sent by simple joins does not depend on the window; the paper explains it with longer probing, and "
    "processing is no part of the time here. Semijoins send more as more rows are matched at least once."
)
ARGUMENT = (
    "The paper's own argument is the opposite of its sentence: SM-S1 sends two messages in every interval where SM-S2 "
    "needs none once the rows of a value were fetched, and SM-D2 sends three where SM-D1 sends its rows and counts."
)


def shown(measured: Measured, figure: str) -> list[Measured]:
    return [point for point in measured["points"] if point["figure"] == figure]


def curve(measured: Measured, figure: str, name: str) -> list[float]:
    """Seconds a second along the axis of a figure, from counted messages."""
    return [point["seconds"]["engine"][name] for point in shown(measured, figure)]


def _is_flat(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= FLAT * values[0]


def _change(values: Sequence[float]) -> str:
    return f"{values[0]:.2f} to {values[-1]:.2f}"


def _ends(measured: Measured, figure: str, names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_change(curve(measured, figure, name))}" for name in names)


def _groups(figure: str, measured: Measured) -> Verdict:
    grows = all(_rises(curve(measured, figure, name)) for name in AT_SOURCE)
    stays = all(_is_flat(curve(measured, figure, name)) for name in AT_DESTINATION)
    return Verdict(_ends(measured, figure, NAMES), grows and stays)


def _rises(values: Sequence[float]) -> bool:
    return list(values) == sorted(values) and values[-1] > (1 + FLAT) * values[0]


def _falls(values: Sequence[float]) -> bool:
    return _rises(values[::-1])


def _crossing(measured: Measured) -> Verdict:
    """Which group has the cheapest algorithm, at the ends of figures 7a and 7b."""
    said, holds = [], True
    for figure in ("a", "b"):
        for place, group in ((0, AT_SOURCE), (-1, AT_DESTINATION)):
            point = shown(measured, figure)[place]
            best = min(NAMES, key=lambda name: point["seconds"]["engine"][name])
            said.append(f"{best} with {point['value']} {FIGURES[figure].split(',')[0]}")
            holds &= best in group
    return Verdict(", ".join(said), holds)


def _close(measured: Measured) -> Verdict:
    """SP-S beside SM-S2, and SP-D beside SM-D1, in all figures but 7c."""
    worst, where = 0.0, ""
    for point in (point for point in measured["points"] if point["figure"] != "c"):
        seconds = point["seconds"]["engine"]
        for one, other in (("SP-S", "SM-S2"), ("SP-D", "SM-D1")):
            apart = abs(seconds[other] / seconds[one] - 1)
            if apart > worst:
                worst, where = apart, f"{one} and {other}, {FIGURES[point['figure']]} {point['value']}"
    why = "The copied keys and their counts are a message of their own in every interval, which is latency."
    return Verdict(f"at most {100 * worst:.0f} % apart ({where})", worst <= NEAR, why)


def _simple_flat(measured: Measured) -> Verdict:
    return Verdict(_ends(measured, "c", SIMPLE), all(_is_flat(curve(measured, "c", name)) for name in SIMPLE))


def _source_selectivity(measured: Measured) -> Verdict:
    """Rising until s2 has as few values as s1, then flat."""
    points = shown(measured, "c")
    before = [n for n, point in enumerate(points) if point["value"] <= EQUAL_FACTOR]
    after = [n for n, point in enumerate(points) if point["value"] >= EQUAL_FACTOR]
    holds = True
    for name in ("SM-S1", "SM-S2"):
        values = curve(measured, "c", name)
        holds &= _rises([values[n] for n in before]) and _is_flat([values[n] for n in after])
    return Verdict(_ends(measured, "c", ("SM-S1", "SM-S2")), holds)


def _destination_selectivity(measured: Measured) -> Verdict:
    names = ("SM-D1", "SM-D2")
    why = "With at least as many values as s1 every row of s1 matches: there is nothing left to fall before that."
    return Verdict(_ends(measured, "c", names), all(_falls(curve(measured, "c", name)) for name in names), why)


def _all_along(figure: str, falls: bool, why: str, measured: Measured) -> Verdict:
    judge = _falls if falls else _rises
    return Verdict(_ends(measured, figure, NAMES), all(judge(curve(measured, figure, name)) for name in NAMES), why)


def _one_or_two(one: str, other: str, measured: Measured) -> Verdict:
    """Whether one algorithm is cheaper than another in every point."""
    ratios = [point["seconds"]["engine"][one] / point["seconds"]["engine"][other] for point in measured["points"]]
    return Verdict(f"{min(ratios):.2f} to {max(ratios):.2f} times {other}", max(ratios) < 1, ARGUMENT)


def _against(source: str, what: str, share: float, measured: Measured) -> Verdict:
    """The most that counts of the engine differ from others, of all points and algorithms, both directions together."""
    ratios = {}
    for point in measured["points"]:
        for name in NAMES:
            counted, other = (total(point["counts"][one][name], what) for one in ("engine", source))
            ratios[f"{name}, {FIGURES[point['figure']]} {point['value']}"] = counted / other
    worst = max(ratios, key=lambda name: abs(ratios[name] - 1))
    said = f"{min(ratios.values()):.3f} to {max(ratios.values()):.3f} times, most apart: {worst}"
    return Verdict(said, all(abs(ratio - 1) <= share for ratio in ratios.values()))


def _same_results(measured: Measured) -> Verdict:
    """Of the four semijoins, in every step; the simple joins are run without a full window."""
    steps, alike = 0, True
    for point in measured["points"]:
        found = [point["counts"]["engine"][name]["results"] for name in SEMIJOINS]
        alike &= all(one == found[0] for one in found) and sum(found[0]) > 0
        steps += len(found[0])
    return Verdict(f"the same in {steps} steps" if alike else "not the same", alike)


def _framing(measured: Measured) -> Verdict:
    """The framing of messages, of all their bytes, at the default setting."""
    counts = shown(measured, "e")[0]["counts"]["engine"]
    shares = [total(counts[name], "framing") / (total(counts[name], "framing") + total(counts[name], "bytes"))
              for name in NAMES]  # fmt: skip
    said = f"{100 * min(shares):.1f} to {100 * max(shares):.1f} % at the default setting"
    return Verdict(said, max(shares) <= NEAR)


def _sizes(figure: str, what: str) -> Claim:
    text = f"With more {what} the algorithms at the source take longer, those at the destination as long as before"
    return Claim(f"groups {figure}", text, "as said", lambda measured: _groups(figure, measured))


CLAIMS = (
    _sizes("a", "bytes in a row of s2"),
    _sizes("b", "rows of s2"),
    Claim(
        "crossing",
        "Where s2 is smaller an algorithm at the source is best, where it is larger one at the destination",
        "the curves cross",
        _crossing,
    ),
    Claim("close", "SP-S and SM-S2 are very close, SP-D and SM-D1 too, in all figures but 7c", "very close", _close),
    Claim("simple", "The selectivity factor of s2 does not matter to simple joins", "unchanged", _simple_flat),
    Claim(
        "source factor",
        "SM-S1 and SM-S2 take longer with the factor of s2, until it is that of s1, then as long as before",
        "as said",
        _source_selectivity,
    ),
    Claim("destination factor", "SM-D1 and SM-D2 take less with the factor of s2", "less", _destination_selectivity),
    Claim(
        "window",
        "All six take longer with the window",
        "longer",
        lambda measured: _all_along("d", False, NO_PROCESSING, measured),
    ),
    Claim(
        "latency",
        "All six take longer with the latency",
        "longer",
        lambda measured: _all_along("e", False, "", measured),
    ),
    Claim(
        "bandwidth",
        "All six take less with the bandwidth",
        "less",
        lambda measured: _all_along("f", True, "", measured),
    ),
    Claim(
        "interval",
        "All six take less with the interval",
        "less",
        lambda measured: _all_along("g", True, "", measured),
    ),
    Claim(
        "one step",
        "SM-S1 is more efficient than SM-S2 in all figures",
        "more efficient",
        lambda measured: _one_or_two("SM-S1", "SM-S2", measured),
    ),
    Claim(
        "two steps",
        "SM-D2 is more efficient than SM-D1 in all figures",
        "more efficient",
        lambda measured: _one_or_two("SM-D2", "SM-D1", measured),
    ),
    Claim(
        "bytes",
        "The bytes that the engine counts are within 10 % of the formulas",
        "no figure; ours",
        lambda measured: _against("modelled", "bytes", NEAR, measured),
    ),
    Claim(
        "messages",
        "The messages that the engine counts are within 10 % of the formulas",
        "no figure; ours",
        lambda measured: _against("modelled", "messages", NEAR, measured),
    ),
    Claim(
        "simulated",
        "The bytes that the engine counts are within 10 % of sites simulated on the same rows",
        "no figure; ours",
        lambda measured: _against("simulated", "bytes", NEAR, measured),
    ),
    Claim("framing", "Framing is at most a tenth of what is sent", "no figure; ours", _framing),
    Claim("results", "All plans have the same results", "appendix A", _same_results),
)
"""In the order of the figures; the last ones are of the engine, not of the paper."""
