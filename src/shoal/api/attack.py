"""``attack``: a release folder from outside, with its files, a table that the attacker has, and earlier releases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.api.arguments import Names, Source, opened
from shoal.api.attack_tables import attack_numbers, attack_table
from shoal.attacks import Scene, run_all, worst_first
from shoal.attacks.composition import joined_records
from shoal.attacks.further_knowledge import one_of_a_kind
from shoal.disk.atomic import scratch
from shoal.errors import UnreadableError, UsageError, missing_column
from shoal.model.attack import AttackReport, AttackResult
from shoal.model.certificate.certificate import NAME, PLAN, Certificate
from shoal.model.certificate.file import is_of_events, read_certificate
from shoal.model.counts.classes import ClassCounts
from shoal.model.plan import Plan, Suppression
from shoal.model.requirement import DistinctDiversity, K, TCloseness
from shoal.release.earlier.same_labels import same_labels
from shoal.release.events.attacks import attack_folder
from shoal.release.linked.certificate import read_linked
from shoal.release.linked.verify import linked_attacks
from shoal.release.make.release import Release
from shoal.release.plan.plan_json import read_plan
from shoal.release.proof.read import logical
from shoal.steps import Drop, MapValues


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
    seed : int
        Of the attacks that draw at random.
    """
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
        return AttackReport(place.name, tuple(worst_first(found)))
    return AttackReport(place.name, tuple(worst_first(_of_people(place, with_, _folders(previous), seed))))


def _of_people(place: Path, with_: Source | None, previous: Sequence[Path], seed: int) -> list[AttackResult]:
    """A release of a table of people: what its files, a table that the attacker has and earlier releases tell."""
    claims = read_certificate(place / NAME)
    plan = read_plan(place / PLAN)
    if claims.data.file is None:
        raise UsageError(
            "the data of this release are a table of a database.", hint="Attack a release that was written as a file."
        )
    data = place / claims.data.file
    quasi, sensitive = claims.data.quasi, claims.data.sensitive
    published = _arrow(data, claims.data.columns)
    table = opened(published)
    other = _through_plan(with_, plan, quasi, claims) if with_ is not None else None
    kept = claims.with_treatment("retained", "sensitive", "insensitive")
    scene = Scene(
        released=table.count(quasi, sensitive=sensitive),
        alone=one_of_a_kind(table, quasi, kept),
        k=next((r.k for r in claims.asked if isinstance(r, K)), claims.k),
        distinct={r.column: r.l for r in claims.asked if isinstance(r, DistinctDiversity)},
        t={r.column: r.t for r in claims.asked if isinstance(r, TCloseness) and r.distance == "equal"},
        table=published,
        files=(data,),
        external=other,
        seed=seed,
    )
    results = run_all(scene)
    for earlier in previous:
        results = [r for r in results if r.name != "intersection"]
        results += [_join(published, claims, earlier), *_same_labels(data, claims, earlier)]
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


def _through_plan(external: Source, plan: Plan, quasi: tuple[str, ...], claims: Certificate) -> ClassCounts:
    """The classes of the external table as the plan would publish them."""
    theirs = opened(external)
    known = tuple(name for name in quasi if name in theirs.schema)
    if not known:
        raise missing_column(quasi[0], theirs.schema.names, table=theirs.name, what="quasi-identifier")
    with scratch() as work:
        file = work / f"external{Path(str(claims.data.file)).suffix}"
        as_published(theirs, plan, known, file)
        return opened(_arrow(file, known)).count(known)


def as_published(external: Source, plan: Plan, quasi: Sequence[str], out: Path, *, keep: Sequence[str] = ()) -> None:
    """Carry the quasi-identifiers of somebody else's table through a published plan into a file: same steps, nothing suppressed.

    Columns in ``keep`` are carried over as they are, the others left out. A value that the plan does not know (an error in the
    table, a person who is not in the release) becomes one that matches nobody.
    """
    if not any(s.column in quasi for s in plan.steps):
        raise UsageError(
            "this release was recoded locally, so its plan cannot be applied to another table.",
            hint="Leave --with out, or attack a release made with method lattice.",
        )
    known = opened(external)
    for name in quasi:
        if name not in known.schema:
            raise missing_column(name, known.schema.names, table=known.name, what="quasi-identifier")
    steps = [
        replace(s, on_gap="suppress") if isinstance(s, MapValues) and s.on_gap == "error" else s
        for s in plan.steps
        if s.column in quasi and not isinstance(s, Drop)
    ]
    steps += [Drop(n) for n in known.schema.names if n not in (*quasi, *keep)]
    known.recode(Plan(tuple(steps), Suppression(scope="none")), out)


def _join(published: Any, claims: Certificate, earlier: Path) -> AttackResult:
    """Records that an earlier release lets one join, through the columns that both publish unchanged."""
    before = read_certificate(earlier / NAME)
    same = [c for c in _retained(claims) if c in _retained(before)]
    return joined_records(published, _arrow(earlier / str(before.data.file), before.data.columns), same)


def _same_labels(data: Path, claims: Certificate, earlier: Path) -> list[AttackResult]:
    """What the sensitive values of classes with the same labels tell together."""
    before = read_certificate(earlier / NAME)
    return same_labels(data, claims, earlier / str(before.data.file), before)


def _retained(claims: Certificate) -> list[str]:
    return [c for c in claims.with_treatment("retained") if c in claims.data.columns]


def _arrow(file: Path, names: Sequence[str]) -> Any:
    """A published file in memory, its columns named as the certificate names them."""
    import pyarrow as pa

    found = pa.Table.from_batches(list(opened(file).scan()))
    return found.rename_columns(logical(found.column_names, names))
