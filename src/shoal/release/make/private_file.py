"""What the owner of a release keeps: its seed and its whole plan, beside its folder, never inside it.

Anyone who has the seed can take noise off, swap values back and undo every other random change. So ``plan.json`` is published
without it; the certificate holds a commitment, which gives nothing away and binds the publisher to the seed; and where random
changes were made, a file that only its owner may read keeps the seed beside the folder, for anyone who must repeat the run. Where
the published plan leaves rare values out (:mod:`shoal.release.make.certify`), that file keeps the whole plan too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk import atomic
from shoal.disk.atomic import write_private
from shoal.engines.exclusion import LeftOut, ids_of, spellings
from shoal.errors import OutputError, TamperError, UnreadableError, UsageError
from shoal.kernels.signatures import Signer
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.file import is_of_events, read_certificate, read_event_certificate
from shoal.model.certificate.parts import Objections, PlanEntry
from shoal.model.exclusion import commitment
from shoal.model.plan import Plan
from shoal.model.seed import PRIVATE_ENDING, PRIVATE_FORMAT
from shoal.release.plan.plan_json import parse_plan
from shoal.release.proof.read import rows

if TYPE_CHECKING:
    from shoal.kernels.signatures import Signer


NOTE = "Anyone who has this file can undo random changes of the release, or read rare values. Keep it apart from it."


@dataclass(frozen=True)
class Kept:
    """A seed and the salt of its commitment, where something was drawn; the whole plan, where the published one lacks values.

    ``release`` is the SHA-256 of the published plan: the release that it belongs to. ``list_salt`` is that of the commitment to
    the list of people who objected. Nothing of it is shown.
    """

    seed: int | None
    salt: str
    plan: str | None = None
    release: str = ""
    list_salt: str = ""

    def __repr__(self) -> str:
        return "Kept()"

    @property
    def commitment(self) -> str | None:
        """SHA-256 of salt and seed: without the salt (256 bits) no seed can be tried against it. None where nothing was drawn."""
        return None if self.seed is None else hashlib.sha256(f"shoal seed|{self.salt}|{self.seed}".encode()).hexdigest()


def kept(plan: Plan, shown: Plan, signer: Signer, list_salt: str = "") -> Kept | None:
    """What must be kept of a plan that is published as ``shown``; None where nothing random depends on its seed, nothing is
    left out (the order of the rows tells nothing) and nobody objected."""
    random, whole = plan.draws, plan.steps == shown.steps
    if not random and whole and not list_salt:
        return None
    salt = signer.keyed_hash([str(plan.seed).encode(), plan.to_json().encode()], purpose="seed") if random else ""
    text = None if whole else plan.without_seed().to_json()
    release = hashlib.sha256(shown.to_json().encode()).hexdigest()
    return Kept(plan.seed if random else None, salt, text, release, list_salt)


def place_of(release: Path) -> Path:
    """Where the private file of a release folder is: beside it."""
    return release.parent / f"{release.name}{PRIVATE_ENDING}"


def free(path: Path) -> None:
    """Raise where a private file is left although its folder is gone: it may be the only copy of a seed."""
    if path.exists() or path.is_symlink():
        hint = "Move it away or delete it, or name another folder after --out."
        raise OutputError(f"'{path.name}' is left from an earlier release whose folder is gone.", hint=hint)


@contextlib.contextmanager
def hidden(secret: Kept | None, stage: Path) -> Iterator[Path | None]:
    """The seed under a passing name beside the stage of its release, while the release gets its name.

    So at no moment a release exists without its seed: a run that is killed leaves both (:func:`rescue`). Where the release does
    not get its name, the seed is removed.
    """
    if secret is None:
        yield None
        return
    path = stage.with_name(stage.name.replace("stage", "seed", 1))
    try:
        write(secret, path)
        yield path
    finally:
        if stage.exists():
            path.unlink(missing_ok=True)


def appear(
    target: str | Path,
    make: Callable[[Path], Kept | None],
    *,
    keeps: bool,
    guard: AbstractContextManager[object] | None = None,
    last: Callable[[Path], None] | None = None,
) -> tuple[Path, Path | None]:
    """A release folder, whole or not at all, and its private file; None if nothing is kept.

    ``make`` fills a private folder and gives what is kept, which is written first: no release is ever there without it. ``keeps``
    says that there may be something; ``last`` runs under the ``guard``, when the folder has its name.
    """
    place = atomic.free(target)
    beside, parent = place_of(place), place.absolute().parent
    rescue(parent)
    if keeps:
        free(beside)
    with guard or contextlib.nullcontext():
        with atomic.staged(parent) as stage, hidden(make(stage), stage) as seed:
            atomic.publish(stage, place)
        if last is not None:
            last(place)
    return place, None if seed is None else settle(seed, beside)


def settle(seed: Path, path: Path) -> Path:
    """Give a hidden seed its name, never over another; where that cannot be done it stays where it is."""
    try:
        os.link(seed, path)  # unlike a rename it never replaces
        seed.unlink()
    except FileExistsError:
        return seed
    except OSError:  # a file system without links
        seed.rename(path)
    return path


def rescue(place: Path) -> None:
    """What killed runs left in a folder: a seed whose release is there gets its name, one without a release is removed.

    While the stage of the same run is still there, its release never got a name and nothing was lost.
    """
    for left in place.glob(".shoal-seed-*"):
        process, stage = atomic.owner(left), left.with_name(left.name.replace("seed", "stage", 1))
        if process is None or atomic.alive(process):
            continue
        if stage.exists():
            left.unlink(missing_ok=True)
        else:
            _reunite(left, place)


def _reunite(left: Path, place: Path) -> None:
    """Find the release that a seed belongs to, by the commitment in its certificate."""
    for file in place.glob(f"*/{NAME}"):
        with contextlib.suppress(OSError, TamperError, UnreadableError):
            certificate = read_event_certificate(file) if is_of_events(file.parent) else read_certificate(file)
            if fits(read(left), certificate.plan):
                settle(left, place_of(file.parent))
                return


def write(secret: Kept, path: Path) -> None:
    """The private file, mode 600, never over another."""
    whole: dict[str, Any] = {"format": PRIVATE_FORMAT, "note": NOTE, "seed": secret.seed, "salt": secret.salt}
    whole["release"] = secret.release
    if secret.list_salt:
        whole["list_salt"] = secret.list_salt
    if secret.plan is not None:
        whole["plan"] = json.loads(secret.plan)
    write_private(path, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")


def read(path: str | Path) -> Kept:
    """A private file."""
    try:
        data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != PRIVATE_FORMAT:
            raise ValueError
        seed, plan = data["seed"], data.get("plan")
        text = None if plan is None else parse_plan(json.dumps(plan)).to_json()
        salts = str(data["salt"]), str(data.get("list_salt", ""))
        return Kept(None if seed is None else int(seed), salts[0], text, str(data.get("release", "")), salts[1])
    except OSError as error:
        raise UnreadableError(f"the private file cannot be read: {type(error).__name__}.", hint="Check its path.") from None
    except (ValueError, KeyError, TypeError):
        raise UnreadableError("the private file is not one that Shoal wrote.", hint="It ends in .private.json.") from None


def fits(secret: Kept, stated: PlanEntry) -> bool:
    """Whether a private file belongs to the release with this plan: its seed, or where it has none the published plan."""
    return secret.commitment == stated.seed_commitment and secret.release in ("", stated.sha256)


def check(stated: PlanEntry, path: str | Path) -> str:
    """Whether the private file is that of the release."""
    secret = read(path)
    if not fits(secret, stated) or (secret.seed is None and not secret.release):
        raise TamperError("the private file holds another seed or plan than those the certificate is bound to.")
    return "the private file belongs to this release: its seed and plan are those the certificate is bound to"


def objections(left: LeftOut | None, signer: Signer) -> tuple[Objections | None, str]:
    """What is certified of the list, and the salt of the commitment, which is kept apart; nothing without a list."""
    if left is None:
        return None, ""
    salt = signer.keyed_hash([i.encode() + b"\n" for i in sorted(left.ids)], purpose="objections")
    left_out = left.told
    bound = commitment(left.ids, salt)
    return Objections(**vars(left_out), commitment=bound), salt


def check_list(stated: Objections, listed: str | Path | Iterable[Any], private: str | Path) -> str:
    """Whether a list is the one that a certificate is bound to."""
    ids = ids_of(listed, stated.column)
    salt = read(private).list_salt
    if not salt or commitment(ids, salt) != stated.commitment:
        raise TamperError("the list, or the private file, is another than the one that the certificate is bound to.")
    return f"the list of {len(ids):,} people is the one that the certificate is bound to"


def private_of(place: Path, private: str | Path | None) -> str | Path:
    """The private file that a list is compared with: the one given, or the one beside the folder."""
    beside = place_of(place.absolute())
    if private is None and not beside.exists():
        hint = "Name it with --private FOLDER.private.json: it holds the salt of the commitment."
        raise UsageError("the list of people to leave out can be compared only with the private file of the release.", hint=hint)
    return beside if private is None else private


def none_published(data: Path, column: str, ids: tuple[str, ...]) -> None:
    """Look for each id in the published column, however it is spelled there."""
    forbidden = {s for kind in ("text", "integer", "float") for s in spellings(ids, kind)}
    there = sum(value is not None and str(value) in forbidden for (value,) in rows(data, [column]))
    if there:
        raise TamperError(f"{there:,} published records are of people who asked not to be in it.")
