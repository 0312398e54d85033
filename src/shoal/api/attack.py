"""``attack``: a release folder from outside, with its files, a table that the attacker has, and earlier releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api.arguments import Names, Source, opened
from shoal.api.attack_external import External, arrow_of, known_people, texts_of, through_plan
from shoal.api.attack_tables import attack_numbers, attack_table
from shoal.attacks import Scene, run_all, worst_first
from shoal.attacks.cells import Shown, both_releases, linked_by_cells
from shoal.attacks.composition import joined_records
from shoal.errors import UnreadableError, UsageError
from shoal.model.attack import VERDICTS, AttackReport, AttackResult
from shoal.model.certificate.certificate import NAME, PLAN, Certificate
from shoal.model.certificate.file import is_of_events, read_certificate, read_event_certificate
from shoal.model.requirement import DistinctDiversity, K, TCloseness
from shoal.release.earlier.same_labels import same_labels
from shoal.release.events.attacks import attack_folder
from shoal.release.linked.certificate import read_linked
from shoal.release.linked.verify import linked_attacks
from shoal.release.make.release import Release
from shoal.release.plan.plan_json import read_plan

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
    seed : int
        Of the attacks that draw at random.
    """
    if hunt and with_ is None:
        raise UsageError("A hunt needs the table that the attacker has.", hint="Name it: --with EXTERNAL.")
    if isinstance(folder, Release):  # its own attacks, or its table beside the original
        if with_ is not None or previous:
            raise UsageError(
                "External tables and earlier releases are compared with a written release.",
                hint="Write it with release.write(DIR), then call shoal.attack(DIR, …).",
            )
        if all(given is None for given in (original, control, secrets, key, numbers)):
            return folder.attack()
        return _any_table(folder.to_arrow(), original, control, secrets, key, numbers, seed)
    if any(given is not None for given in (original, control, secrets, key, numbers)):
        if with_ is not None or previous:
            raise UsageError(
                "external tables and earlier releases belong to a release folder.", hint="Leave --with and --previous out."
            )
        return _any_table(_data_of(folder), original, control, secrets, key, numbers, seed)
    if not isinstance(folder, str | Path):
        raise UsageError("a table is attacked beside its original and a control group.", hint="Pass original= and control=.")
    place = Path(folder)
    if not place.is_dir():
        raise UnreadableError(f"'{place.name}' is not a folder of a release.", hint="Name the folder given to --out.")
    linked = read_linked(place / NAME)
    if linked is not None:
        if with_ is not None or previous:
            raise UsageError("linked tables are attacked from their own folder only.", hint="Leave --with and --previous out.")
        return AttackReport(place.name, linked_attacks(place, linked))
    if is_of_events(place):
        found = attack_folder(place, None if with_ is None else opened(with_), seed, earlier=_folders(previous))
        return AttackReport(place.name, one_list(read_event_certificate(place / NAME).attacks, found))
    found = _of_people(place, with_, _folders(previous), seed, hunt=hunt)
    return AttackReport(place.name, one_list(read_certificate(place / NAME).attacks, found))


def one_list(certified: Sequence[AttackResult], tried: Sequence[AttackResult]) -> tuple[AttackResult, ...]:
    """The attacks of the certificate, each tried again if the files suffice, and the further ones: one list, worst first.

    An attack of the certificate is listed as it states it, unless it succeeds better now. An attack that could not be run is
    listed only if no attack of that kind was.
    """
    run: dict[str, AttackResult] = {}
    for r in (*certified, *tried):
        stated = run.get(r.name)
        if r.verdict != "not run" and (stated is None or VERDICTS.index(r.verdict) < VERDICTS.index(stated.verdict)):
            run[r.name] = r
    kinds = {name.split(":")[0] for name in run}
    missed = {r.name: r for r in (*certified, *tried) if r.verdict == "not run" and r.name not in run and r.name not in kinds}
    return tuple(worst_first([*run.values(), *missed.values()]))


def _of_people(
    place: Path, with_: Source | None, previous: Sequence[Path], seed: int, *, hunt: bool = False
) -> list[AttackResult]:
    """A release of a table of people: what its files, a table that the attacker has and earlier releases tell."""
    claims = read_certificate(place / NAME)
    plan = read_plan(place / PLAN)
    if claims.data.file is None:
        raise UsageError(
            "the data of this release are a table of a database.", hint="Attack a release that was written as a file."
        )
    data = place / claims.data.file
    quasi, sensitive = claims.data.quasi, claims.data.sensitive
    published = arrow_of(data, claims.data.columns)
    table = opened(published)
    k = next((r.k for r in claims.asked if isinstance(r, K)), claims.k)
    known = Shown({c: texts_of(published[c]) for c in quasi}, {c: texts_of(published[c]) for c in sensitive})
    local = with_ is not None and not any(s.column in quasi for s in plan.steps)
    named = list(dict.fromkeys([*quasi, *(c for p in previous for c in read_certificate(p / NAME).data.quasi)]))
    people = known_people(with_, named, len(published), seed) if with_ is not None and (local or previous) else None
    other = through_plan(with_, plan, quasi, claims) if with_ is not None and not local else None
    scene = Scene(
        released=table.count(quasi, sensitive=sensitive),
        k=k,
        distinct={r.column: r.l for r in claims.asked if isinstance(r, DistinctDiversity)},
        t={r.column: r.t for r in claims.asked if isinstance(r, TCloseness) and r.distance == "equal"},
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
    for earlier in previous:
        results = [r for r in results if r.name != "intersection"]
        results += [_join(published, claims, earlier), *_same_labels(data, claims, earlier)]
        results += _by_cells(known, claims, earlier, people)
    return results


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
) -> AttackReport:
    if original is None or (control is None and key is None):
        raise UsageError(
            "a table is attacked with its original and a control group.",
            hint="Keep some people out of the making of the table, and name both: --original and --control. "
            "Changed numbers need no control group where --key names the same person in both.",
        )
    if key is None and numbers is not None:
        raise UsageError("changed numbers are held against the person's own.", hint="Name the column of persons: --key.")
    if control is None and secrets is not None:
        raise UsageError("inference needs a control group.", hint="Name it: --control.")
    name = ""
    found: tuple[AttackResult, ...] = ()
    if key is not None:
        name, found = attack_numbers(table, original, key, numbers=numbers, seed=seed)
    if control is not None:
        name, more = attack_table(table, original, control, secrets=secrets, leave_out=key, seed=seed)
        found = (*found, *more)
    return AttackReport(name, tuple(worst_first(found)))


def _data_of(table: Source) -> Source:
    """The data of a release folder; any other table as it is."""
    if isinstance(table, str | Path) and "::" not in str(table) and (Path(table) / NAME).is_file():
        file = read_certificate(Path(table) / NAME).data.file
        return table if file is None else Path(table) / file
    return table


def _join(published: Any, claims: Certificate, earlier: Path) -> AttackResult:
    """Records that an earlier release lets one join, through the columns that both publish unchanged."""
    before = read_certificate(earlier / NAME)
    same = [c for c in _retained(claims) if c in _retained(before)]
    return joined_records(published, arrow_of(earlier / str(before.data.file), before.data.columns), same)


def _same_labels(data: Path, claims: Certificate, earlier: Path) -> list[AttackResult]:
    """What the sensitive values of classes with the same labels tell together."""
    before = read_certificate(earlier / NAME)
    return same_labels(data, claims, earlier / str(before.data.file), before)


def _by_cells(known: Shown, claims: Certificate, earlier: Path, people: Mapping[str, Sequence[str]] | None) -> list[AttackResult]:
    """What the cells of both releases leave possible, for each sensitive column that both publish as it was."""
    before = read_certificate(earlier / NAME)
    quasi = [c for c in claims.data.quasi if c in before.data.quasi] if people is None else claims.data.quasi
    columns = [c for c in claims.data.sensitive if c in _retained(claims) and c in _retained(before)]
    if not quasi or not columns or max(claims.after.records, before.after.records) > MOST_ROWS:
        return []
    table = arrow_of(earlier / str(before.data.file), before.data.columns)
    new = Shown({c: known.quasi[c] for c in quasi}, known.sensitive)
    old_quasi = quasi if people is None else before.data.quasi  # of known people every release is searched by all its columns
    old = Shown({c: texts_of(table[c]) for c in old_quasi}, {c: texts_of(table[c]) for c in columns})
    asked = [r for r in (*claims.asked, *before.asked) if isinstance(r, DistinctDiversity)]
    least = {c: max((r.l for r in asked if r.column == c), default=1) for c in columns}
    return [both_releases(new, old, c, people, distinct=least[c]) for c in columns]


def _retained(claims: Certificate) -> list[str]:
    return [c for c in claims.with_treatment("retained") if c in claims.data.columns]
