"""``predict``: how identifying will it be, before anything is collected. Six questions, each answered from what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Unpack, overload

from shoal import prediction
from shoal.api import prediction as keywords
from shoal.api.forecasts import ask_interval, ask_population, ask_quasi, ask_singletons, ask_uniqueness, ask_zipf
from shoal.api.prediction import Prediction
from shoal.errors import UsageError, nearest

QUESTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "uniqueness": (ask_uniqueness, keywords.UniquenessOptions),
    "singletons": (ask_singletons, keywords.SingletonsOptions),
    "interval": (ask_interval, keywords.IntervalOptions),
    "quasi": (ask_quasi, keywords.QuasiOptions),
    "population": (ask_population, keywords.PopulationOptions),
    "zipf": (ask_zipf, keywords.ZipfOptions),
}


class Predict:
    """``shoal.predict``: call it with a question, or use the functions of :mod:`shoal.prediction` as attributes."""

    Budget = prediction.Budget
    Degradation = prediction.Degradation
    Distribution = prediction.Distribution
    Meter = prediction.Meter
    Person = prediction.Person
    PopulationEstimate = prediction.PopulationEstimate
    PopulationRisk = prediction.PopulationRisk
    QuasiTest = prediction.QuasiTest
    Question = prediction.Question
    Questionnaire = prediction.Questionnaire
    Singletons = prediction.Singletons
    Suggestion = prediction.Suggestion
    Zipf = prediction.Zipf
    ZipfFit = prediction.ZipfFit
    as_distribution = staticmethod(prediction.as_distribution)
    best_code_size = staticmethod(prediction.best_code_size)
    bivariate_normal = staticmethod(prediction.bivariate_normal)
    cell_budget = staticmethod(prediction.cell_budget)
    cell_failure = staticmethod(prediction.cell_failure)
    chernoff_failure = staticmethod(prediction.chernoff_failure)
    corrected_kappa = staticmethod(prediction.corrected_kappa)
    degradation = staticmethod(prediction.degradation)
    expansion = staticmethod(prediction.expansion)
    expected_share = staticmethod(prediction.expected_share)
    fit_zipf = staticmethod(prediction.fit_zipf)
    frechet_bounds = staticmethod(prediction.frechet_bounds)
    gaussian_copula = staticmethod(prediction.gaussian_copula)
    greedy_split = staticmethod(prediction.greedy_split)
    groups_from_kappa = staticmethod(prediction.groups_from_kappa)
    integer_split = staticmethod(prediction.integer_split)
    interval_singletons = staticmethod(prediction.interval_singletons)
    joint_kappa = staticmethod(prediction.joint_kappa)
    largest_mean = staticmethod(prediction.largest_mean)
    largest_possible_mean = staticmethod(prediction.largest_possible_mean)
    log_uniform = staticmethod(prediction.log_uniform)
    match_probability = staticmethod(prediction.match_probability)
    mean_rank = staticmethod(prediction.mean_rank)
    multivariate_normal = staticmethod(prediction.multivariate_normal)
    mutual_information = staticmethod(prediction.mutual_information)
    needed_combinations = staticmethod(prediction.needed_combinations)
    no_singleton = staticmethod(prediction.no_singleton)
    no_singleton_table = staticmethod(prediction.no_singleton_table)
    normal_expansion = staticmethod(prediction.normal_expansion)
    normal_power_integral = staticmethod(prediction.normal_power_integral)
    people_per_cell = staticmethod(prediction.people_per_cell)
    person = staticmethod(prediction.person)
    population = staticmethod(prediction.population)
    population_risk = staticmethod(prediction.population_risk)
    population_uniqueness = staticmethod(prediction.population_uniqueness)
    pseudonym_life = staticmethod(prediction.pseudonym_life)
    quasi_test = staticmethod(prediction.quasi_test)
    rank_subsets = staticmethod(prediction.rank_subsets)
    rho_for_information = staticmethod(prediction.rho_for_information)
    rounded = staticmethod(prediction.rounded)
    sample_unique_risk = staticmethod(prediction.sample_unique_risk)
    sd_from_singletons = staticmethod(prediction.sd_from_singletons)
    share_below = staticmethod(prediction.share_below)
    simulation_runs = staticmethod(prediction.simulation_runs)
    singletons = staticmethod(prediction.singletons)
    singletons_from_kappa = staticmethod(prediction.singletons_from_kappa)
    split = staticmethod(prediction.split)
    split_cost = staticmethod(prediction.split_cost)
    threshold_rank = staticmethod(prediction.threshold_rank)
    uniform_records = staticmethod(prediction.uniform_records)
    uniform_share = staticmethod(prediction.uniform_share)
    unique_share_bound = staticmethod(prediction.unique_share_bound)
    uniqueness = staticmethod(prediction.uniqueness)
    uniqueness_from_kappa = staticmethod(prediction.uniqueness_from_kappa)
    uniqueness_from_power_sums = staticmethod(prediction.uniqueness_from_power_sums)
    variance_from_kappa = staticmethod(prediction.variance_from_kappa)
    width_for = staticmethod(prediction.width_for)

    @overload
    def __call__(self, question: Literal["uniqueness"], /, **options: Unpack[keywords.UniquenessOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["singletons"], /, **options: Unpack[keywords.SingletonsOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["interval"], /, **options: Unpack[keywords.IntervalOptions]) -> Prediction: ...
    @overload
    def __call__(self, question: Literal["quasi"], /, **options: Unpack[keywords.QuasiOptions]) -> Prediction: ...
    @overload
    def __call__(
        self, question: Literal["population"], /, **options: Unpack[keywords.PopulationOptions]
    ) -> prediction.PopulationEstimate: ...
    @overload
    def __call__(self, question: Literal["zipf"], /, **options: Unpack[keywords.ZipfOptions]) -> Prediction: ...
    def __call__(self, question: str, /, **options: Any) -> Prediction | prediction.PopulationEstimate:
        """Answer one of six questions; the options are those of the command ``shoal predict``.

        The functions of :mod:`shoal.prediction` are attributes: ``shoal.predict.uniqueness(365, 23)``.

        Parameters
        ----------
        question : str
            ``uniqueness`` (are all people of a group unique?), ``singletons`` (how many?), ``interval`` (how many, if a value
            is rounded?), ``quasi`` (can these columns identify at all?), ``population`` (unique in the sample: unique in the
            population?), ``zipf`` (places visited by Zipf's law).
        **options
            ``group_size`` with one of ``uniform, counts, p`` (or ``kappa`` with ``cells``); see
            ``shoal predict QUESTION --help``.

        Examples
        --------
        >>> predict("uniqueness", uniform=365, group_size=23)
        <Prediction of the probability that all 23 people are unique: 0.492703 (exact, product of (1 - i/N))>
        >>> round(predict("singletons", p=[0.4, 0.3, 0.2, 0.1], group_size=5).more["variance"], 6)
        0.883551
        """
        if question not in QUESTIONS:
            close = nearest(question, QUESTIONS)
            raise UsageError(
                f"Unknown question '{question}'.",
                hint=f"Did you mean '{close}'?" if close else f"Questions: {', '.join(QUESTIONS)}.",
            )
        ask, known = QUESTIONS[question]
        for option in options:
            if option not in known.__annotations__:
                close = nearest(option, known.__annotations__)
                raise UsageError(
                    f"'{option}' is not an option of {question}.", hint=f"Did you mean '{close}'?" if close else "Leave it out."
                )
        lacking = [option for option in sorted(known.__required_keys__) if options.get(option) is None]
        if lacking:
            raise UsageError(f"{question} needs {lacking[0]}.", hint=f"Add {lacking[0]}=….")
        answer: Prediction | prediction.PopulationEstimate = ask(**options)
        return answer


predict = Predict()
