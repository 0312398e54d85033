"""Observer models ready to use: who paid, who sent, who began, as an observer of the protocol must believe.

Each returns a :class:`Model`: the posterior of every observation that can be made, exact, by listing or solving.

* dining cryptographers in a ring of coins, seen from outside or by some of the players (Chaum 1988)
* threshold and pool mixes, with messages of the attacker among those mixed (Chaum 1981; Serjantov & Danezis 2002)
* Crowds, with collaborators on the path and the predecessor attack over several paths (Reiter & Rubin 1998; Wright et al. 2002)

Source   Koot 2012 ch. 2; METHODS §1.8, §23
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.measures.observer.entropy import reiter_rubin, renyi_entropy
from shoal.measures.observer.posterior import PosteriorTable
from shoal.model.counts.classes import FloatArray

MOST_OBSERVATIONS = 20_000
MOST_PLAYERS = 9
ORDERS = (0.0, 0.5, 1.0, 2.0, math.inf)
"""Orders of the Rényi entropies that are reported."""


@dataclass(frozen=True, eq=False)
class Model:
    """A posterior table with the names of its subjects and observations."""

    name: str
    subjects: tuple[str, ...]
    observations: tuple[str, ...]
    table: PosteriorTable

    def observed(self) -> list[dict[str, Any]]:
        """Each observation, likeliest first: its chance, entropies, degree, grade of the likeliest subject, KL from the prior."""
        out = []
        for i, row_of in enumerate(self.table.per_observation()):
            row = self.table.rows[i]
            top = int(row.argmax())
            content = {"observation": self.observations[i], "likeliest": self.subjects[top], "posterior": float(row[top])}
            family = {f"{order:g}": renyi_entropy(row, order) for order in ORDERS}
            grade = reiter_rubin(row, top)
            out.append(content | row_of | {"renyi": family, "grade": grade, "kl": relative_entropy(row, self.table.prior)})
        return sorted(out, key=lambda seen: (-seen["chance"], seen["observation"]))

    def to_json(self) -> dict[str, object]:
        rows, weights = self.table.rows, self.table.weights
        left = [renyi_entropy(row, 1.0) for row in rows]
        return {
            "model": self.name,
            "subjects": len(self.subjects),
            "entropy_before": renyi_entropy(self.table.prior, 1.0),
            "entropy_after": float((weights * left).sum()),
            "right_guess": float((weights * rows.max(axis=1)).sum()),
            "mutual_information": self.table.mutual_information(),
            "perfect": self.table.is_perfect(),
            "observations": self.observed(),
        }


def relative_entropy(posterior: FloatArray, prior: FloatArray) -> float:
    """Kullback–Leibler distance of the posterior from the prior, in bits: what one observation told.

    >>> relative_entropy(np.array([1.0, 0.0]), np.array([0.25, 0.75]))
    2.0
    """
    here = posterior > 0
    return max(0.0, float((posterior[here] * np.log2(posterior[here] / prior[here])).sum()))


def dining_cryptographers(players: int = 3, *, bias: float = 0.5, insiders: Sequence[int] = ()) -> Model:
    """Who of the players paid, or nobody: from the announcements and, for insiders, their coins and their own payment.

    Coins lie between neighbours and show 1 with the chance ``bias``; each player says the sum of both coins, the payer the
    opposite. All players and nobody are equally likely before.

    >>> m = dining_cryptographers(3)
    >>> m.table.rows[m.observations.index("1 0 0")].round(6).tolist()
    [0.333333, 0.333333, 0.333333, 0.0]
    """
    if not 3 <= players <= MOST_PLAYERS:
        raise UsageError(f"a ring has 3 to {MOST_PLAYERS} players; found {players}.", hint="All worlds are listed.")
    _chance(bias, "the bias of a coin")
    if any(not 0 <= i < players for i in insiders):
        raise UsageError(f"players are numbered from 0 to {players - 1}.", hint="Name insiders among them.")
    seen: dict[str, FloatArray] = {}
    shown = sorted({coin for i in insiders for coin in (i, (i - 1) % players)})
    for coins in itertools.product((0, 1), repeat=players):
        chance = math.prod(bias if c else 1 - bias for c in coins)
        for payer in range(players + 1):
            words = " ".join(str(coins[i - 1] ^ coins[i] ^ (payer == i)) for i in range(players))
            if insiders:
                words += "; coins " + "".join(str(coins[c]) for c in shown) + ("; paid" if payer in insiders else "")
            seen.setdefault(words, np.zeros(players + 1))[payer] += chance
    names = (*(f"player {i}" for i in range(players)), "nobody")
    return _model("dining cryptographers", names, seen)


def threshold_mix(messages: int, *, attacker: int = 0) -> Model:
    """Which message of a batch left as the one that is looked at, where ``attacker`` of the batch are the observer's own.

    >>> threshold_mix(10, attacker=6).table.rows[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if not 0 <= attacker < messages:
        raise UsageError("at least one message of a batch is not the attacker's.", hint="For example 10 messages, 3 of them his.")
    honest = messages - attacker
    return _model("threshold mix", tuple(f"message {i}" for i in range(honest)), {"a message leaves": np.ones(honest)})


def pool_mix(messages: int, pool: int, rounds: int) -> Model:
    """When did the message that leaves now enter? ``messages`` arrive each round, ``pool`` stay, ``rounds`` have passed.

    A message of j rounds ago leaves now with the chance (s/(t+s))^j / (t+s); what was in the pool before the first round is the
    mix's own. Subjects are all messages of all rounds.

    >>> m = pool_mix(2, 2, 40)
    >>> round(renyi_entropy(m.table.rows[0], 1.0), 6)  # (1 + s/t) log2(s+t) - (s/t) log2 s
    3.0
    """
    if messages < 1 or pool < 0 or rounds < 1 or messages * rounds + pool > MOST_OBSERVATIONS:
        raise UsageError("a pool mix has at least 1 message a round and 1 round, and not too many.", hint="Fewer rounds.")
    stay = pool / (messages + pool)
    shares = [stay**j / (messages + pool) for j in range(rounds) for _ in range(messages)] + [stay**rounds / max(pool, 1)] * pool
    names = (*(f"message {i} of {j} rounds ago" for j in range(rounds) for i in range(messages)),)
    names += tuple(f"pool {i}" for i in range(pool))
    prior = np.full(len(shares), 1.0 / len(shares))
    return Model("pool mix", names, ("a message leaves",), PosteriorTable(prior, np.array([shares]), np.ones(1)))


def crowds(members: int, *, corrupt: int, forward: float, paths: int = 1) -> Model:
    """Who began? Collaborators report who came before the first of them on a path, or nobody; over ``paths`` paths of one person.

    Everybody forwards to a random member (himself included) with the chance ``forward``, else delivers.

    >>> m = crowds(10, corrupt=2, forward=0.75)
    >>> round(float(m.table.rows.max()), 6)  # 1 - p (n - c - 1) / n
    0.475
    """
    honest = members - corrupt
    if corrupt < 1 or honest < 2 or paths < 1:
        hint = "--members 20 --corrupt 2."
        raise UsageError("a crowd has at least one collaborator, two honest members and one path.", hint=hint)
    if not 0.5 <= forward < 1:
        raise UsageError(f"the chance to forward is at least 0.5 and below 1; found {forward}.", hint="For example 0.75.")
    if math.comb(honest + paths, paths) > MOST_OBSERVATIONS:
        raise UsageError("that many paths of that many members have too many observations to list.", hint="Fewer of either.")
    everybody = np.ones((honest, honest))
    caught = np.linalg.solve(np.eye(honest) - forward / members * everybody, corrupt / members * np.eye(honest))
    one = np.column_stack([caught, 1 - caught.sum(axis=1)])  # P(predecessor | initiator), the last: no collaborator met
    seen: dict[str, FloatArray] = {}
    for sequence in itertools.combinations_with_replacement(range(honest + 1), paths):
        counts = np.bincount(sequence, minlength=honest + 1)
        ways = math.factorial(paths) / math.prod(math.factorial(int(k)) for k in counts)
        words = ", ".join(f"member {i} × {k}" for i, k in enumerate(counts[:-1]) if k) or "nobody seen"
        seen[words] = ways * np.prod(one**counts, axis=1)
    return _model("Crowds", tuple(f"member {i}" for i in range(honest)), seen)


def _model(name: str, subjects: tuple[str, ...], seen: dict[str, FloatArray]) -> Model:
    prior = np.full(len(subjects), 1.0 / len(subjects))
    possible = {words: likelihood for words, likelihood in seen.items() if float(likelihood.sum()) > 0}
    table = PosteriorTable.from_likelihood(prior, np.array(list(possible.values())))
    return Model(name, subjects, tuple(possible), table)


def _chance(x: float, what: str) -> None:
    if not 0.0 <= x <= 1.0:
        raise UsageError(f"{what} lies between 0 and 1; found {x}.")
