"""The rooms that are verbs as well, as type checkers see them: ``shoal.predict(…)`` and ``shoal.predict.uniqueness(…)``.

At run time the package itself is called (:mod:`shoal._room`); these classes only say what it holds, and a test compares the
names. For an annotation import the type from its package: ``from shoal.predict import Zipf``.
"""

from __future__ import annotations

from typing import Any, Literal, Unpack, overload

import shoal.attack as attack_room
import shoal.predict as predict_room
import shoal.transform as transform_room
from shoal.api.attack import attack
from shoal.api.forecasts.prediction import Prediction
from shoal.api.forecasts.words import (
    IntervalWords,
    PopulationWords,
    QuasiWords,
    SingletonsWords,
    UniquenessWords,
    ZipfWords,
)
from shoal.api.predict import predict
from shoal.api.transform import transform


class Attack:
    """What ``shoal.attack`` holds, and the verb."""

    __call__ = staticmethod(attack)
    AttackResult = attack_room.AttackResult
    Scene = attack_room.Scene
    choice_rng = staticmethod(attack_room.choice_rng)
    run_all = staticmethod(attack_room.run_all)
    worst_first = staticmethod(attack_room.worst_first)


class Predict:
    """What ``shoal.predict`` holds, and the verb."""

    @overload
    def __call__(self, question: Literal["uniqueness"], /, **words: Unpack[UniquenessWords]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["singletons"], /, **words: Unpack[SingletonsWords]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["interval"], /, **words: Unpack[IntervalWords]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["quasi"], /, **words: Unpack[QuasiWords]) -> Prediction: ...
    @overload
    def __call__(
        self, question: Literal["population"], /, **words: Unpack[PopulationWords]
    ) -> predict_room.PopulationEstimate: ...
    @overload
    def __call__(self, question: Literal["zipf"], /, **words: Unpack[ZipfWords]) -> Prediction: ...
    def __call__(self, question: Any, /, **words: Any) -> Any:
        return predict(question, **words)

    Budget = predict_room.Budget
    Degradation = predict_room.Degradation
    Distribution = predict_room.Distribution
    Meter = predict_room.Meter
    Person = predict_room.Person
    PopulationEstimate = predict_room.PopulationEstimate
    QuasiTest = predict_room.QuasiTest
    Question = predict_room.Question
    Questionnaire = predict_room.Questionnaire
    Singletons = predict_room.Singletons
    Suggestion = predict_room.Suggestion
    Zipf = predict_room.Zipf
    ZipfFit = predict_room.ZipfFit
    as_distribution = staticmethod(predict_room.as_distribution)
    best_code_size = staticmethod(predict_room.best_code_size)
    bivariate_normal = staticmethod(predict_room.bivariate_normal)
    cell_budget = staticmethod(predict_room.cell_budget)
    cell_failure = staticmethod(predict_room.cell_failure)
    chernoff_failure = staticmethod(predict_room.chernoff_failure)
    corrected_kappa = staticmethod(predict_room.corrected_kappa)
    degradation = staticmethod(predict_room.degradation)
    expansion = staticmethod(predict_room.expansion)
    expected_share = staticmethod(predict_room.expected_share)
    fit_zipf = staticmethod(predict_room.fit_zipf)
    frechet_bounds = staticmethod(predict_room.frechet_bounds)
    gaussian_copula = staticmethod(predict_room.gaussian_copula)
    greedy_split = staticmethod(predict_room.greedy_split)
    groups_from_kappa = staticmethod(predict_room.groups_from_kappa)
    integer_split = staticmethod(predict_room.integer_split)
    interval_singletons = staticmethod(predict_room.interval_singletons)
    joint_kappa = staticmethod(predict_room.joint_kappa)
    largest_mean = staticmethod(predict_room.largest_mean)
    largest_possible_mean = staticmethod(predict_room.largest_possible_mean)
    log_uniform = staticmethod(predict_room.log_uniform)
    match_probability = staticmethod(predict_room.match_probability)
    mean_rank = staticmethod(predict_room.mean_rank)
    multivariate_normal = staticmethod(predict_room.multivariate_normal)
    mutual_information = staticmethod(predict_room.mutual_information)
    needed_combinations = staticmethod(predict_room.needed_combinations)
    no_singleton = staticmethod(predict_room.no_singleton)
    no_singleton_table = staticmethod(predict_room.no_singleton_table)
    normal_expansion = staticmethod(predict_room.normal_expansion)
    normal_power_integral = staticmethod(predict_room.normal_power_integral)
    people_per_cell = staticmethod(predict_room.people_per_cell)
    person = staticmethod(predict_room.person)
    population = staticmethod(predict_room.population)
    population_risk = staticmethod(predict_room.population_risk)
    PopulationRisk = predict_room.PopulationRisk
    population_uniqueness = staticmethod(predict_room.population_uniqueness)
    pseudonym_life = staticmethod(predict_room.pseudonym_life)
    quasi_test = staticmethod(predict_room.quasi_test)
    rank_subsets = staticmethod(predict_room.rank_subsets)
    rho_for_information = staticmethod(predict_room.rho_for_information)
    rounded = staticmethod(predict_room.rounded)
    sample_unique_risk = staticmethod(predict_room.sample_unique_risk)
    sd_from_singletons = staticmethod(predict_room.sd_from_singletons)
    share_below = staticmethod(predict_room.share_below)
    simulation_runs = staticmethod(predict_room.simulation_runs)
    singletons = staticmethod(predict_room.singletons)
    singletons_from_kappa = staticmethod(predict_room.singletons_from_kappa)
    split = staticmethod(predict_room.split)
    split_cost = staticmethod(predict_room.split_cost)
    threshold_rank = staticmethod(predict_room.threshold_rank)
    uniform_records = staticmethod(predict_room.uniform_records)
    uniform_share = staticmethod(predict_room.uniform_share)
    unique_share_bound = staticmethod(predict_room.unique_share_bound)
    uniqueness = staticmethod(predict_room.uniqueness)
    uniqueness_from_kappa = staticmethod(predict_room.uniqueness_from_kappa)
    uniqueness_from_power_sums = staticmethod(predict_room.uniqueness_from_power_sums)
    variance_from_kappa = staticmethod(predict_room.variance_from_kappa)
    width_for = staticmethod(predict_room.width_for)


class Transform:
    """What ``shoal.transform`` holds, and the verb."""

    __call__ = staticmethod(transform)
    GUARANTEES = transform_room.GUARANTEES
    Applied = transform_room.Applied
    Centres = transform_room.Centres
    CorrelatedNoise = transform_room.CorrelatedNoise
    DateShift = transform_room.DateShift
    Fake = transform_room.Fake
    Generalize = transform_room.Generalize
    Groups = transform_room.Groups
    Guarantee = transform_room.Guarantee
    KeyedHash = transform_room.KeyedHash
    Microaggregate = transform_room.Microaggregate
    Noise = transform_room.Noise
    Permute = transform_room.Permute
    Pram = transform_room.Pram
    QuantileSketch = transform_room.QuantileSketch
    RankSwap = transform_room.RankSwap
    Rare = transform_room.Rare
    Represent = transform_room.Represent
    Reservoir = transform_room.Reservoir
    Sample = transform_room.Sample
    TreeCut = transform_room.TreeCut
    apply = staticmethod(transform_room.apply)
    best_cut = staticmethod(transform_room.best_cut)
    equal_groups = staticmethod(transform_room.equal_groups)
    error_ratio = staticmethod(transform_room.error_ratio)
    estimate_counts = staticmethod(transform_room.estimate_counts)
    generalize = staticmethod(transform_room.generalize)
    group_sizes = staticmethod(transform_room.group_sizes)
    guarantee = staticmethod(transform_room.guarantee)
    level_for = staticmethod(transform_room.level_for)
    lost_share = staticmethod(transform_room.lost_share)
    microaggregate_1d = staticmethod(transform_room.microaggregate_1d)
    near_groups = staticmethod(transform_room.near_groups)
    noise_for = staticmethod(transform_room.noise_for)
    optimal_groups = staticmethod(transform_room.optimal_groups)
    pram = staticmethod(transform_room.pram)
    quantile_groups = staticmethod(transform_room.quantile_groups)
    quantile_transform = staticmethod(transform_room.quantile_transform)
    rank_difference = staticmethod(transform_room.rank_difference)
    remove = staticmethod(transform_room.remove)
    round_to = staticmethod(transform_room.round_to)
    safe_harbor = staticmethod(transform_room.safe_harbor)
    sample = staticmethod(transform_room.sample)
    sample_size = staticmethod(transform_room.sample_size)
    streamed_quantiles = staticmethod(transform_room.streamed_quantiles)
    suppress_cells = staticmethod(transform_room.suppress_cells)
    suppress_column = staticmethod(transform_room.suppress_column)
    suppress_rare = staticmethod(transform_room.suppress_rare)
    suppress_records = staticmethod(transform_room.suppress_records)
    top_bottom = staticmethod(transform_room.top_bottom)
