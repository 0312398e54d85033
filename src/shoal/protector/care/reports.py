"""What the log says about reveals: every single one, and sums per person, purpose and period; all under audit pseudonyms.

The *actor* (``A-…``) is who got the identity, the *subject* (``S-…``) whose identity it was. A subject's audit pseudonym holds
within one domain: nobody sees from the log that a person is in two. Who they are, owner and auditor can find out only together
(:mod:`shoal.protector.care.naming`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING, Any

from shoal.errors import UsageError
from shoal.protector.log import audit, segments

if TYPE_CHECKING:
    from shoal.protector.session import Session

_PERIODS = {"day": 10, "month": 7, "year": 4}


def read_log(session: Session, *, actions: Iterable[str] | None = None, last: int | None = None) -> list[dict[str, Any]]:
    """Events of the log, under audit pseudonyms, for the auditor."""
    with session.frame.reading("audit") as (tx, _):
        first = 1 if last is None else max(1, tx.state.audit_seq - last + 1)
        return list(audit.events(tx, first=first, actions=actions))


def log_segment(session: Session, after: int = 0) -> dict[str, Any]:
    """A closed part of the log behind event ``after``, to be kept outside (:mod:`~shoal.protector.log.segments`).

    ``end`` tells where the log ended when it was asked for; that it was is an event too, so there is always one to export.
    """
    with session.frame.acting("audit") as (tx, now):
        end = tx.state.audit_seq
        if after <= end:
            session.frame.log(tx, now, "audit", detail="log exported")
        return {**segments.cut(tx, after, now), "end": end}


def reveals(
    session: Session, *, of: str = "", purpose: str = "", since: date | str = "", until: date | str = ""
) -> list[dict[str, Any]]:
    """Every identity that was ever revealed: one row per subject and reveal, in order of time.

    Parameters
    ----------
    of : str
        Only this audit pseudonym: of a subject (``S-…``), or of the actor who got the identities (``A-…``).
    purpose : str
        Only this purpose (case and blanks around it do not matter).
    since, until : date
        Only from this day, and up to and including that day (UTC).
    """
    if of and not of.startswith(("A-", "S-")):
        raise UsageError("this is not an audit pseudonym.", hint="Audit pseudonyms begin with A- (actors) or S- (data subjects).")
    first, last = _day(since, "0001-01-01"), _day(until, "9999-12-31")
    told = ("n", "time", "actor", "request", "domain", "purpose", "case")
    return [
        {"subject": subject, **{name: event.get(name, "") for name in told}}
        for event in read_log(session, actions=["reveal"])
        if event["outcome"] == "done" and first <= event["time"][:10] <= last
        if not purpose or event.get("purpose", "").casefold() == purpose.strip().casefold()
        for subject in event.get("subjects", ())
        if of in ("", subject, event["actor"])
    ]


def report(session: Session, *, period: str = "month", action: str = "reveal", by: str = "actor") -> list[dict[str, Any]]:
    """Reveals (or another action) per person, purpose and period.

    ``period`` is ``day``, ``month`` or ``year``. ``by`` says which person: the ``actor``, with refusals and alarms, or the
    ``subject``, with the number of actors who got the identity.
    """
    if period not in _PERIODS:
        raise UsageError(f"period '{period}' is not known.", hint=f"Known: {', '.join(_PERIODS)}.")
    if by not in ("actor", "subject"):
        raise UsageError(f"a report by '{by}' is not known.", hint="Known: actor, subject.")
    events = read_log(session, actions=[action])
    return _by_actor(events, period, action) if by == "actor" else _by_subject(events, period, action)


def _by_actor(events: Iterable[dict[str, Any]], period: str, action: str) -> list[dict[str, Any]]:
    totals: dict[tuple[str, str, str], Counter[str]] = {}
    subjects: dict[tuple[str, str, str], set[str]] = {}
    for event in events:
        key = (event["time"][: _PERIODS[period]], event["actor"], event.get("purpose", ""))
        counter = totals.setdefault(key, Counter())
        counter[event["outcome"]] += 1
        counter["records"] += event.get("count", 0) if event["outcome"] == "done" else 0
        subjects.setdefault(key, set()).update(event.get("subjects", ()))
    return [
        {
            "actor": actor,
            "purpose": purpose,
            "period": when,
            action + "s": counts["done"],
            "records": counts["records"],
            "people": len(subjects[when, actor, purpose]),
            "refused": counts["refused"],
            "alarms": counts["alarm"],
        }
        for (when, actor, purpose), counts in sorted(totals.items())
    ]


def _by_subject(events: Iterable[dict[str, Any]], period: str, action: str) -> list[dict[str, Any]]:
    actors: dict[tuple[str, str, str, str], list[str]] = {}
    for event in events:
        if event["outcome"] == "done":
            for subject in event.get("subjects", ()):
                key = (event["time"][: _PERIODS[period]], subject, event.get("domain", ""), event.get("purpose", ""))
                actors.setdefault(key, []).append(event["actor"])
    return [
        {
            "subject": subject,
            "domain": domain,
            "purpose": purpose,
            "period": when,
            action + "s": len(who),
            "actors": len(set(who)),
        }
        for (when, subject, domain, purpose), who in sorted(actors.items())
    ]


def _day(given: date | str, default: str) -> str:
    """A day as the log writes it."""
    if not given:
        return default
    try:
        return given.isoformat() if isinstance(given, date) else date.fromisoformat(given).isoformat()
    except ValueError:
        raise UsageError("a day is written like 2025-01-31.") from None
