"""Seconds of one refresh of the questionnaire meter with 12 questions; with --tables, what real tables show instead.

SHOAL_DATA=FOLDER python benchmarks/predict_meter/bench.py --tables
python benchmarks/predict_meter/bench.py --further FOLDER
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Mapping
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


TABLES = {
    "adult/adult.csv": ",", "sdcmicro/testdata.csv": ",", "sdcmicro/free1.csv": ",",
    **{f"real_tables/{name}/data.csv": "" for name in ("covid_testing", "diabetes130", "eph_argentina", "histoire_de_vie",
       "mimic_admissions", "patients_uk_synthetic", "student_performance")},
    "real_tables/credit_german/data.txt": " ",
}  # fmt: skip
SETS, MOST_VALUES = 500, 150


def columns_of(path: Path, delimiter: str) -> list[np.ndarray]:
    """The columns of a table with few enough values to be answers of a question, as numbers."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as source:
        head = source.readline()
        source.seek(0)
        rows = list(csv.reader(source, delimiter=delimiter or max(",;\t", key=head.count)))
    rows = [row for row in rows[delimiter != " " :] if len(row) == len(rows[0])]
    found = [np.unique(column, return_inverse=True)[1] for column in np.array(rows).T]
    return [codes for codes in found if 1 <= codes.max() < min(MOST_VALUES, len(rows) / 4)]


def shares_by_combinations(data: Path, tables: Mapping[str, str], seed: int) -> list[tuple[str, float, float]]:
    """For random sets of questions and people of real tables: digits of combinations per respondent, and the unique share."""
    rng, out = np.random.default_rng(seed), []
    for name, delimiter in tables.items():
        columns = columns_of(data / name, delimiter)
        if len(columns) < 2:
            continue
        for people in (100, 300, 1000, 3000, 10_000):
            for _ in range(SETS if people <= len(columns[0]) else 0):
                chosen = rng.choice(len(columns), int(rng.integers(2, min(len(columns), 30) + 1)), replace=False)
                rows = rng.choice(len(columns[0]), people, replace=False)
                sizes = np.unique(np.stack([columns[i][rows] for i in chosen]), axis=1, return_counts=True)[1]
                digits = sum(np.log10(min(columns[i].max() + 1, _meter.LISTED)) for i in chosen) - np.log10(people)
                out.append((name, float(digits), float((sizes == 1).sum() / people)))
    return out


def real_tables(data: Path, tables: Mapping[str, str], seed: int) -> None:
    """The smallest share seen from each number of combinations on, and in the table that has the second smallest."""
    found, result = shares_by_combinations(data, tables, seed), {}
    for many, said in _meter.SEEN_IN_TABLES.items():
        fine = [(share, name) for name, digits, share in found if digits >= np.log10(many)]
        least = sorted(min(s for s, n in fine if n == name) for name in {n for _, n in fine})
        below = sum(share < said for share, _ in fine)
        result[many] = {
            "sets": len(fine),
            "tables": len(least),
            "least": least[0],
            "second": least[1],
            "said": said,
            "below": below,
        }
        sys.stdout.write(f"{many:>13,}: {result[many]}\n")
    which = "real tables" if tables is TABLES else f"{len({name for name, *_ in found})} further tables"
    record(HERE, question=which, seed=seed, sets=len(found), answer=result)


def main() -> None:
    if "--tables" in sys.argv:
        real_tables(Path(os.environ["SHOAL_DATA"]), TABLES, seed=1)
        return
    if "--further" in sys.argv:  # a folder of CSV files that no limit was chosen on
        folder = Path(sys.argv[-1])
        real_tables(folder, {p.name: "," for p in sorted(folder.glob("*.csv"))}, seed=2)
        return
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
