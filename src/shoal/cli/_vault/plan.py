"""``shoal vault plan``: where does a process need identity?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell.common import Json
from shoal.cli._vault.shared import tell
from shoal.errors import UsageError


def register(vault: typer.Typer) -> None:
    vault.command("plan")(plan)


def plan(
    answers: Annotated[Path | None, typer.Argument(help="The filled-in questionnaire; without it, it is printed.")] = None,
    json: Json = False,
) -> None:
    """Where does a process need identity? A short questionnaire, and what serves instead. Needs no vault."""
    from shoal.protector import needs

    if answers is None:
        tell({"questions": needs.QUESTIONS}, needs.questionnaire().rstrip("\n"), as_json=json)
        return
    found = needs.plan(_read(answers))
    rows = [(n.process, n.identity, n.use, n.command) for n in found]
    table = _shared.table_of("Where identity is needed", ("process", "identity", "what serves", "how"), rows)
    tell({"needs": [n.to_json() for n in found]}, table, as_json=json)


def _read(file: Path) -> dict[str, object]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        body = YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        body = None
    if not isinstance(body, dict):
        raise UsageError(f"'{file.name}' is not a filled-in questionnaire.", hint="`shoal vault plan > answers.yml` prints one.")
    return body
