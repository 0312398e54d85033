"""Numbers written with a sign, a unit or marks between thousands: bands that hold every value, in the same spelling."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal

import pytest

import shoal
from shoal.hierarchies import infer, rule_from_json
from shoal.hierarchies.builders.number_texts import FAR, Spelling, Written
from shoal.model.roles import Column


@pytest.mark.parametrize(
    ("texts", "before", "after", "thousands", "decimal"),
    [
        (["$1,234.50", "$980.00"], "$", "", ",", "."),
        (["1.234,50 €", "980,00 €"], "", " €", ".", ","),
        (["1'234.50", "12'000.00", "7.25"], "", "", "'", "."),
        (["1 234,5 kg", "980,25 kg"], "", " kg", " ", ","),
        (["10.65%", "7.1%"], "", "%", "", "."),
        (["10,65%", "7,1%"], "", "%", "", ","),
        (["1,234,567", "2,000,001"], "", "", ",", "."),
        (["$1,250", "$3"], "$", "", ",", "."),  # money has no three decimals
        (["0,250 l", "1,500 l"], "", " l", "", ","),  # no number of thousands begins with 0
        (["1234.500 m", "2.250 m"], "", " m", "", "."),  # four digits before the mark
    ],
)
def test_the_spelling_is_found(texts: list[str], before: str, after: str, thousands: str, decimal: str) -> None:
    assert Spelling.of(texts) == Spelling(before, after, thousands, decimal)


@pytest.mark.parametrize(
    ("plain", "thousands"),
    [(12 * FAR, None), (12 * FAR + 1, ",")],
)
def test_one_mark_before_three_digits_is_told_by_a_large_number_without_it(plain: int, thousands: str | None) -> None:
    found = Spelling.of(["12,000 kg", "2,500 kg", f"{plain} kg"])
    assert (found.thousands if found else None) == thousands


def test_marks_that_contradict_one_another_give_no_spelling() -> None:
    assert Spelling.of(["1,234.50", "1.234,50"]) is None
    assert Spelling.of(["1,234,567", "1,5"]) is None  # the comma is both
    assert Spelling.of(["1'000'000", "1 000 000"]) is None


def test_nineteen_of_twenty_texts_must_be_numbers() -> None:
    numbers = [f"{n}%" for n in range(10, 29)]
    assert Spelling.of([*numbers, "few"]) is not None
    assert Spelling.of([*numbers[:-1], "few", "none"]) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$1,234.50", "1234.50"),
        ("($1,234.50)", "-1234.50"),
        ("-$5", "-5"),
        ("$-5", "-5"),
        ("$0.00", "0.00"),
        ("-$0.00", "0.00"),
        ("$1,23", None),
        ("$12,3456", None),
        ("$1.", None),
        ("1,234.50", None),
        ("€1,234.50", None),
        ("($5", None),
        ("(-$5)", None),
        ("<$5", None),
    ],
)
def test_texts_are_read_as_numbers(text: str, number: str | None) -> None:
    assert Spelling("$", "", ",", ".").number(text) == number


def slow(label: str, value: Decimal) -> bool:
    """Whether a number lies in a band, read from the label alone."""
    ends = [Decimal(n.replace(",", "")) for n in re.findall(r"(?<![\d,])-?[\d,]*\d(?:\.\d+)?", re.sub(r"[$%]| kg", "", label))]
    if label.startswith("<"):
        return value < ends[0]
    if label.startswith(">="):
        return value >= ends[0]
    if label.startswith("["):
        return ends[0] <= value < ends[1]
    if "+" in label:
        return value >= ends[0]
    low, high = re.sub(r"[$%,]| kg", "", label).split("-") if "-" in label else (ends[0], ends[0])
    return Decimal(low) <= value <= Decimal(high)


@pytest.mark.parametrize("form", ["${:,.2f}", "{:.2f}%", "{:.0f} kg", "${:,.0f}"])
@pytest.mark.parametrize("seed", range(3))
def test_every_value_lies_in_its_band(form: str, seed: int) -> None:
    draw = random.Random(seed)
    texts = sorted({form.format(draw.lognormvariate(5, 1.5)) for _ in range(300)})
    rule = infer(Column("x", "text"), texts, [draw.randint(1, 4) for _ in texts], scale="number")
    assert isinstance(rule, Written)
    again = rule_from_json(json.loads(json.dumps(rule.to_json())))
    for level in range(1, rule.inner + 1):
        labels = rule.labels("x", texts, level)
        assert again.labels("x", texts, level) == labels
        assert all(slow(str(label), Decimal(re.sub(r"[$,%]| kg", "", text))) for text, label in zip(texts, labels, strict=True))
        assert 1 < len(set(labels)) < len(texts)
    rule.over("x", texts)  # refuses levels that are not nested


def test_what_is_no_number_is_other_and_stands_in_no_plan() -> None:
    texts = [f"${n},250.00" for n in range(1, 40)] + ["see the letter"]
    rule = infer(Column("x", "text"), texts, [3] * 40, scale="number")
    assert "see the letter" not in json.dumps(rule.to_json())
    assert rule.labels("x", ["see the letter"], 1) == ["(other)"]
    assert "1 texts" in rule.why


def test_units_stand_once_in_a_label() -> None:
    texts = [f"{n} kg" for n in range(40, 120)]
    labels = infer(Column("x", "text"), texts, [5] * 80, scale="number").over("x", texts).levels[1].labels
    assert labels[1] == "45-49 kg"
    assert labels[-1] == "115+ kg"


def test_a_release_bands_amounts_and_keeps_the_spelling_of_others() -> None:
    draw = random.Random(5)
    paid = [f"${draw.randrange(20_000, 90_000):,}" for _ in range(200)]
    fee = [f"{draw.randrange(100, 999) / 100:.2f}%" for _ in range(200)]
    release = shoal.anonymize({"paid": paid, "fee": fee}, quasi=["paid"], insensitive=["fee"], k=5)
    out = release.to_pandas()
    assert sorted(out["fee"]) == sorted(fee)
    assert release.certificate.k >= 5
    assert set(out["paid"]) != {"*"}
    assert all(re.fullmatch(r"<\$[\d,]+|\$[\d,]+-\$[\d,]+|\$[\d,]+\+", text) for text in out["paid"])


@pytest.mark.parametrize(
    ("texts", "marks"),
    [
        (["1'234 kg", "2 kg"], ("'", ".")),
        (["1,234,567 kg", "2 kg"], (",", ".")),
        (["$123.456", "$980"], (".", ",")),
        (["1234.567 kg", "2 kg"], ("", ".")),
        (["1.234.567 kg", *(f"{i}.5 kg" for i in range(39))], None),
        (["1'234'567 kg", *(f"{i},234,567 kg" for i in range(1, 40))], None),
        (["2,5 kg", *(f"{i}.5 kg" for i in range(39))], None),
    ],
)
def test_marks_at_the_limits(texts: list[str], marks: tuple[str, str] | None) -> None:
    """One mark that stands twice, or is no point or comma, is of thousands; three digits before it leave it open, four do not;
    marks that contradict one another are none."""
    found = Spelling.of(texts)
    assert (None if found is None else (found.thousands, found.decimal)) == marks


def test_numbers_are_spelled_back() -> None:
    money, share = Spelling("$", "", ","), Spelling("", "%")
    assert [money.text(x) for x in (-1250.0, -0.5, 0.0, 0.5, 999.0, 1000.0)] == [
        "-$1,250",
        "-$0.5",
        "$0",
        "$0.5",
        "$999",
        "$1,000",
    ]
    assert [share.text(x) for x in (-3.0, 0.0, 1250.0)] == ["-3%", "0%", "1250%"]
