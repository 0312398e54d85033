"""Lines whose mutants once survived every test: each is decided here at its boundary."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace

import pytest

from shoal.engines.exclusion import LeftOut
from shoal.engines.recode.write import hidden_columns, keep_seed, kept_beside, place_of, read_seed
from shoal.errors import OutputError, TamperError, UnreadableError
from shoal.kernels import signatures
from shoal.measures.classes.risk import marketer
from shoal.model.certificate.numbers import ClassNumbers, Risk
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.exclusion import Excluded, commitment
from shoal.model.plan import Plan, Suppression
from shoal.model.seed import PRIVATE_FORMAT
from shoal.release.certificate.sentences import attackers, chances
from shoal.release.make import private_file
from shoal.steps import Cut, Keep
from shoal.techniques.perturb.sampling import Sample


@pytest.mark.parametrize(("k", "hidden"), [(0, set()), (1, set()), (2, {"a", "b"}), (3, {"a", "b"})])
def test_from_two_on_suppression_may_hide_a_value_of_every_column(k, hidden):
    """k = 2 leaves out records that are alone: a label of theirs must not stay in a statistics file."""
    plan = Plan((Keep("a"), Keep("b")), Suppression(k, ("a",)))
    assert hidden_columns(plan, ["a", "b"], None) == hidden


def test_records_chosen_from_outside_or_by_a_sample_may_hide_a_value_of_every_column():
    kept = Plan((Keep("a"), Keep("b")), Suppression(0, ("a",)))
    assert hidden_columns(kept, ["a", "b"], [True]) == {"a", "b"}
    assert hidden_columns(Plan((Keep("a"), Sample(share=0.5))), ["a", "b"], None) == {"a", "b"}
    assert hidden_columns(Plan((Keep("a"), Cut("b", (1.0,), ("x", "y")))), ["a", "b"], None) == {"b"}


def stated(commitment=None, sha256="of the plan"):
    return PlanEntry(sha256, 1, "random" if commitment else "", commitment, truthful=commitment is None)


def test_a_private_file_belongs_to_one_seed_salt_and_plan(tmp_path):
    mine = private_file.Kept(7, "salt", release="of the plan")
    others = [private_file.Kept(8, "salt"), private_file.Kept(7, "pepper"), private_file.Kept(7, "salt", release="of another")]
    assert private_file.fits(mine, stated(mine.commitment))
    assert private_file.fits(private_file.Kept(7, "salt"), stated(mine.commitment)), "files of 0.3.0 name no release"
    assert not any(private_file.fits(other, stated(mine.commitment)) for other in others)
    assert not private_file.fits(mine, stated(None))
    assert private_file.Kept(None, "").commitment is None
    for n, (kept, entry, good) in enumerate(
        [
            (mine, stated(mine.commitment), True),
            (others[0], stated(mine.commitment), False),
            (private_file.Kept(None, "", release="of the plan"), stated(), True),
            (private_file.Kept(None, ""), stated(), False),  # a file that says nothing is of no release
        ]
    ):
        private_file.write(kept, tmp_path / f"{n}.json")
        if good:
            assert private_file.check(entry, tmp_path / f"{n}.json").startswith("the private file belongs")
        else:
            with pytest.raises(TamperError, match="another seed or plan"):
                private_file.check(entry, tmp_path / f"{n}.json")


def test_a_list_is_checked_with_the_salt_of_the_private_file(tmp_path):
    bound = Objections("who", 2, 2, 2, 0, commitment=commitment(("a", "b"), "salt"))
    for name, salt in (("mine", "salt"), ("other", "pepper"), ("none", "")):
        private_file.write(private_file.Kept(None, "", release="x", list_salt=salt), tmp_path / name)
    assert "2 people" in private_file.check_list(bound, ["b", "a"], tmp_path / "mine")
    for ids, name in ((["a"], "mine"), (["a", "b"], "other"), (["a", "b"], "none")):
        with pytest.raises(TamperError, match="is another than the one"):
            private_file.check_list(bound, ids, tmp_path / name)
    unsalted = Objections("who", 2, 2, 2, 0, commitment=commitment(("a", "b"), ""))
    with pytest.raises(TamperError, match="is another than the one"):
        private_file.check_list(unsalted, ["a", "b"], tmp_path / "none")


def test_an_id_is_looked_for_however_it_is_spelled(tmp_path):
    (tmp_path / "data.csv").write_text("who\n7\n8.5\n")
    private_file.none_published(tmp_path / "data.csv", "who", ("6", "8"))
    for listed in ("007", "7.0", "8.50"):
        with pytest.raises(TamperError, match="1 published records are of people who asked not to be in it"):
            private_file.none_published(tmp_path / "data.csv", "who", (listed,))


@pytest.mark.parametrize("link", [False, True])
def test_a_private_file_that_is_left_is_not_written_over(tmp_path, link):
    place = tmp_path / "release.private.json"
    private_file.free(place)
    place.symlink_to(tmp_path / "gone") if link else place.write_text("{}")
    with pytest.raises(OutputError, match="left from an earlier release"):
        private_file.free(place)


@pytest.mark.parametrize("text", ['{"format": "other", "seed": 1}', '{"format": "FORMAT", "seed": true}', '{"format": "FORMAT"}'])
def test_a_seed_is_read_from_a_private_file_only(tmp_path, text):
    (tmp_path / "x.private.json").write_text(text.replace("FORMAT", PRIVATE_FORMAT))
    with pytest.raises(UnreadableError, match="not one that Shoal wrote"):
        read_seed(tmp_path / "x.private.json")


@pytest.mark.parametrize(
    ("release", "population", "share"), [((1, 4), None, 2 / 5), ((2, 3), (4, 3), (2 / 4 + 3 / 3) / 5), ((0, 5), (9, 10), 0.1)]
)
def test_the_marketer_matches_one_record_per_class_on_average(release, population, share):
    assert marketer(release, population) == pytest.approx(share)


def numbers(sizes, smallest=None):
    members = {int(s): int(s) * n for s, n in sizes.items()} if smallest is None else {int(s): n for s, n in smallest.items()}
    k, unique = min(map(int, sizes)), members.get(1, 0)
    return ClassNumbers(
        records=sum(int(s) * n for s, n in sizes.items()),
        classes=sum(sizes.values()),
        k=k,
        unique=unique,
        sizes=sizes,
        risk=Risk(1 / k, 0.0),
        smallest=smallest,
    )


def test_the_chances_of_the_four_attackers():
    """Three classes of 1, 2 and 5 records: one chance in one at most, three classes in eight records on average, one alone."""
    assert chances(numbers({"1": 1, "2": 1, "5": 1})) == [1.0, 1.0, pytest.approx(3 / 8), 1]
    people = numbers({"2": 2, "4": 1}, {"2": 3, "4": 2})  # five people, each once, by their smallest class
    assert chances(people) == [0.5, 0.5, pytest.approx((3 / 2 + 2 / 4) / 5), 0]
    found = attackers(("age",), numbers({"1": 2}), people)
    assert [(a.before, a.after) for a in found] == [(1.0, 0.5), (1.0, 0.5), (1.0, pytest.approx(0.4)), (2, 0)]


def test_what_is_kept_of_a_plan():
    """Its seed if something is drawn, all of it if what is published lacks a step; bound to what is published."""
    signer, plain = signatures.signer(), Plan((Keep("a"),), seed=7)
    shown, drawn = Plan((Keep("a"), Keep("b")), seed=0), Plan((Keep("a"), Sample(share=0.5)), seed=7)
    assert private_file.kept(plain, plain, signer) is None
    listed = private_file.kept(plain, plain, signer, "salt")
    assert (listed.seed, listed.salt, listed.plan, listed.list_salt) == (None, "", None, "salt")
    partly = private_file.kept(plain, shown, signer)
    assert (partly.seed, partly.salt, partly.plan) == (None, "", plain.without_seed().to_json())
    assert (
        partly.release == hashlib.sha256(shown.to_json().encode()).hexdigest() == private_file.kept(drawn, shown, signer).release
    )
    random = private_file.kept(drawn, drawn, signer)
    assert (random.seed, random.plan, len(random.salt)) == (7, None, 64)
    others = [private_file.kept(replace(drawn, seed=8), drawn, signer), private_file.kept(drawn, drawn, signatures.signer())]
    assert len({random.salt, *(o.salt for o in others)}) == 3


def test_a_list_has_one_commitment_in_any_order():
    signer, told = signatures.signer(), Excluded("who", 2, 2, 2, 0)
    one, other = (private_file.objections(LeftOut(None, ids, told), signer) for ids in (("a", "b"), ("b", "a")))
    assert one == other
    assert private_file.objections(None, signer) == (None, "")
    assert private_file.objections(LeftOut(None, ("a",), told), signer) != one


def test_a_private_file_has_its_format(tmp_path):
    private_file.write(private_file.Kept(7, "salt"), tmp_path / "x")
    whole = json.loads((tmp_path / "x").read_text())
    assert private_file.read(tmp_path / "x").seed == 7
    (tmp_path / "x").write_text(json.dumps(whole | {"format": "other"}))
    with pytest.raises(UnreadableError, match="not one that Shoal wrote"):
        private_file.read(tmp_path / "x")


def test_a_seed_never_replaces_another_file(tmp_path):
    for name in ("seed", "place"):
        (tmp_path / name).write_text(name)
    assert private_file.settle(tmp_path / "seed", tmp_path / "place") == tmp_path / "seed"
    assert ((tmp_path / "seed").read_text(), (tmp_path / "place").read_text()) == ("seed", "place")
    assert private_file.settle(tmp_path / "seed", tmp_path / "free") == tmp_path / "free"
    assert not (tmp_path / "seed").exists()


GONE = f"{2**22 + 1}-0123456789abcdef"
"""Number of a process that cannot be, and a random part: the passing name of a run that was killed."""


def left_seed(out, *, name=GONE, written=0):
    """The seed 7 of ``out``, left under a passing name by another run, so many nanoseconds before the output."""
    left = out.with_name(f".shoal-kept-{name}")
    keep_seed(left, 7, out.name)
    if out.exists():
        at = out.stat().st_mtime_ns - written
        os.utime(left, ns=(at, at))
    return left


def rescued(out):
    """Whether the next output of the folder gives a seed that was left its name."""
    with kept_beside(out.with_name("next.csv"), None):
        pass
    return place_of(out).exists()


@pytest.mark.parametrize(("written", "given"), [(-1, False), (0, True), (1, True)])
def test_a_seed_left_by_a_killed_run_belongs_to_an_output_written_after_it(tmp_path, written, given):
    (tmp_path / "out.csv").write_text("x")
    left = left_seed(tmp_path / "out.csv", written=written)
    assert rescued(tmp_path / "out.csv") == given
    assert not left.exists()


def test_a_seed_without_an_output_is_removed_and_one_never_replaces_another(tmp_path):
    out = tmp_path / "out.csv"
    left_seed(out)
    assert not rescued(out)
    assert not list(tmp_path.iterdir())
    out.write_text("x")
    keep_seed(place_of(out), 8, out.name)
    left_seed(out, written=1)
    assert rescued(out)
    assert read_seed(place_of(out)) == 8
    assert not list(tmp_path.glob(".shoal*"))


def test_the_seed_of_a_run_that_lives_is_left_alone(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("x")
    left = left_seed(out, name=f"{os.getpid()}-0123456789abcdef")
    os.utime(left)
    os.utime(out)
    assert not rescued(out)
    assert read_seed(left) == 7


def test_a_seed_gets_its_name_when_the_output_is_written_and_goes_if_it_is_not(tmp_path):
    with kept_beside(tmp_path / "a.csv", 7) as place:
        assert not place.exists(), "not before the output"
    assert read_seed(place) == 7
    with pytest.raises(OutputError), kept_beside(tmp_path / "b.csv", 8):
        raise OutputError("no room")
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


def test_the_seed_of_a_release_that_is_being_written_is_left_alone(tmp_path):
    """The stage and the seed of a living process are those of a run at work; those of a dead one are removed."""
    for name in (GONE, f"{os.getpid()}-0123456789abcdef"):
        (tmp_path / f".shoal-stage-{name}").mkdir()
        private_file.write(private_file.Kept(7, "salt"), tmp_path / f".shoal-seed-{name}")
    private_file.rescue(tmp_path)
    assert [p.name for p in tmp_path.glob(".shoal-seed-*")] == [f".shoal-seed-{os.getpid()}-0123456789abcdef"]
