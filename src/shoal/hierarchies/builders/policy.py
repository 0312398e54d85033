"""Hierarchies as policies write them.

age:     {hierarchy: {intervals: [5, 10, 20], top: 90}}
income:  {hierarchy: {quantiles: [20, 10, 5]}}
born:    {hierarchy: {dates: [month, year, decade]}}     or {ages: [5, 10, 20], at: 2024-12-31, top: 90}
zip:     {hierarchy: zip.csv}                            or {postcode: US, population: zips.csv}, {mask: right}
icd:     {hierarchy: {diagnosis: icd10}}                 or {prefix: icd10}, {prefix: [3, 1]}
pain:    {hierarchy: {order: [none, low, high]}}         neighbours join neighbours
job:     {hierarchy: {frequency: [10, 100]}}
country: {hierarchy: {tree: {Europe: [NL, BE], Asia: [JP]}}}     or {groups: …}, {tree: parents.csv}
sex:     {}                                              a hierarchy is built from the data
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError, PolicyError, suggest
from shoal.hierarchies.builders.categories import FrequencyMerge, Ordered
from shoal.hierarchies.builders.codes import Diagnosis, Flat, Mask, PrefixCode
from shoal.hierarchies.builders.dates import Ages, Dates
from shoal.hierarchies.builders.explicit import FromTree, read_arx
from shoal.hierarchies.builders.infer import Infer
from shoal.hierarchies.builders.numbers import Intervals, Quantiles
from shoal.hierarchies.builders.postcodes import SMALL_ZIP3, Postcode, small_zip3
from shoal.hierarchies.rule import Rule, rule_from_json

_FILES = (".csv", ".tsv", ".txt")


def from_policy(spec: Mapping[str, Any] | str | Path | Rule | None, base_folder: str | Path = ".") -> Rule:
    """The rule that a policy asks for: by what stands behind the column's name, or behind ``hierarchy:``.

    Empty: the hierarchy is built from the data. File names are relative to ``base_folder``.

    >>> from_policy({"hierarchy": {"intervals": [5, 10, 20], "top": 90}, "weight": 2}) == Intervals((5, 10, 20), top=90)
    True
    >>> from_policy({}).kind, from_policy({"prefix": "icd10"}).keep
    ('infer', (3, 1))
    """
    if isinstance(spec, Rule):
        return spec
    if isinstance(spec, Mapping) and "hierarchy" in spec:
        return from_policy(spec["hierarchy"], base_folder)
    folder = Path(base_folder)
    if isinstance(spec, (str, Path)):
        return _build_named(str(spec), folder)
    settings = {} if spec is None else {k: v for k, v in spec.items() if k not in ("weight", "why")}
    if not settings:
        return Infer()
    if "kind" in settings:
        return rule_from_json(settings)
    return _build(settings, folder)


def _build_named(word: str, folder: Path) -> Rule:
    if word.lower().endswith(_FILES):
        return read_arx(folder / word)
    simple: dict[str, Callable[[], Rule]] = {
        "infer": Infer,
        "flat": Flat,
        "dates": Dates,
        "mask": Mask,
        "quantiles": Quantiles,
        "frequency": FrequencyMerge,
    }
    if word in simple:
        return simple[word]()
    hint = f"Name a file that ends in .csv, or one of {', '.join(simple)}, or a builder."
    raise PolicyError(f"hierarchy '{word}' is not known.", hint=hint)


def _build(settings: dict[str, Any], folder: Path) -> Rule:
    builder = next((name for name in _BUILDERS if name in settings), None)
    if builder is None:
        word = str(next(iter(settings)))
        hint = f"Builders: {', '.join(_BUILDERS)}. {suggest(word, _BUILDERS)}".strip()
        raise PolicyError(f"hierarchy builder '{word}' is not known.", hint=hint)
    build, allowed = _BUILDERS[builder]
    options = {k: v for k, v in settings.items() if k != builder}
    unknown = sorted(str(k) for k in options if k not in allowed)
    if unknown:
        raise PolicyError(
            f"hierarchy builder '{builder}' does not know '{unknown[0]}'.",
            hint=f"It takes: {', '.join(allowed) or 'nothing more'}.",
        )
    try:
        return build(settings[builder], options, folder)
    except HierarchyError as wrong:
        if isinstance(what := settings[builder], (str, Path)) and str(what).lower().endswith(_FILES):  # what a file holds is data
            raise
        raise PolicyError(wrong.message, hint=wrong.hint) from None
    except (TypeError, ValueError) as wrong:
        if isinstance(wrong, PolicyError) or hasattr(wrong, "exit_code"):
            raise
        raise PolicyError(
            f"hierarchy builder '{builder}' has a setting of the wrong type.", hint="See the examples in the manual."
        ) from None


def _numbers(what: Any) -> tuple[Any, ...]:
    listed = what if isinstance(what, Sequence) and not isinstance(what, str) else (what,)
    for number in listed:
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise TypeError
    return tuple(listed)


def _words(what: Any) -> tuple[str, ...]:
    return (what,) if isinstance(what, str) else tuple(str(w) for w in what)


def _dates(what: Any, options: Mapping[str, Any], folder: Path) -> Rule:
    form = str(options.get("form", ""))
    return Dates(_words(what), form=form) if what else Dates(form=form)


def _ages(what: Any, options: Mapping[str, Any], folder: Path) -> Rule:
    if "at" not in options:
        raise PolicyError("age bands need the day at which people have that age.", hint="Add at: 2024-12-31.")
    rest = {k: v for k, v in options.items() if k != "at"}
    return Ages(str(options["at"]), _numbers(what), **rest)


def _mask(what: Any, options: Mapping[str, Any], folder: Path) -> Rule:
    if isinstance(what, Mapping):
        return _mask(what.get("side", "right"), {**what, **options}, folder)
    side = what if isinstance(what, str) else options.get("side", "right")
    if side not in ("right", "left"):
        raise PolicyError("a mask hides characters from the right or from the left.", hint="Write mask: right or mask: left.")
    keep = options.get("keep", () if isinstance(what, str) else what or ())
    return Mask(_numbers(keep), options.get("fill", "*"), "left" if side == "left" else "right")


def _postcode(what: Any, options: Mapping[str, Any], folder: Path) -> Rule:
    small: tuple[str, ...] = SMALL_ZIP3
    if "population" in options:
        small = small_zip3(folder / str(options["population"]), threshold=int(options.get("threshold", 20_000)))
    return Postcode(str(what), small, options.get("on_gap", "error"))


def _tree(what: Any, options: Mapping[str, Any], folder: Path) -> Rule:
    on_gap = options.get("on_gap", "error")
    if isinstance(what, str):
        return FromTree.from_file(folder / what, on_gap=on_gap)
    return FromTree.of(what, on_gap=on_gap)


_Builder = Callable[[Any, Mapping[str, Any], Path], Rule]
_BUILDERS: dict[str, tuple[_Builder, tuple[str, ...]]] = {  # what stands behind the name, the options beside it, the folder
    "intervals": (
        lambda what, options, _: Intervals(_numbers(what), **{k: _numbers(v)[0] for k, v in options.items()}),
        ("top", "bottom", "origin"),
    ),
    "dates": (_dates, ("form",)),
    "ages": (_ages, ("at", "top", "bottom")),
    "mask": (_mask, ("side", "keep", "fill")),
    "prefix": (
        lambda what, options, _: (
            PrefixCode.of(what) if isinstance(what, str) else PrefixCode(_numbers(what), options.get("fill", ""))
        ),
        ("fill",),
    ),
    "postcode": (_postcode, ("population", "threshold", "on_gap")),
    "diagnosis": (lambda what, options, _: Diagnosis(what, options.get("on_gap", "error")), ("on_gap",)),
    "order": (lambda what, *_: Ordered(_words(what)), ()),
    "frequency": (lambda what, options, _: FrequencyMerge(_numbers(what), str(options.get("other", "(other)"))), ("other",)),
    "quantiles": (lambda what, options, _: Quantiles(_numbers(what), int(options.get("min_count", 1))), ("min_count",)),
    "tree": (_tree, ("on_gap",)),
    "groups": (_tree, ("on_gap",)),
    "file": (lambda what, options, folder: read_arx(folder / str(what), on_gap=options.get("on_gap", "error")), ("on_gap",)),
}
