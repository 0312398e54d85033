"""One place has one name: Unicode in canonical form, look-alikes refused, official codes as aliases, levels of own codes."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from public_tables import public_topics
from registry_support import AGES, make
from shoal.errors import RequirementError, UsageError
from shoal.kernels.signatures import signer
from shoal.registry.answer.decide import decide
from shoal.registry.answer.query import Registry
from shoal.registry.keep.mirror import Mirror, write_mirror
from shoal.registry.keep.store import Store
from shoal.registry.publish.differencing import same_people, written
from shoal.registry.publish.proposals import Ledger
from shoal.registry.records.population import Population, key_of, official_codes
from shoal.registry.records.vocabulary import CHAINS, MOST_VALUES, canonical, coarser, label, relation

REAL = [
    "NO/Tromsø", "DE/München", "CH/Genève", "NL/'s-Gravenhage", "NL/Súdwest-Fryslân", "RU/Москва", "GR/Αθήνα", "JP/東京都",
    "KR/서울", "IN/मुंबई", "TR/Diyarbakır", "PL/Łódź", "UK/Bristol, City of", "NL/Bergen (NH.)", "FR/L'Haÿ-les-Roses",
]  # fmt: skip


@pytest.mark.parametrize("k", [50, 100, 500, 2000])
@pytest.mark.parametrize("country", ["NL", "UK"])
def test_every_statement_about_a_real_place_is_true_and_none_is_missing(country, k, shared_data):
    """The decision against the whole table of the place: kept answers are within the target, refused ones are beyond it."""
    tables = {(codes, place): np.array(counts) for codes, place, counts, _ in public_topics(shared_data) if country == place[:2]}
    asked = ("age/5y" if country == "NL" else "age/years", "sex")

    def unique(codes, place):
        p = tables[tuple(sorted(codes)), place] / tables[tuple(sorted(codes)), place].sum()
        return float((p * (1 - p) ** (k - 1)).sum())

    for place in sorted({place for codes, place in tables if codes == ("sex",)})[::40]:
        found = decide(Registry(), asked, place, group_size=k, target=0.05)
        kept = [line.code for line in found.lines if line.code is not None]
        assert not kept or unique(kept, place) <= 0.05
        assert found.before.low <= unique(asked, place) <= found.before.high
        for line in found.lines:
            assert line.advice != "not known", "every coarser coding of a built-in record is built in"
            coarsest = "sex" if line.asked == "sex" else "age/20y"
            if line.reason.startswith("even"):
                assert unique([*kept, coarsest], place) > 0.05


@pytest.fixture
def shelf(tmp_path):
    with_store = Store(f"sqlite:///{tmp_path / 'places.db'}")
    yield with_store
    with_store.close()


@pytest.mark.parametrize("place", REAL)
def test_names_of_real_places_are_taken_in_one_form(place, shelf, tmp_path):
    named = Population.parse(f"{place}@2021")
    assert str(named) == f"{unicodedata.normalize('NFC', place)}@2021"
    taken_apart = Population.parse(f"{unicodedata.normalize('NFD', place)}@2021")
    assert (str(taken_apart), taken_apart.key) == (str(named), named.key)
    shelf.submit(make(AGES, population=named))
    mirror = Mirror(write_mirror(shelf, tmp_path / "m"))
    for source in (shelf, mirror):
        for spelling in (place, place.lower()):
            assert Registry(source).query(["age/years"], f"{spelling}@2021").fit == "exact"
    assert mirror.verify()["records"] == 1


@pytest.mark.parametrize(
    "place",
    [
        "NL/Utre\u0441ht", "UK/\u0422\u043e\u0440", "GR/\u0391\u0392", "NL/\ufb01eld", "NL/Ut\u0280echt", "NL/\u0251b",
        "NL/Utrecht\u200b", "NL/\u202eUtrecht", "NL/\uff35trecht", "NL/Utrecht\u0660", "NL/a\u03bf", "NL/\u0301a", "NL/-a",
        "NL/'", "NL/a|b", "NL/a<b", "NL/" + "a" * 62, "NL//a", "/".join("abcdefghi"),
    ],
)  # fmt: skip
def test_look_alikes_and_what_is_no_name_are_refused(place):
    with pytest.raises(UsageError, match=r"pass for others|not well formed"):
        Population.parse(f"{place}@2021")


def test_a_name_may_be_sixty_one_letters_long_and_eight_places_deep():
    assert Population.parse("NL/" + "a" * 61 + "@2021").place.endswith("a" * 61)
    assert Population.parse("/".join("abcdefgh") + "@2021").place.count("/") == 7


def test_case_apostrophes_hyphens_blanks_and_both_codes_of_a_country_make_no_difference():
    alike = ["GB/St Mary's-on  Sea@2019", "uk/st mary’s–on sea@2019", "UK/ST MARYʼS‑ON SEA@2019"]
    assert len({key_of(t) for t in alike}) == 1
    assert len({Population.parse(t) for t in alike}) == 1
    assert key_of("UK/Leeds@2019") != key_of("UK/Leeds@2020")


@pytest.mark.parametrize("name", ["Gəncə", "GƏNCƏ", "Ɔkwɔ", "Ɗan Musa", "Ɖafɔ"])
def test_letters_of_living_alphabets_are_taken_in_both_cases(name):
    found = Population.parse(f"AZ/{name}@2021")
    assert Population.parse(found.key).key == found.key == Population.parse(f"AZ/{name.lower()}@2021").key


@pytest.mark.parametrize("letter", "\u0251\u2c6d\u0250\u2c6f\u0261\ua7ac")
def test_letters_of_phonetic_alphabets_are_refused_in_both_cases(letter):
    with pytest.raises(UsageError, match="pass for others"):
        Population.parse(f"NL/{letter}msterdam@2021")


@given(st.text(max_size=30))
def test_a_canonical_name_is_its_own_canonical_form(text):
    try:
        once = Population.parse(f"NL/{text}@2021")
    except UsageError:
        return
    assert str(Population.parse(str(once))) == str(once)
    assert Population.parse(once.key).key == once.key


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("NUTS:NL213", "NL/Twente"), ("LAU:E08000035", "UK/Leeds"), ("gss:e08000035", "UK/Leeds"), ("FIPS:06", "US/CA"),
        ("ISO:US-CA", "US/CA"), ("ISO 3166-2:GB-SCT", "UK/Scotland"), ("ISO:GB", "UK"), ("FIPS:17/Chicago", "US/IL/Chicago"),
    ],
)  # fmt: skip
def test_official_codes_are_other_names_of_places(code, place):
    assert Population.parse(f"{code}@2019") == Population.parse(f"{place}@2019")


@pytest.mark.parametrize("code", ["FIPS:99", "NUTS:", "XYZ:1", "ISO:US-ZZ", "LAU:E0800003", ":x"])
def test_codes_that_nobody_listed_are_refused(code):
    with pytest.raises(UsageError, match=r"not in the list|not known"):
        Population.parse(f"{code}@2019")


def test_every_listed_code_names_a_place():
    assert len(official_codes()) > 500
    assert all(Population.parse(f"{scheme}:{code}@2020").place for scheme, code in official_codes())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DE/München", "DE/Muenchen"), ("DE/München", "DE/Munchen"), ("NO/Tromsø", "NO/Tromso"),
        ("UK/St. Helens", "UK/Saint Helens"),
        ("UK/Bristol", "UK/Bristol, City of"), ("NL/Utrecht/Amersfoort", "NL/Amersfoort"), ("GB/Leeds", "UK/Leeds"),
        ("FIPS:06", "US/CA"), ("ISO:US-CA", "FIPS:06"), ("DK/Aarhus", "DK/Århus"),
    ],
)  # fmt: skip
def test_differencing_is_refused_under_another_spelling_of_the_place(one, other):
    ledger, key = Ledger(), signer()
    make(AGES, population=Population.parse(f"{one}@2021"), ledger=ledger, key=key)
    less = [AGES[0] - 1, *AGES[1:]]
    if Population.parse(f"{one}@2021") == Population.parse(f"{other}@2021"):  # then the old record stands
        assert make(less, population=Population.parse(f"{other}@2021"), ledger=ledger, key=key).id == ledger.entries[0].record.id
        return
    with pytest.raises(RequirementError, match="differs by fewer than 100"):
        make(less, population=Population.parse(f"{other}@2021"), ledger=ledger, key=key)
    hundred = [AGES[0] - 100, *AGES[1:]]
    later = make(hundred, population=Population.parse(f"{other}@2021"), ledger=ledger, key=key, date="2025-02-12")
    assert later.version == 1


def test_places_that_only_resemble_each_other_are_two():
    assert written("UK/Leeds") != written("UK/Leek")
    assert not same_people(Population.parse("NL/Bergen (L.)@2021"), Population.parse("NL/Bergen (NH.)@2021"))
    assert not same_people(Population.parse("NL/Utrecht@2021"), Population.parse("BE/Utrecht@2021"))


@pytest.mark.parametrize("codes", [("birth/year",), ("birth/year", "sex"), ("birth/decade",)])
def test_differencing_is_refused_when_the_year_of_birth_stands_for_the_age(codes):
    twin = {"birth/year": "age/years", "birth/decade": "age/10y", "sex": "sex"}
    for first, second in ((codes, tuple(twin[c] for c in codes)), (tuple(twin[c] for c in codes), codes)):
        ledger, key = Ledger(), signer()
        make(AGES, codes=first, ledger=ledger, key=key)
        with pytest.raises(RequirementError, match="differs by fewer than 100"):
            make([AGES[0] - 1, *AGES[1:]], codes=second, ledger=ledger, key=key)
        wider = Population.parse("NL@2021")
        with pytest.raises(RequirementError, match="differs by fewer than 1,000"):
            make([AGES[0] + 999, *AGES[1:]], codes=second, population=wider, ledger=ledger, key=key)
        assert make([AGES[0] + 1000, *AGES[1:]], codes=second, population=wider, ledger=ledger, key=key)


def test_own_codes_have_levels(shelf):
    assert relation("x/job~1", "x/job") == "coarser"
    assert relation("x/job~1", "x/job~2") == "finer"
    assert relation("x/job~1", "x/jobs") == "other"
    assert relation("x/job/a", "x/job/b~1") == "other"
    assert coarser("x/job~1", ["x/job", "x/job~1", "x/job~3", "x/job~2"]) == ("x/job~2", "x/job~3")
    for wrong in ("x/job~0", "x/job~10", "x/job~", "x/job~a", "sex~1"):
        with pytest.raises(UsageError, match="vocabulary"):
            canonical([wrong])
    with pytest.raises(UsageError, match="named twice"):
        canonical(["x/job", "x/job~1"])
    key, ledger = signer(), Ledger()
    fine, coarse = [3] * 2000, [3000, 2500, 500]
    for counts, code in ((fine, "x/job"), (coarse, "x/job~2")):
        shelf.submit(make(counts, codes=(code,), key=key, ledger=ledger, cells=len(counts)))
    registry, people = Registry(shelf), "NL/Utrecht@2021"
    between = registry.query(["x/job~1"], people)
    assert between.fit == "finer coding"
    advice = decide(Registry(shelf, anchors=[key.public]), ["x/job"], people, group_size=100, target=0.05)
    assert [(line.advice, line.code) for line in advice.lines] == [("band", "x/job~2")]  # level 1 exists nowhere: it is no advice


def test_the_vocabulary_has_what_people_ask():
    known = {code for chain in CHAINS for code in chain}
    assert known == set(MOST_VALUES)
    assert all(label(code) for code in known)
    wanted = {
        "age/years", "sex", "postcode/NL/pc4", "postcode/NO/pc4", "postcode/FR/pc5", "place/municipality", "occupation/isco4",
        "education/isced1", "household/size", "household/type", "nationality/country", "income/10k", "diagnosis/icd10-chapter",
    }  # fmt: skip
    assert wanted <= known
    assert canonical(["household/size", "household/type"])  # two attributes, not two codings of one
