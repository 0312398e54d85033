"""A data file with the codebook that describes it: one labelled table and a drafted policy.

What a codebook marks as naming a person, free text and files stays behind. Labels, codes declared missing and levels of
measurement go into an SPSS file; every step of Shoal keeps them.

A REDCap project as people download it: the data dictionary and an export of the records, both CSV, raw codes.

Fields that the dictionary marks as identifiers or validates as e-mail, telephone or record numbers, notes, files and signatures
stay behind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pyarrow as pa

from shoal.api.arguments import open as open_table
from shoal.api.inspect import inspect
from shoal.disk import atomic as disk_folder
from shoal.disk.atomic import write_text
from shoal.engines.files.statistical.write import write_spss
from shoal.errors import UnreadableError, refuse
from shoal.forms.redcap import dictionary, is_dictionary
from shoal.model.roles import Column
from shoal.release.policy.draft import draft_policy
from shoal.systems.folder import Brought

IDENTIFIERS, FREE_TEXT = "columns that name a person", "columns of free text or files"


@dataclass(frozen=True)
class Variable:
    """What a codebook says of one column. ``left`` says why it stays behind; ``missing`` are codes that mean no answer."""

    name: str
    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    measure: str = ""
    left: str = ""


def bring_labelled(data: Path, variables: Sequence[Variable], out: str | Path, k: int) -> Brought:
    """A new folder with ``data.sav`` and ``policy.yml``."""
    known = {v.name: v for v in variables}
    target = disk_folder.free(out)
    with open_table(data) as table, disk_folder.staged(target.absolute().parent) as work:
        names = [c.name for c in table.schema.columns]
        if not known.keys() & set(names):
            hint = "Export the data with the names of the codebook."
            raise UnreadableError(f"no column of '{data.name}' stands in the codebook.", hint=hint)
        kept = [n for n in names if not (n in known and known[n].left)]
        batches = list(table.scan(kept))
        if not batches:
            raise UnreadableError(f"'{data.name}' has no rows.", hint="Export the data again.")
        rows = pa.Table.from_batches(batches)
        names_there = spss_names(kept)
        columns = [_label(table.schema[n], known.get(n), there) for n, there in zip(kept, names_there, strict=True)]
        write_spss(work / "data.sav", iter([rows.rename_columns(names_there)]), columns, frozenset())
        with open_table(work / "data.sav") as labelled:
            write_text(work / "policy.yml", draft_policy(inspect(labelled), k=k))
        disk_folder.publish(work, target)
    left = Counter(known[n].left for n in names if n in known and known[n].left)
    left["columns of the codebook that are not in the data"] = len(known.keys() - set(names))
    return Brought({"data": rows.num_rows}, {what: n for what, n in left.items() if n})


def only(folder: Path, endings: Sequence[str], what: str, *, but: Sequence[Path] = ()) -> Path:
    files = [f for f in sorted(folder.iterdir()) if f.suffix.lower() in endings and f not in but] if folder.is_dir() else []
    if len(files) != 1:
        many = "no" if not files else f"{len(files)}"
        hint = f"Put one in it ({', '.join(endings)})."
        raise UnreadableError(f"the folder holds {many} files that could be {what}.", hint=hint)
    return files[0]


def spss_names(names: Sequence[str]) -> list[str]:
    """Names that SPSS takes, all different in any case.

    >>> spss_names(["age", "Q1[SQ001]", "q1_sq001_", "2nd"])
    ['age', 'Q1_SQ001_', 'q1_sq001__2', 'v2nd']
    """
    out: list[str] = []
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:56] or "v"
        plain = plain if plain[0].isalpha() else f"v{plain}"
        made = next(m for n in count(1) if (m := plain if n == 1 else f"{plain}_{n}").casefold() not in taken)
        taken.add(made.casefold())
        out.append(made)
    return out


def _label(column: Column, variable: Variable | None, name: str) -> Column:
    """A column with what the codebook says of it; codes become numbers where the column holds numbers."""
    if variable is None:
        return replace(column, name=name)
    numeric = column.kind in ("integer", "float", "decimal")
    labels = {key: label for code, label in variable.values.items() if (key := _code(code, numeric)) is not None}
    missing = tuple(key for code in variable.missing if (key := _code(code, numeric)) is not None)[:3]  # SPSS declares three
    return replace(column, name=name, labels=labels, user_missing=missing, note=variable.label, measure=variable.measure)


def _code(text: str, numeric: bool) -> object | None:
    """A code as the column holds it; None where it cannot stand there."""
    if not numeric:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number.is_integer() else number


NAMING = ("email", "phone", "ssn", "mrn", "vmrn")
"""Beginnings of validations whose fields name a person."""
FIXED = {"yesno": {"1": "Yes", "0": "No"}, "truefalse": {"1": "True", "0": "False"}}
TICKED = {"1": "Checked", "0": "Unchecked"}
STATES = {"0": "Incomplete", "1": "Unverified", "2": "Complete"}


def from_redcap(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Labelled data and a drafted policy in the new folder ``out``, from a folder with dictionary and export."""
    folder = Path(source)
    files = [f for f in sorted(folder.iterdir()) if f.suffix.lower() == ".csv"] if folder.is_dir() else []
    described = [f for f in files if is_dictionary(_text(f).partition("\n")[0])]
    if len(described) != 1:
        hint = "Download one in REDCap under Dictionary."
        raise UnreadableError(f"the folder holds {len(described)} data dictionaries of REDCap.", hint=hint)
    data = only(folder, (".csv",), "the export of the records", but=described)
    return bring_labelled(data, variables(_text(described[0])), out, k)


def variables(text: str) -> list[Variable]:
    """What a dictionary says of the columns of an export.

    >>> head = "field_name,form_name,field_type,field_label,select_choices_or_calculations,identifier"
    >>> found = variables(f"{head}\\nsex,visit,radio,Sex at birth,'1, male | 2, female',".replace("'", '"'))
    >>> found[0].name, found[0].label, dict(found[0].values)
    ('sex', 'Sex at birth', {'1': 'male', '2': 'female'})
    """
    listed: list[Variable] = []
    forms: dict[str, None] = {}
    for row in dictionary(text):
        name, kind = row.get("name", ""), row.get("type", "").casefold()
        forms[row.get("form", "")] = None
        choices = _choices(row.get("choices", ""))
        if kind == "checkbox":
            label = row.get("label", "")
            listed += [
                Variable(f"{name}___{c.casefold().replace('-', '_')}", f"{label}: {words}", TICKED, left=_why_left(row))
                for c, words in choices.items()
            ]
        elif name and kind != "descriptive":
            values = FIXED.get(kind, choices if kind in ("radio", "dropdown") else {})
            listed.append(Variable(name, row.get("label", ""), values, measure="nominal" if values else "", left=_why_left(row)))
    return [*listed, *(Variable(f"{form}_complete", "", STATES, measure="ordinal") for form in forms if form)]


def _why_left(row: dict[str, str]) -> str:
    """Why a row stays behind; nothing where it comes along."""
    kind, validation = row.get("type", "").casefold(), row.get("validation", "").casefold()
    if row.get("identifier", "").casefold().startswith("y") or validation.startswith(NAMING):
        return IDENTIFIERS
    return FREE_TEXT if kind in ("notes", "file", "signature") else ""


def _choices(text: str) -> dict[str, str]:
    """Codes and labels of ``1, male | 2, female``."""
    parts = (part.partition(",") for part in text.split("|"))
    return {code.strip(): label.strip() for code, comma, label in parts if comma and code.strip()}


def _text(file: Path) -> str:
    with refuse(UnreadableError(f"'{file.name}' cannot be read.", hint="Check its permissions."), OSError):
        return file.read_text(encoding="utf-8-sig", errors="replace")
