"""Kinds, scopes and renewal of pseudonyms. V1: no dictionary attack. V3: domains are unlinkable. V10: round trips."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protector_support import House
from shoal.errors import AccessError, DataError, ShoalError, UsageError
from shoal.protector import Renewal
from shoal.protector.crypto import base32
from shoal.protector.crypto.ciphers import FormatPreserving, Reversible
from shoal.protector.crypto.primitives import Secret
from shoal.protector.pseudonyms.domains import by_trajectory

AWKWARD = [
    "0012", "12", "012", "\u00e9", "e\u0301", "\u00c5", "A\u030a", "\u212b", "日本語", "🙂", " a", "a", "A", "a\tb", "x" * 300,
    "", "'; DROP TABLE x;--", "=1+1", "\u0000", "\u200b",
]  # fmt: skip


@given(st.binary(max_size=40))
def test_base_32_there_and_back(value: bytes) -> None:
    """Against the definition, bit by bit; read tolerantly in case and in letters easily confused, and in nothing else."""
    letters = base32.ALPHABET.decode()
    bits = "".join(f"{byte:08b}" for byte in value)
    bits += "0" * (-len(bits) % 5)
    slow = "".join(letters[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))
    assert base32.encode(value) == slow
    for spelled in (slow, slow.lower(), slow.replace("0", "o").replace("1", "L"), slow.replace("1", "i")):
        assert base32.decode(spelled) == value
    for wrong in ("\u017f", "\u0131", "\u00df", "_", " ", "+", "-", "!", "\0", "U"):
        assert base32.decode(slow + wrong) is None
        assert base32.decode(wrong * 8 + slow) is None


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
def test_same_person_same_pseudonym(house: House, kind: str) -> None:
    house.owner.create_domain("d", kind=kind, clean=())
    made = house.operator.pseudonymize("d", [*AWKWARD, None, *AWKWARD])
    n = len(AWKWARD)
    assert made[:n] == made[n + 1 :]
    assert made[n] is None
    assert len(set(made[:n])) == n
    assert house.operator.pseudonymize("d", AWKWARD) == made[:n]
    house.vault.close()
    again = house.reopen()
    assert again.login(house.tokens["Olga"]).pseudonymize("d", AWKWARD) == made[:n]
    again.close()


@pytest.mark.parametrize("kind", ["random", "reversible"])
def test_round_trip_of_awkward_texts(house: House, kind: str) -> None:
    house.owner.create_domain("d", kind=kind, clean=())
    made = house.operator.pseudonymize("d", AWKWARD)
    back = house.reveal("d", made)
    assert [back[p] for p in made] == AWKWARD


@given(st.lists(st.text(max_size=60), max_size=20))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_law(sqlite_house: House, texts: list[str]) -> None:
    known = {d.name for d in sqlite_house.owner.domains()}
    for kind in ("random", "reversible"):
        if kind not in known:
            sqlite_house.owner.create_domain(kind, kind=kind, clean=())
        made = sqlite_house.operator.pseudonymize(kind, texts)
        with sqlite_house.vault.store.read() as tx:
            opened = sqlite_house.vault.keyring.opened(tx, sqlite_house.vault.keyring.domain(tx, kind))
            assert [p.decode() for p in opened.resolve(tx, made)] == texts  # type: ignore[union-attr]
        assert len(set(made)) == len(set(texts))


def test_composed_matching(house: House) -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    house.owner.create_domain("exact")
    house.owner.create_domain("nfc", matching="nfc")
    one, two = house.operator.pseudonymize("exact", [composed, decomposed])
    assert one != two
    one, two = house.operator.pseudonymize("nfc", [composed, decomposed])
    assert one == two
    assert house.operator.pseudonymize("nfc", [decomposed]) == [one]


def test_dictionary_attack_fails(house: House) -> None:
    """V1: with every identifier known but no key, no pseudonym can be computed; no unkeyed digest is used anywhere."""
    ids = [f"{i:012d}" for i in range(2000)]
    digests = set()
    for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s", "sha3_256"):
        for text in ids:
            for salt in (b"", b"d", house.vault.id.encode(), bytes.fromhex(house.vault.id)):
                for message in (salt + text.encode(), text.encode() + salt):
                    digests.add(hashlib.new(name, message).digest()[:10])
    keyed_by_public = (b"", b"d", b"shoal", house.vault.id.encode(), bytes.fromhex(house.vault.id))
    digests |= {hmac.digest(k, t.encode(), "sha256")[:10] for k in keyed_by_public for t in ids}
    for kind in ("random", "keyed", "reversible"):
        house.owner.create_domain(kind, kind=kind)
        made = house.operator.pseudonymize(kind, ids)
        raw = [base32.decode(p[2:]) for p in made]
        assert all(r is not None for r in raw)
        assert not digests & {r[:10] for r in raw if r}
        assert not any(text in p for text, p in zip(ids, made, strict=True))


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
def test_domains_are_unlinkable(house: House, kind: str) -> None:
    """V3: for 10^5 people, the pseudonyms of two domains agree no more than independent random ones."""
    n = 100_000
    ids = pa.array([f"{i:09d}" for i in range(n)])
    both = []
    for name in ("one", "two"):
        house.owner.create_domain(name, kind=kind)
        both.append(house.operator.pseudonymize(name, ids).to_pylist())
    assert not set(both[0]) & set(both[1])
    length = len(both[0][0]) - 2
    letters = [np.array(made).view(np.uint32).reshape(n, -1) for made in both]
    agree = (letters[0] == letters[1]).sum(axis=0)[2:length]
    expected, spread = n / 32, (n * (1 / 32) * (31 / 32)) ** 0.5
    worst = np.abs(agree - expected).max() / spread
    assert worst < 7.5  # 26 or 52 places: a normal deviate beyond 7.5 has chance below 1e-11 in all
    first = [sorted(range(2000), key=lambda i, m=m: m[i]) for m in both]
    rank = [{i: r for r, i in enumerate(order)} for order in first]
    d2 = sum((rank[0][i] - rank[1][i]) ** 2 for i in range(2000))
    spearman = 1 - 6 * d2 / (2000 * (2000**2 - 1))
    assert abs(spearman) < 7.5 / 2000**0.5


NIST_KEY = "2B7E151628AED2A6ABF7158809CF4F3C"
NIST_192 = NIST_KEY + "EF4359D8D580AA4F"
NIST_256 = NIST_192 + "7F036D6F04FC6A94"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("key", "alphabet", "plain", "tweak", "cipher"),
    [
        pytest.param(NIST_KEY, BASE36[:10], "0123456789", "", "2433477484", id="sample 1"),
        pytest.param(NIST_KEY, BASE36[:10], "0123456789", "39383736353433323130", "6124200773", id="sample 2"),
        pytest.param(NIST_KEY, BASE36, "0123456789abcdefghi", "3737373770717273373737", "a9tv40mll9kdu509eum", id="sample 3"),
        pytest.param(NIST_192, BASE36[:10], "0123456789", "", "2830668132", id="sample 4"),
        pytest.param(NIST_192, BASE36[:10], "0123456789", "39383736353433323130", "2496655549", id="sample 5"),
        pytest.param(NIST_192, BASE36, "0123456789abcdefghi", "3737373770717273373737", "xbj3kv35jrawxv32ysr", id="sample 6"),
        pytest.param(NIST_256, BASE36[:10], "0123456789", "", "6657667009", id="sample 7"),
        pytest.param(NIST_256, BASE36[:10], "0123456789", "39383736353433323130", "1001623463", id="sample 8"),
        pytest.param(NIST_256, BASE36, "0123456789abcdefghi", "3737373770717273373737", "xs8a0azh2avyalyzuwd", id="sample 9"),
    ],
)
def test_ff1_sample_vectors_of_nist(key: str, alphabet: str, plain: str, tweak: str, cipher: str) -> None:
    """NIST's published FF1 samples for SP 800-38G, on the library that the vault uses."""
    from ffx import FF1

    ff1 = FF1(bytes.fromhex(key), alphabet=alphabet)
    assert ff1.encrypt(plain, tweak=bytes.fromhex(tweak)) == cipher
    assert ff1.decrypt(cipher, tweak=bytes.fromhex(tweak)) == plain


def test_format_preserving(house: House) -> None:
    house.owner.create_domain("f", kind="format-preserving", keep="- ")
    ids = ["123-45-6789", "000-00-0001", "123456", "0001 000 1"]
    made = house.operator.pseudonymize("f", ids)
    assert len(set(made)) == 4
    for before, after in zip(ids, made, strict=True):
        assert before != after
        assert [c if c in "- " else "9" for c in before] == [c if c in "- " else "9" for c in after]
    assert list(house.reveal("f", made).values()) == ids


def test_format_preserving_is_a_permutation() -> None:
    cipher = FormatPreserving(Secret(bytes(range(32))), "0123456789", "", b"d")
    ids = [f"{i:06d}" for i in range(3000)]
    assert len(set(cipher.encode(b"", ids))) == 3000
    assert cipher.encode(b"", ids[:5]) != cipher.encode(b"other frame", ids[:5])


@pytest.mark.parametrize(("alphabet", "shortest"), [("0123456789", 6), ("01", 20), (BASE36, 4), ("abc", 13)])
def test_small_formats_are_refused(alphabet: str, shortest: int) -> None:
    cipher = FormatPreserving(Secret(bytes(range(32))), alphabet, "", b"d")
    assert cipher.shortest == shortest
    assert len(alphabet) ** shortest >= 1_000_000 > len(alphabet) ** (shortest - 1)
    cipher.encode(b"", [alphabet[0] * shortest])
    with pytest.raises(DataError, match="too short"):
        cipher.encode(b"", [alphabet[0] * (shortest - 1)])
    with pytest.raises(DataError, match="outside the domain's alphabet") as error:
        cipher.encode(b"", ["Zoë" + alphabet * 10])
    assert "Zoë" not in str(error.value)


def test_one_way_stays_one_way(house: House) -> None:
    house.owner.create_domain("k", kind="keyed")
    house.owner.create_domain("other")
    house.connect("k", "other")
    made = house.operator.pseudonymize("k", ["person"])
    with pytest.raises(AccessError, match="one-way"):
        house.operator.translate(made, source="k", target="other", purpose="x")
    with pytest.raises(AccessError, match="one-way"):
        house.request("k", made)


def test_forged_pseudonyms_lead_nowhere(house: House) -> None:
    house.owner.create_domain("r")
    house.owner.create_domain("s", kind="reversible")
    good = house.operator.pseudonymize("r", ["person"])[0]
    forged = [good[:-1] + ("0" if good[-1] != "0" else "4"), "P-" + "0" * 26]
    malformed = ["P-", "nonsense", good + "00", "Q-" + good[2:], "é" * 28]
    assert set(house.reveal("r", forged).values()) == {None}
    assert set(house.reveal("s", [*forged, good]).values()) == {None}
    for text in malformed:
        with pytest.raises(UsageError, match="cannot be pseudonyms"):
            house.request("r", [good, text])
    house.connect("r", "s")
    moved = house.operator.translate([*forged, *malformed, good], source="r", target="s", purpose="x")
    assert moved[:-1] == [None] * 7
    assert moved[-1] is not None
    assert house.reveal("r", [good.lower()]) == {good: "person"}


def test_reversible_frames_do_not_collide() -> None:
    box = Reversible(Secret(bytes(range(32))), b"d")
    frames = [b"", b"\0\0\0\0\0\1a", b"\0\1a\0\0\0\0"]
    made = {box.encode(f, [b"person"])[0] for f in frames}
    assert len(made) == 3
    assert {box.decode(m)[1] for m in made} == {b"person"}  # type: ignore[index]


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
@pytest.mark.parametrize(
    ("scope", "contexts"),
    [
        ("role", [{"role": "patient"}, {"role": "donor"}]),
        ("relationship", [{"relation": "clinic A"}, {"relation": "clinic B"}]),
        ("role-relationship", [{"role": "patient", "relation": "A"}, {"role": "patient", "relation": "B"}]),
    ],
)
def test_scopes(house: House, kind: str, scope: str, contexts: list[dict[str, str]]) -> None:
    house.owner.create_domain("d", kind=kind, scope=scope)
    operator = house.operator
    made = [operator.pseudonymize("d", ["person", "person"], **c) for c in contexts]
    assert all(a == b for a, b in made)
    assert made[0][0] != made[1][0]
    assert operator.pseudonymize("d", ["person"], **contexts[0]) == made[0][:1]
    with pytest.raises(UsageError, match="name the"):
        operator.pseudonymize("d", ["person"])
    if kind != "keyed":
        both = [m[0] for m in made]
        assert house.reveal("d", both) == dict.fromkeys(both, "person")


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
def test_transaction_pseudonyms(house: House, kind: str) -> None:
    house.owner.create_domain("t", kind=kind, scope="transaction")
    made = house.operator.pseudonymize("t", ["a", "a", None, "b"])
    assert made[2] is None
    present = [m for m in made if m]
    assert len(set(present)) == 3
    assert not set(present) & set(house.operator.pseudonymize("t", ["a", "b"]))
    if kind != "keyed":
        assert [house.reveal("t", present)[p] for p in present] == ["a", "a", "b"]


def test_renewal_after_uses(house: House) -> None:
    house.owner.create_domain("u", renewal=Renewal(uses=2))
    first = house.operator.pseudonymize("u", ["a", "a", "b", "a", None])
    second = house.operator.pseudonymize("u", ["a", "b", "b"])
    a = [first[0], first[1], first[3], second[0]]
    b = [first[2], second[1], second[2]]
    assert a[0] == a[1] != a[2] == a[3]
    assert b[0] == b[1] != b[2]
    assert first[4] is None
    people = house.reveal("u", sorted({*a, *b}))
    assert {people[p] for p in a} == {"a"}
    assert {people[p] for p in b} == {"b"}


def test_renewal_never_mixes_people(house: House) -> None:
    """A person called '#1b' must not meet the renewed pseudonym of 'b'."""
    house.owner.create_domain("u", renewal=Renewal(uses=1))
    made = house.operator.pseudonymize("u", ["b", "b", "#1b", "#2b", "b"])
    assert len(set(made)) == 5
    assert [house.reveal("u", made)[m] for m in made] == ["b", "b", "#1b", "#2b", "b"]


@pytest.mark.parametrize("kind", ["random", "keyed", "reversible"])
def test_renewal_by_time(house: House, kind: str) -> None:
    house.owner.create_domain("t", kind=kind, renewal=Renewal(days=30, on=("2025-12-01",)))
    house.clock.now = datetime(2025, 11, 20, tzinfo=UTC).timestamp()
    one = house.operator.pseudonymize("t", ["person"])
    assert house.operator.pseudonymize("t", ["person"]) == one
    house.clock.now = datetime(2025, 12, 2, tzinfo=UTC).timestamp()
    two = house.operator.pseudonymize("t", ["person"])
    house.clock.now = datetime(2026, 1, 20, tzinfo=UTC).timestamp()
    three = house.operator.pseudonymize("t", ["person"])
    assert len({one[0], two[0], three[0]}) == 3
    if kind != "keyed":
        assert set(house.reveal("t", [one[0], two[0], three[0]]).values()) == {"person"}


def test_life_by_the_trajectory_model(reference: dict[str, Any]) -> None:
    for text, records in reference["004"]["pseudonym_life"]["value"].items():
        limit = float(text.removeprefix("tau="))
        made = by_trajectory(exponent=0.632, places=2497, people=42_598_300, limit=limit)
        assert made.uses == records


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "hash"},
        {"scope": "persom"},
        {"kind": "keyed", "renewal": Renewal(uses=3)},
        {"kind": "format-preserving", "scope": "transaction"},
        {"kind": "format-preserving", "alphabet": "00"},
        {"kind": "format-preserving", "keep": "0"},
        {"kind": "self-generated", "scope": "role"},
        {"prefix": "=cmd|"},
        {"prefix": "1-"},
        {"matching": "fold"},
    ],
)
def test_settings_without_sense_are_refused(sqlite_house: House, settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        sqlite_house.owner.create_domain("d", **settings)
    for renewal in ({"uses": 0}, {"days": -1}, {"on": ("soon",)}):
        with pytest.raises(UsageError):
            Renewal(**renewal)  # type: ignore[arg-type]


def test_inputs(sqlite_house: House) -> None:
    sqlite_house.owner.create_domain("d")
    operator = sqlite_house.operator
    texts = operator.pseudonymize("d", ["1", "2"])
    assert operator.pseudonymize("d", pa.array([1, 2])).to_pylist() == texts
    assert operator.pseudonymize("d", pa.chunked_array([["1"], ["2"]])).to_pylist() == texts
    assert operator.pseudonymize("d", pa.array(["1", "2"]).dictionary_encode()).to_pylist() == texts
    assert operator.pseudonymize("d", []) == []
    for bad in ([1], [b"x"], pa.array([1.5]), ["\ud800"], ["x" * 5000]):
        with pytest.raises(ShoalError):
            operator.pseudonymize("d", bad)


def test_pseudonyms_are_uniform(sqlite_house: House) -> None:
    """Each place of a pseudonym uses the alphabet evenly (chi-square, both tails)."""
    sqlite_house.owner.create_domain("d")
    made = sqlite_house.operator.pseudonymize("d", [str(i) for i in range(20_000)])
    from scipy.stats import chi2

    for place in range(2, 27):
        counts = Counter(m[place] for m in made)
        statistic = sum((counts[c] - 625) ** 2 / 625 for c in "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        assert 1e-12 < chi2.cdf(statistic, 31) < 1 - 1e-12
