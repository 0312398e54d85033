"""Rotation of the log: what lies in an archive of segments leaves the database, by two people and after the witnesses know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.protector.log import retiring, witness

if TYPE_CHECKING:
    from shoal.protector.session import Session


def retire_log(session: Session, upto: int, head: str) -> dict[str, Any]:
    """Take the events up to ``upto`` out of the database, where the log was signed with the hash ``head``.

    Both are the end of an archive that was checked (:func:`shoal.protector.log.segments.check`). Whoever confirms compares them
    with the archive first: what left the database is only there, but for the events that :mod:`shoal.protector.log.retiring`
    keeps.
    """
    frame = session.frame
    with frame.reading("retire") as (tx, _):
        signed, places = retiring.signed_end(tx, upto, head), witness.places(tx)
    change = frame.agreed("retire", upto=upto, head=head)
    witness.send(places, signed)
    with frame.acting("retire") as (tx, now):
        frame.use(tx, now, change)
        done = retiring.retire(tx, upto, head)
        frame.log(tx, now, "retire", upto=upto, count=done["events"], kept=done["kept"])
    return {"upto": upto, "head": head, **done}
