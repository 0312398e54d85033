"""A plan that is chosen by its use: counts and predictions are computed again record by record."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import shoal
from shoal.cli import main
from shoal.errors import InfeasibleError, PolicyError
from shoal.model.counts.classes import SensitiveCounts
from shoal.model.display import silent
from shoal.release.plan import objective
from shoal.release.plan.decide import decide
from shoal.release.plan.methods import local_recoding
from shoal.release.plan.objective import count_error, prediction_error
from shoal.release.plan.prepare import Prepared, prepare
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.policy import Policy


def people(n: int = 300, seed: int = 5) -> pa.Table:
    """Who is ill depends on the town alone, which has many values."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 12, n) % (1 + rng.integers(0, 12, n))
    return pa.table(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 60, n),
            "town": [f"town {i}" for i in town],
            "ill": [("flu", "cold", "asthma")[i % 3] for i in town],
        }
    )


ROLES = {"quasi": ["sex", "age", "town"], "sensitive": ["ill"]}


def prepared(use: dict[str, object] | None = None, k: int = 5, **more: object) -> Prepared:
    asked = {"objective": use} if use else {}
    return prepare(shoal.open(people()), Policy.of(**ROLES, k=k, **asked, **more))


def error_by_record(found: Prepared, made: Decision, columns: Sequence[str]) -> float:
    """Share of records outside their cell, one record and one cell at a time."""
    base = found.base
    places = [base.columns.index(c) for c in columns]
    rows = [i for i, n in enumerate(base.records_by_class.tolist()) for _ in range(n)]
    own = {i: tuple(int(base.codes[j][i]) for j in places) for i in rows}
    label = {i: tuple(int(made.codes[j][i]) for j in places) for i in rows if made.stays[i]}
    values: dict[tuple[int, int], set[int]] = defaultdict(set)
    for i, labels in label.items():
        for n, code in enumerate(labels):
            values[n, code].add(own[i][n])
    shown: dict[tuple[int, ...], float] = defaultdict(float)
    for i in (row for row in rows if row in label):
        inside = [values[n, code] for n, code in enumerate(label[i])]
        for cell in itertools.product(*inside):
            shown[cell] += 1 / math.prod(len(some) for some in inside)
    right = sum(min(n, shown[cell]) for cell, n in Counter(own[i] for i in rows).items())
    return 1 - right / len(rows)


def candidates(found: Prepared, columns: Sequence[str]) -> list[Decision]:
    """Each method by hand, and local recoding with some of the columns held at their values."""
    policy = replace(found.policy, objective={})
    asked = [
        replace(policy, method="lattice"),
        replace(policy, method="local"),
        replace(policy, method="local", local_cells="sets"),
    ]
    for n in range(1, len(columns) + 1):
        for some in itertools.combinations(columns, n):
            rules = policy.quasi | {c: replace(policy.quasi[c], min_level=0, max_level=0) for c in some}
            asked.append(replace(policy, method="local", local_cells="sets", quasi=rules))
    out = [decide(replace(found, policy=policy))]
    for one in asked:
        at = replace(found, policy=one)
        with contextlib.suppress(InfeasibleError):
            out.append(decide(at) if one.method == "lattice" else local_recoding(at, silent))
    return out


@pytest.mark.parametrize(("columns", "suppress"), [(["sex"], 0.0), (["town", "sex"], 0.0), (["age", "town"], 0.05)])
def test_counts_are_served_best_of_all_plans_tried(columns: list[str], suppress: float):
    found = prepared({"counts": columns}, k=3, allow={"suppress": suppress})
    made, tried = decide(found), candidates(found, columns)
    errors = [error_by_record(found, one, columns) for one in tried]
    assert [count_error(found.base, one, columns) for one in tried] == pytest.approx(errors)
    mine = error_by_record(found, made, columns)
    assert mine <= min(errors) + 0.0005
    assert made.loss <= min(one.loss for one, e in zip(tried, errors, strict=True) if e <= mine) + 1e-12


def test_an_objective_changes_the_plan_and_says_what_it_gave_up():
    plain, asked = decide(prepared()), decide(prepared({"counts": ["town", "sex"]}))
    assert asked.loss > plain.loss
    least = min(o.loss for o in asked.others if o.loss is not None)
    assert least == plain.loss
    for notes in (asked.notes, asked.plan.notes):
        assert notes[-1].startswith("Objective: the table of counts of town, sex. The best of the ")
        assert notes[-1].endswith(" % in the plan that loses least.")


def test_equal_plans_are_ranked_by_loss(monkeypatch: pytest.MonkeyPatch):
    """Wrong predictions within one standard error of the best are equal, those just beyond are not."""
    found = prepared({"predict": "ill"})
    plans = [(str(loss), replace(decide(prepared()), loss=loss)) for loss in (0.1, 0.2, 0.3)]
    noise = math.sqrt(0.2 * 0.8 / 300)
    for worse, first in ((0.2 + noise, 0.1), (0.2 + noise + 1e-9, 0.2)):
        wrong = {0.1: worse, 0.2: 0.2, 0.3: 0.2}
        monkeypatch.setattr(objective, "prediction_error", lambda base, made, target, wrong=wrong: wrong[made.loss])
        assert objective.ranked(found, plans)[0][0][1].loss == first


def test_predictions_are_served():
    """The illness follows from the town: a plan that keeps the town predicts it, one that hides it does not."""
    pytest.importorskip("sklearn")
    found = prepared({"predict": "ill"})
    made, plain = decide(found), decide(prepared())
    mine, other = (prediction_error(found.base, one, "ill") for one in (made, plain))
    assert mine <= other
    assert made.notes[-1].startswith("Objective: predictions of ill. Of the ")
    hidden = replace(made, codes=tuple(np.zeros_like(c) for c in made.codes))
    most = Counter(people()["ill"].to_pylist()).most_common(1)[0][1] / 300
    assert prediction_error(found.base, hidden, "ill") == pytest.approx(1 - most, abs=0.03)
    assert mine < 1 - most - 0.1


@pytest.mark.parametrize(
    ("use", "why"),
    [
        ({"counts": ["ill"]}, "which is not a quasi-identifier"),
        ({"predict": "town"}, "which is not sensitive"),
        ({"counts": []}, "names no column"),
        ({"counts": ["sex"], "predict": "ill"}, "objective"),
        ({}, "objective"),
    ],
)
def test_an_objective_that_makes_no_sense_is_refused(use: dict[str, object], why: str):
    with pytest.raises(PolicyError, match=why):
        Policy.of(**ROLES, k=5, objective=use)


def test_an_objective_needs_plans_to_choose_from():
    with pytest.raises(PolicyError, match="no effect with method: lattice"):
        Policy.of(**ROLES, k=5, objective={"counts": ["sex"]}, method="lattice")


def test_a_table_of_counts_may_not_be_endless(monkeypatch: pytest.MonkeyPatch):
    found, made = prepared(), decide(prepared())
    cells = (len(set(people()["town"].to_pylist())) + 1) * 3
    monkeypatch.setattr(objective, "MOST_CELLS", cells)
    count_error(found.base, made, ["town", "sex"])
    monkeypatch.setattr(objective, "MOST_CELLS", cells - 1)
    with pytest.raises(PolicyError, match="Name fewer columns"):
        count_error(found.base, made, ["town", "sex"])


def test_every_door_chooses_by_the_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pacsv.write_csv(people(), tmp_path / "people.csv")
    (tmp_path / "policy.yaml").write_text(
        "roles: {quasi: [sex, age, town], sensitive: [ill]}\nrequire: {k: 5}\nobjective: {counts: [town, sex]}\n"
    )
    file = str(tmp_path / "people.csv")
    roles = ["--quasi", "sex,age,town", "--sensitive", "ill", "--k", "5"]
    for folder, words in (
        ("one", [*roles, "--objective", "counts=town,sex"]),
        ("two", ["--policy", str(tmp_path / "policy.yaml")]),
    ):
        with pytest.raises(SystemExit) as left:
            main(["anonymize", file, *words, "--out", str(tmp_path / folder)])
        assert left.value.code == 0
        assert "Objective: the table of counts of town, sex. The best of the " in capsys.readouterr().out
    shoal.anonymize(file, **ROLES, k=5, objective={"counts": ["town", "sex"]}).write(tmp_path / "three")
    folders = [tmp_path / name for name in ("one", "two", "three")]
    assert len({(f / "data.csv").read_bytes() for f in folders}) == 1
    assert len({(f / "plan.json").read_bytes() for f in folders}) == 1
    assert shoal.verify(folders[0])


def test_numbers_are_predicted_by_tenths_and_many_words_by_the_most_frequent():
    numbers = SensitiveCounts.from_dense("pay", np.eye(40, 45, dtype=np.int64), pa.array(range(45, 0, -1)))
    assert Counter(objective._classes(numbers)) == {float(i): 4 for i in range(10)}
    assert objective._classes(numbers)[0] == 9.0
    words = SensitiveCounts.from_dense("job", np.eye(40, dtype=np.int64), pa.array([f"job {i}" for i in range(40)]))
    assert sorted(Counter(objective._classes(words)).values()) == [1] * 29 + [11]
