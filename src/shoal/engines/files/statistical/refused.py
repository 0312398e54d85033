"""What SPSS, Stata, SAS, Excel and JSON cannot hold at all: refused with the names of the columns, never changed in silence."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.files.losses import NAMES, listed
from shoal.errors import OutputError
from shoal.kernels.arrow import as_doubles

LARGEST = {
    "stata": 8.988465674311579e307,
    "sas": 9.046256971665327e74,
    "excel": 9.99999999999999e307,
    "jsonl": 1.7976931348623157e308,
}
"""The largest number of a format; larger ones become infinite in SAS transport, as it is written. SPSS holds every double."""

_WRITERS = {"spss": "write_sav", "stata": "write_dta", "sas": "write_xport"}


def need_names(names: Sequence[str], format: str) -> None:
    """Refuse names that the format does not allow, before any row is read. The library that writes it is asked."""
    if format not in _WRITERS or _allowed(names, format):
        return
    wrong = [n for n in names if not _allowed([n], format)]
    if wrong:
        raise OutputError(
            f"{NAMES[format]} does not allow the name{'s' if len(wrong) > 1 else ''} of {listed([repr(n) for n in wrong])}.",
            hint="Rename (letters, digits and _, a letter first, not too long, no word of the program), or write CSV or Parquet.",
        )


def need_range(values: Any, column: str, format: str) -> None:
    """Refuse numbers that the format has no room for: infinite ones, and those beyond its largest."""
    if format not in LARGEST or not (pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)):
        return
    beyond = int((np.abs(as_doubles(values).to_numpy(zero_copy_only=False)) > LARGEST[format]).sum())
    if beyond:
        raise OutputError(
            f"{beyond} number{'s' if beyond > 1 else ''} of '{column}' {'are' if beyond > 1 else 'is'} infinite or too large for "
            f"{NAMES[format]}.",
            hint="Limit the column (clamp), or write CSV or Parquet.",
        )


def need_whole_texts(values: Any, column: str, format: str) -> None:
    """Refuse texts with a zero byte: they would end there, and two of them become one."""
    cut = int(pc.sum(pc.match_substring(values.cast(pa.string()), "\x00")).as_py() or 0)
    if cut:
        raise OutputError(
            f"{cut} text{'s' if cut > 1 else ''} of '{column}' {'hold' if cut > 1 else 'holds'} a zero byte, where a text of "
            f"{NAMES[format]} ends.",
            hint="Take it out first, or write CSV or Parquet.",
        )


def _allowed(names: Sequence[str], format: str) -> bool:
    try:
        import pandas as pd
        import pyreadstat
    except ModuleNotFoundError:
        return True  # told where the file is written
    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame({n: [0.0] for n in names})
        try:
            getattr(pyreadstat, _WRITERS[format])(frame, str(Path(folder) / "names"))
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
            return False
    return True
