"""Seconds of one refresh of the questionnaire meter with 12 questions."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from common import best_of, record  # noqa: E402

from shoal.prediction import Questionnaire  # noqa: E402
from shoal.prediction.questionnaire import meter as _meter  # noqa: E402


def survey() -> Questionnaire:
    rng = np.random.default_rng(1)
    q = Questionnaire(population=17_000_000, respondents=1200)
    q.add("age", counts=np.r_[np.ones(65), (95 - np.arange(65, 95)) / 30], ordered=True, band=1, unit="year")
    q.add("sex", shares=[0.51, 0.49]).add("province", counts=rng.integers(1, 30, 12))
    q.add("education", shares=[0.2, 0.3, 0.3, 0.2], ordered=True).add("income", counts=rng.integers(5, 30, 10), ordered=True)
    for i, n in enumerate((5, 5, 5, 7, 3, 2, 4)):
        q.add(f"q{i}", counts=rng.integers(5, 30, n))
    return q.link("education", "income", correlation=0.5)


def main() -> None:
    q = survey()
    q.meter()
    seconds, m = best_of(q.meter, repeats=9)
    fine = _meter.unique_share(_meter.parts(q.blocks(), list(q.questions)), q.respondents, points=1 << 18)[0]
    record(
        HERE,
        question="refresh",
        questions=12,
        combinations=m.combinations,
        limit=0.1,
        seconds=seconds,
        median=float(np.median(seconds)),
        answer=m.unique.value,
        difference_to_fine_grid=abs(m.unique.value - fine),
    )
    seconds, s = best_of(q.suggest)
    record(HERE, question="suggestion", questions=12, seconds=seconds, answer=s.after)


if __name__ == "__main__":
    main()
