"""``shoal.study`` against slow definitions, the worked sizes of METHODS §2, and the shape of the thesis on real populations."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

import shoal
from shoal.errors import MissingColumnError, UsageError

TOWNS = ["canaryburg"] * 12 + ["delft"] * 20 + ["urk"] * 3
AGES = [30 + i % 7 for i in range(35)]
SEXES = ["fm"[i % 3 == 0] for i in range(35)]
TABLE = {"town": TOWNS, "age": AGES, "sex": SEXES}


def entropy(values: list[object]) -> float:
    n = len(values)
    return -sum(c / n * math.log2(c / n) for c in Counter(values).values())


def test_the_worked_sizes_of_the_methods() -> None:
    sizes = (1, 1, 2, 3, 3, 5, 8, 13)
    column = [i for i, n in enumerate(sizes) for _ in range(n)]
    (x,) = shoal.study({"a": column}, sets=[["a"]]).sets
    assert (x.sizes.sets, x.sizes.min, x.sizes.q1, x.sizes.median, x.sizes.mean, x.sizes.q3, x.sizes.max) == (
        *(8, 1, 1.75, 3, 4.5, 5.75, 13),
    )
    assert x.at == {1: 2, 5: 15, 10: 23, 50: 36, 100: 36}
    assert x.exactly == {1: 2, 2: 2, 3: 6, 4: 0, 5: 5, 6: 0, 7: 0, 8: 8, 9: 0, 10: 0}


def test_sets_and_subpopulations_by_a_slow_definition() -> None:
    s = shoal.study(TABLE, sets=[["age", "sex"], ["sex"], ["town", "age"]], by="town", group_size=2)
    both = list(zip(AGES, SEXES, strict=True))
    x = s.sets[0]
    assert x.entropy == pytest.approx(entropy(both))
    assert x.cells == 14
    assert x.kappa == pytest.approx(math.log(14) - entropy(both) * math.log(2))
    assert [g.members for g in x.groups] == [20, 12, 3]
    for g, town in zip(x.groups, ("delft", "canaryburg", "urk"), strict=True):
        inside = [b for b, t in zip(both, TOWNS, strict=True) if t == town]
        sizes = Counter(inside)
        assert g.unique == sum(n == 1 for n in sizes.values())
        assert g.sizes.median == np.median(list(sizes.values()))
        assert g.entropy == pytest.approx(entropy(inside))
        pair = 1 - sum((n / len(inside)) ** 2 for n in sizes.values())  # two people with replacement are different
        assert g.log_uniqueness == pytest.approx(math.log(pair))
        q = [n / len(inside) for n in sizes.values()]  # of two people none or both are alone
        assert (g.alone, g.alone_variance) == pytest.approx((2 * pair, 4 * pair * (1 - pair)))
        assert pair == pytest.approx(sum(x * (1 - x) for x in q))
        p = [n / 35 for n in Counter(both).values()]
        assert g.predicted[0] == pytest.approx(sum(q * (1 - q) ** (len(inside) - 1) for q in p))
        assert g.observed[0] == pytest.approx(g.unique / len(inside))
    assert [g.name for g in x.groups] == ["delft", "canaryburg", None], "three people are not named"
    own = s.sets[2]
    assert own.groups[0].kappa == pytest.approx(math.log(7) - own.groups[0].entropy * math.log(2)), (
        "the town says nothing inside it"
    )
    age = next(c for c in s.columns if c.name == "age")
    assert age.bands[2] == pytest.approx(math.log(4) - entropy([a // 2 for a in AGES]) * math.log(2))


def test_bands_within_each_subpopulation_by_a_slow_definition() -> None:
    """Figure 4.4: κ of a whole number in bands, over the bands of the whole table, the lowest ungrouped κ first."""
    ages = [a if i != 33 else None for i, a in enumerate(AGES)]
    s = shoal.study(TABLE | {"age": ages}, sets=[["sex"], ["age", "sex"], ["town"]], by="town")
    columns = {c.name: c for c in s.columns}
    assert columns["sex"].by_group == columns["town"].by_group == {}
    here = [(t, a) for t, a in zip(TOWNS, ages, strict=True) if a is not None]
    slow = {}
    for width in (1, 2, 5):
        cells = max(a for _, a in here) // width - min(a for _, a in here) // width + 1
        inside = {t: entropy([a // width for u, a in here if u == t]) for t in dict.fromkeys(TOWNS)}
        slow[width] = {t: math.log(cells) - h * math.log(2) for t, h in inside.items()}
    order = sorted(slow[1], key=lambda t: slow[1][t])
    found = columns["age"].by_group
    assert set(found) == set(slow), "36 // 10 is 30 // 10: one band says nothing"
    for width, kappas in found.items():
        assert kappas == pytest.approx([slow[width][t] for t in order])


def test_bands_are_kept_within_their_limits() -> None:
    from shoal.studies.column_sets import bands_by_group

    counts = shoal.open({"town": [0, 1, 2, 2], "age": [3, 4, 5, 5], "name": list("abcc")}).count(("age", "town", "name"))
    assert bands_by_group(counts, "name", "town", 9) == {}
    assert [len(bands_by_group(counts, "age", "town", most)[1]) for most in (2, 3, 4)] == [2, 3, 3]
    far = shoal.open({"town": [0, 0, 1], "x": [0, 9_999_999, 3]}).count(("x", "town"))
    assert set(bands_by_group(far, "x", "town", 9)) == {1, 2, 5, 10, 20}
    farther = shoal.open({"town": [0, 0, 1], "x": [0, 10_000_000, 3]}).count(("x", "town"))
    assert set(bands_by_group(farther, "x", "town", 9)) == {2, 5, 10, 20}


def test_uniqueness_by_group_size_where_kappa_is_lowest_and_highest() -> None:
    """Figure 4.3, with replacement: k! e_k of the shares; subpopulations without a name are not drawn."""
    s = shoal.study(TABLE, sets=[["age", "sex"]], by="town", group_size=3)
    (x,) = s.sets
    assert [bool(g.by_group_size) for g in x.groups] == [True, True, False]
    for g, town in zip(x.groups[:2], ("delft", "canaryburg"), strict=True):
        sizes = Counter(b for b, t in zip(zip(AGES, SEXES, strict=True), TOWNS, strict=True) if t == town)
        poly = np.poly1d([1.0])
        for n in sizes.values():
            poly = poly * np.poly1d([n / g.members, 1.0])
        for k, chance in g.by_group_size.items():
            assert chance == pytest.approx(math.factorial(k) * poly.coeffs[::-1][k])
        assert math.log(g.by_group_size[3]) == pytest.approx(g.log_uniqueness)
    assert list(x.evenly) == list(x.groups[0].by_group_size) == [2, 3, 4, 5, 6]
    assert x.evenly[6] == pytest.approx(math.prod(1 - i / 14 for i in range(6)))
    three = {"town": [f"t{i // 10}" for i in range(30)], "a": [0] * 9 + [1] + [0] * 7 + [1] * 3 + [0] * 5 + [1] * 5}
    (y,) = shoal.study(three, sets=[["a"]], by="town").sets
    assert {g.name for g in y.groups if g.by_group_size} == {"t0", "t2"}
    small = {"town": ["x"] * 9, "a": list(range(9))}
    assert not shoal.study(small, sets=[["a"]], by="town").sets[0].groups[0].by_group_size


def test_all_group_sizes_at_once_equal_one_after_the_other(monkeypatch) -> None:
    from shoal.prediction import Distribution
    from shoal.studies import column_sets

    known = Distribution.counts([5, 3, 1, 1], cells=9)
    at_once = column_sets.by_group_size(known, 3)
    for limits in ((3, 200), (60_000, 2)):
        monkeypatch.setattr(column_sets, "FEW_CELLS", limits[0])
        monkeypatch.setattr(column_sets, "FEW_PEOPLE", limits[1])
        assert column_sets.by_group_size(known, 3) == pytest.approx(at_once)


def test_regression_equals_numpy() -> None:
    from shoal.studies.column_sets import regression

    x, y = [0.1, 0.2, 0.4, 0.9], [-1.0, -1.5, -1.4, -3.0]
    found = regression(x, y)
    slope, intercept = np.polyfit(x, y, 1)
    assert found is not None
    assert (found.slope, found.intercept) == (pytest.approx(slope), pytest.approx(intercept))
    assert found.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert regression([0.0, 1.0], [0.0, 1.0]) is None
    assert regression([0.0, 1.0, 2.0], [0.0, -math.inf, 1.0]) is None
    assert regression([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]) is None


def test_kappa_explains_uniqueness_as_in_the_thesis() -> None:
    """Figure 4.1: over many places the regression of log uniqueness on κ explains nearly all of it."""
    rng = np.random.default_rng(3)
    town, age = [], []
    for i in range(12):
        p = rng.dirichlet(np.full(60, 1 + 2 * i))
        town += [f"t{i}"] * 400
        age += rng.choice(60, 400, p=p).tolist()
    (x,) = shoal.study({"town": town, "age": age}, sets=[["age"]], by="town").sets
    assert x.regression is not None
    assert x.regression.points == 12
    assert x.regression.slope < 0
    assert x.regression.r2 > 0.95


def test_people_are_counted_by_unit_and_refused_in_several_classes() -> None:
    t = {"id": [1, 1, 2, 3], "age": [30, 30, 30, 41]}
    assert shoal.study(t, sets=["age"], unit="id").sets[0].members == 3
    with pytest.raises(UsageError, match="several classes"):
        shoal.study({"id": [1, 1], "age": [30, 31]}, sets=["age"], unit="id")


def test_what_is_asked_wrongly_is_refused() -> None:
    with pytest.raises(UsageError, match="no set"):
        shoal.study(TABLE)
    with pytest.raises(MissingColumnError):
        shoal.study(TABLE, sets=[["aeg"]])
    with pytest.raises(UsageError, match="twice"):
        shoal.study(TABLE, sets=[["age", "age"]])
    with pytest.raises(UsageError, match="at least 2"):
        shoal.study(TABLE, sets=[["age"]], group_size=1)
    with pytest.raises(UsageError, match="at least 1 column"):
        shoal.study(TABLE, quasi=["age", "sex"], up_to=0)
    assert shoal.study(TABLE, quasi=["age", "sex"], up_to=1).lattice is not None


def test_page_json_and_command(tmp_path, capsys) -> None:
    from shoal.cli import main

    file, sets, page = tmp_path / "t.csv", tmp_path / "sets.txt", tmp_path / "s.html"
    file.write_text("town,age,sex\n" + "".join(f"{t},{a},{x}\n" for t, a, x in zip(TOWNS, AGES, SEXES, strict=True)))
    sets.write_text("# two sets\nage\n\nage,sex\n")
    words = ["study", str(file), "--sets", str(sets), "--by", "town", "--quasi", "age,sex", "--up-to", "2", "--report", str(page)]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json"])
    assert not stop.value.code
    found = json.loads(capsys.readouterr().out)
    assert [s["columns"] for s in found["sets"]] == [["age"], ["age", "sex"]]
    assert found["lattice"]["sets_counted"] == 3
    assert found["sets"][0]["groups"][0]["class_sizes"]["median"] == pytest.approx(3.0)
    text = page.read_text(encoding="utf-8")
    assert "delft" in text
    assert "urk" not in text + json.dumps(found), "the small subpopulation has no name"
    assert "<script" not in text
    assert "Uniqueness by group size" in text
    assert "Unique people against κ, variance" in text
    assert "κ of age in bands" in text
    assert set(found["columns"][0]["by_group"]) == {"1", "2", "5"}
    assert list(found["sets"][0]["evenly"]) == list(found["sets"][0]["groups"][0]["by_group_size"])
    with pytest.raises(SystemExit) as stop:
        main(words[:-2])
    assert not stop.value.code
    assert "Largest safe sets" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stop:
        main(["study", str(file), "--sets", str(tmp_path / "no.txt")])
    assert stop.value.code == 3


@pytest.mark.parametrize(
    ("sets", "says"), [([["a"]], "a: 33.3 % are"), ([["a"], ["b"]], "Of 2 sets of columns, a tells most: 33.3 % are")]
)
def test_the_sentence_compares_only_several_sets(sets, says):
    found = shoal.study({"a": [1, 1, 2], "b": [1, 1, 1]}, sets=sets)
    assert found.sentence == f"{says} one of a kind."
