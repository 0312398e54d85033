"""The last checks before a release, each at its limit and one step beside it."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

import shoal
from shoal.errors import VerificationError
from shoal.release.make.carry_out import Output
from shoal.release.make.count_again import check_linked, check_suppressed
from shoal.release.make.release import Release


@pytest.mark.parametrize(
    ("share", "records", "most"),
    [
        pytest.param(0.0, 50, 0, id="nothing allowed"),
        pytest.param(0.02, 50, 1, id="one of fifty"),
        pytest.param(0.1, 30, 3, id="0.1 times 30 is a little more than 3"),
        pytest.param(0.3, 10, 3, id="0.3 times 10 is exactly 3"),
        pytest.param(0.29, 100, 29, id="0.29 times 100 is a little less than 29"),
        pytest.param(0.05, 119, 5, id="5.95 is five"),
        pytest.param(1.0, 7, 7, id="everything"),
    ],
)
def test_as_many_as_allowed_may_be_suppressed_and_not_one_more(share, records, most):
    check_suppressed(most, records, share)
    with pytest.raises(VerificationError, match=f"{most + 1} records would be suppressed, {most} are allowed"):
        check_suppressed(most + 1, records, share)


def test_a_plan_that_suppresses_one_record_too_many_is_not_released(tmp_path):
    """Decided under a looser policy, applied under a stricter one: the written file is held against the policy."""
    rows = pa.table({"a": ["x"] * 40 + ["y"] * 6 + ["z"] * 4, "s": ["u", "v"] * 25})
    asked = {"roles": {"quasi": {"a": {"max_level": 0}}, "sensitive": ["s"]}, "require": {"k": 5}, "allow": {"suppress": 0.08}}
    release = shoal.anonymize(rows, asked)
    assert release.certificate.utility.suppressed == 4
    for share, good in ((0.08, True), (0.0799, False), (0.06, False)):
        policy = dataclasses.replace(release.prepared.policy, suppress=share)
        other = Release(dataclasses.replace(release.prepared, policy=policy), release.decision, Output())
        if good:
            assert other.write(tmp_path / "good").is_dir()
            continue
        with pytest.raises(VerificationError, match="4 records would be suppressed, 3 are allowed"):
            other.write(tmp_path / "bad")
        assert not (tmp_path / "bad").exists()


def test_people_who_stay_linked_must_be_k_alike():
    check_linked(None, 5)
    check_linked(6, 5)
    check_linked(5, 5)
    with pytest.raises(VerificationError, match="as few as 4"):
        check_linked(4, 5)


def test_a_release_under_a_policy_that_asks_for_more_than_the_file_has_is_stopped(tmp_path):
    """k is judged in the written file: one member short and nothing appears."""
    rows = pa.table({"a": ["x"] * 6 + ["y"] * 5})
    release = shoal.anonymize(rows, quasi={"a": {"max_level": 0}}, k=5)
    assert release.k == 5
    policy = shoal.Policy.of(quasi={"a": {"max_level": 0}}, k=6)
    other = Release(dataclasses.replace(release.prepared, policy=policy), release.decision, Output())
    with pytest.raises(VerificationError, match="does not meet a requirement"):
        other.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())
