"""The sums of one iteration of the transport solver. `volt.choosing.transport_problem` has the
mathematics and names the symbols."""

from __future__ import annotations

import math
from collections.abc import Sequence

from volt import _core


def token_half_step(
    costs: Sequence[dict[int, float]],
    gamma: float,
    potential: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
) -> tuple[list[dict[int, float]], list[float], list[float]]:
    """The plan, s and m for given character potentials. `costs` has one dictionary per token, from
    character to cost. A potential of -inf means that the character has no mass."""
    plan, log_sums, masses = [], [], []
    for cost, least, most in zip(costs, lower, upper, strict=True):
        exponents = {i: potential[i] - cost[i] / gamma for i in cost if potential[i] > -math.inf}
        largest = max(exponents.values())
        shares = {
            i: math.exp(max(exponent - largest, _core.SMALLEST_EXPONENT))
            for i, exponent in exponents.items()
        }
        total = sum(shares.values())
        log_sums.append(largest + math.log(total))
        limited = min(max(log_sums[-1], math.log(least)), math.log(most))
        masses.append(math.exp(limited))
        plan.append({i: masses[-1] * shares.get(i, 0.0) / total for i in cost})
    return plan, log_sums, masses


def coupling(
    plan: Sequence[dict[int, float]], weight: Sequence[float], scale: Sequence[float]
) -> list[list[float]]:
    """The matrix G, both halves: scale_i scale_k sum_j weight_j P_ij P_kj."""
    return [
        [
            at * other * sum(w * row.get(i, 0.0) * row.get(k, 0.0)
                             for w, row in zip(weight, plan, strict=True))
            for k, other in enumerate(scale)
        ]
        for i, at in enumerate(scale)
    ]  # fmt: skip
