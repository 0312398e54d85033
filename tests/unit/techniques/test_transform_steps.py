"""Each step: what it publishes, what it keeps, what it refuses."""

from __future__ import annotations

import datetime as dt
import hmac
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.techniques as tf
from shoal.errors import AccessError, DataError, HierarchyGapError, PolicyError, UsageError
from shoal.hierarchies import FromTree, Intervals, Mask, Postcode
from shoal.kernels.order import row_numbers
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import _REGISTRY, Plan, RowStep, step_from_json
from shoal.model.roles import Column
from shoal.steps import Clamp, Cut, MapValues, Prefix, Round
from shoal.techniques.identity.keys import keyed_digest, keyed_digests, read_key
from shoal.techniques.identity.mask import cipher, permute_code
from shoal.techniques.kernels import draws
from shoal.techniques.perturb.noise import Spread, noise_of

STRONG = 10**15  # the shortest seed that is taken

KEY = "a long secret with many letters 0123456789"
EXAMPLES = [
    tf.Centres("x", (1.5,), ("1.0", "2.0")),
    tf.Represent("x", (1.5,), (1.0, 2.0)),
    tf.Microaggregate("x", ("y",), k=3, method="v-mdav"),
    tf.Noise("x", 2.0, "laplace", "multiplicative", 1),
    tf.CorrelatedNoise("x", ("y",), ((1.0, 0.0), (0.5, 0.5)), 0.2),
    tf.Permute("x", ("y",), ("g",)),
    tf.RankSwap("x", 10.0),
    tf.Rare("g", 3),
    tf.Pram("g", ("a", "b"), ((0.9, 0.1), (0.2, 0.8))),
    tf.DateShift("d", "p", days=30, key="env:TEST_KEY"),
    tf.KeyedHash("p", "env:TEST_KEY", "people"),
    tf.Fake("p", "env:TEST_KEY", "people", "name"),
    tf.Sample(share=0.5, unit="p"),
    Postcode("US", on_gap="suppress").step("z", 1),
    Intervals((1,)).fit("x", ["0", "9"]).step("x", 1),
    Mask((2,)).step("p", 1),
    FromTree.of({"u": ["a"], "v": ["b"]}).step("g", 1),
    Round("x", 5),
    Clamp("x", 1, 5),
    *(_REGISTRY[kind]("g") for kind in ("keep", "drop", "constant")),
]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def table():
    rng = np.random.default_rng(7)
    n = 500
    day = dt.date(2020, 1, 1)
    return pa.table(
        {
            "x": pa.array(rng.integers(0, 10, n).astype(float), mask=rng.random(n) < 0.1),
            "y": pa.array(rng.normal(size=n)),
            "g": pa.array(rng.choice(["a", "b"], n), mask=rng.random(n) < 0.1),
            "d": pa.array([day + dt.timedelta(days=int(i)) for i in rng.integers(0, 900, n)]),
            "p": pa.array([f"P-{i:04d}" for i in rng.integers(0, 60, n)]),
            "z": pa.array(rng.choice(["10001", "03601", "94110-1234"], n)),
        }
    )


@pytest.mark.parametrize("step", EXAMPLES, ids=lambda s: s.kind)
class TestEveryStep:
    def test_goes_through_a_plan(self, step):
        plan = Plan((step,), seed=STRONG + 5)
        assert Plan.from_json(plan.to_json()) == plan
        assert step_from_json(json.loads(json.dumps(step.to_json()))) == step

    def test_is_deterministic_under_a_seed(self, step, table):
        assert tf.apply(step, table, seed=STRONG + 1).table.equals(tf.apply(step, table, seed=STRONG + 1).table)

    def test_does_not_depend_on_the_batches(self, step, table):
        one, many = tf.apply(step, table, seed=STRONG + 1), tf.apply(step, table, seed=STRONG + 1, batch_size=37)
        assert one.table.to_pydict() == many.table.to_pydict()

    def test_keeps_rows_and_other_columns(self, step, table):
        after = tf.apply(step, table, seed=STRONG + 1).table
        if isinstance(step, RowStep):
            assert after.equals(table.filter(pa.array(step.start(STRONG + 1)(table, row_numbers(table.columns, table.num_rows)))))
            return
        assert after.num_rows == table.num_rows
        for name in table.column_names:
            if name not in step.columns:
                assert after[name].equals(table[name])

    def test_reports_the_share_of_changed_cells(self, step, table):
        done = tf.apply(step, table, seed=STRONG + 1)
        for name in step.columns:
            if name not in done.table.column_names:
                assert done.changed[name] == 1.0
                continue
            pairs = zip(table[name].to_pylist(), done.table[name].to_pylist(), strict=True)
            wanted = sum(_text(a) != _text(b) for a, b in pairs) / table.num_rows
            assert done.changed[name] == pytest.approx(wanted)

    def test_says_what_it_keeps_and_whether_it_is_true(self, step, table):
        said = tf.guarantee(step)
        assert said.truthful == step.truthful
        assert said.keeps
        assert said.loses


def _text(value):
    return repr(value + 0.0) if isinstance(value, float) else str(value) if value is not None else None


def test_no_kind_of_step_is_without_a_word_on_what_it_keeps():
    ours = {
        kind
        for kind, cls in _REGISTRY.items()
        if cls.__module__.startswith(("shoal.techniques", "shoal.hierarchies", "shoal.steps"))
    }
    assert ours | {"pseudonymize"} == set(tf.GUARANTEES)
    assert {s.kind for s in EXAMPLES} == ours


@pytest.mark.parametrize(
    "step",
    [s for s in EXAMPLES if s.kind in ("noise", "permute", "rank_swap", "pram", "correlated_noise", "sample")],
    ids=lambda s: s.kind,
)
def test_another_seed_gives_another_table(step, table):
    assert not tf.apply(step, table, seed=STRONG + 1).table.equals(tf.apply(step, table, seed=STRONG + 2).table)


class TestMicroaggregation:
    @pytest.mark.parametrize("method", ["mdav", "v-mdav"])
    @pytest.mark.parametrize("k", [2, 3, 7])
    def test_every_published_combination_is_shared_by_k(self, table, method, k):
        full = table.filter(table["x"].is_valid())
        after = tf.apply(tf.Microaggregate("x", ("y",), k=k, method=method), full).table
        pairs = list(zip(after["x"].to_pylist(), after["y"].to_pylist(), strict=True))
        counts = [pairs.count(p) for p in set(pairs)]
        assert min(counts) >= k
        assert max(counts) <= (2 * k - 1 if method == "mdav" else 3 * k)
        for name in ("x", "y"):
            assert np.mean(after[name]) == pytest.approx(np.mean(full[name]))

    def test_equals_the_definition_step_by_step(self):
        rng = np.random.default_rng(3)
        data = rng.normal(size=(3, 101))
        z = (data - data.mean(axis=1, keepdims=True)) / data.std(axis=1, keepdims=True)
        for k in (2, 5):
            assert _partition(tf.near_groups(data, k)) == _partition(_slow_mdav(z.T, k))

    def test_missing_values_are_grouped_among_themselves_or_suppressed(self):
        t = pa.table({"x": [1.0, 2.0, None, None, 5.0, 6.0], "y": [1.0, 2.0, 3.0, 4.0, None, 6.0]})
        after = tf.apply(tf.Microaggregate("x", ("y",), k=2), t).table
        assert after["x"].to_pylist() == [3.0, 3.0, None, None, None, 3.0]
        assert after["y"].to_pylist() == [3.0, 3.0, None, None, None, 3.0], "one record without a value would be alone"

    def test_a_constant_column_does_no_harm(self):
        t = pa.table({"x": [1.0, 2.0, 9.0, 10.0], "y": [4.0] * 4})
        assert tf.apply(tf.Microaggregate("x", ("y",), k=2), t).table["y"].to_pylist() == [4.0] * 4

    def test_medians_are_values_of_the_group(self):
        t = pa.table({"x": [1.0, 2.0, 9.0, 10.0, 11.0, 12.0]})
        assert tf.apply(tf.Microaggregate("x", k=3, publish="median"), t).table["x"].to_pylist() == [
            2.0,
            2.0,
            2.0,
            11.0,
            11.0,
            11.0,
        ]

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            (pa.table({"x": [1.0, 2.0]}), "groups of k=3 do not fit"),
            (pa.table({"x": pa.array([None, None], pa.float64())}), "all are missing"),
            (pa.table({"x": ["CANARY", "1", "2"]}), "1 of 3 distinct values"),
            (pa.table({"x": [True, False, True]}), "must hold numbers; all 3"),
            (pa.table({"x": [1.0, float("inf"), 2.0]}), "1 infinite"),
        ],
    )
    def test_bad_columns_are_named_and_counted(self, table, words):
        with pytest.raises(DataError, match=words) as caught:
            tf.apply(tf.Microaggregate("x", k=3), table)
        assert "'x'" in str(caught.value)
        assert "CANARY" not in str(caught.value)


def _partition(groups):
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


def _slow_mdav(z, k):
    """MDAV as the paper writes it, on lists."""
    left, groups = list(range(len(z))), []

    def near(center):
        order = sorted(left, key=lambda i: (((z[i] - center) ** 2).sum(), i))
        return order[:k]

    def far(center):
        return max(left, key=lambda i: (((z[i] - center) ** 2).sum(), -i))

    while len(left) >= 3 * k:
        r = far(z[left].mean(axis=0))
        s = far(z[r])
        for point in (z[r], z[s]):
            groups.append(near(point))
            left = [i for i in left if i not in groups[-1]]
    if len(left) >= 2 * k:
        groups.append(near(z[far(z[left].mean(axis=0))]))
        left = [i for i in left if i not in groups[-1]]
    groups.append(left)
    out = np.zeros(len(z), dtype=int)
    for g, members in enumerate(groups):
        out[members] = g
    return out


class TestMoving:
    def test_permutation_keeps_the_column_and_strata_exactly(self, table):
        after = tf.apply(tf.Permute("x", ("y",), ("g", "z")), table, seed=STRONG + 3).table
        for g in ("a", "b", None):
            for z in ("10001", "03601"):
                rows = [i for i in range(table.num_rows) if table["g"][i].as_py() == g and table["z"][i].as_py() == z]
                before = sorted((repr(table["x"][i].as_py()), table["y"][i].as_py()) for i in rows)
                assert sorted((repr(after["x"][i].as_py()), after["y"][i].as_py()) for i in rows) == before

    def test_rank_swapping_moves_no_rank_too_far(self):
        rng = np.random.default_rng(2)
        x = rng.permutation(1000).astype(float)
        after = np.array(tf.apply(tf.RankSwap("x", 3.0), pa.table({"x": x}), seed=STRONG + 1).table["x"])
        assert sorted(after) == sorted(x)
        assert np.abs(after - x).max() <= 30
        assert (after != x).mean() > 0.9

    def test_missing_values_stay_where_they_are_in_rank_swapping(self, table):
        after = tf.apply(tf.RankSwap("x", 10), table, seed=STRONG + 1).table
        assert after["x"].is_null().equals(table["x"].is_null())


class TestPram:
    def test_the_matrix_stays_in_the_plan_and_undoes_the_change_in_expectation(self):
        step = tf.pram("g", ["a", "b", "c"], [600, 300, 100], keep=0.7, invariant=False)
        truth = np.array([600.0, 300.0, 100.0])
        assert tf.estimate_counts(truth @ np.array(step.matrix), step) == pytest.approx(truth)

    def test_an_invariant_matrix_keeps_frequencies(self):
        counts = np.array([5.0, 60.0, 300.0])
        step = tf.pram("g", ["a", "b", "c"], counts.astype(int), keep=0.6)
        assert counts @ np.array(step.matrix) == pytest.approx(counts)
        assert step.least_change > 0

    def test_rare_categories_are_suppressed_and_not_named(self):
        step = tf.pram("g", ["a", "b", "rare"], [50, 50, 1], min_count=10)
        assert "rare" not in str(step.to_json())
        out = tf.apply(step, pa.table({"g": ["rare", "a", None]})).table["g"].to_pylist()
        assert out[0] == "*"
        assert out[2] is None

    def test_unknown_values_stop_the_run_without_being_shown(self):
        step = tf.Pram("g", ("a", "b"), ((0.9, 0.1), (0.1, 0.9)))
        with pytest.raises(HierarchyGapError, match="does not cover 1 values") as caught:
            tf.apply(step, pa.table({"g": ["CANARY"]}))
        assert "CANARY" not in str(caught.value)

    @pytest.mark.parametrize("matrix", [((0.9, 0.2), (0.1, 0.9)), ((1.0,),), ((1.5, -0.5), (0.0, 1.0))])
    def test_a_matrix_of_anything_but_chances_is_refused(self, matrix):
        with pytest.raises(PolicyError):
            tf.Pram("g", ("a", "b"), matrix)


class TestDateShift:
    def test_all_dates_of_a_person_move_together_and_by_less_than_the_limit(self, table):
        after = tf.apply(tf.DateShift("d", "p", days=30, key="env:TEST_KEY"), table).table
        moved: dict[str, set[int]] = {}
        for person, a, b in zip(table["p"].to_pylist(), table["d"].to_pylist(), after["d"].to_pylist(), strict=True):
            moved.setdefault(person, set()).add((b - a).days)
        assert all(len(days) == 1 for days in moved.values())
        everyone = {d for days in moved.values() for d in days}
        assert 0 not in everyone
        assert max(map(abs, everyone)) <= 30
        assert len(everyone) > 20

    def test_every_shift_but_none_occurs(self):
        step = tf.DateShift("d", "p", days=5)
        assert set(step.shifts(KEY.encode(), pa.array([str(i) for i in range(500)])).tolist()) == set(range(-5, 6)) - {0}

    def test_times_of_day_and_zones_stay(self):
        t = pa.table({"d": pa.array([dt.datetime(2020, 1, 1, 13, 5, 7)], pa.timestamp("us")), "p": ["x"]})
        out = tf.apply(tf.DateShift("d", "p", key="env:TEST_KEY"), t).table["d"][0].as_py()
        assert out.time() == dt.time(13, 5, 7)
        assert out.date() != dt.date(2020, 1, 1)

    def test_dates_in_text_and_missing_people(self):
        t = pa.table({"d": ["2020-02-28", "2020-03-01", None], "p": ["x", None, "x"]})
        out = tf.apply(tf.DateShift("d", "p", key="env:TEST_KEY"), t).table["d"].to_pylist()
        assert dt.date.fromisoformat(out[0])
        assert out[1:] == [None, None]

    def test_what_is_no_date_is_counted(self):
        with pytest.raises(DataError, match="at least 1 of its values") as caught:
            tf.apply(tf.DateShift("d", "p", key="env:TEST_KEY"), pa.table({"d": ["CANARY"], "p": ["x"]}))
        assert "CANARY" not in str(caught.value)

    def test_another_key_moves_otherwise(self, table, monkeypatch):
        one = tf.apply(tf.DateShift("d", "p", key="env:TEST_KEY"), table).table["d"]
        monkeypatch.setenv("TEST_KEY", KEY[::-1])
        assert one.to_pylist() != tf.apply(tf.DateShift("d", "p", key="env:TEST_KEY"), table).table["d"].to_pylist()


class TestMask:
    def test_codes_keep_their_format_and_no_two_become_one(self):
        ff1 = cipher(bytes(range(16)))
        codes = [f"{a}{i:02d}-{i % 7}x" for a in "AQz" for i in range(100)]
        out = [permute_code(ff1, c, b"d", column="id") for c in codes]
        assert len(set(out)) == len(set(codes))
        for before, after in zip(codes, out, strict=True):
            assert [(c.isdigit(), c.isupper(), c == "-") for c in before] == [(c.isdigit(), c.isupper(), c == "-") for c in after]

    def test_too_few_possibilities_are_refused(self):
        for code in ("7", "", "---", "123", "AB1"):
            with pytest.raises(DataError, match="column 'id' holds codes of a format with fewer than 10,000"):
                permute_code(cipher(bytes(16)), code, b"", column="id")

    def test_codes_are_the_bits_of_the_library(self):
        """The number of a code, permuted by FF1 over bits until it fits, written in the code's format."""
        from ffx import FF1

        ff1, number = FF1(bytes(range(16)), alphabet="01"), 123_456
        while True:
            number = int(ff1.encrypt(f"{number:020b}", tweak=b"d\x00" + b"999999"), 2)
            if number < 10**6:
                break
        assert permute_code(cipher(bytes(range(16))), "123456", b"d", column="id") == f"{number:06d}"

    @pytest.mark.parametrize(
        "step", [tf.KeyedHash("p", "env:TEST_KEY", "people"), tf.Fake("p", "env:TEST_KEY", "people")], ids=lambda s: s.kind
    )
    def test_foreign_keys_still_join_in_one_domain_and_not_across(self, step):
        one = pa.table({"p": ["P-0001", "P-0002", None]})
        other = pa.table({"owner": ["P-0002", "P-0001"]})
        masked = tf.apply(step, one).table["p"].to_pylist()
        twin = type(step)("owner", step.key, "people")
        assert tf.apply(twin, other).table["owner"].to_pylist() == [masked[1], masked[0]]
        assert masked[2] is None
        assert masked[0] != masked[1]
        stranger = type(step)("owner", step.key, "elsewhere")
        assert not set(tf.apply(stranger, other).table["owner"].to_pylist()) & set(masked)

    def test_fakes_are_people_and_the_same_each_time(self):
        step = tf.Fake("n", "env:TEST_KEY", provider="name", locale="nl_NL")
        t = pa.table({"n": ["Ann", "Bob", "Ann"]})
        out = tf.apply(step, t).table["n"].to_pylist()
        assert out[0] == out[2] != out[1]
        assert not {"Ann", "Bob"} & set(out)
        assert tf.apply(step, t).table["n"].to_pylist() == out

    @pytest.mark.parametrize("key", ["", "1234", "aaaaaaaaaaaaaaaaaaaaaaaa", "short but ok?"])
    def test_weak_keys_are_refused(self, key, monkeypatch):
        monkeypatch.setenv("TEST_KEY", key)
        with pytest.raises(AccessError, match="too weak") as caught:
            tf.apply(tf.KeyedHash("p", "env:TEST_KEY"), pa.table({"p": ["x"]}))
        assert not key or key not in str(caught.value)

    def test_keys_come_from_the_environment_or_a_file_never_from_the_plan(self, tmp_path):
        file = tmp_path / "k"
        file.write_text(KEY + "\n")
        assert read_key(f"file:{file}") == KEY.encode()
        for wrong in ("literal-key-in-the-plan", "env:", "raw:abc"):
            with pytest.raises(PolicyError, match="never stands in a plan"):
                read_key(wrong)
        with pytest.raises(UsageError, match="no key 'NOT_SET'"):
            read_key("env:NOT_SET")
        with pytest.raises(UsageError, match="cannot be read"):
            read_key(f"file:{tmp_path / 'none'}")

    def test_nothing_secret_stands_in_the_plan(self):
        plan = Plan((tf.KeyedHash("p", "env:TEST_KEY"), tf.Fake("q", "env:TEST_KEY"), tf.DateShift("d", "p", key="env:TEST_KEY")))
        assert KEY not in plan.to_json()


class TestSuppressRoundCode:
    def test_suppress(self):
        rare = tf.suppress_rare("job", ["nurse", "pope"], [50, 1], min_count=5)
        assert tf.apply(rare, pa.table({"job": ["pope", "nurse", None]})).table["job"].to_pylist() == ["*", "nurse", None]
        assert "pope" not in str(rare.to_json())
        with pytest.raises(UsageError):
            tf.suppress_rare("j", [], [], min_count=0)

    def test_top_and_bottom_codes_have_people_beyond_them(self):
        rng = np.random.default_rng(1)
        values = np.unique(rng.lognormal(10, 1, 3000).round())
        texts = [str(int(v)) for v in values]
        clamp = tf.top_bottom("pay", texts, people=20)
        assert (values <= clamp.low).sum() >= 20
        assert (values >= clamp.high).sum() >= 20
        assert clamp.high not in values or float(clamp.high) % 1000 == 0
        assert tf.apply(Clamp("x", 2, 4), pa.table({"x": [1, 3, 9, None]})).table["x"].to_pylist() == [2, 3, 4, None]

    def test_rounding_away_from_zero(self):
        out = tf.apply(Round("x", 5), pa.table({"x": [2.5, -2.5, 7.4, None]})).table["x"].to_pylist()
        assert out == [5.0, -5.0, 5.0, None]

    def test_refusals(self):
        with pytest.raises(UsageError):
            tf.top_bottom("x")
        with pytest.raises(DataError, match="k=40"):
            tf.top_bottom("x", ["1", "2"], people=20)
        with pytest.raises(DataError, match="1 of 2"):
            tf.top_bottom("x", ["1", "b"], people=1)


class TestCut:
    TREE = Hierarchy.from_rows(
        "z",
        [
            ["111", "11", "1", "*"],
            ["112", "11", "1", "*"],
            ["121", "12", "1", "*"],
            ["211", "21", "2", "*"],
            ["221", "22", "2", "*"],
        ],
    )

    def test_the_lowest_level_with_at_most_d_values(self):
        assert [tf.level_for(self.TREE, d) for d in (1, 2, 3, 4, 5, 9)] == [3, 2, 2, 1, 0, 0]
        with pytest.raises(UsageError):
            tf.level_for(self.TREE, 0)

    @pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("counts", [None, [9, 1, 1, 50, 2], [1, 1, 1, 1, 100]])
    def test_no_other_cut_with_d_nodes_loses_less(self, d, counts):
        cut = tf.best_cut(self.TREE, d, counts)
        assert len(cut.labels) <= d
        assert cut.loss == pytest.approx(min(loss for size, loss in _all_cuts(self.TREE, counts) if size <= d))
        out = tf.apply(cut.step(), pa.table({"z": list(self.TREE.leaves)})).table["z"].to_pylist()
        assert len(set(out)) == len(cut.labels)

    def test_a_lone_child_keeps_its_finer_label(self):
        h = Hierarchy.from_rows("z", [["a", "A", "AA", "*"], ["b", "A", "AA", "*"], ["c", "C", "CC", "*"], ["d", "C", "CC", "*"]])
        assert tf.best_cut(h, 2).labels == ("A", "C")

    def test_only_public_leaves_stand_in_the_plan(self):
        step = tf.best_cut(self.TREE, 2).step(public={"111", "112"})
        assert step.keys == ("111", "112")
        assert tf.apply(step, pa.table({"z": ["111", "221"]})).table["z"].to_pylist() == ["1", "*"]

    def test_a_cut_is_at_least_as_good_as_a_level(self):
        full = tf.best_cut(self.TREE, 2)
        level = self.TREE.levels[tf.level_for(self.TREE, 2)]
        assert full.loss <= float(((level.leaf_counts[level.groups] - 1) / 4).mean())


def _all_cuts(h, counts):
    """Every antichain that covers the leaves, by choosing a level for each leaf and checking that it fits."""
    import itertools

    w = np.ones(h.n_leaves) if counts is None else np.asarray(counts, float)
    for choice in itertools.product(range(len(h.levels)), repeat=h.n_leaves):
        nodes = {(lv, int(h.levels[lv].groups[i])) for i, lv in enumerate(choice)}
        members = [np.flatnonzero(h.levels[lv].groups == g) for lv, g in nodes]
        if sum(map(len, members)) == h.n_leaves and len(set(np.concatenate(members).tolist())) == h.n_leaves:
            loss = sum(w[m].sum() * (len(m) - 1) for m in members) / (h.n_leaves - 1) / w.sum()
            yield len(nodes), float(loss)


class TestQuantileStep:
    def test_groups_reach_k_and_are_published_as_their_median(self):
        rng = np.random.default_rng(5)
        x = rng.lognormal(size=1000).round(2)
        values, counts = np.unique(x, return_counts=True)
        step = tf.quantile_transform("x", [repr(float(v)) for v in values], counts, k=40)
        after = tf.apply(step, pa.table({"x": x})).table["x"].to_pylist()
        assert min(after.count(v) for v in set(after)) >= 40
        assert all(float(v) in set(x.tolist()) for v in set(after))

    def test_many_groups_run_on_batches_with_the_same_result(self):
        x = np.random.default_rng(5).normal(size=3000)
        step = tf.quantile_groups(x, 3).step("x")
        assert step.kind == "represent"
        after = np.array(tf.apply(step, pa.table({"x": x})).table["x"])
        _, counts = np.unique(after, return_counts=True)
        assert counts.min() >= 3
        assert len(counts) == 1000

    def test_refusals(self):
        with pytest.raises(UsageError, match="either k or"):
            tf.quantile_transform("x", ["1"], k=1, groups=2)
        with pytest.raises(DataError, match="groups of k=2"):
            tf.quantile_transform("x", ["1"], k=2)
        with pytest.raises(UsageError, match="between 0 and 1"):
            tf.sample_size(0)


def test_sampling_by_person_takes_all_or_nothing(table):
    step = tf.Sample(share=0.5, unit="p")
    out = tf.apply(step, table, seed=STRONG + 3, batch_size=100).table
    chosen = set(out["p"].to_pylist())
    assert out.num_rows == sum(p in chosen for p in table["p"].to_pylist())
    assert 10 < len(chosen) < 50
    assert tf.apply(step, table, seed=STRONG + 3).table.equals(out)


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), True, "half"])
def test_a_sample_that_makes_no_sense_is_refused(share):
    with pytest.raises(PolicyError, match="between 0 and 1"):
        tf.Sample(share=share)


def test_the_share_of_a_sample_is_the_first_number_that_is_not_in_it(table):
    assert tf.apply(tf.Sample(share=1.0), table, seed=STRONG).table.num_rows == table.num_rows
    rows, first = row_numbers(table.columns, table.num_rows), table["p"][0].as_py()
    drawn = draws.uniforms(draws.derive(STRONG, "sample", ""), rows)[0]
    of_person = draws.share_of(draws.derive(STRONG, "sample", "p"), str(first))
    for step, share in ((tf.Sample(share=float(drawn)), drawn), (tf.Sample(share=of_person, unit="p"), of_person)):
        assert not step.start(STRONG)(table, rows)[0]
        assert replace(step, share=float(np.nextafter(share, 1))).start(STRONG)(table, rows)[0]


def test_a_sample_is_a_step_like_any_other(table):
    step = tf.Sample(share=0.5, unit="p")
    assert step_from_json(step.to_json()) == step
    assert step.truthful
    assert tf.guarantee(step).truthful
    done = tf.apply(step, table, seed=STRONG + 3)
    assert done.changed == {}


@pytest.mark.parametrize("base", [0.01, 0.1, 0.05, 0.001, 0.25, 3, 7.5, 2.54, 100])
def test_rounding_is_the_same_in_memory_and_in_the_engine_and_takes_decimals_as_they_are_written(base, tmp_path):
    from decimal import ROUND_HALF_UP, Decimal

    import pyarrow.parquet as pq

    import shoal

    rng = np.random.default_rng(1)
    x = np.concatenate([rng.integers(-(10**6), 10**6, 3000) / 1000, rng.integers(0, 10**7, 3000) / 100, [37.245, 1.005, -2.675]])
    unit = Decimal(repr(float(base)))
    wanted = [float((Decimal(repr(float(v))) / unit).quantize(Decimal(1), rounding=ROUND_HALF_UP) * unit) for v in x]
    t = pa.table({"x": x})
    assert tf.apply(Round("x", base), t).table["x"].to_pylist() == wanted
    shoal.open(t).recode(Plan((Round("x", base),), shuffle=False), tmp_path / "o.parquet")
    assert pq.read_table(tmp_path / "o.parquet")["x"].to_pylist() == wanted


def test_steps_name_missing_columns():
    with pytest.raises(UsageError, match="column 'nope' of step 'noise'"):
        tf.apply(tf.Noise("nope"), pa.table({"x": [1.0]}))


def test_importing_the_room_loads_nothing_heavy():
    import subprocess
    import sys

    heavy = ("numba", "scipy", "faker", "cryptography", "duckdb", "pandas")
    code = f"import sys, shoal.techniques; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout.strip() == "[]"


def test_prefix_and_cut_in_memory():
    t = pa.table({"z": ["1234", None], "a": [30, 29]})
    assert tf.apply(Prefix("z", 2), t).table["z"].to_pylist() == ["12**", None]
    assert tf.apply(Cut("a", (30.0,), ("<30", "30+")), t).table["a"].to_pylist() == ["30+", "<30"]
    assert tf.apply(MapValues("z", on_gap="top", missing_label="none"), t).table["z"].to_pylist() == ["*", "none"]


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize("last", [2.0**62, 2.0**63, 2.0**64], ids=["fits", "one too many", "far beyond"])
def test_whole_numbers_are_cut_as_whole_numbers(closed, last):
    """Points and numbers around 2⁵³ and 2⁶³, compared one by one as Python's whole numbers."""
    points, labels = (-(2.0**63), -1.0, 0.0, 2.0**53, last), ("a", "b", "c", "d", "e", "f")
    numbers = [p + d for p in (-(2**63), -1, 0, 2**53, 2**62, 2**63 - 1) for d in (-1, 0, 1) if -(2**63) <= p + d < 2**63]
    above = [sum(n >= int(p) if closed == "left" else n > int(p) for p in points) for n in numbers]
    step = Cut("n", points, labels, closed=closed)
    assert step.arrow(pa.array(numbers), Column("n", "integer")).to_pylist() == [labels[i] for i in above]
    decimals = pa.array(numbers).cast(pa.decimal128(38, 0))
    assert step.arrow(decimals, Column("n", "integer")).to_pylist() == [labels[i] for i in above]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_variable_groups_hold_at_most_2k_minus_1_records(k):
    """The last records join a group of others, which is then split: without that there were groups of up to 3k − 2."""
    rng = np.random.default_rng(k)
    for _ in range(60):
        points = rng.pareto(1.0, size=(2, int(rng.integers(k, 40))))
        sizes = np.bincount(tf.near_groups(points, k, method="v-mdav", gamma=float(rng.choice([0.2, 1.0, 1.5]))))
        assert k <= sizes.min()
        assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(tf.Microaggregate("x", k=2), id="means that are the value"),
        pytest.param(Round("x", 0.5), id="round"),
        pytest.param(Clamp("x", high=100.5), id="clamp"),
    ],
)
def test_a_whole_number_published_as_the_same_float_is_unchanged(step, tmp_path):
    table = pa.table({"x": [5, 5, 7, 7]})
    assert tf.apply(step, table).changed == {"x": 0.0}
    assert shoal.open(table).recode(Plan((step,)), tmp_path / "o.parquet").changed == {"x": 0.0}


BIG = pa.table({"x": [2**53 + 1, 2**53 + 3, 5, 6, 7]})


@pytest.mark.parametrize("step", [tf.Noise("x", 1.0), tf.Microaggregate("x", k=2), tf.RankSwap("x"), Round("x", 10)])
def test_whole_numbers_beyond_doubles_are_treated_and_never_shown(step):
    assert tf.apply(step, BIG).table.num_rows == 5


def test_whole_numbers_beyond_doubles_stay_exact_where_they_can():
    assert tf.apply(Clamp("x", high=2**60), BIG).table["x"].to_pylist() == BIG["x"].to_pylist()
    exact = [2**52 + 1, 2**51 + 1, 2**50 + 1, -(2**52) - 1]
    assert tf.apply(Round("x", 1), pa.table({"x": exact})).table["x"].to_pylist() == exact
    wide = pa.table({"x": exact, "w": [1, 1, 1, 1]})
    assert shoal.open(wide).count(["x"], through={"x": Round("x", 1)}, weight="w").categories[0].to_pylist() == sorted(exact)


def test_the_largest_and_smallest_numbers():
    huge = pa.table({"x": [1e308, -1e308, 1e308, 5.0], "y": [1.0, 2.0, 3.0, 4.0]})
    for method in ("mdav", "v-mdav"):
        out = tf.apply(tf.Microaggregate("x", ("y",), k=2, method=method), huge).table["x"].to_pylist()
        assert out == [1e308, -5e307, 1e308, -5e307]
    with pytest.raises(DataError, match="too large"):
        tf.apply(tf.Noise("x", 10.0, mode="multiplicative"), huge)
    tiny = [0.0, 5e-324, 1e-320, 2e-320]
    assert tf.optimal_groups(tiny, 2).step("x").points == (1e-320,)
    assert tf.apply(tf.Microaggregate("x", k=2), pa.table({"x": tiny})).table["x"].to_pylist()[2:] == [1.5e-320, 1.5e-320]
    with pytest.raises(DataError, match="far apart"):
        tf.top_bottom("x", pa.array([-1e308, -1e307, 1e307, 1e308]), people=1)


def test_a_number_listed_twice_is_one_number():
    """``1`` and ``1.0`` are one float: before, the join by SQL counted its records twice."""
    table = pa.table({"x": [1.0, 2.0, None], "w": [1, 1, 1]})
    same = MapValues("x", ("1", "1.0", "2", "nan"), (0, 0, 0, 0), ("a",))
    for weight in (None, "w"):
        assert shoal.open(table).count(["x"], through={"x": same}, weight=weight).sizes.tolist() == [1, 2]
        other = MapValues("x", ("1", "1.0", "2"), (0, 1, 1), ("a", "b"))
        with pytest.raises(PolicyError, match="two spellings"):
            shoal.open(table).count(["x"], through={"x": other}, weight=weight)
    assert tf.apply(same, table).table["x"].to_pylist() == ["a", "a", None]


def test_deniability_is_what_bayes_says():
    """Of 480 expected published reds 420 are true: 0.125 can be denied, not the 0.3 of records that change."""
    step = tf.pram("colour", ["red", "blue", "green"], [600, 300, 100], keep=0.7, invariant=False)
    assert step.categories == ("blue", "green", "red")
    assert step.least_change == pytest.approx(0.3)
    assert step.deniability([300, 100, 600]) == pytest.approx(1 - 420 / 480)
    rng = np.random.default_rng(3)
    true = rng.choice(3, size=200_000, p=[0.3, 0.1, 0.6])
    names = np.array(step.categories)
    out = np.array(tf.apply(step, pa.table({"colour": names[true]}), seed=STRONG + 5).table["colour"].to_pylist())
    right = max((out[out == c] == names[true][out == c]).mean() for c in names)
    assert 1 - right == pytest.approx(0.125, abs=0.004)


# -- read in parts ---------------------------------------------------------------------------------------------------


def test_noise_planned_in_parts_is_noise_planned_at_once():
    rng = np.random.default_rng(8)
    x = np.round(rng.normal(1e6, 3.0, 999), 1)
    some = pa.array(np.where(np.arange(999) % 7 == 0, np.nan, x), from_pandas=True)
    table = pa.table({"x": some, "y": np.round(x * 2 + rng.normal(size=999), 3)})
    values = table["x"].drop_null().to_numpy()
    whole = tf.noise_for("x", values, share=0.2)
    assert whole.scale == float(f"{0.2 * values.std():.6g}")
    assert whole.decimals == 1
    for size in (1, 10, 998, 999):
        for order in (np.arange(999), rng.permutation(999)):
            parts = [table.take(pa.array(order)).slice(i, size) for i in range(0, 999, size)]
            assert noise_of("x", Spread.of(parts, ("x",)), share=0.2) == whole
            assert tf.CorrelatedNoise.fit(iter(parts), ("x", "y")) == tf.CorrelatedNoise.fit(table, ("x", "y"))
    complete = table.filter(table["x"].is_valid())
    factor = np.array(tf.CorrelatedNoise.fit(table, ("x", "y"), share=0.5).factor)
    np.testing.assert_allclose(factor @ factor.T, 0.5 * np.cov(complete["x"], complete["y"]), rtol=1e-5)


def test_dates_stay_in_the_years_that_their_type_has(monkeypatch):
    monkeypatch.setenv("MASK_KEY", "correct horse battery staple 42!")
    step = tf.DateShift("d", "who", key="env:MASK_KEY")
    monkeypatch.setattr(tf.DateShift, "shifts", lambda self, key, who: np.array([{"back": -1, "on": 1}[p.as_py()] for p in who]))

    def moved(day, who, kind):
        return tf.apply(step, pa.table({"d": pa.array([day], kind), "who": [who]})).table["d"][0].as_py()

    first, last = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)
    for kind in (pa.timestamp("us"), pa.timestamp("s"), pa.date32()):
        zero = (lambda t: t.date()) if kind == pa.date32() else (lambda t: t)
        assert moved(first, "on", kind) == zero(dt.datetime(1, 1, 2))
        assert moved(last, "back", kind) == zero(dt.datetime(9999, 12, 30, 23, 59, 59))
        for day, who in ((first, "back"), (last, "on")):
            with pytest.raises(DataError, match="would leave the years"):
                moved(day, who, kind)
    assert moved("0001-01-01 10:00", "on", pa.string()) == "0001-01-02 10:00"
    with pytest.raises(DataError, match="would leave the years"):
        moved("0001-01-01 10:00", "back", pa.string())
    with pytest.raises(DataError, match="would leave the years"):
        moved(dt.datetime(2262, 4, 11, 12), "on", pa.timestamp("ns"))


@pytest.mark.parametrize("key", [b"k" * 16, bytes(range(64)), bytes(range(65)), bytes(range(200))])
def test_keyed_digests_are_those_of_the_standard_library(key):
    for domain, value in [("d", "x"), ("", ""), ("ü", "\udcff"), ("a", "b" * 300)]:
        text = domain.encode() + b"\x00" + value.encode("utf-8", "surrogatepass")
        assert keyed_digest(key, domain, value) == hmac.new(key, text, "sha256").digest()
    many = keyed_digests(key, "d")
    assert [many(v) for v in ("x", "y", "x")] == [keyed_digest(key, "d", v) for v in ("x", "y", "x")]


def test_the_days_of_a_person_are_the_first_word_of_the_digest():
    step, domain = tf.DateShift("born", "person", days=30, key="env:MASK_KEY"), b"dates of born\x00"
    people = [f"P{i}" for i in range(200)]
    for person, days in zip(people, step.shifts(KEY.encode(), pa.array(people)).tolist(), strict=True):
        number = int.from_bytes(hmac.new(KEY.encode(), domain + person.encode(), "sha256").digest()[:8], "big") % 60
        assert days == (number - 30 if number < 30 else number - 29)
    assert step.shifts(KEY.encode(), pa.array([], pa.string())).tolist() == []


@pytest.mark.parametrize("length", [16, 17, 32, 63, 64])
def test_a_keyed_hash_is_hmac_of_domain_and_value(monkeypatch, length):
    monkeypatch.setenv("TEST_KEY", KEY)
    people = ["ann", "", None, "Zoë", "ann"]
    wanted = [None if p is None else hmac.digest(KEY.encode(), f"d\0{p}".encode(), "sha256").hex()[:length] for p in people]
    found = tf.apply(tf.KeyedHash("p", "env:TEST_KEY", "d", length=length), pa.table({"p": people})).table["p"]
    assert (found.type, found.to_pylist()) == (pa.string(), wanted)
    nobody = tf.apply(tf.KeyedHash("p", "env:TEST_KEY"), pa.table({"p": pa.array([None, None], pa.string())})).table["p"]
    assert nobody.to_pylist() == [None, None]


@pytest.mark.parametrize(
    "wrong", [{"distribution": "cauchy"}, {"mode": "both"}, {"scale": 0.0}, {"scale": -1.0}, {"scale": float("inf")}]
)
def test_noise_of_an_unknown_kind_or_size_is_refused(wrong):
    with pytest.raises(PolicyError, match="noise"):
        tf.Noise("pay", **wrong)
