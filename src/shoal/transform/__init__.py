"""Every technique that makes a table safe, as a step of a plan. Importing this room registers its steps.

Truthful: generalize, suppress, sample, round, top and bottom coding, intervals. Not truthful: microaggregation, quantile
centres, noise, permutation, rank swapping, PRAM, date shifts, masks. :func:`guarantee` says what each keeps; :func:`apply`
carries one out on a table in memory; engines carry them out where the data are.
"""

from shoal._room import callable_room
from shoal.hierarchies.rule import Generalize
from shoal.transform.apply import Applied, apply
from shoal.transform.coarsen.generalize import TreeCut, best_cut, generalize, level_for
from shoal.transform.coarsen.rare import Rare
from shoal.transform.coarsen.round_and_code import round_to, top_bottom
from shoal.transform.coarsen.suppress import suppress_cells, suppress_column, suppress_rare, suppress_records
from shoal.transform.group.microaggregate import Microaggregate
from shoal.transform.group.microaggregate_1d import microaggregate_1d
from shoal.transform.group.near import lost_share, near_groups
from shoal.transform.group.optimal_1d import Centres, Groups, Represent, optimal_groups
from shoal.transform.group.quantile import (
    Reservoir,
    equal_groups,
    error_ratio,
    group_sizes,
    quantile_groups,
    quantile_transform,
    rank_difference,
    sample_size,
    streamed_quantiles,
)
from shoal.transform.group.sketch import QuantileSketch
from shoal.transform.guarantees import GUARANTEES, Guarantee, guarantee
from shoal.transform.identity.date_shift import DateShift
from shoal.transform.identity.mask import Fake, KeyedHash, remove
from shoal.transform.perturb.noise import CorrelatedNoise, Noise, noise_for
from shoal.transform.perturb.permute import Permute, RankSwap
from shoal.transform.perturb.pram import Pram, estimate_counts, pram
from shoal.transform.perturb.sampling import Sample, sample
from shoal.transform.safe_harbor import safe_harbor

__all__ = [
    "GUARANTEES",
    "Applied",
    "Centres",
    "CorrelatedNoise",
    "DateShift",
    "Fake",
    "Generalize",
    "Groups",
    "Guarantee",
    "KeyedHash",
    "Microaggregate",
    "Noise",
    "Permute",
    "Pram",
    "QuantileSketch",
    "RankSwap",
    "Rare",
    "Represent",
    "Reservoir",
    "Sample",
    "TreeCut",
    "apply",
    "best_cut",
    "equal_groups",
    "error_ratio",
    "estimate_counts",
    "generalize",
    "group_sizes",
    "guarantee",
    "level_for",
    "lost_share",
    "microaggregate_1d",
    "near_groups",
    "noise_for",
    "optimal_groups",
    "pram",
    "quantile_groups",
    "quantile_transform",
    "rank_difference",
    "remove",
    "round_to",
    "safe_harbor",
    "sample",
    "sample_size",
    "streamed_quantiles",
    "suppress_cells",
    "suppress_column",
    "suppress_rare",
    "suppress_records",
    "top_bottom",
]

callable_room(__name__)
