"""StrictMath's functions, bit by bit, where the last bit of NumPy's is another; and the ends of their domains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from braid.kernels.expressions.evaluate import evaluate
from braid.kernels.expressions.vectors import Vector
from braid.plan.expressions import Call, Column, Expression, Function

NAN, INF = math.nan, math.inf
AS_IN_JAVA: dict[Function, list[tuple[tuple[float, ...], float]]] = {
    "exp": [
        ((-0.9999999999999999,), 0.36787944117144233),
        ((2.0000000000000004,), 7.389056098930654),
        ((0.43749999999999994,), 1.5488302986341331),
    ],
    "expm1": [
        ((1.0000000000000002,), 1.718281828459046),
        ((2.0000000000000004,), 6.389056098930654),
        ((231.98726760219205,), 5.633654270808039e100),
    ],
    "sinh": [
        ((-2.0,), -3.626860407847019),
        ((3.141592653589793,), 11.548739357257748),
        ((2.0000000000000004,), 3.626860407847021),
    ],
    "cosh": [
        ((-1.0,), 1.543080634815244),
        ((10.0,), 11013.232920103324),
        ((0.7853981633974483,), 1.3246090892520057),
    ],
    "tanh": [
        ((3.141592653589793,), 0.99627207622075),
        ((-0.5000000000000001,), -0.46211715726000985),
        ((0.7853981633974482,), 0.6557942026326724),
    ],
    "log": [
        ((3.0,), 1.0986122886681096),
        ((710.4758600739439,), 6.565934970990844),
        ((2.9609970296098815,), 1.085526045947685),
    ],
    "log10": [
        ((3.141592653589793,), 0.4971498726941338),
        ((3.0185430596844065,), 0.47979737546858636),
        ((2.9609970296098815,), 0.4714379717173355),
    ],
    "log1p": [
        ((-0.924109005456405,), -2.57845725058439),
        ((-0.10593099112502907,), -0.11197231565239105),
        ((-0.20468657313226538,), -0.2290189943906123),
    ],
    "asin": [
        ((-0.20068181305686808,), -0.20205384281313135),
        ((-0.009585007631591527,), -0.009585154403889556),
        ((-0.20468657313226538,), -0.20614349011785324),
    ],
    "acos": [
        ((0.5,), 1.0471975511965979),
        ((0.5863496737214923,), 0.944251127326949),
        ((-0.5432855792895888,), 2.145142013097506),
    ],
    "atan": [
        ((3.141592653589793,), 1.2626272556789115),
        ((0.6874999999999999,), 0.602287346134964),
        ((-3.141592653589793,), -1.2626272556789115),
    ],
    "atan2": [
        ((-1.0, -2.8527079082729193e-100), -1.5707963267948968),
        ((3.0, -0.24302560345179547), 1.6516283527485982),
        ((709.78, -1.1493366468678573e-280), 1.5707963267948968),
    ],
    "cbrt": [
        ((-11.799048782850049,), -2.2765769388209223),
        ((0.0116557811464201,), 0.22673250945550422),
        ((-19.56355245858613,), -2.6945272069339894),
    ],
    "hypot": [
        ((3.0, -0.24302560345179547), 3.009827477436723),
        ((0.1, 2.9107919383856427), 2.9125091774225957),
        ((100.00000000000001, 0.7908543595256596), 100.00312720419288),
    ],
    "power": [
        ((0.6874999999999999, -0.6889890373949976), 1.2945455139176985),
        ((0.43526801338519006, 5.320746592442253), 0.011965097057845334),
        ((5.461449141718104, -0.1763664127701059), 0.741248199847113),
    ],
}
ENDS: dict[Function, list[tuple[tuple[float, ...], float | None]]] = {
    "exp": [((710.0,), INF), ((-746.0,), 0.0), ((-INF,), 0.0), ((INF,), INF), ((NAN,), NAN), ((-745.0,), 5e-324)],
    "expm1": [((-0.0,), -0.0), ((-INF,), -1.0), ((-50.0,), -1.0), ((710.0,), INF)],
    "sinh": [((-0.0,), -0.0), ((711.0,), INF), ((-INF,), -INF), ((NAN,), NAN)],
    "cosh": [((0.0,), 1.0), ((-711.0,), INF), ((NAN,), NAN)],
    "tanh": [((-0.0,), -0.0), ((25.0,), 1.0), ((-INF,), -1.0), ((NAN,), NAN)],
    "log": [((0.0,), None), ((NAN,), NAN), ((INF,), INF), ((1.0,), 0.0), ((5e-324,), -744.4400719213812)],
    "log1p": [((-1.0,), None), ((-0.0,), -0.0), ((INF,), INF), ((5e-324,), 5e-324)],
    "log2": [((8.0,), 3.0), ((-0.0,), None)],
    "log_base": [((10.0, 100.0), 2.0), ((1.0, 2.0), INF), ((1.0, 0.5), -INF), ((0.0, 2.0), None), ((2.0, -1.0), None)],
    "asin": [((1.0,), math.pi / 2), ((1.0000000000000002,), NAN), ((-0.0,), -0.0)],
    "acos": [((1.0,), 0.0), ((-1.0,), math.pi), ((-1.5,), NAN)],
    "atan": [((INF,), math.pi / 2), ((-0.0,), -0.0), ((NAN,), NAN)],
    "atan2": [((-0.0, -1.0), math.pi), ((0.0, -0.0), 0.0), ((-INF, -INF), -2.356194490192345), ((-1.0, INF), -0.0)],
    "cbrt": [((-0.0,), -0.0), ((27.0,), 3.0), ((-INF,), -INF), ((NAN,), NAN), ((5e-324,), 1.7031839360032603e-108)],
    "hypot": [((3.0, 4.0), 5.0), ((INF, NAN), INF), ((1.0, NAN), NAN), ((5e-324, 5e-324), 5e-324)],
    "power": [
        ((NAN, 0.0), 1.0), ((1.0, INF), NAN), ((-8.0, 3.0), -512.0), ((-8.0, 0.5), NAN), ((-0.0, -3.0), -INF),
        ((2.0, 1024.0), INF), ((2.0, -1075.0), 0.0), ((2.0, -1074.0), 5e-324), ((-INF, 3.0), -INF), ((0.0, NAN), NAN),
    ],
    "sign": [((-0.0,), -0.0), ((-3.0,), -1.0), ((NAN,), NAN), ((INF,), 1.0)],
}  # fmt: skip


def value_of(function: Function, arguments: tuple[float, ...]) -> Any:
    names = "xy"[: len(arguments)]
    call: Expression = Call(function, tuple(Column(name, 0, "double") for name in names), "double")
    vectors = {name: Vector(np.array([argument])) for name, argument in zip(names, arguments, strict=True)}
    found = evaluate(call, vectors.__getitem__)
    return None if found.valid is not None and not found.valid[0] else float(found.values[0])


@pytest.mark.parametrize("function", sorted({*AS_IN_JAVA, *ENDS}))
def test_functions_have_the_bits_of_strict_math(function: Function) -> None:
    for arguments, expected in [*AS_IN_JAVA.get(function, []), *ENDS.get(function, [])]:
        found = value_of(function, arguments)
        if expected is None or math.isnan(expected):
            assert (found is None) is (expected is None), arguments
            assert found is None or math.isnan(found), arguments
        else:
            assert np.float64(found).view(np.int64) == np.float64(expected).view(np.int64), (arguments, found)
