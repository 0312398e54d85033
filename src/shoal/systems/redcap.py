"""A REDCap project as people download it: the data dictionary and an export of the records, both CSV, raw codes.

Fields that the dictionary marks as identifiers or validates as e-mail, telephone or record numbers, notes, files and signatures
stay behind.
"""

from __future__ import annotations

from pathlib import Path

from shoal.errors import UnreadableError
from shoal.forms.redcap import dictionary, is_dictionary
from shoal.systems.codebook import FREE_TEXT, IDENTIFIERS, Variable, bring_labelled, only
from shoal.systems.folder import Brought

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
        raise UnreadableError(
            f"the folder holds {len(described)} data dictionaries of REDCap.", hint="Download one in REDCap under Dictionary."
        )
    data = only(folder, (".csv",), "the export of the records", but=described)
    return bring_labelled(data, variables(_text(described[0])), out, k)


def variables(text: str) -> list[Variable]:
    """What a dictionary says of the columns of an export.

    >>> head = "field_name,form_name,field_type,field_label,select_choices_or_calculations,identifier"
    >>> found = variables(f"{head}\\nsex,visit,radio,Sex at birth,'1, male | 2, female',".replace("'", '"'))
    >>> found[0].name, found[0].label, dict(found[0].values)
    ('sex', 'Sex at birth', {'1': 'male', '2': 'female'})
    """
    found: list[Variable] = []
    forms: dict[str, None] = {}
    for field in dictionary(text):
        name, kind = field.get("name", ""), field.get("type", "").casefold()
        forms[field.get("form", "")] = None
        choices = _choices(field.get("choices", ""))
        if kind == "checkbox":
            label = field.get("label", "")
            found += [
                Variable(f"{name}___{_tail(c)}", f"{label}: {words}", TICKED, left=_left(field)) for c, words in choices.items()
            ]
        elif name and kind != "descriptive":
            values = FIXED.get(kind, choices if kind in ("radio", "dropdown") else {})
            found.append(Variable(name, field.get("label", ""), values, measure="nominal" if values else "", left=_left(field)))
    return [*found, *(Variable(f"{form}_complete", "", STATES, measure="ordinal") for form in forms if form)]


def _left(field: dict[str, str]) -> str:
    """Why a field stays behind; nothing where it comes along."""
    kind, validation = field.get("type", "").casefold(), field.get("validation", "").casefold()
    if field.get("identifier", "").casefold().startswith("y") or validation.startswith(NAMING):
        return IDENTIFIERS
    return FREE_TEXT if kind in ("notes", "file", "signature") else ""


def _choices(text: str) -> dict[str, str]:
    """Codes and labels of ``1, male | 2, female``."""
    parts = (part.partition(",") for part in text.split("|"))
    return {code.strip(): label.strip() for code, comma, label in parts if comma and code.strip()}


def _tail(code: str) -> str:
    """A code as it stands at the end of a checkbox's column: lower case, a minus as a line below."""
    return code.casefold().replace("-", "_")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        raise UnreadableError(f"'{file.name}' cannot be read.", hint="Check its permissions.") from None
