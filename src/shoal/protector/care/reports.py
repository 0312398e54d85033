"""What the log says about reveals: every single one, and sums per person, purpose and period; all under audit pseudonyms.

The *actor* (``A-…``) is who got the identity, the *subject* (``S-…``) whose identity it was. A subject's audit pseudonym holds
within one domain: nobody sees from the log that a person is in two. Who they are, owner and auditor can find out only together
(:mod:`shoal.protector.care.reports`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import AccessError, UsageError, refuse
from shoal.protector.log import audit, segments, shares
from shoal.protector.people.limits import DAY, read
from shoal.protector.pseudonyms.domains import Domain
from shoal.protector.store.state import DOMAIN

if TYPE_CHECKING:
    from shoal.protector.actions.frame import OpenVault
    from shoal.protector.session import Session
    from shoal.protector.store.database import Tx
    from shoal.report.charts import Chart


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
    details = ("n", "time", "actor", "request", "domain", "purpose", "case")
    return [
        {"subject": subject, **{name: event.get(name, "") for name in details}}
        for event in _real_events(read_log(session, actions=["reveal"]))
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
    events = _real_events(read_log(session, actions=[action]))
    return _by_actor(events, period, action) if by == "actor" else _by_subject(events, period, action)


def _real_events(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events, without reveals that were only announced, or that Shoal 0.3.0 logged before a witness refused them."""
    kept: list[dict[str, Any]] = []
    for event in events:
        if event["outcome"] == "refused" and event.get("reason") == "witness":
            kept = [e for e in kept if e["outcome"] != "done" or e.get("request") != event["request"]]
        if event["outcome"] != "announced":
            kept.append(event)
    return kept


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
        {"actor": actor, "purpose": purpose, "period": when, action + "s": counts["done"], "records": counts["records"]}
        | {"people": len(subjects[when, actor, purpose]), "refused": counts["refused"], "alarms": counts["alarm"]}
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
        {"subject": subject, "domain": domain, "purpose": purpose, "period": when}
        | {action + "s": len(who), "actors": len(set(who))}
        for (when, subject, domain, purpose), who in sorted(actors.items())
    ]


def _day(given: date | str, default: str) -> str:
    """A day as the log writes it."""
    if not given:
        return default
    with refuse(UsageError("a day is written like 2025-01-31."), ValueError):
        return given.isoformat() if isinstance(given, date) else date.fromisoformat(given).isoformat()


def resolve(owner: Session, auditor: Session, pseudonym: str, *, owner_share: str, auditor_share: str, reason: str) -> str:
    """The name behind an audit pseudonym. Owner and auditor each give their share; the log keeps the event."""
    with _together(owner, auditor, pseudonym, reason) as tx:
        sealed = shares.open_name(tx, pseudonym, owner_share, auditor_share)
        name = sealed if pseudonym.startswith("A-") else _subject_name(owner.vault, tx, pseudonym, sealed)
    return name.decode()


def subject_of(
    owner: Session, auditor: Session, domain: str, identity: str, *, owner_share: str, auditor_share: str, reason: str
) -> str:
    """The audit pseudonym of a data subject, by which :func:`~.reports.reveals` lists who received this person's name.

    The opposite of :func:`resolve`, under the same rule.
    """
    keyring = owner.vault.keyring
    with owner.vault.store.read() as tx:
        opened = keyring.opened(tx, keyring.domain(tx, domain))
        name = opened.subject(opened.plain(identity))
    with _together(owner, auditor, name, reason) as tx:
        shares.join(tx, owner_share, auditor_share)
    return name


@contextlib.contextmanager
def _together(owner: Session, auditor: Session, pseudonym: str, reason: str) -> Iterator[Tx]:
    """A transaction of owner and auditor about one audit pseudonym; logged when it succeeds, and when it is refused."""
    if owner.name == auditor.name:
        raise UsageError("owner and auditor resolve together: two people are needed.")
    if not reason.strip():
        raise UsageError("a resolution needs a reason.")
    with auditor.frame.acting("resolve", of=pseudonym[:20]) as (tx, now):
        for session, role in ((owner, "owner"), (auditor, "auditor")):
            if role not in session.frame.require(tx, now, "resolve").roles:
                raise AccessError(f"the {role}'s token does not have the role {role}.", reason="role")
        yield tx
        together = audit.actor_pseudonym(owner.vault.store, owner.name)
        auditor.frame.log(tx, now, "resolve", of=pseudonym, together_with=together, purpose=reason)


def _subject_name(vault: OpenVault, tx: Tx, pseudonym: str, sealed: bytes) -> bytes:
    domain_id = sealed[:8].hex()
    domain = next((d for d in map(Domain.from_json, tx.all(DOMAIN)) if d.id == domain_id), None)
    if domain is None or domain.shredded:
        raise AccessError("the domain of this person was shredded: nothing leads back.", reason="shredded")
    return vault.keyring.opened(tx, domain).subject_box.open(sealed[8:], pseudonym.encode())


def timeline(session: Session, out: str | Path, *, period: str = "month", action: str = "reveal") -> list[dict[str, Any]]:
    """Write records revealed per period, stacked by actor and purpose, as SVG (or PNG, or HTML); the rows behind it.

    Actors appear under audit pseudonyms; periods without a reveal stay empty; by day, the limit per person is drawn where it
    comes into sight. The same log gives the same bytes.
    """
    from shoal.report import charts

    rows = report(session, period=period, action=action)
    with session.frame.reading("audit") as (tx, _):
        daily = [limit.max for purpose, limit in read(tx, action, "") if purpose == "*" and limit.seconds == DAY]
    most = daily[0] if daily and period == "day" else None
    charts.save(drawn(rows, action, period, most), out)
    return rows


def drawn(rows: list[dict[str, Any]], action: str, period: str, most: int | None, width: int = 720) -> Chart:
    """The chart of a report's rows."""
    from shoal.report import charts

    periods = _without_gaps(sorted({r["period"] for r in rows}))
    series: dict[str, list[int]] = {}
    for actor, purpose in sorted({(r["actor"], r["purpose"]) for r in rows if r["records"]}):
        records = {r["period"]: r["records"] for r in rows if (r["actor"], r["purpose"]) == (actor, purpose)}
        series[f"{actor} {purpose}"] = [records.get(p, 0) for p in periods]
    refused = [sum(r["refused"] + r["alarms"] for r in rows if r["period"] == p) for p in periods]
    title = f"{action} per {period}".capitalize() if rows else f"No {action} yet"
    limit = None if most is None else (most, "limit per person")
    return charts.timeline(periods, series, title=title, y=f"records ({action})", refused=refused, limit=limit, width=width)


def _without_gaps(periods: list[str]) -> list[str]:
    """Every day, month or year from the first to the last.

    >>> _without_gaps(["2025-11", "2026-02"]), _without_gaps(["2024-02-28", "2024-03-01"])
    (['2025-11', '2025-12', '2026-01', '2026-02'], ['2024-02-28', '2024-02-29', '2024-03-01'])
    """
    if not periods:
        return []
    first, last = (date.fromisoformat((p + "-01-01")[:10]) for p in (periods[0], periods[-1]))
    days = (date.fromordinal(n).isoformat() for n in range(first.toordinal(), last.toordinal() + 1))
    return list(dict.fromkeys(day[: len(periods[0])] for day in days))
