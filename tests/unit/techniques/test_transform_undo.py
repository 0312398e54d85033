"""Undo attacks: what `shoal transform` writes, the saved plan and every default must not give the true values back.

The attacker has the code, the plan as it is shown, the published file and, to check a guess, the original rows. Each attack is
shown to work with the private file, so it can fail.
"""

from __future__ import annotations

import importlib
import json
import os
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.cli import main
from shoal.engines.recode.write import read_seed
from shoal.errors import DataError, OutputError, PolicyError, UnreadableError, UsageError
from shoal.kernels.order import row_hashes, row_numbers
from shoal.model import plan as plans
from shoal.model.plan import Plan
from shoal.model.seed import LEAST_SEED, safe_seed
from shoal.techniques.kernels import draws

N = 300
TABLE = pa.table(
    {
        "id": [f"P{i:04d}" for i in range(N)],
        "pay": np.round(np.random.default_rng(1).normal(3000, 400, N), 2),
        "debt": np.round(np.random.default_rng(2).normal(900, 200, N), 2),
        "town": np.random.default_rng(3).choice(["Aarau", "Bern", "Chur", "Davos"], N),
    }
)
ORDERED = TABLE.take(pa.array(np.argsort(row_hashes(TABLE.columns, N, 0), kind="stable")))
"""In the order of a hash of its content, as RECODE takes the rows: the attacker has the code and can compute it."""

STEPS = {
    "noise": {"column": "pay", "noise": {"share": 0.3}},
    "correlated_noise": {"column": "pay", "correlated_noise": {"others": ["debt"], "share": 0.3}},
    "permute": {"column": "pay", "permute": {}},
    "rank_swap": {"column": "pay", "rank_swap": {"percent": 10}},
    "pram": {"column": "town", "pram": {"keep": 0.5}},
    "sample": None,
}
GUESSES = (0, 1, 7, 42, 20261, 2**31, LEAST_SEED)


def spec(kind):
    return {"sample": {"share": 0.5}, "steps": []} if STEPS[kind] is None else {"steps": [STEPS[kind]]}


def carried_out(plan, kind, seed):
    """The rows that a guess gives, from the original table in the order of the hash: the definition, not RECODE."""
    step = plan.steps[0]
    numbers = row_numbers(ORDERED.columns, N)
    if kind == "sample":
        return ORDERED.filter(pa.array(step.start(seed)(ORDERED, numbers)))
    view = ORDERED.select(list(dict.fromkeys(["id", *step.columns, *step.needs])))
    return (step.run(view, seed) if hasattr(step, "run") else step.start(seed)(view, numbers)).sort_by("id")


def agreement(plan, kind, seed, published):
    """Share of people whose published value is the one that a guess of the seed gives them: 1 where the change is undone."""
    made = carried_out(plan, kind, seed)
    if kind == "sample":
        mine, true = set(made["id"].to_pylist()), set(published["id"].to_pylist())
        return len(mine & true) / len(mine | true)
    column = plan.steps[0].column
    return float(np.mean([a == b for a, b in zip(made[column].to_pylist(), published[column].to_pylist(), strict=True)]))


def written(tmp_path, kind, name="out.parquet", **words):
    out = tmp_path / name
    found = shoal.transform(TABLE, spec(kind), out, **words)
    return found, pq.read_table(out).sort_by("id")


def test_there_is_an_attack_on_every_step_that_draws():
    importlib.import_module("shoal.release.plan.plan_json")  # defines every kind of step
    drawing = {k for k, c in plans._REGISTRY.items() if c.draws and c.__module__.startswith("shoal.")}
    assert drawing == set(STEPS)


@pytest.mark.parametrize("kind", STEPS)
def test_no_default_and_no_usual_seed_undoes_a_step_but_the_private_file_does(kind, tmp_path):
    found, published = written(tmp_path, kind)
    plan = Plan.from_json(found.plan.without_seed().to_json())  # as it is shown
    chance = {"pram": 0.75, "sample": 0.5}.get(kind, 0.2)
    assert max(agreement(plan, kind, seed, published) for seed in (plan.seed, *GUESSES)) < chance
    assert agreement(plan, kind, read_seed(found.private_file), published) == 1.0


@pytest.mark.parametrize("kind", STEPS)
def test_two_runs_draw_two_seeds_and_the_private_file_repeats_one(kind, tmp_path):
    first, rows = written(tmp_path, kind)
    second, others = written(tmp_path, kind, "other.parquet")
    assert first.plan.seed != second.plan.seed
    assert not rows.equals(others)
    again = shoal.transform(TABLE, spec(kind), tmp_path / "again.parquet", private=first.private_file)
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "out.parquet").read_bytes()
    assert again.private_file is None, "stated, not drawn"


@pytest.mark.parametrize("kind", STEPS)
def test_a_seed_that_could_be_tried_is_refused_at_the_limit(kind, tmp_path):
    table = shoal.open(TABLE)
    plan = shoal.transform(table, spec(kind)).plan
    for seed in (1, 20261, LEAST_SEED - 1, -5):
        for run in (
            lambda seed=seed: shoal.transform(TABLE, spec(kind), tmp_path / "no.csv", seed=seed),
            lambda seed=seed: shoal.transform(TABLE, {**spec(kind), "seed": seed}, tmp_path / "no.csv"),
            lambda seed=seed: shoal.transform(TABLE, spec(kind), seed=seed),
            lambda seed=seed: table.recode(Plan(plan.steps, seed=seed), tmp_path / "no.csv"),
            lambda seed=seed: tf.apply(plan.steps[0], TABLE, seed=seed),
        ):
            with pytest.raises(PolicyError, match="be guessed"):
                run()
    assert not list(tmp_path.iterdir())
    shoal.transform(TABLE, spec(kind), tmp_path / "yes.csv", seed=LEAST_SEED)
    assert [p.name for p in tmp_path.iterdir()] == ["yes.csv"]


def test_drawn_seeds_are_long_and_different():
    seeds = {safe_seed(0) for _ in range(100)}
    assert len(seeds) == 100
    assert min(seeds) >= LEAST_SEED
    assert max(seeds) > 2**100
    assert safe_seed(LEAST_SEED) == LEAST_SEED


def test_a_plan_without_a_random_step_takes_any_seed_and_keeps_nothing(tmp_path):
    steps = [{"column": "pay", "round": {"base": 100}}, {"column": "debt", "microaggregate": {"k": 3}}]
    found = shoal.transform(TABLE, {"seed": 7, "steps": steps}, tmp_path / "out.csv")
    assert found.private_file is None
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_in_memory_a_step_without_a_seed_differs_each_time():
    step = tf.Noise("pay", 50.0)
    assert not tf.apply(step, TABLE).table.equals(tf.apply(step, TABLE).table)
    rows = [tf.apply(tf.Sample(share=0.5), TABLE).table["id"].to_pylist() for _ in range(2)]
    assert rows[0] != rows[1]
    with pytest.raises(PolicyError, match="be guessed"):
        tf.apply(tf.Sample(share=0.5), TABLE, seed=3)


def test_a_known_value_tells_nothing_of_the_next_one():
    """SplitMix64 can be run backwards: one draw gave the key and with it all others. It must not any more."""
    key = draws.derive(10**16)
    seen = int(draws.bits(key, draws.places(0, 2))[0])

    def unshift(z, shift):
        out = z
        for _ in range(64 // shift + 1):
            out = z ^ (out >> shift)
        return out

    full = 2**64 - 1
    z = unshift(seen, 31)
    z = unshift(z * pow(0x94D049BB133111EB, -1, 2**64) & full, 27)
    z = unshift(z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & full, 30)
    state = z + 0x9E3779B97F4A7C15 & full
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & full
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & full
    assert z ^ (z >> 31) != int(draws.bits(key, draws.places(0, 2))[1])


def test_the_private_file_is_for_its_owner_only_and_goes_with_its_output(tmp_path):
    found, _ = written(tmp_path, "noise")
    file = found.private_file
    assert file == tmp_path / "out.parquet.private.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.parquet", "out.parquet.private.json"]
    assert str(found.plan.seed) not in repr(found) + repr(found.plan) + repr(found.done) + json.dumps(found.to_json())
    second, published = written(tmp_path, "noise")  # over the first: its seed takes the place of the first's
    assert read_seed(file) == second.plan.seed != found.plan.seed
    assert agreement(second.plan, "noise", read_seed(file), published) == 1.0


def test_where_the_output_fails_the_old_seed_stays_and_no_new_one_is_left(tmp_path, monkeypatch):
    found, _ = written(tmp_path, "noise")
    before = found.private_file.read_bytes()

    def full(*_, **__):
        raise OutputError("no room")

    monkeypatch.setattr("shoal.engines.recode.job.write_file", full)
    with pytest.raises(OutputError):
        written(tmp_path, "noise")
    assert found.private_file.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.parquet", "out.parquet.private.json"]


def test_private_files_that_are_none(tmp_path):
    form = '{"format": "shoal-private/1"'
    for text in ("", "{}", form + "}", '{"format": "else", "seed": 1}', form + ', "seed": true}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UnreadableError):
            shoal.transform(TABLE, spec("noise"), private=tmp_path / "bad.json")
    with pytest.raises(UnreadableError):
        read_seed(tmp_path / "none.json")
    written(tmp_path, "noise")
    with pytest.raises(UsageError, match="twice"):
        shoal.transform(TABLE, spec("noise"), private=tmp_path / "out.parquet.private.json", seed=10**16)


def run(*words):
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert not end.value.code


def test_the_command_keeps_the_seed_apart_from_what_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "t.parquet")
    (tmp_path / "p.yml").write_text(json.dumps(spec("permute")))
    run("transform", "t.parquet", "--plan", "p.yml", "--out", "o.csv", "--save-plan", "saved.json")
    said, seed = capsys.readouterr().out, read_seed("o.csv.private.json")
    assert "o.csv.private.json" in said
    assert str(seed) not in said
    assert json.loads((tmp_path / "saved.json").read_text())["seed"] == 0
    run("transform", "t.parquet", "--plan", "saved.json", "--out", "b.csv", "--private", "o.csv.private.json")
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "o.csv").read_bytes()
    assert not os.path.exists("b.csv.private.json")


class TestRounding:
    """Noise is published with the column's own precision: the last digits of a double give the true value away."""

    @pytest.mark.parametrize("distribution", ["gaussian", "laplace", "uniform"])
    @pytest.mark.parametrize("mode", ["additive", "multiplicative"])
    def test_the_last_digits_tell_nothing(self, distribution, mode):
        """Mironov's attack: with all digits only the true value (on the grid of cents) can give the published double."""
        truth = np.round(np.random.default_rng(1).uniform(1000, 5000, 200), 2)
        scale = 50.0 if mode == "additive" else 0.02
        out = tf.apply(tf.Noise("x", scale, distribution, mode), pa.table({"x": truth})).table["x"].to_pylist()
        assert max(len(repr(v).rpartition(".")[2]) for v in out) <= 4
        assert not np.array_equal(out, truth)

    def test_whole_numbers_stay_whole_and_decimals_keep_theirs(self):
        import decimal

        out = tf.apply(tf.Noise("x", 5.0), pa.table({"x": pa.array([1, 2, None])})).table["x"]
        assert out.type == pa.int64()
        assert out.null_count == 1
        cents = pa.array([decimal.Decimal("1.25"), decimal.Decimal("3.50")], pa.decimal128(9, 2))
        got = tf.apply(tf.Noise("x", 5.0), pa.table({"x": cents})).table["x"].to_pylist()
        assert all(round(v, 2) == v for v in got)
        both = tf.CorrelatedNoise.fit(pa.table({"x": [1, 5, 9], "y": [0.5, 2.25, 7.5]}), ("x", "y"), share=0.5)
        assert both.decimals == (0, 2)
        after = tf.apply(both, pa.table({"x": [1, 5, 9], "y": [0.5, 2.25, 7.5]})).table
        assert after["x"].type == pa.int64()
        assert all(round(v, 2) == v for v in after["y"].to_pylist())

    def test_decimals_are_looked_up(self):
        assert shoal.transform(TABLE, spec("noise")).plan.steps[0].decimals == 2
        assert tf.noise_for("x", [1.5, 2.25, 1000.0]).decimals == 2
        assert tf.noise_for("x", [1.0, 2.0, 1000.0], decimals=1).decimals == 1
        assert tf.noise_for("x", [1 / 3, 2.0]).decimals is None

    @pytest.mark.parametrize(("scale", "fine"), [(0.5, True), (0.4999, False)])
    def test_noise_that_rounding_takes_off_is_refused(self, scale, fine):
        table = pa.table({"x": [1, 2, 3]})
        if fine:
            tf.apply(tf.Noise("x", scale), table)
            return
        with pytest.raises(PolicyError, match="half a step"):
            tf.apply(tf.Noise("x", scale), table)
        with pytest.raises(PolicyError, match="half a step"):
            tf.apply(tf.Noise("x", scale, decimals=3), table)  # rounding would give the true value back

    @pytest.mark.parametrize(("share", "fine"), [(0.1, True), (0.0999, False)])
    def test_also_where_the_steps_are_those_of_the_data(self, share, fine):
        values = [0.0, 10.0]  # whole numbers in doubles; deviation 5
        if fine:
            assert tf.noise_for("x", values, share=share).decimals == 0
            return
        with pytest.raises(PolicyError, match="half a step"):
            tf.noise_for("x", values, share=share)
        with pytest.raises(PolicyError, match="half a step"):
            tf.CorrelatedNoise.fit(pa.table({"x": values, "y": [1 / 3, 2 / 3]}), ("x", "y"), share=0.004)

    def test_whole_numbers_too_large_for_the_type_are_told(self):
        with pytest.raises(DataError, match="too large"):
            tf.apply(tf.Noise("x", 1e25), pa.table({"x": [2**62, 2**62 - 1, 5, 6, 7, 8]}))


def test_a_step_done_twice_draws_anew(tmp_path):
    """With the same draws the second rank swapping put every value back, and two noises were one of twice the size."""
    n = 4000
    table = pa.table({"id": range(n), "pay": np.random.default_rng(8).permutation(n) * 7.25})
    true = table["pay"].to_numpy()

    def after(*steps):
        shoal.transform(table, {"steps": [{"column": "pay", **s} for s in steps]}, tmp_path / "o.parquet", seed=LEAST_SEED)
        return pq.read_table(tmp_path / "o.parquet").sort_by("id")["pay"].to_numpy()

    swap, noise = {"rank_swap": {"percent": 5}}, {"noise": {"scale": 10, "decimals": 3}}
    assert np.mean(after(swap, swap) == true) < 0.05
    assert np.std(after(noise, noise) - true) == pytest.approx(10 * 2**0.5, rel=0.05)
    assert np.std(after(noise) - true) == pytest.approx(10, rel=0.05)
    step = shoal.transform(table, {"steps": [{"column": "pay", **swap}]}).plan.steps[0]
    shoal.open(table).recode(Plan((step, step), seed=LEAST_SEED), tmp_path / "o.parquet")  # one object, listed twice
    assert np.mean(pq.read_table(tmp_path / "o.parquet").sort_by("id")["pay"].to_numpy() == true) < 0.05


WORDS = {
    "noise": {"scale": 50.0},
    "correlated_noise": {"others": ["debt"], "share": 0.1},
    "pram": {"keep": 0.8, "invariant": False},
}
OTHER = {
    "noise": {"scale": 100.0},
    "correlated_noise": {"others": ["debt"], "share": 0.4},
    "pram": {"keep": 0.6, "invariant": False},
}


@pytest.mark.parametrize("kind", WORDS)
def test_two_plans_under_one_seed_do_not_give_the_values_together(kind, tmp_path):
    """From the same draws 2(x + e) − (x + 2e) is x, and a category that changes under one matrix only is the true one."""
    column = STEPS[kind]["column"]

    def after(words):
        shoal.transform(TABLE, {"steps": [{"column": column, kind: words}]}, tmp_path / "o.parquet", seed=LEAST_SEED)
        return np.array(pq.read_table(tmp_path / "o.parquet").sort_by("id")[column].to_pylist())

    less, more, true = after(WORDS[kind]), after(OTHER[kind]), np.array(TABLE[column].to_pylist())
    if kind == "pram":
        coupled = {t: (less == t) & (more != t) for t in ("Aarau", "Davos")}  # the first and the last: their limits are nested
        assert all(np.mean(true[c] == t) < 0.95 for t, c in coupled.items())
    else:
        assert np.median(np.abs(2 * less - more - true)) > 20


@pytest.mark.parametrize("first", [{"clamp": {"high": 3000}}, {"round": {"base": 1000}}, {"microaggregate": {"k": 50}}])
def test_steps_before_noise_change_its_draws(first, tmp_path):
    """From the same draws (x + e) − (limited x + e) is what the limit took off: the values beyond it, to the cent."""
    seen = []
    for steps in ([{"noise": {"scale": 300}}], [first, {"noise": {"scale": 300}}]):
        out = tmp_path / "o.parquet"
        shoal.transform(TABLE, {"steps": [{"column": "pay", **s} for s in steps]}, out, seed=LEAST_SEED)
        seen.append(pq.read_table(out).sort_by("id")["pay"].to_numpy())
    made = tf.apply(shoal.transform(TABLE, {"steps": [{"column": "pay", **first}]}).plan.steps[0], TABLE).table["pay"].to_numpy()
    assert np.mean(np.abs(seen[0] - seen[1] + made - TABLE["pay"].to_numpy()) < 1) < 0.05


def test_the_draws_of_exchanges_depend_on_their_settings():
    assert (
        tf.RankSwap("x", 5)._keys(LEAST_SEED)
        != tf.RankSwap("x", 10)._keys(LEAST_SEED)
        == tf.RankSwap("x", 10.0)._keys(LEAST_SEED)
    )
    steps = [tf.Permute("x"), tf.Permute("x", ("sex",)), tf.Permute("x", (), ("sex",)), tf.Permute("x", (), ("sex", "age"))]
    assert len({s._key(LEAST_SEED) for s in steps}) == 4
