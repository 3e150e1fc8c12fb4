"""rtol and atol of assert_close from thresholds."""

from __future__ import annotations

import numpy as np


def _line_above(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Of the lines atol + rtol x >= y with rtol >= 0 and atol >= 0 the one that is least at the mean of x. It is an
    edge of the upper hull of the points (x, y), of (0, 0), because atol >= 0, and of (max x, max y), because rtol >=
    0."""
    left, right = (0.0, float(y[x == 0].max(initial=0))), (float(x.max()), float(y.max()))
    middle, slope = float(x.mean()), 0.0
    while right[0] > left[0]:
        slope = (right[1] - left[1]) / (right[0] - left[0])
        above = y - slope * x
        i = int(above.argmax())
        point = (float(x[i]), float(y[i]))
        if above[i] <= left[1] - slope * left[0] or point in (left, right):
            break
        left, right = (point, right) if point[0] <= middle else (left, point)
    return slope, left[1] - slope * left[0]


def tolerances(lower: np.ndarray, upper: np.ndarray, threshold: np.ndarray) -> dict[str, float]:
    """The pair that grants |got - exact| <= threshold, lower <= exact <= upper; Report.suggested_tolerances says
    which."""
    # The threshold is rounded down, and the caller's exact value may be anywhere between lower and upper.
    allowed = np.nextafter(np.nextafter(threshold, np.inf) + (upper - lower), np.inf)
    numbers = np.isfinite(allowed)  # not where lower and upper are NaN or infinite
    if not numbers.any():
        return {"rtol": 0.0, "atol": 0.0}
    least, allowed = np.minimum(abs(lower), abs(upper))[numbers], allowed[numbers]
    rtol, atol = _line_above(least, allowed)
    atol = max(atol, 0.0)
    # The comparison rounds in float64, and so did the line.
    while (short := float((allowed - (atol + rtol * least)).max())) > 0:
        atol = float(np.nextafter(atol + short, np.inf))
    return {"rtol": rtol, "atol": atol}
