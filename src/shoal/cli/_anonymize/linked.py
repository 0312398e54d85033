"""``shoal anonymize --policy FILE`` where the policy names several tables: released together, and what is told of it."""

from __future__ import annotations

from pathlib import Path

import shoal
from shoal.cli import _shared
from shoal.cli._shell.again import word
from shoal.disk.atomic import free
from shoal.model.display import written


def release_linked(policy: Path, out: Path, form: str, key: Path | None, exclude: str | None, *, as_json: bool) -> None:
    """Several tables about the same people, released together."""
    free(out)
    with _shared.progress("anonymizing") as told:
        release = shoal.anonymize_tables(policy, key_file=key, format=form, exclude=exclude, progress=told)
        release.write(out, progress=told)
        release.close()
    made = release.certificate
    if as_json or made is None:
        _shared.put_json(release.to_json())
        return
    _shared.line(made.verdict)
    for name, levels in release.levels.items():
        told_levels = ", ".join(f"{_shared.printable(c)} {n}" for c, n in levels.items())
        _shared.line(f"  {_shared.printable(name)}: level of {told_levels}")
    _shared.line(f"Loss {written(made.loss, 3)} of 1; not proven to be the least.")
    for attack in made.attacks:
        if attack.verdict != "holds":
            _shared.line(f"  {attack.verdict}  {_shared.printable(attack.name)}: {_shared.printable(attack.sentence)}")
    if release.private_file is not None:
        _shared.line(f"What the list of objections can be checked with is in {release.private_file}: keep it apart.")
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    _shared.line(f"Written and counted again: {_shared.printable(str(out))}/")
    _shared.next_step(f"shoal verify {word(out)} proves it again, any time.", within=True)
