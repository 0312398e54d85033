"""What ``shoal anonymize`` tells of an event release: what it cost, what holds, what it still tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from shoal.cli import _shared
from shoal.cli._shell.again import word
from shoal.model.written import written

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventCertificate, EventSteps
    from shoal.release.events.release import EventRelease


def tell(release: EventRelease, out: Path) -> None:
    """The cost first, then what was done, what holds, and where it is."""
    made = release.certificate
    typer.secho(made.cost.sentence, fg="red" if made.cost.loss > 0.8 else None)
    _shared.line(f"Published: {_done(made.steps)}.")
    if made.objections is not None:
        _shared.line(made.objections.sentence)
    _shared.line(made.verdict)
    for finding in made.requirements:
        told = "none" if finding.found is None else written(finding.found)
        _shared.line(f"  ok  {_shared.printable(finding.sentence)} (found {told})")
    out_ = _shared.console()
    out_.print(
        _shared.table_of("What known records reveal", ("known", "alone before", "alone now"), _known(made), right=(0, 1, 2))
    )
    rows = [
        (u.name, _shared.shown(u.before, 6), _shared.shown(u.after, 6), "" if u.kept is None else f"{written(100 * u.kept, 3)} %")
        for u in made.uses
    ]
    out_.print(_shared.table_of("What it still tells", ("", "before", "after", "kept"), rows, right=(1, 2, 3)))
    for attack in made.attacks:
        if attack.verdict in ("broken", "warning"):
            _shared.line(f"  {attack.verdict}  {attack.name}: {attack.sentence}")
    beside = _shared.printable(str(release.private_file))
    drawn = "of what was drawn" if made.steps.vault else "of the pseudonyms"
    _shared.line(f"The seed {drawn} is in {beside}: keep it apart, with the table it undoes them.")
    if made.key is not None:
        _shared.line(f"Signed with key {made.key.fingerprint} ({made.key.origin}).")
    place = _shared.printable(str(out))
    _shared.line(f"Written and counted again: {place}/")
    _shared.next_step(f"shoal verify {word(place)} proves it again, any time.", within=True)


def _done(steps: EventSteps) -> str:
    parts = [f"time {steps.time}"] if steps.time else []
    parts += [f"place {steps.place}"] if steps.place else []
    parts += [f"at most {steps.most_records:,} records per person"] if steps.most_records else []
    parts += [f"a new pseudonym: {steps.renew}"] if steps.renew != "never" else []
    parts += [f"pseudonyms of the vault's domain {steps.vault}"] if steps.vault else []
    parts += [f"dates shifted by up to {steps.shift} days"] if steps.shift else []
    return _shared.printable(", ".join(parts))


def _known(made: EventCertificate) -> list[tuple[str, str, str]]:
    from shoal.report.numbers import percent

    before = {b.records: percent(b.alone) for b in made.before}
    after = {int(s): percent(a) for s, a in made.judged_by.alone.items()}
    return [(f"{s}", before.get(s, ""), after.get(s, "")) for s in sorted({*before, *after})]
