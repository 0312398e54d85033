"""The prosecutor played out: for tests where the owners of the published records are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import wilson


def linkage_trial(
    record_class: npt.ArrayLike,
    record_owner: npt.ArrayLike,
    target_class: npt.ArrayLike,
    target: npt.ArrayLike,
    *,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Play the prosecutor once for every target and count: the success rate with its 95 % interval.

    A target whose class has no record fails.

    >>> linkage_trial([0, 0, 1], [7, 8, 9], [0, 1], [7, 9], rng=np.random.default_rng(0))[0] in (0.5, 1.0)
    True
    """
    classes, owners = np.asarray(record_class), np.asarray(record_owner)
    wanted, who = np.asarray(target_class), np.asarray(target)
    order = np.argsort(classes, kind="stable")
    sorted_classes = classes[order]
    first, last = np.searchsorted(sorted_classes, wanted, "left"), np.searchsorted(sorted_classes, wanted, "right")
    size = last - first
    guess = first + (rng.random(len(wanted)) * np.maximum(size, 1)).astype(np.int64)
    found = (size > 0) & (owners[order][np.minimum(guess, len(order) - 1)] == who)
    return float(found.mean()), *wilson(float(found.sum()), len(wanted))
