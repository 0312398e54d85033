"""What a release cost is said first, and a plan that loses too much stops the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli import main
from shoal.errors import InfeasibleError
from shoal.model.certificate.certificate import Cost, cost_of
from shoal.release.plan.decide import decide
from shoal.release.plan.loss_limits import blank_shares
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy

ROWS = {"town": ["a", "b", "c", "d"] * 3, "sex": ["f", "m"] * 6, "ill": ["x", "y", "z"] * 4}


def release(**more):
    return shoal.anonymize(pa.table(ROWS), quasi=["town", "sex"], sensitive=["ill"], **more)


def test_a_column_that_tells_nothing_is_named_first():
    made = release(k=6)
    cost = cost_of(made.certificate)
    assert cost.blank == ("town",)
    assert cost.sentence.startswith("1 of 2 quasi-identifiers tells nothing any more: town.")
    assert next(iter(made.to_json())) == "cost"
    assert made.to_json()["cost"]["blank"] == ["town"]
    assert f'<em class="risk">{cost.sentence}</em>' in made.report()


def test_a_release_without_a_blank_column_says_so():
    made = release(k=3)
    assert cost_of(made.certificate).sentence.startswith("Every quasi-identifier still tells something.")
    assert '<em class="risk">' not in made.report()


@pytest.mark.parametrize(("more", "stops"), [(-1e-9, True), (0.0, False), (1e-9, False)])
def test_the_loss_allowed_is_kept(more, stops):
    limit = release(k=6).decision.loss + more
    if stops:
        with pytest.raises(InfeasibleError, match="Nothing was written") as told:
            release(k=6, allow={"loss": limit})
        assert "k: 3: loss 0, 2 of 2 columns tell something" in told.value.hint
    else:
        assert release(k=6, allow={"loss": limit}).k == 6


def test_all_blank_is_no_success_unless_it_is_asked_for():
    with pytest.raises(InfeasibleError, match=r"every quasi-identifier would be blank \(town, sex\)"):
        release(k=12, allow={"loss": 0.99})
    assert release(k=12, allow={"loss": 1}).k == 12


def test_all_blank_is_refused_where_nothing_is_said_in_python_too():
    with pytest.raises(InfeasibleError, match=r"every quasi-identifier would be blank \(town, sex\)") as told:
        release(k=12)
    assert "k: 6: loss at most 0.42, 1 of 2 columns tell something" in told.value.hint
    assert release(k=12, allow={"blank": 1, "loss": 1}).k == 12


THREE = {"a": ["p", "q", "r", "s"] * 6, "b": ["t", "u", "v", "w", "x", "y"] * 4, "c": ["m", "n"] * 12}


@pytest.mark.parametrize(("blank", "stops"), [(None, False), (0.66, True), (0.67, False)])
def test_blank_cells_are_limited_without_a_word_about_loss(blank, stops):
    """Of three columns only ``c`` can stay at k = 12: two of three are blank."""
    allow = {} if blank is None else {"blank": blank}
    words = {"quasi": ["a", "b", "c"], "k": 12, "allow": allow}
    if stops:
        with pytest.raises(InfeasibleError, match=r"67 % .* 2 of 3 quasi-identifiers would be wholly blank \(a, b\)"):
            shoal.anonymize(pa.table(THREE), **words)
    else:
        assert shoal.anonymize(pa.table(THREE), **words).k == 12


def test_three_quarters_may_be_blank_where_nothing_is_said_and_no_more():
    more = {**THREE, "d": ["g", "h", "i"] * 8}
    made = shoal.anonymize(pa.table(more), quasi=[*more], k=12)
    assert cost_of(made.certificate).blank == ("a", "b", "d")
    more |= {"e": ["j", "k", "l", "o", "z", "x", "y", "w"] * 3}
    with pytest.raises(InfeasibleError, match=r"80 % of the quasi-identifying cells would be blank, and 75 % may be"):
        shoal.anonymize(pa.table(more), quasi=[*more], k=12)


def test_a_level_that_the_policy_fixes_is_not_judged():
    quasi = {"town": {"min_level": 1}, "sex": {"min_level": 1}}
    assert shoal.anonymize(pa.table({c: ROWS[c] for c in quasi}), quasi=quasi, k=12).k == 12


def test_blank_cells_of_a_local_recoding_are_counted_one_by_one():
    table = pa.table({"a": ["p"] * 6 + list("qrstuv"), "b": ["x", "y"] * 6})
    made = shoal.anonymize(table, quasi=["a", "b"], k=3, method="local")
    shares = blank_shares(made.prepared, made.decision)
    written = made.decision
    for j, name in enumerate(("a", "b")):
        cells = [None if c < 0 else written.labels[j][c] for c in written.codes[j]]
        rows = [cell for cell, size in zip(cells, made.prepared.base.sizes.tolist(), strict=True) for _ in range(size)]
        assert shares[name] == pytest.approx(rows.count("*") / 12)
    with pytest.raises(InfeasibleError, match="blank"):
        shoal.anonymize(table, quasi=["a", "b"], k=3, method="local", allow={"blank": sum(shares.values()) / 2 - 1e-9})
    assert shoal.anonymize(table, quasi=["a", "b"], k=3, method="local", allow={"blank": sum(shares.values()) / 2}).k >= 3


def test_local_recoding_is_offered_with_its_cost():
    """Two towns are large, ten are small: one level per column hides all towns, local recoding only the small ones."""
    table = pa.table({"town": ["a", "b"] * 20 + [f"r{i}" for i in range(10)], "sex": ["f", "m"] * 25})
    words = {"quasi": {"town": {"hierarchy": "flat"}, "sex": {}}, "k": 5}
    one, local = (shoal.anonymize(table, **words, method=m).decision.loss for m in ("lattice", "local"))
    limit = (one + local) / 2
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize(table, **words, method="lattice", allow={"loss": limit})
    assert told.value.hint.startswith("Nearest plans: 1. method: best: loss at most ")
    offers = told.value.alternatives
    assert len({o.kind for o in offers}) == len(offers) <= 3
    assert [o.loss for o in offers] == sorted(o.loss for o in offers)
    assert shoal.anonymize(table, **words, allow={"loss": limit}).decision.method == "local"


def passengers() -> pa.Table:
    """240 people whose age and fare tell most apart, some of them with siblings."""
    rows = range(240)
    ages, fares = [(i * 7) % 61 for i in rows], [(i * i + 3 * i) % 37 for i in rows]
    return pa.table({"age": ages, "fare": fares, "sex": ["fm"[i % 2] for i in rows], "siblings": [i % 11 // 8 for i in rows]})


def applied(quasi: dict[str, Any], offer: Any) -> dict[str, Any]:
    """The settings of a release that takes the offer, from its words."""
    changed, words = {c: dict(r) for c, r in quasi.items()}, {"k": 5, "allow": {"suppress": 0.0}}
    for name in re.findall(r"'(\w+)'", offer.change):
        changed[name] = {"hierarchy": "flat", "min_level": 1} if offer.kind == "drop column" else {}
        changed[name] |= {"hierarchy": "flat"} if offer.kind == "cells" else {}
    words |= {"method": "local"} if offer.kind == "cells" else {}
    words |= {"k": offer.k} if offer.k else {}
    words |= {"allow": {"suppress": offer.suppress}} if offer.suppress else {}
    return {**words, "quasi": changed}


@pytest.mark.parametrize("bounded", [("age", "fare", "siblings"), ("age", "sex"), ()])
def test_offers_are_of_different_kinds_and_a_release_that_takes_one_loses_no_more(bounded: tuple[str, ...]):
    """No column by itself helps in the first case: levels of several columns are freed, or several columns left out."""
    table = passengers()
    quasi: dict[str, Any] = {c: {"max_level": 0} if c in bounded else {} for c in table.column_names}
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize(table, quasi=quasi, k=5, allow={"loss": 0.8 if bounded else 0.05, "suppress": 0.0})
    offers = told.value.alternatives
    assert len({o.kind for o in offers}) == len(offers) == (3 if bounded else len(offers))
    assert [o.loss for o in offers] == sorted(o.loss for o in offers)
    assert all(0 < o.telling <= o.columns == 4 and o.sentence in told.value.hint for o in offers)
    for offer in offers:
        made = decide(prepare(shoal.open(table), Policy.of(**applied(quasi, offer))))
        assert min(made.released.sizes) >= (offer.k or 5)
        assert made.loss <= offer.loss + 1e-9, offer.kind


def test_columns_that_need_no_change_are_not_part_of_an_offer():
    """Sex may stay as it is: freeing age and fare is enough, whatever else is bounded."""
    quasi: dict[str, Any] = {c: {"max_level": 0} for c in ("sex", "age", "fare")}
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize(passengers().drop_columns(["siblings"]), quasi=quasi, k=5, allow={"suppress": 0.0})
    changes = {o.kind: o.change for o in told.value.alternatives}
    assert changes["raise level"] == "no max_level for 'age', 'fare'"


def test_the_loss_of_an_offer_holds_with_levels_guessed_again():
    """The levels guessed for k = 20 are not those of k = 10: the offer states what a release with k = 10 loses."""
    rng = np.random.default_rng(3)
    table = pa.table({"age": rng.integers(20, 95, 300), "sex": rng.choice(["f", "m"], 300, p=[0.93, 0.07])})
    asked = {"quasi": {"age": {}, "sex": {"max_level": 0}}, "allow": {"loss": 0.3}}
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize(table, **asked, k=20)
    offer = next(o for o in told.value.alternatives if o.kind == "k")
    made = {k: prepare(shoal.open(table), Policy.of(**asked, k=k)).hierarchies["age"].levels for k in (20, offer.k)}
    assert [x.labels for x in made[20]] != [x.labels for x in made[offer.k]]
    assert shoal.anonymize(table, **asked, k=offer.k).decision.loss == offer.loss
    assert offer.sentence.startswith(f"k: {offer.k}: loss at most ")
    assert float(offer.sentence.split("at most ")[1].split(",")[0]) >= offer.loss


def test_an_offer_that_breaks_another_limit_is_not_made():
    """Local recoding loses less here but leaves blank cells too, which the policy forbids."""
    table = pa.table({"a": ["p"] * 12 + list("qrstuv") * 2, "b": [*("x" * 6), *("y" * 6), *(str(i) for i in range(12))]})
    with pytest.raises(InfeasibleError) as told:
        shoal.anonymize(table, quasi=["a", "b"], k=5, method="lattice", allow={"blank": 0})
    assert "method: local" not in told.value.hint


def test_the_command_writes_nothing_and_offers_other_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "people.csv"
    source.write_text("town,sex,ill\n" + "\n".join(",".join(row) for row in zip(*ROWS.values(), strict=True)) + "\n")
    words = [str(source), "--quasi", "town,sex", "--sensitive", "ill", "--k", "12", "--out", str(tmp_path / "out"), "--json"]
    with pytest.raises(SystemExit) as left:
        main(["anonymize", *words])
    assert left.value.code == 1
    told = json.loads(capsys.readouterr().out)["error"]
    assert "every quasi-identifier would be blank" in told["message"]
    assert "k: 6: loss at most 0.42, 1 of 2 columns" in told["hint"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("gap", "proven", "words"),
    [
        (0.0, True, "the best plan with one level per column; other methods were not tried"),
        (0.25, False, "found so far; none of them loses less than 0.25"),
        (None, False, "is not known"),
        (0.5, False, "how far it is from the best is not known"),
    ],
)
def test_how_far_from_the_best(gap, proven, words):
    assert words in Cost((), 2, 0.5, "loss", 0, 0.0, proven, gap).sentence


@pytest.mark.parametrize(("name", "banded"), [("q", True), ("patient_nbr", False)])
def test_numbers_that_all_differ_are_banded_unless_the_name_says_that_they_are_keys(name, banded):
    """Sixty different numbers that somebody calls quasi are amounts; numbers of patients in bands would mean nothing."""
    table = pa.table({name: [31 * i % 997 for i in range(60)], "ill": ["x", "y", "z"] * 20})
    release = shoal.anonymize(table, quasi=[name], sensitive=["ill"], k=5, allow={"loss": 1})
    assert (release.k < 60) is banded
