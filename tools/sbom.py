"""List what is installed from a lock file as a bill of materials (CycloneDX 1.6): python tools/sbom.py locks/core.txt sbom.json.

The same lock gives the same bytes. A package has the hashes of all its files that the lock accepts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PACKAGE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?P<rest>(?:.*\\\n)*.*)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(lock: str) -> list[dict[str, Any]]:
    """A component for each pinned package."""
    out = []
    for found in PACKAGE.finditer(lock):
        name, version = found["name"].lower().replace("_", "-"), found["version"]
        hashes = [{"alg": "SHA-256", "content": digest} for digest in HASH.findall(found["rest"])]
        out.append(
            {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "externalReferences": [{"type": "distribution", "url": f"pkg:pypi/{name}@{version}", "hashes": hashes}],
            }
        )
    return out


def bill(lock: str, version: str) -> dict[str, Any]:
    """The whole bill of materials of one version of Shoal."""
    shoal = {"type": "application", "name": "shoal", "version": version, "purl": f"pkg:pypi/shoal@{version}"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": shoal},
        "components": components(lock),
    }


if __name__ == "__main__":
    import shoal

    made = bill(Path(sys.argv[1]).read_text(encoding="utf-8"), shoal.__version__)
    Path(sys.argv[2]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
