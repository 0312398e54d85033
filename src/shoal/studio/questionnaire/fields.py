"""What the forms of a questionnaire send, as descriptions that the library reads."""

from __future__ import annotations

import re
from typing import Any

from shoal.api.arguments import population_of
from shoal.errors import UsageError

MOST_TEXT = 500
MOST_NAME = 60
HOW = ("values", "range", "answers", "registry")


def spec_of(fields: dict[str, str]) -> dict[str, Any]:
    """The description of a question from its card."""
    how = fields.get("how", "")
    if how == "values":
        spec: dict[str, Any] = {"values": whole(fields.get("values", ""), "the number of answers")}
        if fields.get("ordered") == "1":
            spec["ordered"] = True
    elif how == "range":
        low, high = whole(fields.get("low", ""), "the lowest number"), whole(fields.get("high", ""), "the highest number")
        spec = {"range": [low, high], "band": whole(fields.get("band", "") or "1", "the width of a band")}
        if fields.get("unit", "").strip():
            spec["unit"] = fields["unit"].strip()[:20]
    elif how == "answers":
        spec = {"answers": answers_of(fields.get("answers", ""))}
        if fields.get("known") != "1":
            spec["source"] = "guess"
        if fields.get("ordered") == "1":
            spec["ordered"] = True
    elif how == "registry":
        code, place = fields.get("code", "").strip(), fields.get("place", "").strip()
        if not code or not place:
            raise UsageError("a registry is asked by a code and a place.", hint="For instance age/years and UK/Leeds@2019.")
        spec = {"registry": {"code": code, "population": place}}
    else:
        raise UsageError("this way to describe answers is not known.", hint="Choose one of those shown.")
    said = " ".join(fields.get("text", "").split())[:MOST_TEXT]
    return spec | ({"text": said} if said else {}) | ({"keep": True} if fields.get("keep") == "1" else {})


def answers_of(text: str) -> dict[str, float]:
    """Shares from lines such as ``woman 51``; they are parts of whatever they add up to.

    >>> answers_of("woman 51\\nman: 49 %")
    {'woman': 0.51, 'man': 0.49}
    """
    found: dict[str, float] = {}
    for line in filter(str.strip, text.splitlines()):
        parts = re.fullmatch(r"\s*(.*?)[\s:=;,]+([0-9]+(?:[.,][0-9]+)?)\s*%?\s*", line)
        if parts is None or not parts[1]:
            raise UsageError("an answer is a word and its share.", hint="Write one on each line, for instance: woman 51")
        if parts[1] in found:
            raise UsageError("an answer is there twice.", hint="Give each answer its own line.")
        found[parts[1][:80]] = float(parts[2].replace(",", "."))
    total = sum(found.values())
    if len(found) < 2 or total <= 0:
        raise UsageError("a question has at least two answers, and some share.", hint="Write one on each line: woman 51")
    return {name: float(f"{share / total:.9g}") for name, share in found.items()}


def about_of(fields: dict[str, str]) -> dict[str, Any]:
    """Who could be asked, who answers, what is aimed for; only what was sent."""
    out: dict[str, Any] = {}
    if "population" in fields:
        out["population"] = population_of(fields["population"].replace(",", "").strip() or "0")
    if "respondents" in fields:
        out["respondents"] = whole(fields["respondents"].replace(",", ""), "the number of respondents")
    if "target" in fields:
        share = fields["target"].replace("%", "").replace(",", ".").strip()
        if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", share) or not 0 < float(share) <= 100:
            raise UsageError("the aim is a share of those who answer.", hint="Write 5 for 1 in 20.")
        out["target"] = float(f"{float(share) / 100:.9g}")
    return out


def name_of(fields: dict[str, str]) -> str:
    name = " ".join(fields.get("name", "").split())
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise UsageError("a question needs a short name.", hint=f"Take at most {MOST_NAME} letters, for instance: age")
    return name


def whole(text: str, what: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,12}", text.strip()):
        raise UsageError(f"{what} is no whole number.", hint="Write figures only.")
    return int(text)
