"""Observer models against published values and against plain enumeration."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli import build
from shoal.errors import UsageError
from shoal.measures.observer.entropy import renyi_entropy
from shoal.measures.observer.models import crowds, dining_cryptographers, pool_mix, threshold_mix


def row(model, words: str) -> list[float]:
    return model.table.rows[model.observations.index(words)].tolist()


def test_dining_cryptographers_of_the_thesis() -> None:
    """METHODS §1.8: announcements 1 0 0."""
    assert row(dining_cryptographers(3), "1 0 0") == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    biased = row(dining_cryptographers(3, bias=0.9), "1 0 0")
    assert biased == pytest.approx([0.8021978, 0.0989011, 0.0989011, 0], abs=1e-7)
    inside = dining_cryptographers(3, insiders=[1])
    some = [inside.table.rows[i] for i, w in enumerate(inside.observations) if w.startswith("1 0 0") and "paid" not in w]
    assert some
    for posterior in some:
        assert posterior.tolist() == pytest.approx([0.5, 0, 0.5, 0])


def test_dining_cryptographers_keep_the_payer_hidden_from_outside_with_fair_coins_only() -> None:
    assert dining_cryptographers(4).table.rows[:, :4].max() == pytest.approx(0.25)
    assert dining_cryptographers(4, bias=0.7).table.rows[:, :4].max() > 0.26


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_coins_that_always_fall_alike_tell_who_paid(bias: float) -> None:
    assert dining_cryptographers(3, bias=bias).to_json()["right_guess"] == pytest.approx(1.0)


def test_mixes() -> None:
    assert threshold_mix(8).to_json()["entropy_after"] == pytest.approx(3.0)
    assert threshold_mix(8, attacker=7).table.rows.tolist() == [[1.0]]
    for t, s in ((5, 3), (10, 1), (2, 6)):
        model = pool_mix(t, s, 200)
        closed = (1 + s / t) * math.log2(s + t) - s / t * math.log2(s)
        assert renyi_entropy(model.table.rows[0], 1.0) == pytest.approx(closed, abs=1e-6)
        assert model.table.rows.sum() == pytest.approx(1.0)
    assert pool_mix(4, 0, 1).table.rows[0].tolist() == [0.25] * 4


def _walked(n: int, c: int, p: float) -> np.ndarray:
    """P(predecessor of the first collaborator | initiator) by walking paths up to a length that leaves nothing."""
    honest = n - c
    out = np.zeros((honest, honest))
    for start in range(honest):
        at = np.zeros(honest)
        at[start] = 1.0
        for _ in range(400):
            out[start] += at * c / n
            at = np.full(honest, at.sum() / n) * p
    return out


@pytest.mark.parametrize(("n", "c", "p"), [(5, 1, 0.5), (10, 2, 0.75), (7, 4, 0.9)])
def test_crowds_by_walking_every_path(n: int, c: int, p: float) -> None:
    model = crowds(n, corrupt=c, forward=p)
    caught = _walked(n, c, p)
    for i in range(n - c):
        assert row(model, f"member {i} × 1") == pytest.approx((caught[:, i] / caught[:, i].sum()).tolist())
    assert model.table.rows.max() == pytest.approx(1 - p * (n - c - 1) / n)  # Reiter & Rubin


def test_reiter_and_rubin_innocence_begins_at_their_size() -> None:
    """Probable innocence for n >= p (c + 1) / (p - 1/2): exactly there and one below."""
    least = 0.75 / 0.25 * 3  # c = 2: nine members
    grades = [
        next(s["grade"] for s in crowds(n, corrupt=2, forward=0.75).observed() if "member" in s["observation"])
        for n in (int(least), int(least) - 1)
    ]
    assert grades == ["probable innocence", "possible innocence"]


def test_the_predecessor_attack_is_the_product_of_independent_paths() -> None:
    one = crowds(6, corrupt=2, forward=0.6)
    likelihood = one.table.rows * one.table.weights[:, None] / one.table.prior
    two = crowds(6, corrupt=2, forward=0.6, paths=2)
    for i, j in itertools.combinations(range(4), 2):
        joint = likelihood[one.observations.index(f"member {i} × 1")] * likelihood[one.observations.index(f"member {j} × 1")]
        assert row(two, f"member {i} × 1, member {j} × 1") == pytest.approx((joint / joint.sum()).tolist())
    assert two.table.weights.sum() == pytest.approx(1.0)
    assert two.to_json()["right_guess"] > one.to_json()["right_guess"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dining_cryptographers(2),
        lambda: dining_cryptographers(10),
        lambda: dining_cryptographers(3, bias=1.1),
        lambda: dining_cryptographers(3, insiders=[3]),
        lambda: threshold_mix(3, attacker=3),
        lambda: pool_mix(0, 1, 1),
        lambda: crowds(5, corrupt=4, forward=0.75),
        lambda: crowds(5, corrupt=0, forward=0.75),
        lambda: crowds(5, corrupt=1, forward=1.0),
        lambda: crowds(5, corrupt=1, forward=0.49),
        lambda: crowds(60, corrupt=2, forward=0.75, paths=6),
    ],
)
def test_what_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()


def test_the_command(tmp_path: Path) -> None:
    words = ["observe", "crowds", "--members", "10", "--corrupt", "2", "--plot", str(tmp_path / "c.svg")]
    found = json.loads(CliRunner().invoke(build(), [*words, "--json"]).stdout)
    assert max(s["posterior"] for s in found["observations"]) == pytest.approx(0.475)
    assert (tmp_path / "c.svg").stat().st_size > 500
    said = CliRunner().invoke(build(), ["observe", "dining"])
    assert said.exit_code == 0
    assert "dining cryptographers: 4 candidates, 2 bits of doubt before" in said.output.replace("\n", " ")
