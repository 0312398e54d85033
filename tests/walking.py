"""Several commands of ``shoal`` one after the other in one fresh process of any Python: what is loaded is loaded once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

WALK = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("error", RuntimeWarning)
from shoal.__main__ import main
answers = []
for words in json.loads(sys.argv[1]):
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            sys.argv = ["shoal", *words]
            code = main()
        except SystemExit as end:
            code = end.code
    answers.append([code or 0, out.getvalue(), said.getvalue()])
json.dump(answers, sys.stdout)
"""


def walked(
    python: str | Path, walk: Sequence[Sequence[str]], folder: Path, env: Mapping[str, str], *, before: str = ""
) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each command; ``before`` is Python that runs first."""
    words = [str(python), "-c", before + WALK, json.dumps(walk)]
    done = subprocess.run(words, cwd=folder, env={**env, "NO_COLOR": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return [(code, out, said) for code, out, said in json.loads(done.stdout)]
