"""Generated people, each once or several times, with the errors that hands make."""

from __future__ import annotations

import random

FIELDS = {"first": "given", "last": "family", "dob": "birth", "zip": "postcode", "sex": "sex"}
_FIRST = "anna bert chris daan eva fien gijs hanna ivo jana kees lotte mila noor otto piet quinn rosa sem tess".split()
_PARTS = "jan de bos smit dijk vis meer mul berg hof kok bak wit post kuip laan veld horst beek stam".split()


def people_twice(count: int, *, seed: int) -> dict[str, list[str]]:
    """A table of ``count`` people, about half of them with a second record that has errors; ``person`` is the truth."""
    rng = random.Random(seed)
    rows = []
    for person in range(count):
        row = {
            "first": rng.choice(_FIRST) + rng.choice(("", "", "tje", "lie")),
            "last": rng.choice(_PARTS) + rng.choice(_PARTS) + rng.choice(("", "sen", "ma")),
            "dob": f"{rng.randrange(1930, 2010)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}",
            "zip": f"{rng.randrange(1000, 1100)}",
            "sex": rng.choice("mf"),
            "person": str(person),
        }
        rows.append(row)
        if rng.random() < 0.5:
            rows.append(_mistyped(dict(row), rng))
    rng.shuffle(rows)
    return {name: [row[name] for row in rows] for name in FIELDS | {"person": ""}}


def _mistyped(row: dict[str, str], rng: random.Random) -> dict[str, str]:
    for _ in range(rng.choice((1, 1, 2))):
        what = rng.randrange(6)
        if what == 0:
            row["first"], row["last"] = row["last"], row["first"]
        elif what == 1 and "-" in row["dob"]:
            year, month, day = row["dob"].split("-")
            row["dob"] = f"{day}.{month}.{year}"
        elif what in (1, 2):
            row["zip"] = f"{rng.randrange(1000, 1100)}"
        else:
            column = "first" if what == 3 else "last"
            text, at = row[column], rng.randrange(len(row[column]) - 1)
            row[column] = rng.choice(
                (text[:at] + text[at + 1 :], text[:at] + text[at + 1] + text[at] + text[at + 2 :], text + "e")
            )
    return row
