"""Templates as Python code, kept beside them as Python keeps its own modules: a page is not compiled again in every process.

Where nothing may be written there, or the kept file is broken or of another version, a template is compiled as if none were kept.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from types import CodeType

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from shoal.disk.atomic import passing_name

TEMPLATES = Path(__file__).parent / "templates"


class KeptCode(BytecodeCache):
    """The code of each template in a file of its own, in ``folder`` (or where ``PYTHONPYCACHEPREFIX`` says)."""

    def __init__(self, folder: Path = TEMPLATES) -> None:
        self.folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, EOFError, ValueError, TypeError):
            made_from, code = marshal.loads(self._place(bucket).read_bytes())  # noqa: S302 (as trusted as Python's own .pyc)
            if made_from == _origin(bucket) and isinstance(code, CodeType):
                bucket.code = code

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        place = self._place(bucket)
        passing = place.with_name(passing_name("part", place.suffix))
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                passing.write_bytes(marshal.dumps((_origin(bucket), bucket.code)))
                passing.replace(place)
            finally:
                passing.unlink(missing_ok=True)

    def _place(self, bucket: Bucket) -> Path:
        return Path(cache_from_source(os.fspath(self.folder / f"{bucket.key}.j2")))


def _origin(bucket: Bucket) -> tuple[bytes, str, str]:
    """What the code was made from and by: Python's and Jinja's version and the template's text."""
    return MAGIC_NUMBER, jinja2.__version__, bucket.checksum
