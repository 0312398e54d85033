"""The report as people meet it: in light and dark, on paper, on a telephone, with a screen reader, without a mouse."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.release.policy.draft import draft_policy
from shoal.report.pages import style


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(7)
    n = 300
    table = pa.table(
        {
            "age": rng.integers(20, 70, n),
            "sex": pa.array(rng.choice(["f", "m"], n).tolist()[:-40] + [None] * 40),
            "ill": rng.choice(["flu", "cold", "hiv"], n),
            "pay": rng.integers(1000, 4000, n),
        }
    )
    return shoal.anonymize(
        table,
        {
            "title": "Clinic <2026>",
            "roles": {"quasi": {"age": {}, "sex": {"max_level": 0}}, "sensitive": ["ill"], "insensitive": ["pay"]},
            "require": {"k": 5},
            "method": "lattice",
            "allow": {"suppress": 0.1},
            "analyses": [{"mean": "pay"}],
        },
    )


def colours(theme):
    blocks = re.findall(r"\.shoal\{([^}]*)\}", style())
    return dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", blocks[theme == "dark"]))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(theme):
    """WCAG 2.1, AA: 4.5 for text, 3 for shapes."""
    found = colours(theme)
    assert set(found) == set(colours("light"))
    for name in ("ink", "ink2", "ink3", "sea", "met", "risk", "warn", "plum"):
        for ground in ("bg", "surface", "sunken"):
            assert contrast(found[name], found[ground]) >= 4.5, (name, ground)
    for name in ("sea", "met", "risk", "warn", "plum"):
        assert contrast(found[name], found[f"{name}-soft"]) >= 4.5, name
    for step in range(6):
        assert contrast(found[f"on-heat{step}"], found[f"heat{step}"]) >= 4.5, step
    assert contrast(found["edge"], found["surface"]) >= 3
    assert (luminance(found["bg"]) < 0.05) == (theme == "dark")


def test_headings_links_tables_and_drawings_can_be_read_aloud(release):
    page = release.report()
    assert page.count("<h1>") == 1
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="#([^"]+)"', page)
    assert links
    assert set(links) <= set(ids)
    assert set(re.findall(r'aria-labelledby="([^"]+)"', page)) <= set(ids)
    assert all(f'href="#{i}"' in page for i in ids if not i.startswith("h-")), "every part is in the list of parts"
    titles = ("The shoal", "Class sizes before and after", "Loss of the best plan")
    assert page.count("<svg") == page.count("<desc>") == sum(page.count(f"<title>{t}") for t in titles) == 3
    assert page.count("<th ") == page.count('<th scope="')
    body = page[page.index("<main>") : page.index("</main>") + 7]
    ET.fromstring(body.replace("&nbsp;", " "))  # well formed: nothing open, nothing crossed
    assert "tabindex" not in page


def test_what_to_look_at_stands_at_the_top(release):
    page = release.report()
    top = page[page.index('class="points"') : page.index("<nav")]
    for words in ("Attacks that were not run", "guessed from the data", "Not stated in the policy", "taken as one person"):
        assert words in top
    assert "further knowledge" in top, "a warning of the attacks"
    assert "k, if missing values are" in page, "k under the three rules, where they differ"
    assert "Clinic &lt;2026&gt;" in page


def test_no_value_of_a_small_group_and_no_number_of_the_data_is_on_the_page(release):
    page = release.report()
    values = {str(v) for v in pa.table(release.prepared.table.scan(["pay"]).__next__()).column("pay").to_pylist()[:50]}
    words = set(re.findall(r">([^<>]+)<", page))
    assert not values & words


def test_the_chart_says_before_and_after(release):
    drawn = next(d for d in re.findall(r"<svg.*?</svg>", release.report(), re.S) if "Class sizes" in d)
    words = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    assert "hidden among 5 or more →" in words
    assert "← too small to hide in" in words
    assert "before" in drawn[: drawn.index("</desc>")]
    assert 'class="before' in drawn
    assert 'class="safe"' in drawn


def test_a_draft_reads_back_any_name():
    from types import SimpleNamespace as Thing

    names = [
        "age",
        "no",
        "on",
        "cost (€)",
        "a\u202eb",
        "\U0001f600",
        "\U000e0041",
        'q"u\\o',
        "x: y",
        "- z",
        "tab\tname",
        "ß",
        "1",
    ]
    quasi = Thing(value="quasi")
    facts = {"reason": "r", "role": quasi, "mark": "", "confidence": 0.4, "change": "c", "missing_values": (), "missing": ()}
    facts |= {"kind": "text", "scale": Thing(value="nominal")}
    columns = [Thing(name=n, **facts) for n in names]
    policy = shoal.Policy.parse(draft_policy(Thing(columns=columns, unit=None, weight=None)))
    assert list(policy.quasi) == names
