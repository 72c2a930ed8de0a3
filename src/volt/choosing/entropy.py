"""H of Eq. 2 for a set of tokens with weights, with either mean length."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from volt._core import dot, total

Length = Literal["types", "occurrences"]


def entropy_per_length(weights: ArrayLike, lengths: ArrayLike, by: Length) -> float:
    """-(1/l) sum P ln P, P proportional to the weights; l is the mean length over the types, or
    over the occurrences."""
    weight = np.asarray(weights, np.float64)
    length = np.asarray(lengths, np.float64)
    used = weight > 0
    weight, length = weight[used], length[used]
    if not weight.size:
        return 0.0
    share: NDArray[np.float64] = weight / total(weight)
    mean = total(length) / len(length) if by == "types" else dot(share, length)
    return -dot(share, np.log(share)) / mean
