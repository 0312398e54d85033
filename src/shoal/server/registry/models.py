"""What the registry's answers look like: the part of OpenAPI that clients read."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from shoal.server.common import many, shape

_Status = Literal["current", "superseded", "revoked"]
_Text = str | None


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Submitted(Strict):
    """A record or statement that was taken."""

    id: str
    line: int
    head: str


_strict = partial(shape, base=Strict)

# -- what holders sign ---------------------------------------------------------------------------------------------------------

_Noise = _strict(
    "NoiseBody",
    "How the numbers of a record were drawn: (epsilon, delta)-differential privacy; all steps hold together at ``level``.",
    epsilon=float, delta=float, level=float,
)  # fmt: skip
_Counts = dict[str, dict[str, list[str]] | list[int] | int]
RecordBody = _strict(
    "RecordBody",
    "A signed record; ``noise`` where its numbers were drawn with noise, ``source``, ``shares``, ``counts`` of public tables.",
    format=Literal["shoal-record/1"], attributes=list[str], population=str, size=int, cells=int,
    statistics=dict[str, list[float]], method=str, holder=str, key=str, date=str, version=int, supersedes=_Text, id=str,
    signature=str, noise=(_Noise | None, None), source=(_Text, None),
    shares=(dict[str, float] | None, None), counts=(_Counts | None, None),
)  # fmt: skip
StatementBody = _strict(
    "StatementBody", "A signed endorsement or revocation.",
    format=Literal["shoal-statement/1"], kind=Literal["endorse", "revoke-key", "revoke-record"], subject=str, key=str, date=str,
    number=int, signature=str,
)  # fmt: skip
NoticeBody = _strict(
    "NoticeBody", "A signed line of the catalogue: which attributes a holder holds, or asks for, and about which people.",
    format=Literal["shoal-notice/1"], kind=Literal["holds", "asks"], title=str, attributes=list[str], population=str, holder=str,
    key=str, date=str, version=int, supersedes=_Text, id=str, signature=str,
)  # fmt: skip
_SignedHead = _strict(
    "SignedHead", "Size and root of the Merkle tree over the lines of the log (RFC 9162), signed by the service.",
    format=Literal["shoal-tree-head/1"], size=int, root=str, files=dict[str, str], date=str, key=str, signature=str,
)  # fmt: skip

# -- pages of the log, of records and of the catalogue ---------------------------------------------------------------------------

Head = _strict(
    "Head", "``consistency`` proves that the signed head continues the tree of the lines that were seen before.",
    format=Literal["shoal-registry/1"], line=int, head=str, signed=(_SignedHead | None, None),
    consistency=(list[str] | None, None),
)  # fmt: skip
_LogLine = _strict("LogLine", line=int, kind=str, subject=str, digest=str, hash=str)
LogPage = _strict("LogPage", lines=many(_LogLine))
StatementPage = _strict("StatementPage", statements=many(StatementBody))
RecordPage = _strict("RecordPage", records=many(RecordBody), next=_Text)
RecordAndStatus = _strict("RecordAndStatus", record=RecordBody, status=_Status)
HistoryPage = _strict("HistoryPage", records=many(RecordAndStatus), next=_Text)
NoticeList = _strict("NoticeList", notices=many(NoticeBody), more=bool)
_NoticeAndStatus = _strict("NoticeAndStatus", notice=NoticeBody, status=_Status)
NoticePage = _strict("NoticePage", notices=many(_NoticeAndStatus), next=_Text)

# -- answers to questions ------------------------------------------------------------------------------------------------------

_Estimate: Any = shape(
    "EstimateBody", "A number with interval, grade and method.",
    value=float, low=float, high=float, level=float, grade=Literal["A", "B", "C"], method=str, notes=(list[str], []),
)  # fmt: skip
_Estimated = (_Estimate | None, None)
_Dispute = _strict("DisputeBody", holders=list[str], spread=dict[str, list[float]], cautious=str)
QueryAnswer = _strict(
    "QueryAnswer",
    "What is known, and how well it fits the question; ``others`` are records of holders who do not vouch for these.",
    attributes=list[str], population=str,
    fit=Literal["exact", "finer coding", "coarser coding", "parent population", "margins only", "nothing"], best=_Text,
    records=many(RecordBody), others=list[str], dispute=_Dispute | None, trust=dict[str, int], notes=list[str],
)  # fmt: skip
_SmallestGroup = _strict("SmallestGroup", size=int, sentence=str)
AnalyseAnswer = _strict(
    "AnalyseAnswer", "Predictions for a group.",
    attributes=list[str], population=str, fit=str, group_size=int, unique_share=_Estimate | None, notes=list[str],
    unique_people=(float | None, None), everybody_unique=_Estimated, expected_crowd=_Estimated,
    smallest_group=(_SmallestGroup | None, None),
)  # fmt: skip
_Advice = _strict("Advice", asked=str, advice=Literal["collect", "band", "do not collect", "not known"], code=_Text, reason=str)
_OfferedSet = _strict(
    "OfferedSet", "A set of codes within the target, with its share of unique people.", codes=list[str], unique=_Estimate
)
DecideAnswer = _strict(
    "DecideAnswer",
    "A verdict, advice per attribute, the best sets, from how many people on it holds, and a paragraph for the letter.",
    population=str, group_size=int, target=float, reached=bool, verdict=str, evidence=str, sentence=str, how_many=str,
    enough=int | None, sets=many(_OfferedSet), before=_Estimate, after=_Estimate | None, advice=many(_Advice), log=list[str],
    letter=str,
)  # fmt: skip
_Named = _strict("Named", holder=str, title=str, population=str, id=str)
_Join = _strict(
    "JoinBody", "Two data sets that could be joined, by what, and what each would add.",
    holders=many(_Named), shared=list[str], adds=list[list[str]], unique=_Estimate | None, sentence=str,
)  # fmt: skip
_Request = _strict(
    "RequestBody", "A questionnaire, and what somebody else holds of it already.",
    asks=_Named, holds=_Named, held=list[str], recognise=list[str], unique=_Estimate | None, sentence=str,
)  # fmt: skip
MatchesAnswer = _strict("MatchesAnswer", joins=many(_Join), requests=many(_Request), more=bool)
