"""``attack``: a release folder from outside, with its files, a table that the attacker has, and earlier releases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.api.arguments import Names, Source, names, opened
from shoal.api.attack_external import HIDDEN, External, Family, arrow_of, known_people, texts_of, through_plan
from shoal.attacks import Scene, claimed, run_all, worst_first
from shoal.attacks.cells import MISSING, LinkedRows, Shown, both_releases, linked_by_cells
from shoal.attacks.composition import joined_records
from shoal.attacks.tables import continuous
from shoal.attacks.tables.exposed import LISTED, Exposure, exposed_people, listed_people
from shoal.attacks.tables.rows import Rows, closest_records, drawn, membership, order_of, overlaps, some_of
from shoal.comparison.columns import Coded, matched_rows, read_columns
from shoal.disk.atomic import write_private
from shoal.errors import DataError, UnreadableError, UsageError
from shoal.model.attack import VERDICTS, AttackReport, AttackResult
from shoal.model.certificate.certificate import NAME, PLAN, Certificate
from shoal.model.certificate.file import is_of_events, read_certificate, read_event_certificate
from shoal.model.counts.classes import FloatArray
from shoal.model.requirement import DistinctDiversity, K, Requirement
from shoal.release.earlier.same_labels import same_labels
from shoal.release.events.attacks import attack_folder
from shoal.release.linked.certificate import LinkedCertificate, read_linked
from shoal.release.linked.verify import linked_attacks
from shoal.release.make.release import Release
from shoal.release.plan.plan_json import read_plan

MOST_POOL, MOST_PEOPLE, TRIES, MOST_SECRETS = 10_000, 1_000, 500, 8
CONTINUOUS = 20
"""Different numbers from which a column is taken as continuous, where none is named."""
LEAST = 20
"""Records of each table below which nothing can be distinguished from chance."""


def attack_table(
    table: Source, original: Source, control: Source, *, secrets: Names | None = None, leave_out: str | None = None, seed: int = 0
) -> tuple[str, tuple[AttackResult, ...], list[Exposure]]:
    """Singling out, linkability, inference, closest records, copies, membership and exposed people, held against the control.

    ``original`` holds people that the table was made from, ``control`` people of the same kind that it was not made from. Both
    are drawn down to equally many, large tables to 10,000 records and 1,000 people. Columns are those that all three have;
    ``leave_out`` names people and tells nothing. A control group with people of the original is refused. The most exposed people
    are given by their rows in the original.
    """
    three = [opened(t) for t in (table, original, control)]
    shared = [n for n in three[0].schema.names if n != leave_out and all(n in t.schema for t in three[1:])]
    secret_columns = names(secrets)
    for name in secret_columns:
        for t in three:
            t.schema.require(name, what="secret")
    if not shared:
        raise DataError("the three tables have no column in common.", hint="Columns are matched by their names.")
    sides = [read_columns(t, shared) for t in three]
    for t, side in zip(three, sides, strict=True):
        n = len(side[shared[0]].codes)
        if n < LEAST:
            raise DataError(f"table '{t.name}' has {n} records; at least {LEAST} are needed.", hint="Use more records.")
    columns = _side_by_side(shared, sides)
    places = [order_of(r) for r in columns]
    rows = [r.take(order) for r, order in zip(columns, places, strict=True)]
    rng = np.random.default_rng(seed)
    pool = drawn(rows[0], MOST_POOL, rng)
    equal = min(rows[1].n, rows[2].n, MOST_POOL)
    some = some_of(rows[1].n, equal, rng)
    inside, outside = rows[1].take(some), drawn(rows[2], equal, rng)
    if overlaps(rows[1], rows[2]):
        what = "the control group holds people of the original, so no attack could do better on the original."
        raise DataError(what, hint="Name people that the table was not made from.")
    few = [drawn(r, MOST_PEOPLE, rng) for r in (inside, outside)]
    secret = [shared.index(s) for s in secret_columns] or list(range(len(shared)))[:MOST_SECRETS]
    results: list[AttackResult | None] = [
        continuous.singling_out(pool, inside, outside, tries=TRIES, rng=rng),
        continuous.linkability(pool, *few),
        continuous.inference(pool, few[0], few[1], shared, secret),
        *closest_records(drawn(pool, MOST_PEOPLE, rng), inside, outside, (rows[0], rows[1])),
        membership(pool, *few),
    ]
    exposed, listed = exposed_people(drawn(rows[0], MOST_POOL, rng), inside, outside, shared, rng)
    listed = [replace(e, row=int(places[1][some[e.row]])) for e in listed]
    return three[0].name, tuple(worst_first(r for r in (*results, exposed) if r is not None)), listed


def attack_numbers(
    table: Source, original: Source, key: str, *, numbers: Names | None = None, seed: int = 0
) -> tuple[str, tuple[AttackResult, ...], list[Exposure]]:
    """Interval disclosure, distance linkage and robust intervals of numbers, each record held against its own original.

    ``key`` names the same person in both tables. Without ``numbers`` the columns are those that hold numbers in both, at least
    :data:`CONTINUOUS` different ones. Records without one of them are left out; of large tables 10,000 are drawn.
    """
    published, people = opened(table), opened(original)
    for name in (key, *names(numbers)):
        for t in (published, people):
            t.schema.require(name, what="key" if name == key else "number")
    shared = names(numbers) or [n for n in people.schema.names if n in published.schema and n != key]
    before, after = read_columns(people, shared), read_columns(published, shared)
    use = [n for n in shared if before[n].numbers is not None and after[n].numbers is not None]
    if numbers is not None and len(use) < len(shared):
        lacking = next(n for n in shared if n not in use)
        raise DataError(f"column '{lacking}' does not hold numbers in both tables.", hint="Name columns of numbers.")
    if numbers is None:
        use = [n for n in use if len(before[n].texts) >= CONTINUOUS]
    if not use:
        raise DataError("the tables share no column of numbers.", hint="Name the columns: --numbers a,b.")
    here, there = matched_rows(people, published, key)
    x, y = (np.stack([_numbers(side[n])[rows] for n in use], axis=1) for side, rows in ((before, here), (after, there)))
    whole = np.isfinite(x).all(axis=1) & np.isfinite(y).all(axis=1)
    x, y, here = x[whole], y[whole], here[whole]
    varied = np.ptp(x, axis=0) > 0 if len(x) else np.zeros(len(use), dtype=bool)
    x, y = x[:, varied], y[:, varied]
    if len(x) < LEAST or len(x) <= 2 * x.shape[1] or not x.shape[1]:
        raise DataError(f"{len(x)} records have all numbers in both tables; more are needed.", hint="Name fewer columns.")
    order = np.lexsort((*y.T, *x.T))  # what is drawn depends on what the records hold, not on their order
    rng = np.random.default_rng(seed)
    if len(order) > MOST_POOL:
        order = order[np.sort(rng.choice(len(order), MOST_POOL, replace=False))]
    x, y, here = x[order], y[order], here[order]
    kept = [n for n, v in zip(use, varied, strict=True) if v]
    about = f"columns {', '.join(kept)}"
    results = (
        continuous.interval_disclosure(x, y, kept, rng),
        continuous.distance_linkage(x, y),
        continuous.robust_intervals(x, y, rng),
    )
    few, rows, ratios = continuous.unusual_linkage(x, y, rng)
    listed = listed_people([int(here[i]) for i in rows], ratios, [kept] * len(rows))
    return published.name, tuple(replace(r, worst=about) for r in (*results, few)), listed


def _numbers(column: Coded) -> FloatArray:
    """The number of each record; NaN where there is none."""
    known = column.numbers if column.numbers is not None else np.zeros(0)
    out: FloatArray = np.append(known, np.nan)[column.codes]
    return out


def _side_by_side(shared: Sequence[str], sides: Sequence[dict[str, Coded]]) -> list[Rows]:
    """The columns of all tables in one form: numbers over the range of all three, categories in one code."""
    columns: list[list[np.ndarray[tuple[int, ...], np.dtype[np.float64]] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]]]
    columns = [[] for _ in sides]
    for name in shared:
        three = [side[name] for side in sides]
        if all(c.numbers is not None or not c.texts for c in three):
            numbers = [_numbers(c) for c in three]
            known = np.concatenate([x[np.isfinite(x)] for x in numbers])
            low, wide = (float(known.min()), float(np.ptp(known))) if len(known) else (0.0, 0.0)
            for out, x in zip(columns, numbers, strict=True):
                out.append((x - low) / (wide or 1.0))
        else:
            place: dict[str, int] = {}
            for out, c in zip(columns, three, strict=True):
                code = np.array([place.setdefault(t, len(place)) for t in c.texts] + [-1], dtype=np.int64)
                out.append(code[c.codes])
    return [Rows(tuple(c)) for c in columns]


MOST_ROWS = 200_000
"""Published records up to which the cells of two releases are compared."""


def attack(
    folder: Source | Release,
    *,
    with_: Source | None = None,
    previous: str | Path | Sequence[str | Path] = (),
    original: Source | None = None,
    control: Source | None = None,
    secrets: Names | None = None,
    key: str | None = None,
    numbers: Names | None = None,
    hunt: bool = False,
    exposed: str | Path | None = None,
    seed: int = 0,
) -> AttackReport:
    """Run every attack that the folder, an external table and earlier releases allow; or attack any table beside its original.

    Parameters
    ----------
    folder : Release or path
        A release, or the folder that it was written to: data, plan.json, certificate.json. With ``original`` any table.
    with_ : Table, path, URL or frame, optional
        What the attacker has: people with their original quasi-identifiers, or some of them; of an event release a list of
        people, times and places. The published plan is applied to it, as an attacker would.
    previous : path or sequence of paths
        Folders of earlier releases about the same people.
    original, control : Table, path, URL or frame, optional
        Of any table (perturbed, synthetic): people that it was made from, and people of the same kind that it was not made from.
        What works on both groups is what the table tells about everybody; only what works better on the original counts.
    secrets : names of columns, optional
        With ``control``: the columns that inference tries to tell; the first eight without it.
    key : str, optional
        With ``original``: a column that names the same person in both tables. Then changed numbers are held against the person's
        own (interval disclosure, distance linkage, robust intervals), with or without a control group.
    numbers : names of columns, optional
        With ``key``: these columns, instead of all that hold at least twenty different numbers.
    hunt : bool
        With ``with_``: search for the fewest columns by which the attacker finds more than the release claims.
    exposed : path, optional
        With ``original``: a new private file (mode 600) with the rows of the ten most exposed people of the original.
    seed : int
        Of the attacks that draw at random.
    """
    if exposed is not None and original is None:
        raise UsageError("Exposed people are rows of the original.", hint="Name it: --original TABLE.")
    if exposed is not None and Path(exposed).exists():
        raise UsageError(f"'{Path(exposed).name}' exists already.", hint="Name a new file after --exposed.")
    if hunt and with_ is None:
        raise UsageError("A hunt needs the table that the attacker has.", hint="Name it: --with EXTERNAL.")
    if isinstance(folder, Release):  # its own attacks, or its table beside the original
        if with_ is not None or previous:
            hint = "Write it with release.write(DIR), then call shoal.attack(DIR, …)."
            raise UsageError("External tables and earlier releases are compared with a written release.", hint=hint)
        if all(given is None for given in (original, control, secrets, key, numbers)):
            return folder.attack()
        return _any_table(folder.to_arrow(), original, control, secrets, key, numbers, seed, exposed)
    if any(given is not None for given in (original, control, secrets, key, numbers)):
        if with_ is not None or previous:
            hint = "Leave --with and --previous out."
            raise UsageError("external tables and earlier releases belong to a release folder.", hint=hint)
        return _any_table(_data_of(folder), original, control, secrets, key, numbers, seed, exposed)
    if not isinstance(folder, str | Path):
        raise UsageError("a table is attacked beside its original and a control group.", hint="Pass original= and control=.")
    place = Path(folder)
    if not place.is_dir():
        raise UnreadableError(f"'{place.name}' is not a folder of a release.", hint="Name the folder given to --out.")
    linked = read_linked(place / NAME)
    if linked is not None:
        results = _of_linked(place, linked, with_, _folders(previous), seed, hunt=hunt)
        return AttackReport(place.name, one_list(linked_attacks(place, linked), results))
    if is_of_events(place):
        results = attack_folder(place, None if with_ is None else opened(with_), seed, earlier=_folders(previous), hunt=hunt)
        return AttackReport(place.name, one_list(read_event_certificate(place / NAME).attacks, results))
    results = _of_people(place, with_, _folders(previous), seed, hunt=hunt)
    return AttackReport(place.name, one_list(read_certificate(place / NAME).attacks, results))


def one_list(certified: Sequence[AttackResult], tried: Sequence[AttackResult]) -> tuple[AttackResult, ...]:
    """The attacks of the certificate, each tried again if the files suffice, and the further ones: one list, worst first.

    An attack of the certificate is listed as it states it, unless it succeeds better now. An attack that was not run is listed
    unless one of that kind is run now.
    """
    run: dict[str, AttackResult] = {}
    for r in (*certified, *tried):
        stated = run.get(r.name)
        if r.verdict != "not run" and (stated is None or VERDICTS.index(r.verdict) < VERDICTS.index(stated.verdict)):
            run[r.name] = r
    certified_names = {r.name for r in certified}
    kinds = {r.name.split(":")[0] for r in tried if r.verdict != "not run"}
    of_both = kinds | {name.split(":")[0] for name in certified_names}
    missed = [r for r in certified if r.verdict == "not run" and r.name not in {*run, *kinds}]
    missed += [r for r in tried if r.verdict == "not run" and r.name not in {*run, *of_both}]
    return tuple(worst_first([*run.values(), *missed]))


def _of_people(
    place: Path, with_: Source | None, previous: Sequence[Path], seed: int, *, hunt: bool = False
) -> list[AttackResult]:
    """A release of a table of people: what its files, a table that the attacker has and earlier releases tell."""
    claims = read_certificate(place / NAME)
    plan = read_plan(place / PLAN)
    if claims.data.file is None:
        hint = "Attack a release that was written as a file."
        raise UsageError("the data of this release are a table of a database.", hint=hint)
    data = place / claims.data.file
    quasi, sensitive = claims.data.quasi, claims.data.sensitive
    published = arrow_of(data, claims.data.columns)
    table = opened(published)
    k = next((r.k for r in claims.asked if isinstance(r, K)), claims.k)
    known = Shown({c: texts_of(published[c]) for c in quasi}, {c: texts_of(published[c]) for c in sensitive})
    local = with_ is not None and not any(s.column in quasi for s in plan.steps)
    before = [(p, *_shown_earlier(p)) for p in previous]
    named = list(dict.fromkeys([*quasi, *(c for _, shown, _ in before for c in shown.quasi)]))
    people = known_people(with_, named, len(published), seed) if with_ is not None and (local or previous) else None
    other = through_plan(with_, plan, quasi, claims) if with_ is not None and not local else None
    distinct, t = claimed(claims.asked)
    scene = Scene(
        released=table.count(quasi, sensitive=sensitive),
        k=k,
        distinct=distinct,
        t=t,
        table=published,
        files=(data,),
        external=other,
        seed=seed,
    )
    results = run_all(scene)
    if with_ is not None:
        if local and people is not None:
            results = [r for r in results if r.name != "linkage"] + linked_by_cells(
                known, {c: t for c, t in people.items() if c in quasi}, k=k
            )
        shared = External.of(with_, published, claims, plan, seed)
        results += ([] if shared is None else [shared.all_columns(k)]) + ([shared.hunted(k)] if shared and hunt else [])
    for earlier, old, theirs in before:
        kept = replace(known, sensitive={c: known.sensitive[c] for c in _retained_columns(claims) if c in sensitive})
        requirements = [*claims.asked, *(theirs.asked if isinstance(theirs, Certificate) else ())]
        attacks = _by_cells(kept, old, people, (), requirements)
        if isinstance(theirs, Certificate):
            attacks += [
                _join(published, claims, earlier, theirs),
                *same_labels(data, claims, earlier / str(theirs.data.file), theirs),
            ]
        results = [r for r in results if r.name != "intersection"] + _label_results(attacks, earlier, previous)
    return results


def _of_linked(
    place: Path, claims: LinkedCertificate, with_: Source | None, previous: Sequence[Path], seed: int, *, hunt: bool
) -> list[AttackResult]:
    """Linked tables: what their cells tell of the people of a table that the attacker has, and beside earlier releases."""
    shown, results = _family_shown(place, claims), list[AttackResult]()
    family = None if with_ is None else Family.of(with_, claims.tables, seed)
    if family is not None:
        covered = claims.known is None or family.most_rows <= claims.known
        results += linked_by_cells(shown, family.people, family.rows, k=claims.asked, above="broken" if covered else "warning")
        results += [family.hunted(shown, claims.asked)] if hunt else []
    for earlier in previous:
        known, rows = (None, ()) if family is None else (family.people, family.rows)
        results += _label_results(_by_cells(shown, _shown_earlier(earlier)[0], known, rows, ()), earlier, previous)
    return results


def _by_cells(
    new: Shown, old: Shown, people: Mapping[str, Sequence[str]] | None, rows: Sequence[LinkedRows], asked: Sequence[Requirement]
) -> list[AttackResult]:
    """What the cells of both releases leave possible, for each sensitive column that both publish as it was."""
    columns = [c for c in new.sensitive if c in old.sensitive]
    why = "the releases share no sensitive column that both publish as it was" if not columns else ""
    if people is None and not (set(new.quasi) & set(old.quasi) or {r.table for r in new.rows} & {r.table for r in old.rows}):
        why = "the releases share no quasi-identifier"
    if max(new.records, old.records) > MOST_ROWS:
        why = f"a release has more than {MOST_ROWS:,} records"
    if why:
        return [AttackResult.not_run("intersection: by cells", why)]
    least = {c: max((r.l for r in asked if isinstance(r, DistinctDiversity) and r.column == c), default=1) for c in columns}
    return [both_releases(new, old, c, people, rows, distinct=least[c]) for c in columns]


def _label_results(results: Sequence[AttackResult], earlier: Path, previous: Sequence[Path]) -> list[AttackResult]:
    """Results of one earlier release of several: each by the name of its folder, so that none stands for another."""
    return [*results] if len(previous) < 2 else [replace(r, name=f"{r.name}, with {earlier.name}") for r in results]


def _family_shown(place: Path, claims: LinkedCertificate) -> Shown:
    """The person table of a folder of linked tables, with the rows of the others; sensitive columns that are as they were."""
    first, numbers = claims.tables[0], dict[str, int]()
    quasi: dict[str, list[str]] = {}
    sensitive: dict[str, Sequence[str] | Sequence[frozenset[str]]] = {}
    rows = []
    for t in claims.tables:
        table = arrow_of(place / t.file, t.published)
        persons = texts_of(table[t.key])
        same = frozenset(c.name for c in t.columns if c.treatment == "retained")
        kept = [c for c in t.sensitive if c in same]
        if t == first:
            numbers = {text: i for i, text in enumerate(persons)}
            quasi = {c: texts_of(table[c]) for c in t.quasi}
            sensitive = {c: texts_of(table[c]) for c in kept}
            continue
        at = np.array([numbers[p] for p in persons], dtype=np.int64)
        rows.append(LinkedRows(t.name, at, {c: texts_of(table[c]) for c in t.quasi}, same))
        for c in kept:
            own: list[set[str]] = [set() for _ in numbers]
            for person, text in zip(at.tolist(), texts_of(table[c]), strict=True):
                own[person].add(text)
            sensitive[f"{t.name}.{c}"] = [frozenset(values) for values in own]
    return Shown(quasi, sensitive, tuple(rows), frozenset(c.name for c in first.columns if c.treatment == "retained"))


def _shown_earlier(place: Path) -> tuple[Shown, Certificate | LinkedCertificate]:
    """An earlier release with its certificate: quasi-identifiers, and the sensitive columns that are as they were."""
    linked = read_linked(place / NAME)
    if linked is not None:
        return _family_shown(place, linked), linked
    claims = read_certificate(place / NAME)
    table = arrow_of(place / str(claims.data.file), claims.data.columns)
    columns = [c for c in claims.data.sensitive if c in _retained_columns(claims)]
    return Shown({c: texts_of(table[c]) for c in claims.data.quasi}, {c: texts_of(table[c]) for c in columns}), claims


def _folders(previous: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(p) for p in ([previous] if isinstance(previous, str | Path) else previous)]


def _any_table(
    table: Source,
    original: Source | None,
    control: Source | None,
    secrets: Names | None,
    key: str | None,
    numbers: Names | None,
    seed: int,
    exposed: str | Path | None,
) -> AttackReport:
    if original is None or (control is None and key is None):
        hint = "Keep some people out of the making of the table, and name both: --original and --control. "
        hint += "Changed numbers need no control group where --key names the same person in both."
        raise UsageError("a table is attacked with its original and a control group.", hint=hint)
    if key is None and numbers is not None:
        raise UsageError("changed numbers are held against the person's own.", hint="Name the column of persons: --key.")
    if control is None and secrets is not None:
        raise UsageError("inference needs a control group.", hint="Name it: --control.")
    name, listed = "", list[Exposure]()
    results: tuple[AttackResult, ...] = ()
    if key is not None:
        name, results, listed = attack_numbers(table, original, key, numbers=numbers, seed=seed)
    if control is not None:
        name, more, few = attack_table(table, original, control, secrets=secrets, leave_out=key, seed=seed)
        results, listed = (*results, *more), [*listed, *few]
    if exposed is not None:
        rows = sorted({e.row: e for e in sorted(listed, key=lambda e: e.times_nearer)}.values(), key=lambda e: -e.times_nearer)
        write_private(Path(exposed), _private_list(rows[:LISTED]))
    return AttackReport(name, tuple(worst_first(results)))


def _private_list(people: Sequence[Exposure]) -> str:
    """The most exposed people by the number of their row in the original, counted from 1 without the header: no value."""
    rows = [
        {"row": e.row + 1, "times_nearer": float(f"{e.times_nearer:.3g}") if np.isfinite(e.times_nearer) else "equal"}
        | {"columns": list(e.columns)}
        for e in people
    ]
    return json.dumps({"format": "shoal-exposed/1", "people": rows}, indent=1, ensure_ascii=False) + "\n"


def _data_of(table: Source) -> Source:
    """The data of a release folder; any other table as it is."""
    if isinstance(table, str | Path) and "::" not in str(table) and (Path(table) / NAME).is_file():
        file = read_certificate(Path(table) / NAME).data.file
        return table if file is None else Path(table) / file
    return table


def _join(published: Any, claims: Certificate, earlier: Path, before: Certificate) -> AttackResult:
    """Records that an earlier release lets one join: by columns that both publish unchanged and pseudonyms of one key."""
    same = [c for c in _retained_columns(claims) if c in _retained_columns(before)]
    table = arrow_of(earlier / str(before.data.file), before.data.columns)
    named = [{c.name for c in side.columns if c.treatment in HIDDEN} for side in (claims, before)]
    keyed = [c for c in named[0] & named[1] if {*texts_of(published[c])} & {*texts_of(table[c])} - {MISSING}]
    return joined_records(published, table, same, sorted(keyed))


def _retained_columns(claims: Certificate) -> list[str]:
    return [c for c in claims.with_treatment("retained") if c in claims.data.columns]
