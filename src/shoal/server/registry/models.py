"""What the registry's answers look like: the part of OpenAPI that clients read."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Status = Literal["current", "superseded", "revoked"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NoiseBody(Strict):
    """How the numbers of a record were drawn: (epsilon, delta)-differential privacy; all steps hold together at ``level``."""

    epsilon: float
    delta: float
    level: float


class RecordBody(Strict):
    """A signed record; ``noise`` where its numbers were drawn with noise, ``source``, ``shares``, ``counts`` of public tables."""

    format: Literal["shoal-record/1"]
    attributes: list[str]
    population: str
    size: int
    cells: int
    statistics: dict[str, list[float]]
    method: str
    holder: str
    key: str
    date: str
    version: int
    supersedes: str | None
    id: str
    signature: str
    noise: NoiseBody | None = None
    source: str | None = None
    shares: dict[str, float] | None = None
    counts: dict[str, dict[str, list[str]] | list[int] | int] | None = None


class StatementBody(Strict):
    """A signed endorsement or revocation."""

    format: Literal["shoal-statement/1"]
    kind: Literal["endorse", "revoke-key", "revoke-record"]
    subject: str
    key: str
    date: str
    number: int
    signature: str


class SignedHead(Strict):
    """Size and root of the Merkle tree over the lines of the log (RFC 9162), signed by the service."""

    format: Literal["shoal-tree-head/1"]
    size: int
    root: str
    files: dict[str, str]
    date: str
    key: str
    signature: str


class Head(Strict):
    """``consistency`` proves that the signed head continues the tree of the lines that were seen before."""

    format: Literal["shoal-registry/1"]
    line: int
    head: str
    signed: SignedHead | None = None
    consistency: list[str] | None = None


class RecordPage(Strict):
    records: list[RecordBody]
    next: str | None


class RecordAndStatus(Strict):
    record: RecordBody
    status: Status


class HistoryPage(Strict):
    records: list[RecordAndStatus]
    next: str | None


class LogLine(Strict):
    line: int
    kind: str
    subject: str
    digest: str
    hash: str


class LogPage(Strict):
    lines: list[LogLine]


class StatementPage(Strict):
    statements: list[StatementBody]


class Submitted(Strict):
    """A record or statement that was taken."""

    id: str
    line: int
    head: str


class DisputeBody(Strict):
    holders: list[str]
    spread: dict[str, list[float]]
    cautious: str


class QueryAnswer(Strict):
    """What is known, and how well it fits the question; ``others`` are records of holders who do not vouch for these."""

    attributes: list[str]
    population: str
    fit: Literal["exact", "finer coding", "coarser coding", "parent population", "margins only", "nothing"]
    best: str | None
    records: list[RecordBody]
    others: list[str]
    dispute: DisputeBody | None
    trust: dict[str, int]
    notes: list[str]


class EstimateBody(BaseModel):
    """A number with interval, grade and method."""

    value: float
    low: float
    high: float
    level: float
    grade: Literal["A", "B", "C"]
    method: str
    notes: list[str] = []


class SmallestGroup(Strict):
    size: int
    sentence: str


class AnalyseAnswer(Strict):
    """Predictions for a group."""

    attributes: list[str]
    population: str
    fit: str
    group_size: int
    unique_share: EstimateBody | None
    notes: list[str]
    unique_people: float | None = None
    everybody_unique: EstimateBody | None = None
    expected_crowd: EstimateBody | None = None
    smallest_group: SmallestGroup | None = None


class Advice(Strict):
    asked: str
    advice: Literal["collect", "band", "do not collect", "not known"]
    code: str | None
    reason: str


class OfferedSet(Strict):
    """A set of codes within the target, with its share of unique people."""

    codes: list[str]
    unique: EstimateBody


class DecideAnswer(Strict):
    """A verdict, advice per attribute, the best sets, from how many people on it holds, and a paragraph for the letter."""

    population: str
    group_size: int
    target: float
    reached: bool
    verdict: str
    evidence: str
    sentence: str
    how_many: str
    enough: int | None
    sets: list[OfferedSet]
    before: EstimateBody
    after: EstimateBody | None
    advice: list[Advice]
    log: list[str]
    letter: str


class NoticeBody(Strict):
    """A signed line of the catalogue: which attributes a holder holds, or asks for, and about which people."""

    format: Literal["shoal-notice/1"]
    kind: Literal["holds", "asks"]
    title: str
    attributes: list[str]
    population: str
    holder: str
    key: str
    date: str
    version: int
    supersedes: str | None
    id: str
    signature: str


class NoticeList(Strict):
    notices: list[NoticeBody]
    more: bool


class NoticeAndStatus(Strict):
    notice: NoticeBody
    status: Status


class NoticePage(Strict):
    notices: list[NoticeAndStatus]
    next: str | None


class Named(Strict):
    holder: str
    title: str
    population: str
    id: str


class JoinBody(Strict):
    """Two data sets that could be joined, by what, and what each would add."""

    holders: list[Named]
    shared: list[str]
    adds: list[list[str]]
    unique: EstimateBody | None
    sentence: str


class RequestBody(Strict):
    """A questionnaire, and what somebody else holds of it already."""

    asks: Named
    holds: Named
    held: list[str]
    recognise: list[str]
    unique: EstimateBody | None
    sentence: str


class MatchesAnswer(Strict):
    joins: list[JoinBody]
    requests: list[RequestBody]
    more: bool
