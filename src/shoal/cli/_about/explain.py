"""``shoal explain``: a word or a number of the field, in plain language."""

from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common


def explain(
    term: Annotated[list[str] | None, typer.Argument(help="A word or a number; without one, the list of them.")] = None,
    as_json: common.Json = False,
) -> None:
    """Explain a word or a number of the field in plain language.

    Examples: shoal explain quasi-identifier; shoal explain t_closeness; shoal explain
    """
    from shoal.measures.metrics import explain_term, words

    if term:
        text = explain_term(" ".join(term))
        _shared.put_json({"text": text}) if as_json else typer.echo(text)
    elif as_json:
        _shared.put_json({"words": words()})
    else:
        typer.echo("\n".join(words()))
