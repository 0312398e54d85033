"""Every technique that makes a table safe, as a step of a plan. Importing this room registers its steps.

Truthful: generalize, suppress, sample, round, top and bottom coding, intervals. Not truthful: microaggregation, quantile
centres, noise, permutation, rank swapping, PRAM, date shifts, masks. :func:`guarantee` says what each keeps; :func:`apply`
carries one out on a table in memory; engines carry them out where the data are.
"""

from shoal.hierarchies.rule import Generalize
from shoal.techniques.apply import Applied, apply
from shoal.techniques.coarsen.generalize import TreeCut, best_cut, level_for
from shoal.techniques.coarsen.round_and_code import Rare, suppress_rare, top_bottom
from shoal.techniques.group.microaggregate import Microaggregate
from shoal.techniques.group.near import lost_share, near_groups
from shoal.techniques.group.optimal_1d import Centres, Groups, Represent, microaggregate_1d, optimal_groups
from shoal.techniques.group.quantile import (
    equal_groups,
    error_ratio,
    group_sizes,
    quantile_groups,
    quantile_transform,
    rank_difference,
    sample_size,
)
from shoal.techniques.guarantees import GUARANTEES, Guarantee, guarantee
from shoal.techniques.identity.date_shift import DateShift
from shoal.techniques.identity.mask import Fake, KeyedHash
from shoal.techniques.perturb.noise import CorrelatedNoise, Noise, noise_for
from shoal.techniques.perturb.permute import Permute, RankSwap
from shoal.techniques.perturb.pram import Pram, estimate_counts, pram
from shoal.techniques.perturb.sampling import Sample

__all__ = [
    "GUARANTEES", "Applied", "Centres", "CorrelatedNoise", "DateShift", "Fake", "Generalize", "Groups", "Guarantee",
    "KeyedHash", "Microaggregate", "Noise", "Permute", "Pram", "RankSwap", "Rare", "Represent", "Sample", "TreeCut", "apply",
    "best_cut", "equal_groups", "error_ratio", "estimate_counts", "group_sizes", "guarantee", "level_for", "lost_share",
    "microaggregate_1d", "near_groups", "noise_for", "optimal_groups", "pram", "quantile_groups", "quantile_transform",
    "rank_difference", "sample_size", "suppress_rare", "top_bottom",
]  # fmt: skip
