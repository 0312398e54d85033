"""Every verified reference value that concerns predictions, and the reason for each that does not.

Each function computes its value with Shoal; the expected number and its tolerance come from reference-values.json.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import predict_limits as limits
from shoal import predict
from shoal.prediction import Distribution, Zipf
from shoal.prediction.attributes.quasi_identifier import unique_share_limit
from shoal.prediction.attributes.rounding import density_integral
from shoal.prediction.population.class_size_models import ewens_uniques, pitman_uniques, poisson_gamma_uniques
from shoal.prediction.summaries.kappa import singletons_from_kappa, variance_from_kappa

N_KANTO, D_KANTO = 42_598_300, 2_497
KANTO = Zipf(0.632, D_KANTO)
KANTO_C = Zipf(0.632, D_KANTO, "continuous")


def linear(g: float, n: int = 95) -> Distribution:
    w = 1 + g * ((np.arange(n) + 0.5) / n - 0.5)
    return Distribution.of(w / w.sum())


def pyramid(top: int = 95) -> Distribution:
    i = np.arange(top)
    w = np.where(i < 65, 1.0, (95 - i) / 30)
    return Distribution.of(w / w.sum())


def geometric(r: float, n: int = 95) -> Distribution:
    w = r ** np.arange(n)
    return Distribution.of(w / w.sum())


def two_group(n: int) -> Distribution:
    return Distribution.grouped([0.5, 1.5], [n // 2, n - n // 2])


NAMED: dict[str, Distribution] = {
    "uniform95": Distribution.uniform(95),
    "linear g=0.5": linear(0.5),
    "linear g=1": linear(1),
    "linear g=2": linear(2),
    "linear1": linear(1),
    "two-group .5/1.5": two_group(96),
    "two-group": two_group(96),
    "age pyramid 95": pyramid(),
    "age pyramid": pyramid(),
    "agepyr": pyramid(),
    "agepyr95": pyramid(),
    "age 0-79": pyramid(80),
    "age0-79": pyramid(80),
    "geom r=.97": geometric(0.97),
    "geom .97": geometric(0.97),
    "geom r=.93": geometric(0.93),
    "zipf c=.5 N=365": Distribution.zipf(365, 0.5),
    "zipf .5/365": Distribution.zipf(365, 0.5),
    "zipf c=1 N=1000": Distribution.zipf(1000, 1),
}


def named(entry: str) -> tuple[Distribution, int]:
    name, k = entry.split("|")
    return NAMED[name], int(k.removeprefix("k="))


def value(x: Any) -> float:
    return float(getattr(x, "value", x))


def raw(e: Any) -> float:
    return float(e.details["unclamped"])


# --- document 000, chapter 4 ---------------------------------------------------------------------------------------------


def accuracy_4(expected: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for entry in expected:
        d, k = named(entry)
        exact = predict.uniqueness(d, k)

        def ratio(method: str, d: Distribution = d, k: int = k, exact: Any = exact) -> float:
            return math.exp(predict.uniqueness(d, k, method=method).log_value - exact.log_value)

        out[entry] = {
            "kappa": d.kappa,
            "chi": d.chi,
            "N": d.cells,
            "exact": exact.value,
            "A1 exp(-(1/2+kappa)k2/N)": ratio("kappa-limit"),
            "A2 pi_u exp(-kappa k2/N)": ratio("kappa"),
            "A3 pi_u exp(-chi k2/N)": ratio("chi"),
            "A4 exp(-C(k,2)S2)": ratio("collisions"),
            "A5 poissonised": ratio("poisson"),
            "A6b saddlepoint+corr": ratio("saddlepoint"),
        }
    return out


def kappa_table(kappa: float, *, limit: bool) -> Callable[[Any], Any]:
    return lambda e: {k: value(predict.uniqueness_from_kappa(kappa, 95, int(k), limit=limit)) for k in e}


def uniform_forms(e: Any) -> dict[str, float]:
    d = Distribution.uniform(95)
    return {
        "exp(-k(k-1)/2N)": value(predict.uniqueness(d, 29, method="collisions")),
        "exp(-k^2/2N)": value(predict.uniqueness(d, 29, method="kappa-limit")),
        "poisson e^-k(1+k/N)^N": value(predict.uniqueness(d, 29, method="poisson")),
    }


C000: dict[str, Callable[[Any], Any]] = {
    f"ch4.pi_u_{k}_{n}": (lambda e, k=k, n=n: value(predict.uniqueness(n, k)))
    for k, n in ((29, 95), (41, 190), (23, 365), (22, 365), (10, 95), (20, 95))
}
for place, kappa in (("uniform", 0.0), ("Laren", 0.0914), ("Urk", 0.4011)):
    C000[f"ch4.A1_{place}_N95"] = kappa_table(kappa, limit=True)
    C000[f"ch4.A2_{place}_N95"] = kappa_table(kappa, limit=False)
SMALL = [0.4, 0.3, 0.15, 0.1, 0.05]
C000 |= {
    "ch4.uniform_forms_29_95": uniform_forms,
    "ch4.n_plus_required": lambda e: limits.simulation_runs(0.01)[0] / 0.99,
    "ch4.hits_required": lambda e: limits.simulation_runs(0.01)[1] / 0.99,
    "ch4.exact_small": lambda e: value(predict.uniqueness(SMALL, 3)),
    "ch4.exact_small_k5": lambda e: value(predict.uniqueness(SMALL, 5)),
    "ch4.exact_small_k6": lambda e: value(predict.uniqueness(SMALL, 6)),
    "ch4.accuracy_table": accuracy_4,
    "ch4.kappa_grouping": lambda e: {g: Distribution.of(pyramid().p.reshape(-1, int(g)).sum(axis=1)).kappa for g in e},
    "ch4.kappa_agepyr": lambda e: pyramid().kappa,
    "ch4.chi_agepyr": lambda e: pyramid().chi,
    "ch4.pi_exact_agepyr_29": lambda e: value(predict.uniqueness(pyramid(), 29)),
    "ch4.pi_exact_zipf1_365_23": lambda e: value(predict.uniqueness(Distribution.zipf(365, 1), 23)),
    "ch4.kappa_twogroup": lambda e: two_group(96).kappa,
    "ch4.chi_twogroup": lambda e: two_group(96).chi,
}
for g in (0.5, 1.0, 2.0):
    C000[f"ch4.pi_exact_linear{g}_29"] = lambda e, g=g: value(predict.uniqueness(linear(g), 29))
    C000[f"ch4.kappa_linear{g}"] = lambda e, g=g: linear(g).kappa


# --- document 000, chapter 5 ---------------------------------------------------------------------------------------------


def full(e: Any, p: Any, k: int) -> dict[str, Any]:
    s = predict.singletons(p, k)
    found = {"mean": s.mean.value, "var": s.variance.value, "pmf": s.pmf().tolist()}
    return {name: x for name, x in found.items() if name in e}


def accuracy_5(expected: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for entry in expected:
        d, k = named(entry)
        a, alpha, share = k / d.cells, d.cells * d.p, d.multiplicity / d.cells
        s = predict.singletons(d, k)
        out[entry] = {
            "kappa": d.kappa,
            "chi": d.chi,
            "ES": s.mean.value,
            "ES_kappa": k * math.exp(-a) * (1 + a * (a - 2) * d.kappa),
            "ES_scaled": d.cells * limits.mean_limit(a, alpha, share),
            "Var": s.variance.value,
            "Var_scaled": d.cells * limits.variance_limit(a, alpha, share),
        }
    return out


def phi(k: int) -> Callable[[Any], Any]:
    def compute(e: Any) -> dict[str, list[float]]:
        d = pyramid(80)
        s, u = predict.singletons(d, k), predict.singletons(80, k)
        return {
            f"phi{j}": [s.in_groups_of(j).value, predict.groups_from_kappa(d.kappa, 80, k, j)[0].value, u.in_groups_of(j).value]
            for j in (1, 2, 3)
        }

    return compute


def normal_gap(e: Any) -> float:
    s = predict.singletons(pyramid(), 95)
    law = s.pmf()
    edges = np.arange(law.size) + 0.5
    return float(np.abs(law.cumsum() - stats.norm.cdf(edges, s.mean.value, math.sqrt(s.variance.value))).max())


for k, n in ((60, 95), (90, 95), (120, 95), (365, 365), (100, 365), (300, 95)):
    C000[f"ch5.ES_u_{k}_{n}"] = lambda e, k=k, n=n: predict.singletons(n, k).mean.value
    C000[f"ch5.VarS_u_{k}_{n}"] = lambda e, k=k, n=n: predict.singletons(n, k).variance.value
for a in (0.25, 0.5, 1.0, 2.0, 3.0):
    C000[f"ch5.V_hom_limit_a{a}"] = lambda e, a=a: limits.variance_limit(a)
    if a != 0.25:
        C000[f"ch5.V_het_limit_a{a}"] = lambda e, a=a: limits.variance_limit(a, (0.5, 1.5), (0.5, 0.5))
        C000[f"ch5.ES_het_limit_a{a}"] = lambda e, a=a: limits.mean_limit(a, (0.5, 1.5), (0.5, 0.5))
for k, n, kappa in ((60, 95, 0.0914), (90, 95, 0.0914), (120, 95, 0.0914), (90, 95, 0.4011), (80, 80, 0.055), (40, 80, 0.086)):
    C000[f"ch5.ES_kappa_{k}_{n}_{kappa}"] = lambda e, k=k, n=n, x=kappa: value(singletons_from_kappa(x, n, k, limit=True))
    C000[f"ch5.VarS_kappa_{k}_{n}_{kappa}"] = lambda e, k=k, n=n, x=kappa: value(variance_from_kappa(x, n, k, limit=True))
for name, k in itertools.product(("agepyr95", "linear1", "age0-79"), (200, 300, 500)):
    C000[f"ch5.PS0_{name}_{k}"] = lambda e, d=name, k=k: value(predict.no_singleton(NAMED[d], k))
for g in ("0.1", "0.5", "1.0", "1.5", "2.0"):
    C000[f"ch5.ex58_kappa_g{g}"] = lambda e, g=g: limits.linear_density_kappa(float(g))
for k in (20, 40, 60, 80):
    C000[f"ch5.phi_age0-79_k{k}"] = phi(k)
LINEAR2 = optimize.minimize_scalar(
    lambda a: -limits.linear_density_mean(a, 2), bounds=(0.5, 1.5), method="bounded", options={"xatol": 1e-10}
)
SPIKE50 = Distribution.of(np.append(np.full(49, 1 / 75), 1 - 49 / 75))
C000 |= {
    "ch5.hom_enum_5_4": lambda e: full(e, 4, 5),
    "ch5.hom_enum_6_5": lambda e: full(e, 5, 6),
    "ch5.het_enum": lambda e: full(e, e["p"], e["k"]),
    "ch5.het_enum2": lambda e: full(e, e["p"], e["k"]),
    "ch5.cov_lemma_a1.5": lambda e: limits.covariance_limit(1.5, (0.5, 1.5), (0.5, 0.5)),
    "ch5.accuracy_table": accuracy_5,
    "ch5.sim_linear1_95": lambda e: [
        predict.singletons(linear(1), 95).mean.value,
        predict.singletons(linear(1), 95).variance.value,
    ],
    "ch5.remark54_global_threshold": lambda e: optimize.brentq(
        lambda x: (limits.kappa_of_largest_mean(x) > 1) - 0.5, 0.2501, 0.3, xtol=1e-12
    ),
    "ch5.birthday_ES_365": lambda e: predict.singletons(365, 365).mean.value,
    "ch5.remark55_counterexample": lambda e: {
        "ES_uniform": predict.singletons(50, 75).mean.value,
        "ES_spike": predict.singletons(SPIKE50, 75).mean.value,
    },
    "ch5.ex56_opt_C1": lambda e: predict.best_code_size(95, 1),
    "ch5.ex56_opt_C10": lambda e: predict.best_code_size(95, 10),
    "ch5.ex56_opt_kappa0.0914": lambda e: [predict.best_code_size(95, c, kappa=0.0914) for c in (1, 10)],
    "ch5.ex56_opt_kappa0.4011": lambda e: [predict.best_code_size(95, c, kappa=0.4011) for c in (1, 10)],
    "ch5.ex58_ES_a1_g1": lambda e: limits.linear_density_mean(1, 1),
    "ch5.ex58_ES_a1_g2": lambda e: limits.linear_density_mean(1, 2),
    "ch5.ex58_ES_a2_g1.5": lambda e: limits.linear_density_mean(2, 1.5),
    "ch5.ex58_argmax_g2": lambda e: float(LINEAR2.x),
    "ch5.ex58_max_g2": lambda e: -float(LINEAR2.fun),
    "ch5.prop511_V_a0.5_g1": lambda e: limits.linear_density_variance(0.5, 1),
    "ch5.prop511_V_a1_g2": lambda e: limits.linear_density_variance(1, 2),
    "ch5.prop511_V_a2_g1": lambda e: limits.linear_density_variance(2, 1),
    "ch5.zeta_300_95": lambda e: value(predict.no_singleton(95, 300)),
    "ch5.pmf_u_12_8": lambda e: predict.singletons(8, 12).pmf().tolist(),
    "ch5.pmf_agepyr_95_at": lambda e: {s: float(predict.singletons(pyramid(), 95).pmf()[int(s)]) for s in e},
    "ch5.normal_approx_maxerr_agepyr_95": normal_gap,
    "ch5.gamma_approx_sum_from_0": lambda e: sum(predict.groups_from_kappa(0.1, 1000, 700, j)[1].value for j in range(40)),
    "ch5.gamma_approx_sum_from_1": lambda e: sum(predict.groups_from_kappa(0.1, 1000, 700, j)[1].value for j in range(1, 40)),
    "ch5.prop59_check": lambda e: {"exact": predict.singletons(two_group(20), 20).variance.value},
    "ch5.prop59_sim_var": lambda e: predict.singletons(two_group(20), 20).variance.value,
    "ch5.var_age0-79_k40": lambda e: {
        "exact": predict.singletons(pyramid(80), 40).variance.value,
        "corrected_kappa": value(variance_from_kappa(pyramid(80).kappa, 80, 40, limit=True)),
        "simulated": predict.singletons(pyramid(80), 40).variance.value,
    },
}


# --- document 000, chapter 6 and appendix B --------------------------------------------------------------------------------


def rounded_mean(law: Any, width: float, k: int, method: str) -> float:
    e = predict.interval_singletons(law, width, k, method=method)
    return e.value if method in ("exact", "integral") else raw(e)


def normal_case(sd: float, k: int, width: float) -> Callable[[Any], Any]:
    law = stats.norm(scale=sd)
    return lambda e: {
        "exact": rounded_mean(law, width, k, "exact"),
        "O1": rounded_mean(law, width, k, "first"),
        "O2": rounded_mean(law, width, k, "second"),
        "integral": rounded_mean(law, width, k, "integral"),
    }


def exponential_case(k: int, rate: float, width: float) -> Callable[[Any], Any]:
    law = stats.expon(scale=1 / rate)
    return lambda e: {"exact": rounded_mean(law, width, k, "exact"), "corrected_O2": rounded_mean(law, width, k, "second")}


def bivariate_case(k: int, widths: tuple[float, float], sds: tuple[float, float] = (5.289, 4.83), rho: float = 0.5028) -> Any:
    cov = [[sds[0] ** 2, rho * sds[0] * sds[1]], [rho * sds[0] * sds[1], sds[1] ** 2]]

    def compute(e: Any) -> dict[str, float]:
        out = {
            "exact": predict.singletons(predict.bivariate_normal(sds, rho, widths), k).mean.value,
            "O1": raw(limits.normal_expansion(cov, widths, k, order=1)),
        }
        return out | ({"O2": raw(limits.normal_expansion(cov, widths, k, order=2))} if "O2" in e else {})

    return compute


for who, sd in (("weight", 5.289), ("height", 4.83)):
    for k, w in ((5, 1), (10, 0.5), (10, 1), (10, 2), (20, 1), (40, 1), (10, 5)):
        C000[f"ch6.normal_{who}_k{k}_D{w:g}"] = normal_case(sd, k, w)
for k, r, w in ((5, 1.0, 0.1), (10, 1.0, 0.05), (10, 0.5, 1.0), (20, 1.0, 0.01)):
    C000[f"ch6.exp_k{k}_lam{r}_D{w}"] = exponential_case(k, r, w)
for k, a, w in ((10, 365, 1), (20, 365, 7.3), (30, 100, 5)):
    C000[f"ch6.uniform_k{k}_A{a}_D{w:g}"] = lambda e, k=k, a=a, w=w: [
        rounded_mean(stats.uniform(0, a), w, k, "exact"),
        rounded_mean(stats.uniform(0, a), w, k, "second"),
    ]
for k, w, h in ((10, 1, 1), (10, 2, 2), (20, 1, 1), (40, 1, 1), (10, 5, 5), (10, 1, 5)):
    C000[f"ch6.bvn_k{k}_Dw{w}_Dh{h}"] = bivariate_case(k, (w, h))
for rho in ("0", "0.5", "0.9", "0.99"):
    C000[f"ch6.bvn_unit_rho{rho}_D0.2_k10"] = bivariate_case(10, (0.2, 0.2), (1, 1), float(rho))
for k in (2, 5, 10):
    C000[f"ch6.var_const_k{k}"] = lambda e, k=k: limits.variance_expansion(1.0, 1.0, k)
NORMAL = stats.norm()
SIGMA = 5.66516167783795
C000 |= {
    "ch6.uniform_noninteger": lambda e: rounded_mean(stats.uniform(0, 10), 3, 5, "exact"),
    "ch6.exp_k80_lam1_D1": lambda e: rounded_mean(stats.expon(), 1, 80, "exact"),
    "ch6.phase_range_weight_k10_D5": lambda e: [
        f(predict.interval_singletons(stats.norm(scale=5.289), 5, 10, origin=o).value for o in np.linspace(0, 5, 41))
        for f in (min, max)
    ],
    "ch6.int_f2_sigma1": lambda e: density_integral(NORMAL, 2),
    "ch6.int_f3_sigma1": lambda e: density_integral(NORMAL, 3),
    "ch6.phi_norm_sigma1_D0.01_k6": lambda e: {
        "exact": [predict.singletons(predict.rounded(NORMAL, 0.01), 6).in_groups_of(j).value for j in (1, 2, 3, 4)],
        "approx": list(limits.groups_expansion(density_integral(NORMAL, 2), density_integral(NORMAL, 3), 0.01, 6)),
    },
    "ch6.mvn_int_f2_d3": lambda e: limits.normal_power_integral([[1, 0.3, 0.2], [0.3, 2, 0.5], [0.2, 0.5, 1.5]], 2),
    "ch6.rule_sigma_linear": lambda e: predict.sd_from_singletons(8, 10, 0.5, method="first"),
    "ch6.rule_sigma_quadratic": lambda e: predict.sd_from_singletons(8, 10, 0.5, method="second"),
    "ch6.rule_sigma_exact": lambda e: predict.sd_from_singletons(8, 10, 0.5),
    "ch6.rule_doubling": lambda e: {
        "linear": rounded_mean(stats.norm(scale=6.347132814912259), 1.0, 10, "first"),
        "exact_at_exact_sigma": rounded_mean(stats.norm(scale=SIGMA), 1.0, 10, "exact"),
    },
    "ch6.rule_halving": lambda e: {
        "linear": rounded_mean(stats.norm(scale=6.347132814912259), 0.25, 10, "first"),
        "exact_at_exact_sigma": rounded_mean(stats.norm(scale=SIGMA), 0.25, 10, "exact"),
    },
    "ch6.ES_at_sigma6.6": lambda e: {
        "linear": rounded_mean(stats.norm(scale=6.6), 0.5, 10, "first"),
        "exact": rounded_mean(stats.norm(scale=6.6), 0.5, 10, "exact"),
    },
    "ch6.exp_slope_k10": lambda e: (10 - rounded_mean(stats.expon(), 1e-5, 10, "exact")) / 1e-5,
    "ch6.phi_kappa_amsterdam": lambda e: {
        k: [predict.groups_from_kappa(0.086, 80, int(k), j)[0].value for j in (1, 2, 3)] for k in e
    },
    "ch6.phi_kappa_overbetuwe": lambda e: {
        k: [predict.groups_from_kappa(0.055, 80, int(k), j)[0].value for j in (1, 2, 3)] for k in e
    },
    "appB.chain_printed_factors": lambda e: list(
        predict.degradation(16e6, [1 / x for x in (3.33, 1.26, 3, 2.7, 2.3, 50_000)]).chain
    ),
    "appB.chain_exact_shares": lambda e: list(predict.degradation(16e6, [0.30, 0.79, 0.33, 0.37, 0.44, 0.00002]).chain),
    "appB.immigrant_branch": lambda e: predict.degradation(16e6, [0.30, 0.21]).chain[-1],
    "appB.frechet_upper": lambda e: predict.degradation(16e6, [0.30, 0.79, 0.33, 0.37, 0.44, 0.00002]).crowd.high,
    "appB.frechet_lower": lambda e: predict.degradation(16e6, [0.30, 0.79, 0.33, 0.37, 0.44, 0.00002]).crowd.low,
}
NOT_000 = {
    "appA.": "counts how much of the printed table was legible; the table itself is test_predict_no_singleton_table",
    "ch2.": "posterior anonymity: measures room",
    "ch3.": "empirical tables of the thesis: measures room",
    "appB.table": "totals of printed tables",
    "appB.ameland": "difference of two printed totals",
    "ch4.ratio_e^-5.8": "a ratio quoted in the text, no function",
    "ch4.naive_factor": "a ratio quoted in the text, no function",
    "ch4.printed_form_twogroup": "value of a misprint",
    "ch5.square_term_kappa_coef": "a formula in words",
    "ch5.remark54_max_value": "a formula in words",
    "ch5.remark54_local_max": "a condition on a derivative; the unit tests check both sides of it",
    "ch5.ex56_interior_exists_iff_C_lt": "tested as the error of best_code_size in the unit tests",
    "ch5.zeta_polys": "formulas in words; tested in test_predict_no_singleton_table",
    "ch6.kappa_": "printed inputs",
}

# --- document 001 -----------------------------------------------------------------------------------------------------------


def budget_case(k: int, beta: float) -> Callable[[Any], Any]:
    def compute(e: Any) -> dict[str, float]:
        c, x = predict.people_per_cell(k, beta, bound="chernoff"), predict.people_per_cell(k, beta)
        return {"chernoff_n_over_D": c, "exact_poisson_n_over_D": x, "c_chernoff": 1 - k / c, "c_exact": 1 - k / x}

    return compute


def split_case(w: list[float], caps: list[int], cells: int) -> Callable[[Any], Any]:
    return lambda e: {
        "real": predict.split(w, caps, cells).tolist(),
        "greedy_cost": limits.split_cost(w, predict.greedy_split(w, caps, cells)),
        "optimal_cost": limits.split_cost(w, predict.integer_split(w, caps, cells)),
    }


C001: dict[str, Callable[[Any], Any]] = {
    "fig1": lambda e: {r: unique_share_limit(float(r)) for r in e},
    "fig1_slope_at_1": lambda e: (unique_share_limit(1 + 1e-7) - unique_share_limit(1 - 1e-7)) / 2e-7,
    "thm3_threshold": lambda e: {a: predict.needed_combinations(float(a)) for a in e},
    "ex2_D": lambda e: [
        predict.quasi_test([2, 20000, 100000], 10).combinations,
        predict.quasi_test([2, 20000, 10000], 10).combinations,
        predict.quasi_test([2, 21900, 100000], 10).combinations,
        predict.quasi_test([2, 21900, 10000], 10).combinations,
    ],
    "ex3_fraction": lambda e: unique_share_limit(4e9 / 3e8),
    "ex3_fraction_unrounded": lambda e: unique_share_limit(4.38e9 / 3e8),
    "mcdiarmid_n32561_eps0.01": lambda e: limits.excess_probability(32561, 0.01),
    "thm4_exact_binomial_D_k100_beta.1_n3e8": lambda e: predict.cell_budget(300_000_000, 100, 0.1).cells,
    "thm4_chernoff_D_k100_beta.1_n3e8": lambda e: predict.cell_budget(300_000_000, 100, 0.1, bound="chernoff").cells,
    "thm4_actual_beta_at_n_over_125": lambda e: float(predict.cell_failure(2**52, 100, 125 / 2**52)),
    "thm4_chernoff_beta_at_n_over_125": lambda e: predict.chernoff_failure(125, 100),
    "thm4_small_n_exact_D": lambda e: {
        "n1000_k5_b.1": predict.cell_budget(1000, 5, 0.1).cells,
        "n1000_k5_b.1_chernoff": predict.cell_budget(1000, 5, 0.1, bound="chernoff").cells,
        "n32561_k10_b.05": predict.cell_budget(32561, 10, 0.05).cells,
        "n32561_k10_b.05_chernoff": predict.cell_budget(32561, 10, 0.05, bound="chernoff").cells,
    },
    "thm4_member_view_mu_k100_beta.1": lambda e: predict.people_per_cell(100, 0.1, member=True),
    "thm4_all_cells_bonferroni_k100_beta.1_n3e8": lambda e: (
        predict.cell_budget(300_000_000, 100, 0.1, all_cells=True).people_per_cell
    ),
    "ex7_step1": lambda e: float(predict.split([1, 1, 1], [1e9] * 3, 2.4e6)[0]),
    "ex7_step2": lambda e: float(predict.split([1, 1], [1e9] * 2, 1.2e6)[0]),
    "ex7_alloc": lambda e: predict.split([1, 1, 1], [2, 21900, 1e5], 2.4e6).tolist(),
    "alloc_w124": lambda e: predict.split([1, 2, 4], [2, 21900, 1e5], 2.4e6).tolist(),
    "alloc_lower_clamp": lambda e: {"clamped": predict.split([0.001, 1, 1], [100, 1000, 1000], 1e4).tolist()},
    "alloc_int_[1, 1, 1]_[2, 60, 100]_2400": split_case([1, 1, 1], [2, 60, 100], 2400),
    "alloc_int_[1, 2, 3]_[10, 50, 100]_3000": split_case([1, 2, 3], [10, 50, 100], 3000),
    "alloc_int_[1, 1, 1, 1]_[5, 7, 20, 30]_500": split_case([1, 1, 1, 1], [5, 7, 20, 30], 500),
    "curse_25cols": lambda e: {
        "no_c": float(predict.split([1.0] * 25, [1e9] * 25, 3e7)[0]),
        "with_chernoff_beta.1": float(
            predict.split([1.0] * 25, [1e9] * 25, 3e8 / predict.people_per_cell(10, 0.1, bound="chernoff"))[0]
        ),
    },
    "ex8": lambda e: {"D_chernoff_beta.1": 3e8 / predict.people_per_cell(20000, 0.1, bound="chernoff")},
    "fig3_rows": lambda e: [{"F2": unique_share_limit(row["D"] / 3e8), "kAnon": max(1.0, 3e8 / row["D"])} for row in e],
}
for n, d in ((2, 2), (10, 5), (10, 10), (100, 100), (100, 400), (1000, 500)):
    C001[f"thm12_n{n}_D{d}"] = lambda e, n=n, d=d: {
        "exact_bound": n * predict.unique_share_bound(d, n).value,
        "paper_bound": n * unique_share_limit(d / n),
    }
for k, beta in ((100, 0.1), (10, 0.1), (20000, 0.1), (5, 0.05), (2, 0.01), (100, 0.01), (50, 0.001)):
    C001[f"thm4_k{k}_beta{beta}"] = budget_case(k, beta)
NOT_001 = {
    "ex4_fraction": "its inputs are in no document here",
    "ex3_printed": "value of a misprint",
    "ex6": "arithmetic of the source's example",
    "ex7_generalised_product": "arithmetic of the source's example",
    "fig3_F1": "a list of rows of a printed figure",
    "fig3_F2": "a list of rows of a printed figure",
    "dp_": "one-dimensional grouping: transform room",
    "ex11": "rank difference: transform room",
    "quantile": "quantile transformation: transform room",
    "rankdiff": "a formula in words",
    "dkw": "quantile sampling: transform room",
    "example_5th": "quantile sampling: transform room",
    "utility": "utility curve: search room",
    "tradeoff": "utility curve: search room",
    "adult_": "counts on Adult: measures room",
}

# --- document 004 -----------------------------------------------------------------------------------------------------------

FIT = Zipf(0.6328258166798908, D_KANTO, "continuous")
LAWS: dict[str, tuple[Zipf, float | None]] = {
    "c=.632 norm": (KANTO_C, None),
    "fit": (FIT, None),
    "inferred": (Zipf(0.6325302113283274, D_KANTO, "continuous"), 0.021881000318828878),
    "printed .092,.632": (KANTO_C, 0.092),
    "c=.58 norm": (Zipf(0.58, D_KANTO, "continuous"), None),
}


def below(z: Zipf, s: int, rank: float | None = None) -> float:
    return predict.share_below(z, predict.threshold_rank(z, N_KANTO, s) if rank is None else rank, s).value


C004: dict[str, Callable[[Any], Any]] = {
    "uniform_s": lambda e: predict.uniform_records(D_KANTO, N_KANTO),
    "uniform_unique_fraction_at_s=log_d_n": lambda e: limits.uniform_share(
        D_KANTO, N_KANTO, predict.uniform_records(D_KANTO, N_KANTO)
    ),
    "uniform_logP_all_unique": lambda e: {
        s: predict.uniqueness(
            Distribution(np.array([2497.0 ** -int(s)]), np.array([2497.0 ** int(s)]), 2497 ** int(s)),
            N_KANTO,
            method="collisions",
        ).log_value
        for s in e
    },
    "uniform_s_all_unique_half": lambda e: predict.uniform_records(D_KANTO, N_KANTO, goal="all", level=0.5),
    "uniform_s_95pct_unique": lambda e: predict.uniform_records(D_KANTO, N_KANTO, goal="share", level=0.95),
    "uniform_s_k2_max": lambda e: predict.uniform_records(D_KANTO, N_KANTO, goal="k", k=2),
    "a_for_c0.632": lambda e: KANTO_C.a,
    "a_for_c0.580": lambda e: Zipf(0.58, D_KANTO, "continuous").a,
    "a_discrete_c0.632": lambda e: KANTO.a,
    "a_discrete_c0.580": lambda e: Zipf(0.58, D_KANTO).a,
    "c_fit_norm": lambda e: optimize.brentq(
        lambda c: predict.threshold_rank(Zipf(c, D_KANTO, "continuous"), N_KANTO, 1) - 915_199_427, 0.5, 0.8, xtol=1e-13
    ),
    "disc_xstar[c=.632]": lambda e: [predict.threshold_rank(KANTO, N_KANTO, s) for s in (1, 2, 3)],
    "disc_ratio[c=.632]": lambda e: [below(KANTO, s) for s in (1, 2, 3)],
    "disc_xstar[fit]": lambda e: [predict.threshold_rank(Zipf(FIT.c, D_KANTO), N_KANTO, s) for s in (1, 2, 3)],
    "disc_ratio[fit]": lambda e: [below(Zipf(FIT.c, D_KANTO), s) for s in (1, 2, 3)],
    "direct_unique_s2_c.632": lambda e: predict.expected_share(KANTO, N_KANTO, 2).value,
    "small_mc": lambda e: {
        "sim": predict.expected_share(Zipf(0.632, 30), 2000, 2).value,
        "exact_expected_unique": predict.expected_share(Zipf(0.632, 30), 2000, 2).value,
        "hard_threshold_ratio": limits.hard_threshold_share([Zipf(0.632, 30), Zipf(0.632, 30)], 2000),
    },
    "thm34": lambda e: {"c12": limits.joint_exponent(0.4, 100, 1.0, 50)},
    "multi_attr_exact": lambda e: [
        limits.hard_threshold_share([Zipf(0.4, 100), Zipf(1.0, 50)], 100_000),
        predict.expected_share([Zipf(0.4, 100), Zipf(1.0, 50)], 100_000).value,
    ],
    "zipf_lsq_top3": lambda e: {
        "c": predict.fit_zipf([751018, 550350, 415908], method="least-squares").c,
        "a": predict.fit_zipf([751018, 550350, 415908], method="least-squares").first,
    },
    "zipf_model_values": lambda e: {x: predict.ZipfFit(0.58, 794132.0, 100, 1.0, 0.0, "given").count(int(x)) for x in e},
    "kappa_zipf_c.632_d2497": lambda e: KANTO.distribution.kappa,
    "H_zipf_bits": lambda e: KANTO.distribution.entropy / math.log(2),
    "pseudonym_life": lambda e: {t: predict.pseudonym_life(KANTO, N_KANTO, float(t.removeprefix("tau="))) for t in e},
    "table2_ratio_s2_cont_at_printed_xstar": lambda e: below(KANTO_C, 2, 2_173_909),
    "table2_ratio_s2_disc_at_printed_xstar": lambda e: below(KANTO, 2, 2_173_909),
    "table2_ratio_s3_disc_at_printed_xstar": lambda e: below(KANTO, 3, 5_164),
    "table2_ratio_s3_cont_at_printed_xstar": lambda e: below(KANTO_C, 3, 5_164),
    "continuous_a_is_not_a_pmf": lambda e: KANTO_C.a / KANTO.a,
    "ratio_general_test": lambda e: {
        f"s{s}": predict.share_below(Zipf(0.7, 50, "continuous"), 1000, s).value for s in (1, 2, 3, 4)
    },
    "xstar_k10": lambda e: [predict.threshold_rank(KANTO_C, N_KANTO, s, k=10) for s in range(1, 6)],
    "ratio_cont_own_xstar_c.632": lambda e: [below(KANTO_C, s) for s in (1, 2, 3, 4)],
}
for s in (1, 2, 3, 4, 5):
    C004[f"uniform_unique_fraction_s{s}"] = lambda e, s=s: limits.uniform_share(D_KANTO, N_KANTO, s)
for label, (law, a) in LAWS.items():
    C004[f"xstar[{label}]"] = lambda e, z=law, a=a: [predict.threshold_rank(z, N_KANTO, s, a=a) for s in range(1, 6)]
    C004[f"meanrank[{label}]"] = lambda e, z=law, a=a: [predict.mean_rank(z, N_KANTO, s, a=a) for s in range(1, 6)]
for s in (1, 2, 3, 4):
    C004[f"ratio_cont_s{s}"] = lambda e, s=s: below(FIT, s)
    C004[f"true_unique_fraction_s{s}_c.632"] = lambda e, s=s: predict.expected_share(KANTO, N_KANTO, s).value
    C004[f"true_below10_fraction_s{s}_c.632"] = lambda e, s=s: predict.expected_share(KANTO, N_KANTO, s, k=10).value
NOT_004 = {
    "table2_inferred": "two equations solved for a printed table; used as input of xstar[inferred]",
    "meanrank_printed_formula": "value of a misprint",
    "ratio2_printed_sign": "value of a misprint",
    "thm33": "a claimed bound that does not hold; Shoal has no such function",
    "zipf_fit_synthetic": "one simulated sample; the fit has its own seeded test",
    "pairs_z": "counts of factorisations, no function",
}

# --- stronger ---------------------------------------------------------------------------------------------------------------


def truncated_saddlepoint(s: np.ndarray, k: int) -> float | None:
    """METHODS' series, which Shoal does not use: ln of k! e^K / (z^k sqrt(2 pi v)) at the first z with z K'(z) = k, if any."""
    r = np.arange(1, s.size + 1)
    sign = np.where(r % 2 == 1, 1.0, -1.0)

    def slope(z: float) -> float:  # z K'(z)
        return float((sign * s * z**r).sum())

    def spread(z: float) -> float:  # z K' + z² K''
        return float((sign * r * s * z**r).sum())

    z = 0.0
    step = k / 64
    while slope(z + step) < k:
        z += step
        if spread(z) <= 0 or z > 64 * k:
            return None
    low, high = z, z + step
    for _ in range(80):
        z = 0.5 * (low + high)
        low, high = (z, high) if slope(z) < k else (low, z)
    v = spread(z)
    if v <= 0:
        return None
    cumulant = float((sign * s * z**r / r).sum())
    return math.lgamma(k + 1) + cumulant - k * math.log(z) - 0.5 * math.log(2 * math.pi * v)


def from_moments(expected: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for entry, row in expected.items():
        d, k = named(entry)
        exact = predict.uniqueness(d, k)
        ratios = {"A2": math.exp(predict.uniqueness(d, k, method="kappa").log_value - exact.log_value)}
        for m in (2, 3, 4, 6):
            log_value = truncated_saddlepoint(np.array([1.0, *(d.power_sum(r) for r in range(2, m + 1))]), k)
            ratios[f"m{m}"] = None if log_value is None else math.exp(log_value - exact.log_value)
        out[entry] = ratios | {"k_pmax": k * d.p_max, "exact": exact.value}
        assert set(out[entry]) == set(row)
    return out


def base_comparison(expected: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for entry in expected:
        d, k = named(entry)
        exact, a = predict.singletons(d, k).mean.value, k / d.cells
        flat = predict.singletons(d.cells, k).mean.value
        out[entry] = {
            "exact": exact,
            "eq5.4": k * math.exp(-a) * (1 + a * (a - 2) * d.kappa) / exact,
            "exact-base kappa": flat * (1 + a * (a - 2) * d.kappa) / exact,
            "uniform": flat / exact,
        }
        if k <= d.cells:  # the public function clamps to [0, k], and to what is possible
            found, formula = singletons_from_kappa(d.kappa, d.cells, k), out[entry]["exact-base kappa"] * exact
            possible = found.low * (1 - 1e-9) <= formula <= found.high * (1 + 1e-9)
            assert found.value == pytest.approx(formula, rel=1e-9) if possible else any("formula" in n for n in found.notes)
    return out


def same_kappa(e: Any) -> dict[str, float]:
    r = optimize.brentq(lambda r: geometric(r).kappa - 0.2, 0.9, 0.9999, xtol=1e-14)

    def spike(x: float) -> Distribution:
        return Distribution.of(np.append(np.full(94, (1 - x) / 94), x))

    x = optimize.brentq(lambda x: spike(x).kappa - 0.2, 0.02, 0.5, xtol=1e-15)
    return {
        "pi_geom_k20": predict.uniqueness(geometric(r), 20).value,
        "pi_spike_k20": predict.uniqueness(spike(x), 20).value,
        "ES_geom_k95": predict.singletons(geometric(r), 95).mean.value,
        "ES_spike_k95": predict.singletons(spike(x), 95).mean.value,
        "A2": predict.uniqueness_from_kappa(0.2, 95, 20).value,
    }


def saddles(expected: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for entry in expected:
        d, k = named(entry)
        exact = predict.no_singleton(d, k)
        out[entry] = {
            "exact": exact.value,
            "saddle/exact": predict.no_singleton(d, k, method="saddlepoint").value / exact.value,
            "poisson/exact": predict.no_singleton(d, k, method="poisson").value / exact.value,
        }
    return out


SAMPLE = {1: 120, 2: 25, 3: 10, 4: 6, 5: 3, 8: 2, 15: 1, 30: 1}


def estimators(e: Any) -> dict[str, Any]:
    r = predict.population(SAMPLE, 5000)
    fit = r.model("pitman").parameters
    return {
        "n": r.sample_size,
        "u": r.classes,
        "n1": r.sample_uniques,
        "zayatz": r.model("zayatz").uniques,
        "ewens": r.model("ewens").uniques,
        "pitman_alpha_theta": [fit["alpha"], fit["theta"]],
        "pitman": r.model("pitman").uniques,
        "snb": r.model("snb").uniques,
        "dis_theta": value(r.match),
        "goodturing_unseen_mass": r.unseen_mass,
        "dankar": value(r.uniques),
    }


COPULA = ([0.5, 0.3, 0.2], [0.6, 0.4])
STRONGER: dict[str, Callable[[Any], Any]] = {
    "kappa_plugin_bias": lambda e: {
        "predicted": pyramid().kappa + 94 / 4000,
        "kappa": predict.corrected_kappa(e["predicted"], 95, 2000),
    },
    "PS0_saddle": saddles,
    "rocher_correctness_n10_p0.1": lambda e: predict.person(0.1, 10).match.value,
    "rocher_uniqueness_n10_p0.1": lambda e: predict.person(0.1, 10).unique.value,
    "rocher_correctness_n1000_p0.002": lambda e: predict.person(0.002, 1000).match.value,
    "rocher_uniqueness_n1000_p0.002": lambda e: predict.person(0.002, 1000).unique.value,
    "gaussian_copula_cells": lambda e: predict.gaussian_copula(COPULA, 0.5).tolist(),
    "gaussian_copula_uniqueness_n10": lambda e: predict.population_uniqueness(predict.gaussian_copula(COPULA, 0.5), 10),
    "gaussian_copula_MI_nats": lambda e: predict.mutual_information(predict.gaussian_copula(COPULA, 0.5)),
    "estimators_reference": estimators,
    "ewens_uniques_formula": lambda e: ewens_uniques(25, 1000),
    "pitman_uniques_formula": lambda e: pitman_uniques(0.4, 25, 1000),
    "pitman_uniques_sim": lambda e: pitman_uniques(0.4, 25, 1000),
    "benedetti_franconi_f1_pi0.01": lambda e: predict.sample_unique_risk(0.01),
    "benedetti_franconi_f1_pi0.1": lambda e: predict.sample_unique_risk(0.1),
    "benedetti_franconi_f1_pi0.5": lambda e: predict.sample_unique_risk(0.5),
    "poisson_gamma_uniques": lambda e: poisson_gamma_uniques(1000, 0.002, 5000),
    "individual_unique_prob": lambda e: {i: predict.person(float(pyramid().p[int(i)]), 40).unique.value for i in e},
    "individual_expected_set": lambda e: {i: predict.person(float(pyramid().p[int(i)]), 40).crowd.value for i in e},
    "PS0_groups_k20": lambda e: value(predict.no_singleton(two_group(20), 20)),
    "PS0_groups_k40": lambda e: value(predict.no_singleton(two_group(20), 40)),
    "PS0_groups_k60": lambda e: value(predict.no_singleton(two_group(20), 60)),
    "pi_from_moments": from_moments,
    "ES_base_comparison": base_comparison,
    "kappa_not_sufficient": same_kappa,
}
NOT_STRONGER = {
    "repository_differencing": "registry room",
    "population_uniqueness_study": "one simulated population each, without class sizes; test_predict_data simulates its own",
    "time ": "timings: benchmarks/predict_exact",
}

COVERED = {"000": C000, "001": C001, "004": C004, "stronger": STRONGER}
EXCLUDED = {"000": NOT_000, "001": NOT_001, "004": NOT_004, "stronger": NOT_STRONGER}
LOOSE = {
    # (group, key): the tolerance used where the file's own cannot be met by a computation of this kind
    ("001", "fig1_slope_at_1"): 1e-7,  # a difference quotient
}


def compare(got: Any, want: Any, atol: float, rtol: float, where: str) -> None:
    if isinstance(got, dict):
        for key, item in got.items():
            compare(item, want[key], atol, rtol, f"{where}/{key}")
    elif isinstance(got, (list, tuple)):
        assert isinstance(want, list), where
        assert len(got) == len(want), where
        for i, item in enumerate(got):
            compare(item, want[i], atol, rtol, f"{where}/{i}")
    elif want is None:
        assert got is None, where
    else:
        assert got == pytest.approx(want, abs=atol, rel=rtol), where


@pytest.mark.parametrize(("group", "key"), [(g, k) for g, keys in COVERED.items() for k in keys])
def test_reference_value(reference: dict[str, Any], group: str, key: str) -> None:
    entry = reference[group][key]
    atol, rtol = entry.get("atol") or 0.0, entry.get("rtol") or 0.0
    got = COVERED[group][key](entry["value"])
    rtol = max(rtol, LOOSE.get((group, key), 0.0), 1e-9 if atol == 0 else 0.0)
    atol = max(atol, 1e-14)  # zero is computed as 1e-16 here and there
    compare(got, entry["value"], atol, rtol, key)


@pytest.mark.parametrize("group", list(COVERED))
def test_every_reference_value_is_covered_or_named_as_not_ours(reference: dict[str, Any], group: str) -> None:
    left = [k for k in reference[group] if k not in COVERED[group] and not any(k.startswith(x) for x in EXCLUDED[group])]
    assert left == []
    unused = [x for x in EXCLUDED[group] if not any(k.startswith(x) for k in reference[group])]
    assert unused == []
