"""Which tool wrote a form, and its reader."""

from __future__ import annotations

from pathlib import Path

from shoal.api.forms import xlsform
from shoal.errors import UnreadableError
from shoal.forms import limesurvey, redcap
from shoal.forms.form import Form

ENDINGS = (".xlsx", ".xlsm", ".xls", ".csv", ".lss")
MOST_BYTES = 50_000_000


def read_form(path: str | Path) -> Form:
    """The form in a file: XLSForm (``.xlsx``, ``.xls``), dictionary of REDCap (``.csv``), survey of LimeSurvey (``.lss``)."""
    file = Path(path)
    ending = file.suffix.lower()
    if not file.is_file():
        raise UnreadableError(f"there is no file '{file.name}'.", hint="Check the path of the form.")
    if file.stat().st_size > MOST_BYTES:
        raise UnreadableError("the file is too large for a form.", hint=f"Forms have at most {MOST_BYTES // 10**6} MB.")
    if ending in (".xlsx", ".xlsm", ".xls"):
        return xlsform.read(file)
    if ending == ".lss":
        return limesurvey.read(file.read_bytes())
    if ending == ".csv":
        try:
            return redcap.read(file.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            return redcap.read(file.read_text(encoding="latin-1"))
    raise UnreadableError("this is no form that is known.", hint=f"Forms end in {', '.join(ENDINGS)}.")
