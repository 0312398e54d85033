"""Published and verified numbers: the sources' tables, the papers' small tables, Adult, and what peers get right."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import measures_oracle as oracle
import recoding_oracle as recoding_loss
from recoding_oracle import ColumnRecoding, Recoding
from shoal.measures.classes import anonymity, closeness, diversity, entropy_risk, risk
from shoal.measures.classes.individual import benedetti_franconi
from shoal.measures.observer import entropy
from shoal.measures.observer import posterior as finite
from shoal.measures.observer.posterior import PosteriorTable, relative_low
from shoal.measures.result.figures import Figures
from shoal.measures.subsets.suda import suda
from shoal.measures.utility import class_losses as loss
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy

Reference = dict[str, Any]
peers_warn = pytest.mark.filterwarnings("ignore::Warning")  # the peer's own, not ours
TOY = [[2, 1, 1], [3, 1, 0], [1, 1, 2]]  # classes a, b, c over flu, hiv, cancer


def value(reference: Reference, group: str, name: str) -> Any:
    return reference[group][name]["value"]


def test_class_size_tables(reference: Reference) -> None:
    sizes = anonymity.class_sizes(ClassCounts((1, 1, 2, 3, 3, 5, 8, 13)))
    found = [sizes.sets, sizes.min, sizes.q1, sizes.median, sizes.q3, sizes.mean, sizes.max]
    assert found == pytest.approx(value(reference, "000", "ch3.toy_summary"))
    assert list(anonymity.people_at(ClassCounts((1, 1, 2, 3, 3, 5, 8, 13))).values()) == value(
        reference, "000", "ch3.toy_citizens"
    )
    for name in ("ch3.footnote_100", "ch3.footnote_496"):
        s = anonymity.class_sizes(ClassCounts(reference["000"][name]["inputs"]))
        assert [s.min, s.q1, s.median, s.q3, s.mean, s.max] == pytest.approx(value(reference, "000", name))


def test_toy_table_of_002(reference: Reference) -> None:
    c = oracle.dense(TOY)
    assert anonymity.k_anonymity(c) == value(reference, "002", "toy.k")
    assert diversity.distinct_diversity(c, "s") == value(reference, "002", "toy.distinct_l")
    assert diversity.entropy_diversity(c, "s") == pytest.approx(value(reference, "002", "toy.entropy_l_real"), abs=1e-9)
    assert diversity.whole_diversity(diversity.entropy_diversity(c, "s")) == value(reference, "002", "toy.entropy_l_floor")
    assert closeness.t_closeness(c, "s", distance="equal") == pytest.approx(value(reference, "002", "toy.t_equal"), abs=1e-9)
    assert loss.classification_metric(c, "s") == pytest.approx(value(reference, "002", "toy.CM"), abs=1e-12)
    for row, name in zip(TOY, "abc", strict=True):
        one = diversity.entropy_diversity(oracle.dense([row]), "s")
        assert one == pytest.approx(value(reference, "002", "toy.entropy_exp")[name], abs=1e-9)


def test_the_entropy_floor_does_not_fall_into_the_float_trap(reference: Reference) -> None:
    for m in {*value(reference, "002", "entropy_floor_trap_m"), *range(1, 60)}:
        assert diversity.whole_diversity(diversity.entropy_diversity(oracle.dense([[5] * m]), "s")) == m


def test_recursive_examples(reference: Reference) -> None:
    cases = [*value(reference, "002", "recursive_cl_more")]
    example = value(reference, "002", "recursive_cl_example")
    cases.append([example["counts"], example["c"], example["l"], example["correct"]])
    for counts, c, l, expected in cases:  # noqa: E741
        assert diversity.is_recursive_diverse(oracle.dense([counts]), "s", c=c, l=l) is expected


def test_earth_mover_examples(reference: Reference) -> None:
    q = [1 / 9] * 9
    assert closeness.earth_mover([1 / 3] * 3 + [0] * 6, q) == pytest.approx(value(reference, "002", "emd_li_salary_P1"))
    assert closeness.earth_mover([0, 0, 0, 1 / 3, 0, 1 / 3, 0, 0, 1 / 3], q) == pytest.approx(
        value(reference, "002", "emd_li_salary_P2")
    )
    e = value(reference, "002", "emd_equal_example")
    assert closeness.earth_mover(e["p"], e["q"], distance="equal") == pytest.approx(e["correct"])


LI_TREE = Hierarchy.from_rows(
    "disease",
    [
        [leaf, low, high, "all"]
        for high, groups in {
            "respiratory": {"infection": ["flu", "pneumonia", "bronchitis"], "vascular": ["edema", "embolism"]},
            "digestive": {"stomach": ["ulcer", "cancer", "gastritis"], "colon": ["colitis", "coloncancer"]},
        }.items()
        for low, leaves in groups.items()
        for leaf in leaves
    ],
)


def test_hierarchical_earth_mover(reference: Reference) -> None:
    classes = [["ulcer", "cancer", "pneumonia"], ["gastritis", "flu", "bronchitis"], ["gastritis", "bronchitis", "cancer"]]
    rows = [{"class": str(i), "disease": d} for i, c in enumerate(classes) for d in c]
    found = closeness.class_distances(oracle.counts_of(rows, ["class"], ["disease"]), "disease", hierarchy=LI_TREE)
    assert found == pytest.approx(value(reference, "002", "emd_hier_li_classes"), abs=1e-9)


def test_risks_of_002(reference: Reference) -> None:
    r = value(reference, "002", "risks")
    assert risk.marketer(r["f"], r["F"]) == pytest.approx(r["marketer"])
    assert risk.journalist_max(r["f"], r["F"]) == pytest.approx(r["journalist"])
    released = ClassCounts([x for x in r["f"] if x])
    assert risk.prosecutor_max(released) == r["prosecutor"]
    assert risk.prosecutor_mean(released) == pytest.approx(r["prosecutor_avg"])
    w = value(reference, "002", "journalist_wrong_min")
    assert risk.journalist_max(w["f"], w["F"]) == pytest.approx(w["journalist_correct"])


def test_information_losses_of_002(reference: Reference) -> None:
    x = [int(c) for c in "000112223333"]
    y = [int(c) for c in "010011101110"]
    column = ColumnRecoding.from_groups("x", x, [0, 0, 1, 1])
    secret = SensitiveCounts("y", np.arange(12), np.array(y), np.ones(12, int))
    r = Recoding([1] * 12, [column], sensitive=secret)
    mi, pmi = value(reference, "002", "MI_example"), value(reference, "002", "PMI_example")
    assert recoding_loss.mutual_information_utility(r) == pytest.approx(mi["U"], abs=1e-9)
    assert recoding_loss.mutual_information_loss(r) == pytest.approx(mi["Pi"], abs=1e-9)
    assert recoding_loss.mutual_information_utility(r) + recoding_loss.mutual_information_loss(r) == pytest.approx(mi["H(X)"])
    assert recoding_loss.private_information_utility(r) == pytest.approx(pmi["U_PMI"], abs=1e-9)
    assert recoding_loss.private_information_loss(r) == pytest.approx(pmi["Pi_PMI"], abs=1e-9)
    assert 12 * recoding_loss.monotone_entropy(r) == pytest.approx(value(reference, "002", "monotone_entropy_example"), abs=1e-9)


def test_granularity_of_002(reference: Reference) -> None:
    leaves = Recoding([1], [ColumnRecoding.from_groups("x", [0], [0, 0, 0, 1, 2, 3, 4, 5])])
    assert recoding_loss.granularity(leaves) == pytest.approx(value(reference, "002", "LM_categorical"))
    ages = list(range(17, 91))
    groups = [0 if 30 <= a <= 39 else a for a in ages]
    numeric = Recoding([1], [ColumnRecoding.from_groups("age", [ages.index(33)], groups, values=ages)])
    assert recoding_loss.granularity(numeric) == pytest.approx(value(reference, "002", "LM_numeric"))
    assert recoding_loss.granularity(Recoding([3], [ColumnRecoding.from_groups("x", [0], [0])])) == 0.0


def test_monotone_entropy_is_monotone_where_the_printed_form_is_not(reference: Reference) -> None:
    e = value(reference, "002", "entropy_nonmonotone_example2")
    sizes, leaf = [90, 5, 5], [0, 1, 2]
    fine = Recoding(sizes, [ColumnRecoding.from_groups("x", leaf, [0, 1, 1])])
    coarse = Recoding(sizes, [ColumnRecoding.from_groups("x", leaf, [0, 0, 0])])
    assert recoding_loss.monotone_entropy(fine) == pytest.approx(0.1 * e["PrH({b,c})"])
    assert recoding_loss.monotone_entropy(coarse) == pytest.approx(e["PrH({a,b,c})"])


def test_entropy_risk_of_003(reference: Reference) -> None:
    assert entropy.shannon_entropy([0.469, 0.531]) == pytest.approx(value(reference, "003", "H_sex"), abs=1e-9)
    assert entropy.effective_size([0.9, 0.1]) == pytest.approx(value(reference, "003", "ANVC_nationality"), abs=1e-9)
    assert entropy_risk.entropy_risk_of(2.61, 100) == pytest.approx(value(reference, "003", "RR_example"), abs=1e-9)
    assert entropy_risk.entropy_risk(ClassCounts((50,))) == pytest.approx(value(reference, "003", "RR_single_value"))
    joint = np.outer([0.469, 0.531], [0.9, 0.1]).ravel()
    assert entropy.effective_size(joint) == pytest.approx(value(reference, "003", "ANVC_sex_nat_independent"), abs=1e-9)
    zipf = 1.0 / np.arange(1, 201)
    zipf /= zipf.sum()
    for n in (100, 1000):
        expected = value(reference, "003", "RR_vs_exact")[f"zipf 200|N={n}"]
        assert entropy_risk.entropy_risk_of(entropy.shannon_entropy(zipf), n) == pytest.approx(expected["RR_true_p"], rel=1e-9)
        assert entropy_risk.exact_marketer_of(zipf, n) == pytest.approx(expected["exact_marketer"], rel=1e-9)
        assert entropy_risk.exact_unique_of(zipf, n) == pytest.approx(expected["exact_unique"], rel=1e-9)


def test_posterior_of_003(reference: Reference) -> None:
    likelihood = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.5, 0.2, 0.2]])
    t = PosteriorTable.from_likelihood([0.25] * 4, np.vstack([likelihood, 1 - likelihood.sum(axis=0)]))
    assert t.rows == pytest.approx(np.array(value(reference, "003", "posterior_toy")), abs=1e-9)
    assert t.mutual_information() == pytest.approx(value(reference, "003", "posterior_toy_mutual_information_bits"), abs=1e-9)
    assert list(t.range()) == pytest.approx(value(reference, "003", "delta_anonymity_toy"), abs=1e-9)
    assert t.is_perfect() is value(reference, "003", "perfect_anonymity_toy")
    flat = PosteriorTable.from_likelihood([0.4, 0.3, 0.3], [[0.6] * 3, [0.4] * 3])
    assert flat.is_perfect() is value(reference, "003", "perfect_anonymity_when_lik_constant")
    assert t.is_anonymous(low=relative_low(0.4, 4), high=0.7)
    assert not t.is_anonymous(low=relative_low(0.4, 4), high=0.5)


def test_entropies_of_chapter_2(reference: Reference) -> None:
    p = [0.5] + [1 / 18] * 9
    for order in (0, 0.5, 1, 2, 5):
        assert entropy.renyi_entropy(p, order) == pytest.approx(value(reference, "000", f"ch2.renyi_{order}"), abs=1e-9)
    assert entropy.renyi_entropy(p, math.inf) == pytest.approx(value(reference, "000", "ch2.renyi_inf"), abs=1e-9)
    assert entropy.degree_of_anonymity(p) == pytest.approx(value(reference, "000", "ch2.d_example"), abs=1e-9)
    assert entropy.degree_of_anonymity([10 / 19] + [1 / 19] * 9) == pytest.approx(
        value(reference, "000", "ch2.d_if_truly_10x"), abs=1e-9
    )
    assert entropy.effective_size(p) == pytest.approx(value(reference, "000", "ch2.eff_size_shannon"), abs=1e-9)
    assert entropy.max_entropy([0.5, 0.5, 0, 0]) == value(reference, "000", "ch2.renyi0_with_zeros")
    for q in (0.5, 0.9):
        expected = value(reference, "000", f"ch2.quantile_smooth_maxent_q{q}")
        assert entropy.quantile_entropy(p, q) == pytest.approx(expected, abs=1e-9)
    assert entropy.surprisal_quantile(p, 0.9) == pytest.approx(
        value(reference, "000", "ch2.quantile_surprisal_mass_q0.9"), abs=1e-9
    )
    found = entropy.surprisal_quantile(p, 0.05, weight="count")
    assert found == pytest.approx(value(reference, "000", "ch2.quantile_surprisal_count_q0.05"), abs=1e-9)
    levels = [(p, 0), (p, 1), ([0.6, 0.3, 0.1], 0), ([1, 0, 0], 0), ([0.25] * 4, 2)]
    assert [entropy.reiter_rubin(v, i) for v, i in levels] == value(reference, "000", "ch2.reiter_rubin")


def test_voting_and_dining_cryptographers_of_chapter_2(reference: Reference) -> None:
    votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]

    def tally(w: finite.World) -> int:
        return w.count("y")

    x = ("y", "n", "n")
    assert [finite.choice_anonymity(votes, tally, i) for i in range(3)] == value(reference, "000", "ch2.voting3_cad")
    assert {c: finite.player_anonymity(votes, tally, c) for c in "yn"} == value(reference, "000", "ch2.voting3_pad")
    assert [finite.choice_anonymity_at(votes, tally, i, x) for i in range(3)] == value(reference, "000", "ch2.voting3_cad_x_ynn")
    assert finite.player_anonymity_at(votes, tally, "y", x) == value(reference, "000", "ch2.voting3_pad_x_y_ynn")
    inside = {c: finite.player_anonymity(votes, tally, c, insiders=[2]) for c in "yn"}
    assert inside == value(reference, "000", "ch2.voting3_insider_pad")
    cad = {str(i): finite.choice_anonymity(votes, tally, i, insiders=[2]) for i in range(2)}
    assert cad == value(reference, "000", "ch2.voting3_insider_cad")

    def announced(bias: float, payer: int | None, mine: tuple[int, int] | None = None) -> float:
        """P(announcements 1,0,0 | payer), for the insider 1 with coins 1 and 2 known when ``mine`` is given."""
        total = 0.0
        for coins in [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]:
            if mine is not None and (coins[0], coins[1]) != mine:
                continue
            said = tuple((coins[i] ^ coins[i - 1]) ^ (payer == i) for i in range(3))
            chance = math.prod(bias if c else 1 - bias for c in coins)
            total += chance * (said == (1, 0, 0))
        return total

    for bias, name in ((0.5, "ch2.dc_fair_outside"), (0.9, "ch2.dc_biased0.9_outside")):
        t = PosteriorTable.of_observation([0.25] * 4, [announced(bias, p) for p in (0, 1, 2, None)])
        assert t.rows[0] == pytest.approx(value(reference, "000", name), abs=1e-9)
    # the insider (player 1) did not pay; the coins it shares make its own announcement 0
    t = PosteriorTable.of_observation([0.25] * 4, [announced(0.5, p, (1, 1)) if p != 1 else 0.0 for p in (0, 1, 2, None)])
    assert t.rows[0] == pytest.approx(value(reference, "000", "ch2.dc_fair_inside1"), abs=1e-9)


def test_individual_risk(reference: Reference) -> None:
    for pi in (0.01, 0.1, 0.5):
        expected = value(reference, "stronger", f"benedetti_franconi_f1_pi{pi}")
        assert benedetti_franconi([1], [1 / pi])[0] == pytest.approx(expected, abs=1e-12)
    assert benedetti_franconi([3], [30.0])[0] == pytest.approx(0.04637, abs=5e-6)  # sdcMicro's exact form
    assert benedetti_franconi([3], [30.0])[0] != pytest.approx(0.04762, abs=5e-5)  # its default approximation


def test_suda_scores_of_the_practice_guide() -> None:
    """SDC practice guide (IHSN), the example of ten records and four keys."""
    rows = [
        ("urban", "f", "secondary incomplete", "employed"),
        ("urban", "f", "secondary incomplete", "employed"),
        ("urban", "f", "primary incomplete", "none"),
        ("urban", "m", "secondary complete", "employed"),
        ("rural", "f", "secondary complete", "unemployed"),
        ("urban", "m", "secondary complete", "employed"),
        ("urban", "f", "primary complete", "none"),
        ("urban", "m", "post-secondary", "unemployed"),
        ("urban", "f", "secondary incomplete", "none"),
        ("urban", "f", "secondary incomplete", "none"),
    ]
    keys = ["residence", "sex", "education", "work"]
    counts = oracle.counts_of([dict(zip(keys, r, strict=True)) for r in rows], keys)
    order = {tuple(int(c[i]) for c in counts.codes): i for i in range(counts.n_classes)}
    domains = [c.to_pylist() for c in counts.categories]
    scores = suda(counts).score
    found = [scores[order[tuple(d.index(v) for d, v in zip(domains, r, strict=True))]] for r in rows]
    assert found == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


# --- small tables of the papers -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def papers(shared_data: Path) -> list[dict[str, str]]:
    return oracle.read(shared_data / "paper_tables" / "expected.csv")


def test_paper_tables(shared_data: Path, papers: list[dict[str, str]]) -> None:
    checked = 0
    tree = _disease_tree(shared_data)
    for case in papers:
        file = shared_data / "paper_tables" / f"{case['table']}.csv"
        metric = case["metric"]
        if not file.is_file() or metric not in PAPER_METRICS:
            continue
        qi = case["quasi_identifiers"].split("|")
        secret = [case["sensitive"]] if case["sensitive"] else []
        numbers = ("salary",)
        counts = oracle.counts_of(oracle.read(file), qi, secret, numbers)
        found = PAPER_METRICS[metric](counts, case, tree)
        assert found == pytest.approx(float(Fraction(case["value_computed_from_csv"])), abs=1e-6), (case["table"], metric)
        checked += 1
    assert checked >= 100


def _disease_tree(shared_data: Path) -> Hierarchy:
    rows = oracle.read(shared_data / "paper_tables" / "tcloseness_disease_hierarchy.csv")
    return Hierarchy.from_rows("disease", [[r[f"level{i}"] for i in range(4)] for r in rows])


def _class_distance(counts: ClassCounts, case: dict[str, str], tree: Hierarchy | None) -> float:
    wanted = case["params"].split("/")
    domains = [c.to_pylist() for c in counts.categories]
    at = [tuple(d[int(codes[i])] for d, codes in zip(domains, counts.codes, strict=True)) for i in range(counts.n_classes)]
    return float(closeness.class_distances(counts, case["sensitive"], hierarchy=tree)[at.index(tuple(wanted))])


PAPER_METRICS: dict[str, Any] = {
    "k": lambda c, case, tree: anonymity.k_anonymity(c),
    "classes": lambda c, case, tree: c.n_classes,
    "unique_rows": lambda c, case, tree: anonymity.unique_members(c),
    "distinct_l": lambda c, case, tree: diversity.distinct_diversity(c, case["sensitive"]),
    "entropy_l": lambda c, case, tree: diversity.entropy_diversity(c, case["sensitive"]),
    "max_confidence_alpha": lambda c, case, tree: diversity.alpha(c, case["sensitive"]),
    "t_ordered": lambda c, case, tree: closeness.t_closeness(c, case["sensitive"], distance="ordered"),
    "t_equal": lambda c, case, tree: closeness.t_closeness(c, case["sensitive"], distance="equal"),
    "t_hierarchical": lambda c, case, tree: closeness.t_closeness(c, case["sensitive"], hierarchy=tree),
    "emd_ordered_class": lambda c, case, tree: _class_distance(c, case, None),
    "emd_hierarchical_class": _class_distance,
    "discernibility": lambda c, case, tree: loss.discernibility(c),
    "C_avg": lambda c, case, tree: loss.average_class_size(c, k=int(case["params"].removeprefix("k="))),
}


def test_delta_presence_of_the_paper(shared_data: Path) -> None:
    rows = oracle.read(shared_data / "paper_tables" / "presence_public_generalized.csv")
    qi = ["zip", "age", "nationality"]
    found = risk.presence(oracle.counts_of([r for r in rows if r["in_private"] == "1"], qi), oracle.counts_of(rows, qi))
    assert (found.delta_min, found.delta_max) == pytest.approx((1 / 2, 2 / 3))
    assert found.k_map == 3


def test_tables_with_known_k(shared_data: Path) -> None:
    folder = shared_data / "pycanon_known_k"
    for case in oracle.read(folder / "expected.csv"):
        c = oracle.counts_of(oracle.read(folder / case["file"]), case["qi"].split("|"), [case["sensitive"]])
        m = Figures(c)
        assert (m.records, m.k, m.classes, m.unique) == tuple(int(case[x]) for x in ("rows", "k", "classes", "unique_rows"))
        d, t = m.diversity[case["sensitive"]], m.closeness[case["sensitive"]]
        assert d.distinct == int(case["distinct_l"])
        assert (d.entropy, d.alpha, t.t) == pytest.approx(
            tuple(float(case[x]) for x in ("entropy_l", "alpha", "t_equal_distance")), abs=1e-6
        )


# --- Adult ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> list[dict[str, str]]:
    return oracle.read(shared_data / "adult" / "adult.csv")


@pytest.mark.data
def test_adult_uniques_of_all_twelve_projections(shared_data: Path, adult: list[dict[str, str]]) -> None:
    from shoal.measures.subsets.column_sets import subset_count

    cases = oracle.read(shared_data / "adult" / "expected_uniques.csv")
    ten = cases[-1]["columns"].split("|")
    base = oracle.counts_of(adult, ten)
    assert len(cases) == 12
    for case in cases:
        s = subset_count(base, case["columns"].split("|"))
        assert (s.unique, s.classes, s.k) == (int(case["paper_unique_rows"]), int(case["classes"]), int(case["k_min"]))


@pytest.mark.data
def test_arx_loss_of_known_optima(shared_data: Path) -> None:
    """Levels, suppressed rows and losses of the optima that ARX 3.9.2 finds on its Adult (k = 5)."""
    folder = shared_data / "arx_adult"
    rows = oracle.read(folder / "adult.csv", ";")
    order = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class"]
    trees, leaves = [], []
    for name in order:
        lines = [
            line.split(";") for line in (folder / f"adult_hierarchy_{name}.csv").read_text(encoding="utf-8").splitlines() if line
        ]
        trees.append(Hierarchy.from_rows(name, lines))
        leaves.append(np.array([trees[-1].position[r[name]] for r in rows]))
    cases = [
        ("041132210", 0.57315096556, 0),
        ("030221120", 0.31371303528, 506),
        ("030021120", 0.24193236507, 1346),
        ("030021110", 0.22041192848, 2553),
    ]
    for levels, expected, suppressed in cases:
        columns = [ColumnRecoding.from_level(t, leaf, int(x)) for t, leaf, x in zip(trees, leaves, levels, strict=True)]
        _, ids, size = np.unique(np.stack([c.published for c in columns]), axis=1, return_inverse=True, return_counts=True)
        gone = size[ids] < 5
        assert int(gone.sum()) == suppressed
        assert recoding_loss.arx_loss(Recoding(np.ones(len(rows), int), columns, gone)) == pytest.approx(expected, abs=1e-9)


# --- pycanon, where it is right and where it is not ------------------------------------------------------------------------


@peers_warn
def test_pycanon_agrees_on_k_l_t(shared_data: Path) -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    for file, qi, secret in (
        ("drugs_k5.csv", "Age|Sex|BP|Cholesterol|Na_to_K", "Drug"),
        ("StudentsMath_Score_k5.csv", "Teacher|Gender|Ethnic|Freeredu|wesson", "Score"),
        ("hospital_anonymized.csv", "name|age|gender|city", "disease"),
    ):
        frame = pandas.read_csv(shared_data / "pycanon_known_k" / file)
        columns = qi.split("|")
        numeric = pandas.api.types.is_numeric_dtype(frame[secret])
        rows = oracle.read(shared_data / "pycanon_known_k" / file)
        c = oracle.counts_of(rows, columns, [secret], (secret,) if numeric else ())
        assert peer.k_anonymity(frame, columns) == anonymity.k_anonymity(c)
        assert peer.l_diversity(frame, columns, [secret]) == diversity.distinct_diversity(c, secret)
        assert peer.t_closeness(frame, columns, [secret]) == pytest.approx(closeness.t_closeness(c, secret), abs=1e-9)
        assert peer.alpha_k_anonymity(frame, columns, [secret])[0] == pytest.approx(diversity.alpha(c, secret))
        assert peer.basic_beta_likeness(frame, columns, [secret]) == pytest.approx(closeness.basic_beta_likeness(c, secret))
        # its δ skips values that a class lacks; over the values present it agrees
        assert peer.delta_disclosure(frame, columns, [secret]) == pytest.approx(closeness.delta_disclosure_present(c, secret))


@peers_warn
@pytest.mark.parametrize("m", [2, 3, 4, 6, 7, 8, 10])
def test_pycanon_truncates_entropy_diversity_after_a_float_error(m: int) -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    rows = [{"q": "x", "s": f"v{i}"} for i in range(m)]
    right = diversity.entropy_diversity(oracle.counts_of(rows, ["q"], ["s"]), "s")
    assert right == pytest.approx(m)
    assert peer.entropy_l_diversity(pandas.DataFrame(rows), ["q"], ["s"]) == m - 1


@peers_warn
def test_pycanon_sorts_recursive_diversity_the_wrong_way() -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    rows = [{"q": "x", "s": s} for s in "a" * 8 + "bc"]
    c, l = peer.recursive_c_l_diversity(pandas.DataFrame(rows), ["q"], ["s"])  # noqa: E741
    counts = oracle.counts_of(rows, ["q"], ["s"])
    assert (int(c), l) == (1, 3)
    assert diversity.least_c(counts, "s", l=3) == 8.0  # the least whole c is 9
    assert not diversity.is_recursive_diverse(counts, "s", c=1, l=3)
    assert diversity.is_recursive_diverse(counts, "s", c=9, l=3)


@peers_warn
def test_pycanon_drops_rows_with_a_missing_quasi_identifier() -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    rows = [{"q": "a"}, {"q": "a"}, {"q": None}]
    assert peer.k_anonymity(pandas.DataFrame(rows), ["q"]) == 2
    m = Figures(oracle.counts_of(rows, ["q"]))
    assert m.k == 1
    assert [m.missing[r]["k"] for r in ("own", "wildcard", "drop")] == [1, 3, 2]


@peers_warn
def test_pycanon_takes_row_labels_for_positions_and_we_do_not() -> None:
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    rows = [{"q": "ab"[i // 6], "r": "c", "s": "xxxxxxxyzxyz"[i]} for i in range(12)]
    frame = pandas.DataFrame(rows)
    moved = frame.sample(frac=1.0, random_state=3)
    found = {tuple(peer.alpha_k_anonymity(f, ["q", "r"], ["s"])) for f in (frame, moved)}
    assert len(found) == 2, "the peer has been repaired: say so in the docs"
    first = diversity.alpha(oracle.counts_of(rows, ["q", "r"], ["s"]), "s")
    random.Random(3).shuffle(rows)
    assert diversity.alpha(oracle.counts_of(rows, ["q", "r"], ["s"]), "s") == first == 1.0


def test_correlation_of_size_and_median_of_chapter_3(reference: Reference) -> None:
    """The fifteen municipalities of Tables 3.4 and 3.5: size, median k_A, median k_B."""
    rows = [
        (766656, 5, 310), (591046, 4, 259), (18158, 4, 8), (24679, 4, 11), (487582, 3, 219), (305845, 3, 110), (156761, 3, 71),
        (161882, 3, 68), (147091, 3, 66), (5915, 3, 3), (11019, 3, 5), (26097, 2, 12), (45548, 2, 21), (21457, 2, 10),
        (4751, 1, 2),
    ]  # fmt: skip
    size, a, b = (np.array(x, dtype=float) for x in zip(*rows, strict=True))
    assert int(size.sum()) == value(reference, "000", "ch3.table31_sum")
    assert anonymity.pearson(size, a) == pytest.approx(value(reference, "000", "ch3.pearson_size_medianA"), abs=1e-4)
    assert anonymity.pearson(size, b) == pytest.approx(value(reference, "000", "ch3.pearson_size_medianB"), abs=1e-4)
    assert anonymity.spearman(size, a) == pytest.approx(value(reference, "000", "ch3.spearman_size_medianA"), abs=1e-4)
    assert anonymity.spearman(size, b) == pytest.approx(value(reference, "000", "ch3.spearman_size_medianB"), abs=1e-4)


def test_francdat_as_in_sdcmicro(shared_data: Path) -> None:
    """sdcMicro's documented example: frequencies, weighted frequencies and individual risks of its eight records."""
    import pyarrow.csv

    import shoal

    table = pyarrow.csv.read_csv(shared_data / "sdcmicro" / "francdat.csv")
    m = shoal.measure(table, qi=["Key1", "Key2", "Key3", "Key4"], weight="w")
    assert m.counts.weights is not None
    assert m.individual is not None
    found = sorted(zip(m.counts.sizes.tolist(), m.counts.weights.tolist(), m.individual.risk.tolist(), strict=True))
    expected = [
        (1, 5.0, 0.40235948), (1, 8.0, 0.29706308), (1, 17.0, 0.17707583), (1, 541.0, 0.01165448),
        (2, 84.5, 0.02204233), (2, 110.0, 0.01714426),
    ]  # fmt: skip
    assert np.array(found) == pytest.approx(np.array(expected), abs=2e-6)
    assert (m.k, m.unique) == (1, 4)


@peers_warn
def test_pycanon_caps_enhanced_likeness_where_no_bound_is_enough(shared_data: Path) -> None:
    """Enhanced β-likeness asks (p − q)/q ≤ min(β, −ln q) of every value. Where one gains more than −ln q no β helps; the peer
    answers with a finite number all the same."""
    pandas, peer = pytest.importorskip("pandas"), pytest.importorskip("pycanon.anonymity")
    file = shared_data / "pycanon_known_k" / "drugs_k5.csv"
    columns = ["Age", "Sex", "BP", "Cholesterol", "Na_to_K"]
    c = oracle.counts_of(oracle.read(file), columns, ["Drug"])
    assert closeness.enhanced_beta_likeness(c, "Drug") == math.inf
    assert math.isfinite(peer.enhanced_beta_likeness(pandas.read_csv(file), columns, ["Drug"]))
