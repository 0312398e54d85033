"""Settings from a file or the environment, for what people set once: memory, format, the patience with a server.

``shoal.toml`` in the working folder, else in the user's configuration folder; ``SHOAL_CONFIG`` names another. ``[measure]``
holds for one command, a key above the first table for all that know it; ``SHOAL_MEMORY=2GB`` beats the file, an option beats
both. Nothing that says what is claimed, who gets data or where output goes can be set here: a file that came with a download
must not decide that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError, UsageError

SETTABLE = ("memory", "format", "statement_timeout")
FILE = "shoal.toml"


def place(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file that is used, or None."""
    named = environ.get("SHOAL_CONFIG")
    if named:
        if not Path(named).is_file():
            raise UsageError("SHOAL_CONFIG names no file.", hint="Name an existing file, or unset it.")
        return Path(named)
    return next((p for p in (Path(FILE), _home(environ) / FILE) if p.is_file()), None)


def read(command: str, environ: Mapping[str, str] = os.environ) -> tuple[dict[str, str], str]:
    """The settings for one command, and a sentence that says where they come from (empty where there are none)."""
    path = place(environ)
    page = _page(path) if path else {}
    common = {k: v for k, v in page.items() if not isinstance(v, dict)}
    own = page.get(command.split(" ")[0], {})
    found = {key: _text(key, value) for key, value in {**common, **own}.items()}
    sources = [f"{path.name} ({', '.join(found)})"] if path and found else []
    spoken = {k: environ[f"SHOAL_{k.upper()}"] for k in SETTABLE if environ.get(f"SHOAL_{k.upper()}")}
    sources += [f"SHOAL_{k.upper()}" for k in spoken]
    return {**found, **spoken}, f"Settings from {', '.join(sources)}." if sources else ""


def _page(path: Path) -> dict[str, Any]:
    import tomllib  # where there is such a file, which is seldom

    try:
        page = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise DataError(
            f"the settings in '{path.name}' can't be read.", hint='It is TOML, for example: memory = "2GB".'
        ) from problem
    for table in (page, *(v for v in page.values() if isinstance(v, dict))):
        for key, value in table.items():
            if key not in SETTABLE and not (table is page and isinstance(value, dict)):
                raise UsageError(
                    f"'{path.name}' holds '{key}', which can't be set in a file.", hint=f"Settable: {', '.join(SETTABLE)}."
                )
    return page


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str | int):
        raise UsageError(f"the setting '{key}' is not a word or a number.", hint='For example memory = "2GB".')
    return str(value)


def _home(environ: Mapping[str, str]) -> Path:
    """Where this system keeps settings of a person."""
    if sys.platform == "win32":
        return Path(environ.get("APPDATA", "~")).expanduser() / "shoal"
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/shoal").expanduser()
    return Path(environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "shoal"
