"""``hardened``: the search finds a plan that downcoding and minimality do not profit from, or says that there is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import InfeasibleError
from shoal.release.plan.methods import LIMITS
from shoal.release.verification import verify


def rates(release):
    return {a.name: a.rate for a in release.certificate.attacks if a.name.split(":")[0] in LIMITS}


def small(**age):
    """All men around forty are 36, most women 30: the published band of ten years tells the men's band of five."""
    ages, sexes = [30] * 20 + [36] * 6 + [50] * 20, ["f"] * 21 + ["m"] * 5 + ["f", "m"] * 10
    table = pa.table({"age": ages, "sex": sexes, "s": ["x", "y"] * 23})
    quasi = {"age": {"hierarchy": {"intervals": [5, 10]}, **age}, "sex": {"max_level": 0}}
    asked = {"require": {"k": 4}, "allow": {"loss": 1, "blank": 1}, "method": "lattice"}
    return table, {"roles": {"quasi": quasi, "sensitive": ["s"]}, **asked}


def test_a_plan_that_gives_something_away_is_passed_over(tmp_path):
    table, asked = small()
    plain = shoal.anonymize(table, asked)
    assert rates(plain)["downcoding"] == pytest.approx(5 / 46)
    hard = shoal.anonymize(table, {**asked, "hardened": True})
    folder = hard.write(tmp_path / "out")
    assert verify(folder).ok
    assert rates(hard)["downcoding"] <= LIMITS["downcoding"]
    assert hard.certificate.utility.levels["age"] > plain.certificate.utility.levels["age"]
    assert hard.certificate.utility.loss > plain.certificate.utility.loss
    assert hard.certificate.utility.proven is False
    assert any(limit.startswith("Hardened: ") for limit in hard.certificate.limits)


def test_where_no_plan_resists_nothing_is_released(tmp_path):
    table, asked = small(max_level=2)
    with pytest.raises(InfeasibleError, match="choice tells next to nothing"):
        shoal.anonymize(table, {**asked, "hardened": True}).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_given_plan_that_gives_something_away_is_refused(tmp_path):
    table, asked = small()
    plain = shoal.anonymize(table, asked)
    plain.write(tmp_path / "plain")
    with pytest.raises(shoal.errors.VerificationError, match="hardened"):
        shoal.anonymize(table, {**asked, "hardened": True}, plan=tmp_path / "plain" / "plan.json").write(tmp_path / "out")


def clustered(seed, n=600):
    """Cohen 2022: clusters of very different width, so that wide published ranges hold narrow clusters."""
    rng = np.random.default_rng(seed)
    centre = rng.choice([10, 26, 47, 61, 83], n, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    width = np.select([centre == 10, centre == 26, centre == 47], [6.0, 0.8, 3.0], 0.4)
    one = np.clip(np.round(centre + rng.normal(0, 1, n) * width), 0, 99).astype(int)
    two = np.clip(np.round(99 - centre + rng.normal(0, 1, n) * width), 0, 99).astype(int)
    return pa.table({"a": one, "b": two, "ill": rng.choice(["x", "y", "z"], n, p=[0.7, 0.2, 0.1])})


@pytest.mark.parametrize(
    ("require", "seed"),
    [
        *(({"k": 5}, seed) for seed in range(3)),
        *(({"k": 3, "diversity": {"ill": {"distinct": 2}}}, seed) for seed in (1, 3)),
    ],
)
def test_clustered_people(seed, require):
    """A7 and A8: on data made for the attack, the hardened plan stays below one record in a hundred."""
    tree = {"hierarchy": {"intervals": [2, 4, 8, 16, 32, 64]}}
    asked = {"roles": {"quasi": {"a": tree, "b": tree}, "sensitive": ["ill"]}, "require": require}
    asked["allow"] = {"suppress": 0.02, "loss": 1}  # both columns may be blank: such clusters leave little else
    asked["method"] = "lattice" if seed else "best"  # the best of all methods takes half a minute
    plain, hard = shoal.anonymize(clustered(seed), asked), shoal.anonymize(clustered(seed), {**asked, "hardened": True})
    for name, rate in rates(hard).items():
        assert rate <= LIMITS[name.split(":")[0]]
    assert hard.certificate.utility.loss >= plain.certificate.utility.loss - 1e-12


def test_the_attack_has_something_to_find_in_clustered_people():
    tree = {"hierarchy": {"intervals": [2, 4, 8, 16, 32, 64]}}
    asked = {"roles": {"quasi": {"a": tree, "b": tree}, "sensitive": ["ill"]}, "require": {"k": 5}, "allow": {"suppress": 0.02}}
    asked["method"] = "lattice"
    assert max(rates(shoal.anonymize(clustered(s), asked))["downcoding"] for s in range(4)) > 0.05
