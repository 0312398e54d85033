"""Scale, order and missing spellings of a column are properties of the table: closeness, levels, proof and gate follow them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import shoal
from recount_oracle import recount
from release_forging import plain_certificate
from shoal.cli import main
from shoal.errors import PolicyError, ShoalError, UsageError
from shoal.model.roles import Column
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import value_order

ORDER = ["low", "medium", "high"]
# alphabetically high < low < medium: the wrong rank halves the distance
PAIN = {"age": [30] * 4 + [40] * 4, "pain": ["low", "low", "low", "high", "high", "high", "high", "medium"]}


def slow_t(table: dict, order: list[str]) -> float:
    """Li et al. 2007 by its definition: cumulated differences over m - 1, the worst class."""
    whole = Counter(table["pain"])
    n, worst = len(table["pain"]), 0.0
    present = [v for v in order if whole[v]]
    for age in set(table["age"]):
        inside = Counter(p for a, p in zip(table["age"], table["pain"], strict=True) if a == age)
        size, run, moved = sum(inside.values()), 0.0, 0.0
        for v in present:
            run += inside[v] / size - whole[v] / n
            moved += abs(run)
        worst = max(worst, moved / (len(present) - 1))
    return worst


@pytest.mark.parametrize("form", ["csv", "parquet", "excel"])
def test_closeness_of_an_ordered_column_follows_its_order_and_verify_finds_the_same(tmp_path, form):
    right, wrong = slow_t(PAIN, ORDER), slow_t(PAIN, sorted(ORDER))
    assert right == pytest.approx(0.3125)
    assert wrong != pytest.approx(right)
    words = {"quasi": {"age": {"max_level": 0}}, "sensitive": ["pain"], "k": 4}
    made = shoal.anonymize(PAIN, format=form, order={"pain": ORDER}, **words)
    folder = made.write(tmp_path / "out")
    assert made.certificate.after.sensitive["pain"].t_ordered == pytest.approx(right)
    assert shoal.verify(folder).ok
    for way in ("dictionary", "sorted"):
        data = next(folder.glob("data.*"))
        facts = recount(data, ["age"], ["pain"], orders={"pain": ORDER}, way=way)
        assert facts.sensitive["pain"].ordered == pytest.approx(right)
    plain = shoal.anonymize(PAIN, **words)
    assert plain.certificate.after.sensitive["pain"].t_ordered == pytest.approx(wrong)


@pytest.mark.parametrize(("t", "met"), [(0.3125, True), (0.3124, False)])
def test_the_gate_and_the_search_judge_by_the_order(t, met):
    asked = {"k": 4, "closeness": {"pain": {"t": t, "distance": "ordered"}}}
    found = shoal.check(PAIN, quasi=["age"], sensitive=["pain"], require=asked, order={"pain": ORDER})
    assert found.met is met
    made = shoal.anonymize(PAIN, quasi=["age"], sensitive=["pain"], require=asked, order={"pain": ORDER}, allow={"loss": 1})
    assert (made.k == 4) is met  # else both ages are one class


def test_an_order_that_was_changed_after_signing_is_found(tmp_path):
    folder = shoal.anonymize(PAIN, quasi=["age"], sensitive=["pain"], k=4, order={"pain": ORDER}).write(tmp_path / "out")
    file = folder / "hierarchies.json"
    held = json.loads(file.read_text())
    assert held["orders"] == {"pain": ORDER}
    held["orders"]["pain"] = sorted(ORDER)
    file.write_text(json.dumps(held, sort_keys=True, indent=1) + "\n")
    assert not shoal.verify(folder).ok


def test_only_published_values_of_an_order_are_listed(tmp_path):
    folder = shoal.anonymize(PAIN, quasi=["age"], sensitive=["pain"], k=4, order={"pain": ["none", *ORDER, "unbearable"]}).write(
        tmp_path / "out"
    )
    assert json.loads((folder / "hierarchies.json").read_text())["orders"] == {"pain": ORDER}


def test_an_ordered_categorical_needs_no_word(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(PAIN)
    frame["pain"] = pd.Categorical(frame["pain"], categories=ORDER, ordered=True)
    made = shoal.anonymize(frame, quasi=["age"], sensitive=["pain"], k=4)
    assert made.certificate.after.sensitive["pain"].t_ordered == pytest.approx(0.3125)
    assert shoal.verify(made.write(tmp_path / "out")).ok


@pytest.mark.parametrize(
    ("values", "order", "found"),
    [
        (["b", "a", None], ["b", "a"], [None, "b", "a"]),
        (["b", "c"], ["b"], ["b", "c"]),  # an order that lacks a value is not used
        (["10", "9"], ["10", "9"], ["10", "9"]),
        (["'=x", "y"], ["y", "=x"], ["y", "'=x"]),
        ([2, 1], ["2", "1"], [2, 1]),
    ],
)
def test_the_second_count_ranks_by_the_order(values, order, found):
    assert value_order(values, order) == found


# ---------------------------------------------------------------- missing values


MISSING = {"age": ["30", "?", "30", "40", "40", "unknown"], "code": [1, -9, 1, 1, -9, 2]}


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_spellings_are_read_as_missing_everywhere(tmp_path, kind):
    table, source = pa.table(MISSING), tmp_path / f"t.{kind}"
    if kind == "csv":
        pacsv.write_csv(table, source)
    elif kind == "parquet":
        pq.write_table(table, source)
    opened = shoal.open(
        table if kind == "frame" else source, missing_values={"age": ["?", "unknown"], "code": [-9]}, quasi=["age", "code"]
    )
    counts = opened.count()
    held = [c.to_pylist() for c in counts.categories]
    got = Counter()
    for codes, size in zip(zip(*[c.tolist() for c in counts.codes], strict=True), counts.sizes.tolist(), strict=True):
        got[tuple(None if c < 0 else held[j][c] for j, c in enumerate(codes))] += size
    gone = {"?", "unknown", -9}
    rows = zip(MISSING["age"], MISSING["code"], strict=True)
    assert got == Counter(tuple(None if v in gone else v for v in row) for row in rows)
    assert opened.schema["age"].missing_values == ("?", "unknown")


def test_they_are_empty_in_the_release_and_stated_in_the_certificate(tmp_path):
    words = {"quasi": {"age": {"max_level": 0}}, "sensitive": ["code"], "k": 2, "allow": {"suppress": 0.0}}
    made = shoal.anonymize(MISSING, missing_values={"age": ["?", "unknown"]}, **words)
    folder = made.write(tmp_path / "out")
    text = (folder / "data.csv").read_text()
    assert "?" not in text
    assert "unknown" not in text
    assert "Read as missing, as specified: age (?, unknown)." in made.certificate.limits
    assert shoal.verify(folder).ok
    assert made.k == 2  # the two spellings are one class: without a value
    with pytest.raises(ShoalError):
        shoal.anonymize(MISSING, **words)


def test_a_spelling_has_no_place_in_an_order():
    table = shoal.open({"pain": [*ORDER, "?"]}, order={"pain": [*ORDER, "?"]}, missing_values={"pain": ["?"]})
    assert table.schema["pain"].order == tuple(ORDER)


def test_the_policy_says_it_too_and_keeps_it():
    text = "roles: {quasi: [age]}\nrequire: {k: 2}\nscale: {age: nominal}\norder: {pain: [1, 2]}\n"
    text += "missing_values: {age: ['?', -9, true]}\n"
    policy = Policy.parse(text)
    assert Policy.of(policy.to_json()).to_json() == policy.to_json()
    table = shoal.open({"age": ["1"], "pain": ["1"]}).described(
        scale=policy.scale, order=policy.order, missing_values=policy.missing_values
    )
    assert table.schema["age"].missing_values == ("?", "-9", "true")
    assert table.schema["pain"].order == ("1", "2")
    with pytest.raises(PolicyError, match=r"scale\.age"):
        Policy.parse(text.replace("nominal", "ratio"))


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"scale": {"pain": "ratio"}}, "scale of 'pain' is not known"),
        ({"order": {"pain": ["low"]}}, "at least two"),
        ({"order": {"pain": ["low", "low"]}}, "each named once"),
        ({"order": {"pain": "low"}}, "at least two"),
        ({"missing_values": {"pain": []}}, "none"),
        ({"order": {"pain": ORDER}, "scale": {"pain": "nominal"}}, "an order and the scale nominal"),
        ({"order": {"pian": ORDER}}, "pian"),
    ],
)
def test_what_makes_no_sense_is_refused(words, match):
    with pytest.raises(ShoalError, match=match):
        shoal.open(PAIN, **words)


def test_an_order_that_lacks_a_value_is_refused_without_naming_it():
    with pytest.raises(UsageError, match="lacks 1 of its values") as told:
        shoal.check(PAIN, quasi=["age"], sensitive=["pain"], k=2, order={"pain": ["low", "high"]})
    assert "medium" not in f"{told.value.message} {told.value.hint}"


# ---------------------------------------------------------------- scale


def levels(**said) -> str:
    table = pa.table({"ward": [i % 40 for i in range(400)], "ill": ["x", "y"] * 200})
    return shoal.anonymize(table, quasi=["ward"], sensitive=["ill"], k=2, **said).inferred["ward"]


def test_a_scale_that_is_said_decides_about_the_levels():
    assert levels(scale={"ward": "number"}).startswith("numbers: bands of 5")
    assert "numbers" not in levels(scale={"ward": "nominal"})
    assert levels(scale={"ward": "ordered"}) == "40 categories in order: neighbours joined"


@pytest.mark.parametrize("said", ["number", "ordered", "nominal", "place", "id", "text"])
def test_inspect_shows_what_was_said(said):
    found = shoal.inspect(shoal.open({"size": ["high", "low", "medium"] * 8}, scale={"size": said})).columns[0]
    assert found.scale.value == said
    assert found.order == (("low", "medium", "high") if said == "ordered" else ())


def test_the_measurement_level_of_a_file_is_a_hint():
    from shoal.find.finding import measured_scale

    assert measured_scale(Column("q1", "integer", measure="ordinal")) == "ordered"
    assert measured_scale(Column("q1", "float", measure="nominal")) == "nominal"
    assert measured_scale(Column("q1", "float", measure="scale")) == ""
    assert measured_scale(Column("q1", "text", measure="nominal")) == ""


@pytest.mark.parametrize(("measure", "scale"), [("ordinal", "ordered"), ("nominal", "nominal"), ("scale", "nominal")])
def test_spss_measurement_levels_are_read(tmp_path, measure, scale):
    pyreadstat = pytest.importorskip("pyreadstat")
    pd = pytest.importorskip("pandas")
    file = tmp_path / "t.sav"
    pyreadstat.write_sav(pd.DataFrame({"xq": [1.0, 2.0, 3.0, 4.0] * 10}), file, variable_measure={"xq": measure})
    assert shoal.inspect(file).columns[0].scale.value == scale


# ---------------------------------------------------------------- the command


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(list(words))
    return int(left.value.code or 0), capsys.readouterr().out


def test_every_command_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "pain.csv"
    pacsv.write_csv(pa.table({**PAIN, "w": ["?", "a"] * 4}), file)
    order, gone = ["--order", "pain=low,medium,high"], ["--missing-values", "w=?"]
    code, out = run(capsys, "inspect", str(file), *order, *gone, "--scale", "w=id", "--json")
    columns = {c["name"]: c for c in json.loads(out)["columns"]}
    assert (code, columns["pain"]["order"], columns["w"]["scale"]) == (0, ORDER, "id")
    assert (columns["w"]["missing"], columns["w"]["missing_values"]) == (4, ["?"])
    code, out = run(capsys, "measure", str(file), "--quasi", "age", "--sensitive", "pain", *order, *gone, "--json")
    assert json.loads(out)["closeness"]["pain"]["t"] == pytest.approx(0.3125)
    roles = ["--quasi", "age", "--sensitive", "pain", "--insensitive", "w", "--k", "4"]
    assert run(capsys, "check", str(file), *roles, *order)[0] == 0
    folder = tmp_path / "out"
    assert run(capsys, "anonymize", str(file), *roles, *order, *gone, "--out", str(folder))[0] == 0
    after = plain_certificate(folder)["after"]
    assert after["sensitive"]["pain"]["t_ordered"] == pytest.approx(0.3125)
    assert run(capsys, "inspect", str(file), "--missing-values", "w")[0] == 2
    assert run(capsys, "inspect", str(file), "--scale", "w")[0] == 2
