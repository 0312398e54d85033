"""Small explicit models: choice and player anonymity, and invariance of observable traces under renaming of users.

Not a protocol verifier: every world is listed. A *world* gives each player a choice; an observer sees ``obs(world)`` and,
for insiders, their own choice.

Source   METHODS §1.7, §1.8 (erratum 2-7); Schneider & Sidiropoulos 1996
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations, permutations

from shoal.errors import UsageError

World = tuple[Hashable, ...]
Observe = Callable[[World], Hashable]

MOST_USERS = 8


def _worlds(worlds: Iterable[World]) -> list[World]:
    listed = list(worlds)
    if not listed or len({len(w) for w in listed}) != 1:
        raise UsageError("the model needs at least one world, each with one choice per player.", hint="List the worlds.")
    return listed


def _alike(worlds: Sequence[World], observe: Observe, insiders: Collection[int], x: World) -> list[World]:
    """Worlds that the observer cannot tell from ``x``."""
    seen = observe(x)
    return [v for v in worlds if observe(v) == seen and all(v[j] == x[j] for j in insiders)]


def choice_anonymity_at(
    worlds: Iterable[World], observe: Observe, player: int, x: World, *, insiders: Collection[int] = ()
) -> int:
    """Number of choices that the player may have made, as far as the observer of world ``x`` can tell.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> choice_anonymity_at(votes, lambda w: w.count("y"), 0, ("y", "n", "n"))
    2
    """
    return len({v[player] for v in _alike(_worlds(worlds), observe, insiders, x)})


def choice_anonymity(worlds: Iterable[World], observe: Observe, player: int, *, insiders: Collection[int] = ()) -> int:
    """Smallest number of possible choices over all worlds: 1 means some world gives the player away.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> choice_anonymity(votes, lambda w: w.count("y"), 0)
    1
    """
    listed = _worlds(worlds)
    return min(choice_anonymity_at(listed, observe, player, x, insiders=insiders) for x in listed)


def player_anonymity_at(
    worlds: Iterable[World], observe: Observe, choice: Hashable, x: World, *, insiders: Collection[int] = ()
) -> int:
    """Number of players outside the observers who may have made the choice in world ``x``.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> player_anonymity_at(votes, lambda w: w.count("y"), "y", ("y", "n", "n"))
    3
    """
    alike = _alike(_worlds(worlds), observe, insiders, x)
    return sum(any(v[i] == choice for v in alike) for i in range(len(x)) if i not in insiders)


def player_anonymity(worlds: Iterable[World], observe: Observe, choice: Hashable, *, insiders: Collection[int] = ()) -> int:
    """Smallest number of players who may have made the choice, over the worlds where anybody may; 0 if nobody ever may.

    >>> votes = [(a, b, c) for a in "yn" for b in "yn" for c in "yn"]
    >>> player_anonymity(votes, lambda w: w.count("y"), "y"), player_anonymity(votes, lambda w: w.count("y"), "y", insiders=[2])
    (3, 2)
    """
    listed = _worlds(worlds)
    found = [player_anonymity_at(listed, observe, choice, x, insiders=insiders) for x in listed]
    return min((n for n in found if n > 0), default=0)


def knows(
    worlds: Iterable[World], observe: Observe, x: World, fact: Callable[[World], bool], *, insiders: Collection[int] = ()
) -> bool:
    """Whether the observer of world ``x`` knows the fact: it holds in every world that looks the same.

    >>> votes = [(a, b) for a in "yn" for b in "yn"]
    >>> knows(votes, lambda w: w.count("y"), ("y", "y"), lambda w: w[0] == "y")
    True
    """
    return all(fact(v) for v in _alike(_worlds(worlds), observe, insiders, x))


def is_permutation_invariant(
    traces: Iterable[Sequence[Hashable]], users: Sequence[Hashable], *, transpositions: bool | None = None
) -> bool:
    """Whether the set of observable traces stays the same under every renaming of the users.

    Swaps of two users generate every renaming, so they are enough; ``transpositions=False`` tries all renamings one by one
    (at most 8 users).

    >>> is_permutation_invariant([("a", "sent"), ("b", "sent")], ["a", "b"])
    True
    >>> is_permutation_invariant([("a", "sent")], ["a", "b"])
    False
    """
    observed = {tuple(t) for t in traces}
    names = list(users)
    if len(set(names)) != len(names) or len(names) < 1:
        raise UsageError("users must be named once each.", hint="Pass the labels of all users.")
    if transpositions is False:
        if len(names) > MOST_USERS:
            raise UsageError(f"{len(names)} users have too many renamings.", hint="Use swaps: transpositions=True.")
        renamings: Iterable[Mapping[Hashable, Hashable]] = (dict(zip(names, p, strict=True)) for p in permutations(names))
    else:
        renamings = ({a: b, b: a} for a, b in combinations(names, 2))
    return all({tuple(r.get(x, x) for x in t) for t in observed} == observed for r in renamings)
