"""Days as East Asia writes them: 2020年5月1日, 平成30年5月1日, 民國109年5月1日, 2020년 5월 1일.

Takes    texts of a column
Returns  whether all are such days, and the SQL that writes them as YYYY-MM-DD
Keeps    a day that the calendar does not have is none; a year and a month alone stay text, since the day is not known
"""

from __future__ import annotations

import datetime
import re

from shoal.engines.duckdb.sql import literal

ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018, "民國": 1911, "民国": 1911, "中華民國": 1911}
"""Years that stand before an era's first."""
_DAY = rf"(?:({'|'.join(ERAS)}) ?(元|[0-9]{{1,3}})|([0-9]{{4}})) ?(?:年|년) ?([0-9]{{1,2}}) ?(?:月|월) ?([0-9]{{1,2}}) ?(?:日|일)"
_FORM = re.compile(_DAY)


def east_day(text: str) -> datetime.date | None:
    """The day that a text writes.

    >>> [str(east_day(t)) for t in ("2020年5月1日", "令和元年7月3日", "2020년 12월 24일", "2020年2月30日", "2020年5月")]
    ['2020-05-01', '2019-07-03', '2020-12-24', 'None', 'None']
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    era, of_era, year, month, day = match.groups()
    own = int(year) if year else ERAS[era] + (1 if of_era == "元" else int(of_era))
    try:
        return datetime.date(own, int(month), int(day))
    except ValueError:
        return None


def day_sql(text: str) -> str:
    """The SQL of such a text as YYYY-MM-DD; missing where it is another."""

    def part(group: int) -> str:
        return f"regexp_extract({text}, {literal(_DAY)}, {group})"

    years = " ".join(f"WHEN {literal(era)} THEN {before}" for era, before in ERAS.items())
    of_era = f"CASE {part(1)} {years} END + CASE {part(2)} WHEN '元' THEN 1 ELSE TRY_CAST({part(2)} AS INTEGER) END"
    year = f"CAST(coalesce(TRY_CAST({part(3)} AS INTEGER), {of_era}) AS VARCHAR)"
    day = f"lpad({year}, 4, '0') || '-' || lpad({part(4)}, 2, '0') || '-' || lpad({part(5)}, 2, '0')"
    return f"CASE WHEN regexp_full_match({text}, {literal(_DAY)}) THEN {day} END"
