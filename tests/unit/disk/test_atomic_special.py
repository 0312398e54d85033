"""A device or pipe in the way is left as it is: a rename would put a file in its place."""

import os
import stat

import pytest

from shoal.disk.atomic import write_text
from shoal.errors import OutputError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="is not a file"):
        write_text(pipe, "x")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_file_is(tmp_path):
    file = tmp_path / "file"
    file.write_text("before", encoding="utf-8")
    write_text(file, "after")
    assert file.read_text(encoding="utf-8") == "after"
