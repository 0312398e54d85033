"""The table of vault actions. Each is declared here once: the HTTP route, the remote client's method, the command that runs it
and its line in docs/vault.md follow from the declaration.

:mod:`shoal.protector.session` and :mod:`shoal.protector.care` do the work. ``shoal.server.protector.routes`` makes a route of
each action, :mod:`shoal.protector.remote` a method of the same name and parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

REQUIRED: Any = inspect.Parameter.empty
"""The default of a parameter that must be given."""


@dataclass(frozen=True)
class Kind:
    """The type of a parameter, and its bounds in the words of JSON Schema as pydantic spells them (``max_length``, ``ge`` …)."""

    base: type | None
    bounds: tuple[tuple[str, Any], ...] = ()
    item: Kind | None = None
    """Of a list, or of the values of an object: their kind. ``key`` is the kind of an object's keys."""
    key: Kind | None = None
    fields: tuple[Parameter, ...] = ()
    """Of an object with fixed fields: each of them."""
    optional: bool = False


@dataclass(frozen=True)
class Parameter:
    """One parameter: its ``name`` in Python, and its ``key`` in the path, query or body if that differs.

    ``limit.max`` is the field ``max`` of the parameter ``limit``. ``unit`` is what the number over HTTP is multiplied by.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    key: str = ""
    unit: float = 0.0

    @property
    def wire(self) -> str:
        return self.key or self.name.rpartition(".")[2]


@dataclass(frozen=True)
class Action:
    """One action: ``name`` of the session's method, or of the function of :mod:`.care` if ``care``."""

    name: str
    route: str
    roles: str
    help: str
    parameters: tuple[Parameter, ...]
    reply: str
    command: str
    care: bool = False
    sparse: bool = False
    """Only the parameters that were given are passed on: the others have the defaults of the settings they belong to."""

    @property
    def method(self) -> str:
        return self.route.split()[0]

    @property
    def path(self) -> str:
        return self.route.split()[1]

    @property
    def created(self) -> bool:
        """Whether the answer over HTTP is 201: something new was made or proposed."""
        return self.name in _CREATED

    def in_path(self, parameter: Parameter) -> bool:
        return f"{{{parameter.wire}}}" in self.path

    def signature(self) -> inspect.Signature:
        """The parameters in Python."""
        names: dict[str, Any] = {}
        for parameter in self.parameters:
            names.setdefault(parameter.name.partition(".")[0], parameter.default)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(n, kind, default=d) for n, d in names.items()]
        return inspect.Signature(sorted(parameters, key=lambda p: p.default is not REQUIRED))

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of the Python call, from the values over HTTP by key."""
        chosen: dict[str, Any] = {}
        for parameter in self.parameters:
            if parameter.wire in given:
                value = given[parameter.wire]
                value = value * parameter.unit if parameter.unit else value
                outer, _, inner = parameter.name.partition(".")
                if inner:
                    chosen.setdefault(outer, {})[inner] = value
                else:
                    chosen[outer] = value
        return chosen

    def values(self, arguments: Mapping[str, Any]) -> Iterator[tuple[Parameter, Any]]:
        """The values over HTTP, from the arguments of the Python call."""
        for parameter in self.parameters:
            outer, _, inner = parameter.name.partition(".")
            if outer in arguments:
                value = _plain(arguments[outer])
                value = value[inner] if inner else value
                yield parameter, value / parameter.unit if parameter.unit else value


def _plain(value: Any) -> Any:
    """A value as JSON takes it."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple | set | frozenset) else value


# -- kinds of parameters ---------------------------------------------------------------------------------------------------


def _text(low: int = 0, high: int = 200, pattern: str = "", *, optional: bool = False) -> Kind:
    bounds: list[tuple[str, Any]] = [("min_length", low)] if low else []
    bounds += [("pattern", pattern)] if pattern else []
    bounds += [("max_length", high)] if high else []
    return Kind(str, tuple(bounds), optional=optional)


def _list(item: Kind, high: int, low: int = 0) -> Kind:
    return Kind(list, (("min_length", low), ("max_length", high)), item=item)


def _number(base: type, *, optional: bool = False, **bounds: float) -> Kind:
    return Kind(base, tuple(bounds.items()), optional=optional)


MOST_IDENTITIES = 10_000
TEXT = _text(1, 4096)
SHORT = _text()
NEEDED = _text(1, 200, r"\S")
IDENTITIES = _list(TEXT, MOST_IDENTITIES, 1)
NAMES = _list(NEEDED, 1000)
FLAG = Kind(bool)
VERSION = _number(int, ge=1, le=250, optional=True)
RENEWAL = _number(int, ge=1, le=10**9, optional=True)
RECORDS = _number(int, ge=0, le=10**12, optional=True)
ACKNOWLEDGED = _number(int, ge=0, le=1000)
RECORD = Kind(dict, (("max_length", 30),), item=Kind(str, (("max_length", 1000),), optional=True), key=_text(1, 100))
HEX = _text(0, 0, "^[0-9a-f]{2,2048}$")
HEX_32, HEX_64 = _text(0, 0, "^[0-9a-f]{64}$"), _text(0, 0, "^[0-9a-f]{128}$")
DAY: Kind = Kind(None, optional=True)
"""A date in a query."""


def _takes(*parameters: Parameter | tuple[Any, ...]) -> tuple[Parameter, ...]:
    return tuple(p if isinstance(p, Parameter) else Parameter(*p) for p in parameters)


_DOMAIN = Parameter("domain", SHORT)
_PURPOSE = Parameter("purpose", SHORT, "")
_CONTEXT = (_PURPOSE, Parameter("role", SHORT, ""), Parameter("relation", SHORT, ""))
_REQUEST = Parameter("request_id", SHORT)
_CHANGE = Parameter("change_id", SHORT)
_PERSON = (_DOMAIN, Parameter("identity", TEXT))
_ROLES = Parameter("roles", _list(NEEDED, 5))
_FACTOR = Parameter("factor", SHORT, "")


_PATH_NAME = Parameter("name", SHORT, key="domain")

ACTIONS: tuple[Action, ...] = (
    # -- operators
    Action(
        "pseudonymize", "POST /domains/{domain}/pseudonyms", "operator", "Make pseudonyms for identities",
        _takes(_DOMAIN, ("values", IDENTITIES, REQUIRED, "identities"), *_CONTEXT, ("source", SHORT, "")), "Pseudonyms",
        "pseudonymize",
    ),
    Action(
        "find_many", "POST /domains/{domain}/finds", "operator", "Find the pseudonyms of identities, without making any",
        _takes(_DOMAIN, ("identities", IDENTITIES), *_CONTEXT), "Pseudonyms", "find",
    ),
    Action(
        "translate", "POST /domains/{domain}/translate", "operator", "Translate pseudonyms into those of another domain",
        _takes(
            ("pseudonyms", IDENTITIES), ("source", SHORT, REQUIRED, "domain"), ("target", NEEDED), ("purpose", NEEDED),
            *_CONTEXT[1:], ("version", VERSION, None, "key_version"),
        ), "Pseudonyms", "translate",
    ),
    Action(
        "intake", "POST /domains/{domain}/intake", "operator", "Make pseudonyms for people recognized by their records",
        _takes(
            _DOMAIN, ("records", _list(RECORD, MOST_IDENTITIES, 1)), _PURPOSE, ("source", SHORT, ""),
            ("match", _number(float, ge=0.5, lt=1), 0.99), ("possible", _number(float, gt=0, lt=1), 0.05),
        ), "Recognized", "intake",
    ),
    Action(
        "waiting", "POST /domains/{domain}/waiting", "clerk", "List the records that wait for a decision; logged",
        _takes(_DOMAIN), "WaitingRecords", "waiting",
    ),
    Action(
        "decide", "POST /waiting/{number}/decide", "clerk", "Decide whose record a waiting record is",
        _takes(("number", SHORT), ("same_as", NEEDED)), "Decided", "decide",
    ),
    Action(
        "register", "POST /domains/{domain}/holders", "operator", "Register a self-generated pseudonym",
        _takes(
            _DOMAIN, ("registration.pseudonym", SHORT), ("registration.public_key", HEX_32), ("registration.signature", HEX_64),
            ("identity", _text(1, 4096, optional=True), None),
        ), "Done", "register",
    ),
    Action(
        "challenge", "POST /domains/{domain}/challenge", "operator", "Make a new challenge for the holder of a pseudonym",
        _takes(_DOMAIN, ("pseudonym", SHORT)), "Challenge", "challenge",
    ),
    Action(
        "check_ownership", "POST /domains/{domain}/prove", "operator", "Check a holder's answer to a challenge",
        _takes(_DOMAIN, ("pseudonym", SHORT), ("challenge", SHORT), ("proof", HEX_64)), "Done", "prove",
    ),
    Action(
        "create_issuer", "POST /issuers", "owner", "Make an issuer of one-time credentials",
        _takes(("name", NEEDED), ("domain", NEEDED)), "IssuerView", "issuer add",
    ),
    Action(
        "issuers", "GET /issuers", "", "List the public keys of all issuers", (), "Issuers",
        "issuer list",
    ),
    Action(
        "issue", "POST /issuers/{name}/issue", "operator", "Sign the blinded request of an enrolled person, once",
        _takes(("name", SHORT), ("identity", TEXT), ("blinded", HEX), _PURPOSE), "Signed", "issue",
    ),
    Action(
        "redeem", "POST /issuers/{name}/redeem", "operator", "Accept a credential, once, and return its one-time pseudonym",
        _takes(("name", SHORT), ("message", HEX), ("signature", HEX), _PURPOSE), "Decided", "redeem",
    ),
    # -- requesters and approvers
    Action(
        "request", "POST /requests", "requester", "Request the identities behind pseudonyms",
        _takes(
            ("domain", NEEDED), ("pseudonyms", IDENTITIES), ("purpose", NEEDED), ("case", NEEDED),
            ("seconds", _number(float, gt=0, le=30), 7 * 86400.0, "days", 86400.0), ("version", VERSION, None, "key_version"),
            *_CONTEXT[1:], ("recipient", _text(0, 0, "^([0-9a-f]{64})?$"), ""),
        ), "RequestView", "request",
    ),
    Action(
        "requests", "GET /requests", "", "List your requests; approvers, auditors and owners see all", (),
        "Requests", "requests",
    ),
    Action(
        "approve", "POST /requests/{request_id}/approve", "approver", "Approve somebody else's request",
        _takes(_REQUEST, ("digest", _text(optional=True), None), _FACTOR), "RequestView", "approve",
    ),
    Action(
        "deny", "POST /requests/{request_id}/deny", "approver", "Deny somebody else's request", (_REQUEST,), "RequestView",
        "deny",
    ),
    Action(
        "withdraw", "POST /requests/{request_id}/withdraw", "requester", "Withdraw your own request", (_REQUEST,), "RequestView",
        "withdraw",
    ),
    Action(
        "reveal", "POST /requests/{request_id}/reveal", "requester", "Fetch the identities of your approved request, once",
        (_REQUEST,), "Revealed", "reveal",
    ),
    # -- auditors
    Action(
        "verify_log", "POST /audit/verify", "auditor", "Check the log, also against checkpoints kept elsewhere",
        _takes(("anchors", _list(Kind(dict), 100_000), ()), ("acknowledged", ACKNOWLEDGED, 0)), "Verdict", "audit", care=True,
    ),
    Action(
        "read_log", "GET /audit/events", "auditor", "List the newest events, under audit pseudonyms",
        _takes(("last", _number(int, ge=1, le=10_000), 100)), "Events", "audit", care=True,
    ),
    Action(
        "log_segment", "POST /audit/segment", "auditor", "Export a closed part of the log, still sealed",
        _takes(("after", _number(int, ge=0, le=2**53), 0)), "Object", "audit", care=True,
    ),
    Action(
        "retire_log", "POST /audit/retire", "owner", "Remove archived events from the database, after confirmation",
        _takes(("upto", _number(int, ge=1, le=2**53)), ("head", HEX_32)), "Retired", "retire", care=True,
    ),
    Action(
        "report", "GET /audit/report", "auditor", "Count reveals per person, purpose and period",
        _takes(("period", _text(0, 0, "^(day|month|year)$"), "month"), ("by", _text(0, 0, "^(actor|subject)$"), "actor")),
        "Report", "audit", care=True,
    ),
    Action(
        "reveals", "GET /audit/reveals", "auditor", "List every revealed identity: whose, to whom, when, why",
        _takes(
            ("of", _text(0, 0, "^([AS]-[0-9A-Za-z]{1,40})?$"), ""), ("purpose", SHORT, ""), ("since", DAY, ""), ("until", DAY, "")
        ), "Reveals", "reveals", care=True, sparse=True,
    ),
    # -- owners
    Action(
        "domains", "GET /domains", "", "List the domains that the token reaches, without secrets", (),
        "Domains", "domain list",
    ),
    Action(
        "create_domain", "POST /domains", "owner", "Make a domain",
        _takes(
            ("name", NEEDED), ("kind", NEEDED, "random"), ("scope", NEEDED, "person"), ("prefix", SHORT, "P-"),
            ("matching", NEEDED, "exact"), ("clean", _list(NEEDED, 10), ("blanks",)), ("check", SHORT, ""),
            ("alphabet", _text(2, 4096), "0123456789"), ("keep", SHORT, ""), ("check_characters", FLAG, False),
            ("renewal", Kind(dict, fields=_takes(
                ("uses", RENEWAL, None), ("days", RENEWAL, None), ("on", _list(SHORT, 1000), ()), ("reason", SHORT, ""),
            )), {}),
        ), "DomainView", "domain add", sparse=True,
    ),
    Action(
        "allow_translation", "POST /domains/{domain}/allow", "owner",
        "Allow translation into another domain, after confirmation, or end it",
        _takes(("source", SHORT, REQUIRED, "domain"), ("target", NEEDED), ("allowed", FLAG, True)), "DomainView", "domain allow",
    ),
    Action(
        "plant_honeytoken", "POST /domains/{domain}/honeytokens", "owner", "Plant a person invented by the vault",
        _takes(_DOMAIN, *_CONTEXT[1:]), "Honeytoken", "honeytoken plant",
    ),
    Action(
        "withdraw_honeytoken", "POST /domains/{domain}/honeytokens/withdraw", "owner",
        "Withdraw a honeytoken, after confirmation", _takes(_DOMAIN, ("planted", TEXT)), "Done", "honeytoken withdraw",
    ),
    Action(
        "shred", "POST /domains/{domain}/shred", "owner", "Destroy every key of a domain, after confirmation",
        _takes(_PATH_NAME, ("confirm", NEEDED)), "Object", "shred", care=True,
    ),
    Action(
        "merge", "POST /domains/{domain}/merge", "owner", "Merge two identities of one person, after confirmation",
        _takes(*_PERSON, ("into", TEXT)), "Object", "correct", care=True,
    ),
    Action(
        "split", "POST /domains/{domain}/split", "owner", "Undo a merge, after confirmation", _PERSON, "Object", "correct",
        care=True,
    ),
    Action(
        "export", "POST /domains/{domain}/export", "owner", "Export what is stored about a person, after confirmation",
        _PERSON, "Object", "export", care=True,
    ),
    Action(
        "forget", "POST /domains/{domain}/forget", "owner", "Overwrite everything about a person, after confirmation",
        _PERSON, "Object", "forget", care=True,
    ),
    Action(
        "rotate_domain", "POST /domains/{domain}/rotate", "owner", "Change the data keys of a domain, after confirmation",
        _takes(_PATH_NAME), "KeyInUse", "rotate", care=True,
    ),
    Action(
        "destroy_key", "POST /domains/{domain}/destroy", "owner", "Destroy a retired key, after confirmation",
        _takes(_PATH_NAME, ("version", _number(int, ge=1, le=250))), "KeyInUse", "rotate", care=True,
    ),
    Action(
        "rotate_signer", "POST /rotate-signing", "owner", "Change the key that signs the log, after confirmation", (),
        "SigningKey", "rotate", care=True,
    ),
    Action(
        "checkpoint", "POST /checkpoint", "owner", "Sign the current state of the log, to be kept elsewhere",
        _takes(("since", _number(int, ge=0, le=2**53), 0), ("event", _number(int, ge=0, le=2**53), 0)), "Object",
        "checkpoint", care=True,
    ),
    Action(
        "verify", "GET /verify", "owner", "Check every row, object and event", _takes(("acknowledged", ACKNOWLEDGED, 0)),
        "Findings", "verify", care=True,
    ),
    Action(
        "add_actor", "POST /actors", "owner", "Propose a person", _takes(("name", NEEDED), _ROLES), "ChangeView", "actor add"
    ),
    Action(
        "issue_token", "POST /actors/{name}/tokens", "owner", "Propose another token for a person",
        _takes(
            ("name", SHORT), ("scopes", _list(NEEDED, 5), ()), ("domains", NAMES, ()),
            ("expires", _number(float, optional=True), None),
        ), "ChangeView", "actor token",
    ),
    Action(
        "grant", "POST /actors/{name}/grant", "owner", "Set the roles of a person; more roles need a second person",
        _takes(("name", SHORT), _ROLES, ("enabled", FLAG, True)), "ChangeOrNone",
        "actor grant",
    ),
    Action(
        "revoke_tokens", "POST /actors/{name}/revoke", "owner", "Revoke every token of a person; an auditor's after confirmation",
        _takes(("name", SHORT)), "Revoked", "actor revoke",
    ),
    Action(
        "set_limit", "POST /limits", "owner", "Propose a rate limit",
        _takes(
            ("action", NEEDED), ("limit.seconds", _number(float, gt=0, le=1e9)), ("limit.max", RECORDS, None),
            ("limit.alarm", RECORDS, None), ("purpose", NEEDED, "*"),
        ), "ChangeView", "limit",
    ),
    Action(
        "set_witness", "POST /witness", "owner", "Propose where checkpoints go before identities leave",
        _takes(("places", _list(_text(1, 1000), 20))), "ChangeView", "witness",
    ),
    Action(
        "require_factor", "POST /factor/required", "owner", "Propose which roles decide with a one-time code", (_ROLES,),
        "ChangeView", "factor",
    ),
    # -- everyone, and the second person
    Action(
        "set_up_factor", "POST /factor", "", "Set up your second factor; shown once", (), "Factor", "factor"
    ),
    Action(
        "renew", "POST /tokens/renew", "", "Replace your token by a new one, for as long again", (), "Enrolled", "renew",
    ),
    Action(
        "delegate", "POST /tokens", "", "Make a token for one action and a short time, to be given to a program",
        _takes(("action", NEEDED), ("domains", NAMES, ()), ("seconds", _number(float, gt=0, le=86400), 900.0)), "Enrolled",
        "delegate",
    ),
    Action(
        "changes", "GET /changes", "owner, auditor", "List the changes that wait for a second person",
        _takes(("everything", FLAG, False)), "Changes", "changes",
    ),
    Action(
        "confirm", "POST /changes/{change_id}/confirm", "owner, auditor", "Confirm somebody else's change", (_CHANGE, _FACTOR),
        "ChangeView", "confirm",
    ),
    Action(
        "refuse", "POST /changes/{change_id}/refuse", "owner, auditor", "Refuse somebody else's change", (_CHANGE,), "ChangeView",
        "refuse",
    ),
)  # fmt: skip
"""Every action of a served vault."""

_CREATED = frozenset(
    "create_issuer request create_domain add_actor issue_token set_limit set_witness require_factor set_up_factor delegate renew"
    .split()
)  # fmt: skip


def reference() -> str:
    """The table of actions as docs/vault.md shows it."""
    lines = ["| action | HTTP | command | roles | what it does |", "| --- | --- | --- | --- | --- |"]
    for action in ACTIONS:
        name, roles = f"care.{action.name}" if action.care else action.name, action.roles or "any"
        lines.append(f"| `{name}` | `{action.route}` | `shoal vault {action.command}` | {roles} | {action.help}. |")
    return "\n".join(lines)
