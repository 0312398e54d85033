"""One table of vault actions: every action has a route, a client method, a command and a line in the reference."""

from __future__ import annotations

import contextlib
import inspect
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from protector_support import House
from shoal.cli import build
from shoal.protector import care
from shoal.protector.action_table import ACTIONS, REQUIRED, Action, Kind, reference
from shoal.protector.people.accounts import PERMITS, Caller
from shoal.protector.remote import RemoteCare, RemoteSession
from shoal.protector.session import Session

BY_NAME = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)


def work_of(action: Action) -> Any:
    return getattr(care if action.care else Session, action.name)


@BY_NAME
def test_the_declaration_fits_the_function_that_does_the_work(action: Action) -> None:
    taken = inspect.signature(work_of(action)).parameters
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    names = {p.name.partition(".")[0] for p in action.parameters}
    assert names <= set(taken) or anything
    must = {n for n, p in taken.items() if p.default is inspect.Parameter.empty and p.kind is not p.VAR_KEYWORD}
    assert must - {"self", "session"} <= {p.name.partition(".")[0] for p in action.parameters if p.default is REQUIRED}


@BY_NAME
def test_every_action_has_a_client_method_with_the_same_parameters(action: Action) -> None:
    method = getattr(RemoteCare if action.care else RemoteSession, action.name)
    assert callable(method)
    assert method.__doc__


def test_every_action_has_a_route(sqlite_house: House) -> None:
    pytest.importorskip("fastapi")
    from shoal.server.protector.api import create_router

    routes = {(m, r.path) for r in create_router(sqlite_house.vault).routes for m in r.methods}  # type: ignore[attr-defined]
    assert {(a.method, "/vault/v1" + a.path) for a in ACTIONS} <= routes
    assert len({(a.method, a.path) for a in ACTIONS}) == len(ACTIONS)


@BY_NAME
def test_every_action_has_a_command(action: Action) -> None:
    command: Any = typer.main.get_command(build("vault"))
    for word in ("vault", *action.command.split()):
        assert isinstance(command, click.Group | typer.core.TyperGroup)
        command = command.get_command(None, word)  # type: ignore[arg-type]
        assert command is not None


@BY_NAME
def test_the_roles_of_the_table_are_those_that_permit_it(
    action: Action, sqlite_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the call requires is the permission named below, and the table's roles are those that have it."""
    required: list[str] = []

    class Stop(Exception): ...

    def note(self: Caller, wanted: str, domain: str | None = None) -> None:
        required.append(wanted)
        raise Stop

    session = sqlite_house.owner
    session.create_domain("x")
    monkeypatch.setattr(Caller, "require", note)
    given = {p.wire: _SAMPLES.get((action.name, p.wire), _SAMPLES.get(p.wire, _sample(p.kind))) for p in action.parameters}
    work = work_of(action)
    with contextlib.suppress(Stop):
        work(session, **action.arguments(given))
    permission = _PERMISSIONS.get(action.name, action.name)
    if not permission:
        assert action.roles == ""
        return
    assert required == [permission]
    able = [role for role in PERMITS if permission in PERMITS[role]]
    assert not action.roles or set(able) == set(action.roles.split(", "))


_PERMISSIONS = {
    **dict.fromkeys(("issuers", "domains", "set_up_factor", "renew", "delegate"), ""),
    **dict.fromkeys(("verify_log", "read_log", "log_segment", "report", "reveals"), "audit"),
    **dict.fromkeys(("create_domain", "allow_translation"), "domain"),
    **dict.fromkeys(("plant_honeytoken", "withdraw_honeytoken"), "honeytoken"),
    **dict.fromkeys(("rotate_domain", "destroy_key", "rotate_signer"), "rotate"),
    **dict.fromkeys(("add_actor", "issue_token", "grant", "require_factor"), "actor"),
    **dict.fromkeys(("merge", "split"), "correct"),
    **dict.fromkeys(("changes", "refuse"), "confirm"),
    **dict.fromkeys(("challenge", "check_ownership"), "prove"),
    "find_many": "find",
    "waiting": "decide",
    "create_issuer": "issuer",
    "retire_log": "retire",
    "revoke_tokens": "revoke",
    "set_limit": "limit",
    "set_witness": "witness",
}
"""The permission of each action that is not called like it."""

_SAMPLES: dict[Any, Any] = {"roles": ["approver"], "scopes": [], "domains": [], "anchors": [], "since": "", "until": "", "of": ""}
_SAMPLES |= {("set_limit", "action"): "find", ("delegate", "action"): "requests", ("grant", "roles"): ["operator"]}
_SAMPLES |= {"places": ["/x"], "recipient": "", "digest": None, "enabled": True, "period": "day", "by": "actor"}
_SAMPLES |= {"confirm": "x", "kind": "random", "scope": "person", "clean": ["blanks"], "check": "", "prefix": "P-"}
_SAMPLES |= {"alphabet": "01", "renewal": {}, "matching": "exact"}


def _sample(kind: Kind) -> Any:
    if kind.base is list:
        return [_sample(kind.item)] if kind.item else []
    return {str: "x", int: 1, float: 0.6, bool: False, dict: {"given": "x"}, None: ""}[kind.base]


def test_the_reference_page_lists_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "vault.md"
    assert reference() in page.read_text(encoding="utf-8")
