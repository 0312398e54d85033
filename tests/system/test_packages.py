"""What is handed out: a wheel that is whole and runs on its own, an archive that makes the same one, lists that are true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from packaging_support import ROOT, NoRegistry, build, empty_environment
from walking import walked


def holds(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, "wheel", "sdist")
    return out


def test_the_wheel_holds_every_file_of_the_package(made: Path) -> None:
    (wheel,) = made.glob("*.whl")
    here = {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "shoal").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in holds(wheel) if name.startswith("shoal/")} == here


def test_the_source_archive_makes_the_same_wheel(made: Path, tmp_path: Path) -> None:
    (wheel,), (archive,) = made.glob("*.whl"), made.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    build(source, tmp_path / "again", "wheel")
    (again,) = (tmp_path / "again").glob("*.whl")
    assert holds(again) == holds(wheel)


def test_the_wheel_runs_in_an_environment_of_its_own(made: Path, tmp_path: Path) -> None:
    """Shoal from the wheel, its dependencies from the packages that are installed here; nothing from the checkout."""
    (wheel,) = made.glob("*.whl")
    own = tmp_path / "packages"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(own)
    (tmp_path / "t.csv").write_text("age,sex\n" + "31,f\n" * 6 + "45,m\n" * 5, encoding="utf-8")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    env["PYTHONPATH"] = os.pathsep.join([str(own), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    run = [sys.executable, "-S", "-c", "import sys; from shoal.__main__ import main; sys.exit(main())"]
    walk = [
        ["measure", "t.csv", "--quasi", "age,sex", "--require", "k>=5", "--report", "m.html"],
        ["presets"],
        ["registry", "search", "Ameland"],
    ]
    for words in walk:
        done = subprocess.run([*run, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
    assert "</html>" in (tmp_path / "m.html").read_text(encoding="utf-8")
    where = [sys.executable, "-S", "-c", "import shoal; print(shoal.__file__)"]
    assert Path(subprocess.check_output(where, env=env, text=True).strip()).is_relative_to(own)


def test_the_bill_of_materials_names_every_pinned_package(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import sbom
    finally:
        sys.path.pop(0)
    lock = (ROOT / "locks" / "core.txt").read_text(encoding="utf-8")
    found = sbom.components(lock)
    pinned = re.findall(r"^([\w.-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    assert [(c["name"], c["version"]) for c in found] == [(name.lower(), version) for name, version in pinned]
    hashes = [h for c in found for r in c["externalReferences"] for h in r["hashes"]]
    assert len(hashes) == lock.count("--hash=sha256:")
    assert all(r["hashes"] for c in found for r in c["externalReferences"])


def test_the_image_is_made_of_files_that_are_here_and_sent() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = [word for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for word in line.split()[:-1]]
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)
    assert "hatchling==" in (ROOT / "locks" / "core.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def installed(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an empty environment with the wheel and nothing that it does not name."""
    (wheel,) = made.glob("*.whl")
    place = tmp_path_factory.mktemp("empty") / "env"
    try:
        empty_environment(wheel, place)
    except NoRegistry as why:
        pytest.skip(str(why))
    return place


@pytest.mark.slow
def test_the_wheel_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    """``pip install shoal`` and nothing else: light enough, and the README's first commands run."""
    assert sum(f.stat().st_size for f in installed.rglob("*") if f.is_file()) < 600 * 10**6
    assert not any(installed.rglob("numba-*.dist-info"))
    assert not any(installed.rglob("scipy-*.dist-info"))
    folder = installed / ("Scripts" if os.name == "nt" else "bin")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    rows = [f"{20 + i * 7 % 40},{'fm'[i % 2]},{1000 + i * 37 % 90},{'abc'[i % 3]}" for i in range(900)]
    (tmp_path / "patients.csv").write_text("age,sex,zip,diagnosis\n" + "\n".join(rows) + "\n", encoding="utf-8")
    as_frame = pd.read_csv(tmp_path / "patients.csv")
    as_frame.to_excel(tmp_path / "patients.xlsx", index=False)
    pyreadstat.write_sav(as_frame, tmp_path / "patients.sav")
    walk = [
        ["doctor"],
        ["inspect", "patients.xlsx"],
        ["inspect", "patients.sav"],
        ["registry", "seed", "--registry", "registry.db", "--generated"],
        ["studio", "user", "list", "--workspace", "studio"],
        ["inspect", "patients.csv"],
        ["measure", "patients.csv", "--quasi", "age,sex,zip", "--sensitive", "diagnosis"],
        ["anonymize", "patients.csv", "--draft", "policy.yml"],
        ["anonymize", "patients.csv", "--policy", "policy.yml", "--out", "release"],
        ["verify", "release"],
        ["attack", "release"],
    ]
    for words, (code, out, said) in zip(walk, walked(folder / "python", walk, tmp_path, env), strict=True):
        assert code == 0, (words, out[-1000:], said[-2000:])
