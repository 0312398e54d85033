"""The whole walk on generated people: look, measure, predict, make safe, prove."""

from __future__ import annotations

import csv
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import shoal
from shoal.disk.atomic import publish, staged
from shoal.errors import OutputError
from shoal.model.display import Progress

MARK = "README.txt"
FIRST_LINE = "Made by shoal demo; the people in it do not exist."
QUASI = ("date_of_birth", "sex", "municipality", "postcode", "education", "occupation")


@dataclass(frozen=True)
class Demo:
    """What the walk found, in numbers; :meth:`story` tells it."""

    folder: Path
    people: int
    inspected: dict[str, Any]
    measured: dict[str, Any]
    predicted: dict[str, Any]
    release: dict[str, Any]

    def to_json(self) -> dict[str, object]:
        return {
            "folder": self.folder.name,
            "people": self.people,
            "inspect": self.inspected,
            "measure": self.measured,
            "predict": self.predicted,
            "release": self.release,
        }

    def story(self) -> list[str]:
        """The walk in sentences."""
        m, p, r = self.measured, self.predicted, self.release
        return [
            f"1. Generated {self.people:,} people of a country that does not exist.",
            f"2. Looked at the columns: {' and '.join(self.inspected['direct'])} identify people by themselves.",
            f"3. Measured: on {', '.join(m['quasi'])} together {m['unique']:,} of {m['records']:,} people "
            f"are one of a kind. Date of birth, sex and postcode alone single out {m['three']:,}.",
            f"4. Predicted, before asking anybody: of {p['group_size']} people asked only for age in years and sex, "
            f"{p['mean']:.0f} ± {p['deviation']:.0f} would be one of a kind.",
            f"5. Made it safe with the best plan {'of all' if r['proven'] else 'found'} with one level per column: "
            f"loss {r['loss']:.2f} between 0 "
            f"(nothing) and 1 (everything), {r['suppressed']:,} of {m['records']:,} records left out. "
            f"A record now reads: {', '.join(r['example'].values())}.",
            f"6. Counted the written file again: at least {r['k']} people share every such record. Signed, and verified.",
        ]


def demo(
    folder: str | Path = "shoal-demo", *, people: int = 20_000, seed: int = 1, progress: Progress = lambda done, what: None
) -> Demo:
    """Run the walk and leave its files in ``folder``: whole or not at all; an earlier demonstration is replaced."""
    target = Path(folder)
    note = target / MARK
    ours = note.is_file() and note.read_text(encoding="utf-8", errors="replace").startswith(FIRST_LINE)
    if target.exists() and not ours:
        raise OutputError(f"'{target.name}' exists and was not made by the demonstration.", hint="Move it away or run elsewhere.")
    with staged(target.absolute().parent) as work:
        walked = _walk(work, target, people, seed, progress)
        if target.exists():
            shutil.rmtree(target)
        publish(work, target)
    return walked


def _walk(work: Path, target: Path, people: int, seed: int, progress: Progress) -> Demo:
    progress(0.02, "generating people")
    source = shoal.datasets.write_people(work / "people.parquet", people, seed)
    (work / "policy.yml").write_bytes(files("shoal.api").joinpath("demo_policy.yml").read_bytes())
    progress(0.1, "looking at the columns")
    table = shoal.open(
        source, quasi=QUASI, sensitive=["diagnosis"], direct=["person_id", "name"], insensitive=["income", "visits"]
    )
    roles = {c.name: c.role.value for c in shoal.inspect(shoal.open(source)).columns}
    inspected = {"columns": len(roles), "direct": [n for n, r in roles.items() if r == "direct"], "roles": roles}
    progress(0.25, "measuring")
    measured = _measure(table)
    progress(0.4, "predicting")
    predicted = _predict()
    progress(0.5, "searching, recoding, counting again")
    release = _release(table, work)
    (work / MARK).write_text(NOTE, encoding="utf-8")
    return Demo(target, people, inspected, measured, predicted, release)


def _measure(table: Any) -> dict[str, Any]:
    measured = shoal.measure(table)
    three = table.count(("date_of_birth", "sex", "postcode"))
    return {
        "quasi": list(QUASI),
        "records": measured.records,
        "classes": measured.classes,
        "k": measured.k,
        "unique": measured.unique,
        "unique_share": measured.unique / measured.records,
        "three": int((three.sizes == 1).sum()),
    }


def _predict(group_size: int = 100) -> dict[str, Any]:
    """From the country's age pyramid alone: no table is needed."""
    from shoal.datasets.country import age_pyramid

    joint = [share * half for share in age_pyramid() for half in (0.5, 0.5)]
    predicted = shoal.predict.singletons(joint, group_size=group_size)
    return {
        "group_size": group_size,
        "mean": float(predicted.mean),
        "deviation": float(predicted.variance) ** 0.5,
        "grade": predicted.mean.grade,
    }


def _release(table: Any, work: Path) -> dict[str, Any]:
    from shoal.release.verification import verify

    release = shoal.anonymize(table, work / "policy.yml")
    release.write(work / "release")
    certificate = release.to_json()
    with (work / "release" / "data.csv").open(encoding="utf-8", newline="") as lines:
        first = next(csv.DictReader(lines))
    return {
        **certificate,
        "verified": bool(certificate["verified"]) and verify(work / "release").ok,
        "proven": release.certificate.utility.proven,
        "example": {name: first[name] for name in QUASI},
    }


NOTE = f"""{FIRST_LINE}

people.parquet        the generated people
policy.yml            the requirements of the release
release/data.csv      the table that may be shared
release/report.html   open this in a browser: what was done, what it cost, what an attacker can still learn
release/certificate.json, release/plan.json   the same for machines, signed

In this folder:
  shoal verify release                          prove it again
  shoal attack release --with people.parquet    try to find the people in it
  shoal anonymize people.parquet --policy policy.yml --out mine     after changing a line of policy.yml
Your own table:
  shoal inspect YOUR-TABLE.csv                  which columns identify people
"""
