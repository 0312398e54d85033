"""Files and folders appear whole or not at all, with the rights of the user's other files."""

from __future__ import annotations

import os
import stat

import pytest

from shoal.disk.atomic import atomic, free, publish, staged, write_text
from shoal.errors import OutputError


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def interrupted(maker, begin):
    with maker as place:
        begin(place)
        raise KeyboardInterrupt


@pytest.fixture(params=[0o022, 0o077])
def mask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_text_file_has_the_rights_of_other_files_and_replaces_the_old_one(tmp_path, mask):
    file = tmp_path / "policy.yml"
    write_text(file, "k: 5\n")
    write_text(file, "k: 6 é\n")
    assert file.read_bytes() == "k: 6 é\n".encode()
    assert rights(file) == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["policy.yml"]


def test_a_file_whose_writing_fails_leaves_the_old_one(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(atomic(file), lambda part: part.write_text("half"))
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]
    with pytest.raises(OutputError, match="nothing can be written in folder"):
        write_text(tmp_path / "missing" / "a.txt", "x")


def test_a_folder_is_private_until_it_gets_its_name(tmp_path, mask):
    target = free(tmp_path / "out")
    with staged(tmp_path) as stage:
        assert rights(stage) == 0o700
        (stage / "inner").mkdir(mode=0o700)
        (stage / "inner" / "file").write_text("x")
        assert not target.exists()
        publish(stage, target)
    assert rights(target) == rights(target / "inner") == 0o777 & ~mask
    assert rights(target / "inner" / "file") == 0o666 & ~mask
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_fails_leaves_nothing_and_none_is_written_over(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        interrupted(staged(tmp_path), lambda stage: (stage / "file").write_text("x"))
    assert os.listdir(tmp_path) == []
    (tmp_path / "out").mkdir()
    assert free(tmp_path / "out").is_dir(), "an empty folder may be there"
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(OutputError, match="exists already"):
        free(tmp_path / "out")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="exists already"):
        free(tmp_path / "link")
    with staged(tmp_path) as stage, pytest.raises(OutputError, match="could not be put in place"):
        publish(stage, tmp_path / "out")


def test_what_a_dead_run_left_is_swept_and_what_a_living_one_works_on_is_not(tmp_path):
    dead = tmp_path / f".shoal-stage-{2**22 + 1}-0123456789abcdef"
    alive = tmp_path / f".shoal-stage-{os.getpid()}-0123456789abcdef"
    other = tmp_path / ".shoal-stage-mine"
    for left in (dead, alive, other):
        left.mkdir()
    with staged(tmp_path):
        assert not dead.exists()
        assert alive.exists()
        assert other.exists()
