"""JSON on stdout: indented for people, in one line where it is very long."""

from __future__ import annotations

import json

import pytest

from shoal.cli import _shared


@pytest.mark.parametrize(("more", "indented"), [(-1, True), (0, False)])
def test_very_long_json_is_not_indented(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: int, indented: bool
) -> None:
    monkeypatch.setattr(_shared, "LONG_JSON", 100)
    value = {"text": "x" * (100 + more - len('{"text": ""}'))}
    _shared.put_json(value)
    said = capsys.readouterr().out
    assert json.loads(said) == value
    assert (said.count("\n") > 1) is indented
