"""Results offer the next step as a method: plots, attacks; a mistyped option is answered with the real ones."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import UsageError

PEOPLE = {"age": [31, 32, 33, 45, 46, 47] * 2, "ill": ["flu", "cold"] * 6}
QUASI = {"age": {"hierarchy": {"intervals": [10]}}}


@pytest.fixture(scope="module")
def release() -> shoal.Release:
    return shoal.anonymize(PEOPLE, quasi=QUASI, sensitive=["ill"], k=3)


def test_a_measurement_is_plotted(tmp_path):
    file = shoal.measure(PEOPLE, quasi=["age"]).plot(tmp_path / "sizes.svg")
    assert file.read_text().startswith("<?xml")
    assert shoal.measure(PEOPLE, quasi=["age"]).plot()._repr_svg_() == file.read_text(), "a notebook shows the same picture"


def test_a_release_says_what_it_costs_before_it_is_written():
    fresh = shoal.anonymize(PEOPLE, quasi=QUASI, sensitive=["ill"], k=3)
    assert repr(fresh) == "<Release: planned, 0 of 12 suppressed, loss 0.4; not written yet>"


def test_a_release_is_plotted_attacked_and_shown(release, tmp_path):
    assert release.plot(tmp_path / "sizes.svg").read_text().startswith("<?xml")
    assert repr(release) == "<Release: k = 6, 12 records, 0 suppressed, loss 0.4 of 1; not written yet>"
    report = release.attack()
    assert report.holds
    assert shoal.attack(release).results == report.results
    with pytest.raises(UsageError, match="written release"):
        shoal.attack(release, with_=PEOPLE)
    with pytest.raises(UsageError):  # not ignored: it needs an original
        shoal.attack(release, key="age")
    folder = release.write(tmp_path / "out")
    assert repr(release).endswith(f"written to {folder}>")


def test_a_mistyped_option_is_answered_with_the_real_ones():
    with pytest.raises(UsageError) as error:
        shoal.anonymize(PEOPLE, quazi=["age"], k=3)
    assert "Unknown option 'quazi'." in str(error.value)
    assert "Did you mean 'quasi'? Options: quasi, qi, sensitive" in str(error.value)
