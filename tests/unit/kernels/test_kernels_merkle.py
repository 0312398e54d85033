"""Merkle trees against a slow definition, against published roots, and against forged proofs."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import merkle
from shoal.kernels.merkle import EMPTY, Frontier, Tree, is_consistent, is_included

PUBLISHED = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")]
PUBLISHED.append(bytes(range(0x60, 0x70)))
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
"""Roots of the first 0 to 8 of these leaves, as the Certificate Transparency project publishes them."""
BOUNDARIES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129]


def slow_root(data: list[bytes]) -> bytes:
    """MTH of RFC 9162, section 2.1.1, word for word."""
    if len(data) < 2:
        return sha256(b"\x00" + data[0]).digest() if data else sha256(b"").digest()
    k = 1
    while k * 2 < len(data):
        k *= 2
    return sha256(b"\x01" + slow_root(data[:k]) + slow_root(data[k:])).digest()


def slow_inclusion(m: int, data: list[bytes]) -> list[bytes]:
    """PATH of section 2.1.3.1."""
    if len(data) == 1:
        return []
    k = 1
    while k * 2 < len(data):
        k *= 2
    if m < k:
        return [*slow_inclusion(m, data[:k]), slow_root(data[k:])]
    return [*slow_inclusion(m - k, data[k:]), slow_root(data[:k])]


def slow_consistency(m: int, data: list[bytes], whole: bool = True) -> list[bytes]:
    """SUBPROOF of section 2.1.4.1."""
    if m == len(data):
        return [] if whole else [slow_root(data)]
    k = 1
    while k * 2 < len(data):
        k *= 2
    if m <= k:
        return [*slow_consistency(m, data[:k], whole), slow_root(data[k:])]
    return [*slow_consistency(m - k, data[k:], False), slow_root(data[:k])]


def lines(size: int) -> list[bytes]:
    return [f"line {i}".encode() for i in range(size)]


def hashes(data: list[bytes]) -> list[bytes]:
    return [merkle.leaf(line) for line in data]


@pytest.mark.parametrize("size", range(9))
def test_roots_as_published(size: int) -> None:
    leaves = hashes(PUBLISHED[:size])
    assert Frontier().add(*leaves).root.hex() == Tree(leaves).root().hex() == slow_root(PUBLISHED[:size]).hex() == ROOTS[size]


@pytest.mark.parametrize("size", BOUNDARIES)
def test_proofs_are_those_of_the_definition(size: int) -> None:
    data = lines(size)
    leaves, tree = hashes(data), Tree(hashes(data))
    root = slow_root(data)
    assert tree.root() == Frontier().add(*leaves).root == root
    for place in range(size):
        proof = tree.inclusion(place)
        assert proof == slow_inclusion(place, data)
        assert is_included(leaves[place], place, size, proof, root)
        assert not is_included(leaves[place - 1], place, size, proof, root) or size == 1
        assert not is_included(leaves[place], place + 1, size, proof, root)
    for first in range(1, size + 1):
        proof = tree.consistency(first)
        assert proof == slow_consistency(first, data)
        assert is_consistent(first, size, slow_root(data[:first]), root, proof)


@pytest.mark.parametrize("size", BOUNDARIES)
def test_a_tree_goes_on_from_its_frontier(size: int) -> None:
    """Leaves that left the database: proofs from there on are the same, those before it are refused."""
    data = lines(size)
    leaves, whole = hashes(data), Tree(hashes(data))
    for gone in {0, 1, size // 2, max(size - 1, 0), size} & set(range(size + 1)):
        before = Frontier().add(*leaves[:gone])
        again = Frontier.from_json(gone, before.to_json())
        assert again == before
        part = Tree(leaves[gone:], before)
        assert part.size == size
        assert part.root() == whole.root()
        for first in range(gone, size + 1):
            assert part.consistency(first) == whole.consistency(first)
        for place in range(gone, size):
            assert part.inclusion(place) == whole.inclusion(place)
        if gone:
            with pytest.raises(IndexError):
                part.inclusion(gone - 1)
        if gone & ~1:  # the first leaf stands in a larger subtree
            with pytest.raises(IndexError):
                part.root(1)
        with pytest.raises(IndexError):
            part.inclusion(size)


@given(st.integers(1, 70), st.data())
def test_a_forged_proof_shows_nothing(size: int, draw: st.DataObject) -> None:
    """Another line anywhere before the end of the first tree, a missing, added or altered hash: never consistent."""
    first = draw.draw(st.integers(1, size))
    data = lines(size)
    changed = draw.draw(st.integers(0, first - 1))
    other = [b"another" if i == changed else line for i, line in enumerate(data)]
    proof = Tree(hashes(data)).consistency(first)
    old, new = slow_root(data[:first]), slow_root(data)
    forged = Tree(hashes(other)).consistency(first)
    assert not is_consistent(first, size, old, slow_root(other), forged)
    assert not is_consistent(first, size, old, slow_root(other), proof)
    assert not is_consistent(first, size, old, new, [*proof, EMPTY])
    assert not proof or not is_consistent(first, size, old, new, proof[:-1])
    for i in range(len(proof)):
        assert not is_consistent(first, size, old, new, [*proof[:i], EMPTY, *proof[i + 1 :]])
    assert not is_consistent(size + 1, size, old, new, proof)


def test_an_empty_tree_is_the_beginning_of_every_tree() -> None:
    assert is_consistent(0, 3, EMPTY, slow_root(lines(3)), Tree(hashes(lines(3))).consistency(0))
    assert not is_consistent(0, 3, slow_root(lines(1)), slow_root(lines(3)), [])
    assert not is_included(EMPTY, 0, 0, [], EMPTY)


def test_two_trees_of_one_size_have_one_root() -> None:
    """The signer of two heads of the same size lies in one of them; an empty tree has but one root."""
    for size in (0, 1, 2, 3, 4):
        root = slow_root(lines(size))
        assert is_consistent(size, size, root, root, [])
        assert not is_consistent(size, size, root, slow_root(lines(5)), [])
        assert not is_consistent(size, size, slow_root(lines(5)), root, [])
        assert not is_consistent(size, size, root, root, [EMPTY])
    assert not is_consistent(0, 0, slow_root(lines(1)), slow_root(lines(1)), [])


@pytest.mark.parametrize("size", range(1, 34))
def test_a_proof_with_another_place_or_other_hashes_shows_nothing(size: int) -> None:
    """Other places, hashes exchanged, one too many or too few at either end."""
    data = lines(size)
    leaves, root, tree = hashes(data), slow_root(data), Tree(hashes(data))
    for place in range(size):
        proof = tree.inclusion(place)
        for other in {0, 1, place - 1, place + 1, size - 1, size} - {place}:
            assert not is_included(leaves[place], other, size, proof, root)
        swapped = [[*proof[:i], proof[i + 1], proof[i], *proof[i + 2 :]] for i in range(len(proof) - 1)]
        for lie in (proof[1:], [EMPTY, *proof], [*proof, EMPTY], *swapped):
            assert lie == proof or not is_included(leaves[place], place, size, lie, root)
        old = slow_root(data[:place]) if place else EMPTY
        proof = tree.consistency(place)
        for lie in (proof[1:], [EMPTY, *proof], [*proof, EMPTY], proof[::-1]):
            assert lie == proof or not is_consistent(place, size, old, root, lie)
        assert place == 0 or not is_consistent(place, size, old, root, [])


def test_a_proof_above_the_root_shows_nothing() -> None:
    """A hash more than the sizes allow, with roots that fit it."""
    data = lines(5)
    old, new, proof = slow_root(data[:3]), slow_root(data), Tree(hashes(data)).consistency(3)
    assert is_consistent(3, 5, old, new, proof)
    assert not is_consistent(3, 5, merkle.node(EMPTY, old), merkle.node(EMPTY, new), [*proof, EMPTY])
    (leaf,) = hashes(lines(1))
    assert not is_included(leaf, 0, 1, [EMPTY], merkle.node(EMPTY, leaf))


def test_a_node_is_not_taken_for_a_leaf() -> None:
    """Two leaves, and one leaf whose text is their two hashes: other roots."""
    left, right = hashes(lines(2))
    assert merkle.leaf(left + right) != merkle.node(left, right)


@pytest.mark.parametrize("peaks", [[], ["00" * 32], ["00" * 32] * 3])
def test_a_frontier_that_does_not_fit_its_size(peaks: list[str]) -> None:
    assert Frontier.from_json(6, peaks) is None


def test_proofs_at_the_edges_of_a_tree() -> None:
    """Each by itself: a place or size beyond the tree, a root or a size that the proof does not reach."""
    data = lines(5)
    leaves, root = hashes(data), [slow_root(data[:n]) for n in range(6)]
    assert is_included(leaves[0], 0, 1, [], root[1])
    for place, size, found in ((1, 1, root[1]), (-1, 1, root[1]), (0, 1, root[2]), (0, 0, root[1])):
        assert not is_included(leaves[0], place, size, [], found)
    assert not is_included(root[2], 0, 2, [], root[2]), "the root is no leaf of a larger tree"
    two = Tree(leaves[:2]).consistency(1)
    assert is_consistent(1, 2, root[1], root[2], two)
    assert not is_consistent(1, 3, root[1], root[2], two), "the proof ends below the root"
    for first, second, one, other in ((1, 2, root[2], root[2]), (1, 2, root[1], root[3]), (2, 1, root[2], root[1])):
        assert not is_consistent(first, second, one, other, two)
    assert not is_consistent(3, 5, root[3], root[5], [])
    for first in range(1, 5):
        assert is_consistent(first, 5, root[first], root[5], Tree(leaves).consistency(first))
    for place in (-1, 5):
        with pytest.raises(IndexError):
            Tree(leaves).inclusion(place)
    for size in (-1, 6):
        with pytest.raises(IndexError):
            Tree(leaves).consistency(size)
    assert Tree(leaves).consistency(0) == []


def test_a_root_beyond_the_tree_is_not_remembered() -> None:
    leaves = hashes(lines(4)) * 128
    tree = Tree(leaves[:300])
    tree.root(512)
    tree.add(leaves[300:])
    assert tree.root() == Frontier().add(*leaves).root
