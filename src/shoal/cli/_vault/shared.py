"""What every ``shoal vault`` command shares: its options, the acting person's session, secrets in files, the answer.

Secrets never stand on the command line: the master key comes from the environment or a file, and so does the token of the
person who acts.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.options import Json
from shoal.cli._shell.texts import names
from shoal.disk.atomic import atomic
from shoal.errors import TamperError, UsageError, refuse
from shoal.protector.action_table import ACTIONS, REQUIRED

if TYPE_CHECKING:
    from shoal.protector.crypto.master_keys import KeyProvider
    from shoal.protector.people.changes import Change
    from shoal.protector.session import Session as Session
    from shoal.protector.vault import Vault as Vault
else:
    Session = Vault = Any  # typer reads the annotations of commands; the vault itself loads when one runs

tell = _shared.tell
Answer = tuple[dict[str, Any], Any]
"""What a command answers: an object for ``--json``, and a sentence or a table for people."""

Place = Annotated[
    str,
    typer.Option(
        "--vault",
        envvar="SHOAL_VAULT",
        help="Service of the vault (https://…, unix:/socket; needs no key), or its file (SQLite) or postgresql://….",
        show_envvar=True,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", envvar="SHOAL_VAULT_KEY_FILE", help="Master key: a file or pkcs11:… (else SHOAL_VAULT_KEY)."),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="SHOAL_VAULT_TOKEN_FILE", help="File with your token (else SHOAL_VAULT_TOKEN)."),
]
KeyShares = Annotated[
    list[Path] | None, typer.Option("--key-share", help="Instead of the key file: files with shares of it (repeat).")
]
Parts = Annotated[int, typer.Option("--parts", help="On PostgreSQL: lay the tables that grow in so many parts.")]
AnchorFile = Annotated[Path | None, typer.Option("--anchor", help="Anchor file (default: beside the key file).")]
Factor = Annotated[
    str, typer.Option("--factor", envvar="SHOAL_VAULT_FACTOR", help="Your one-time code, where your role decides with one.")
]
Name = Annotated[str, typer.Argument(help="Name.")]
TokenOut = Annotated[Path, typer.Option("--token-out", help="New file for the token (mode 0600).")]
CodeOut = Annotated[
    Path | None, typer.Option("--code-out", help="New file for your half of the person's enrolment code (mode 0600).")
]

Table = Annotated[
    str | None, typer.Option("--table", help="Or a table: a file (CSV, Parquet …) or ENGINE-URL::table, with --id and --out.")
]
Ids = Annotated[str, typer.Option("--id", help="With --table: its columns, separated by commas.")]
TableOut = Annotated[Path | None, typer.Option("--out", "-o", help="With --table: output file.")]
DomainName = Annotated[str, typer.Option("--domain", help="Domain of the pseudonyms.")]
Purpose = Annotated[str, typer.Option("--purpose", help="What it is for; goes into the log.")]


def acting(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command of a person who logs in: it gets the session, and the options that lead to one are added to its own."""
    return _with_options(command, session, {"token_file": TokenFile})


def keyed(command: Callable[..., Answer]) -> Callable[..., None]:
    """The same for the change of keys, which two people agree on in any case: a whole key may be changed to shares."""
    return _with_options(command, functools.partial(session, maintenance=False), {"token_file": TokenFile})


def derived(name: str, options: Mapping[str, Any], answer: Callable[[Any, Mapping[str, Any]], Answer]) -> Callable[..., None]:
    """The command of an action of the vault's table whose arguments stand on the command line.

    ``options`` are the options by parameter; defaults and help come from the table. ``answer`` gets the result and what was
    given.
    """
    action = next(a for a in ACTIONS if a.name == name)

    def command(session: Any, **given: Any) -> Answer:
        work = functools.partial(getattr(care_of(session), name), session) if action.care else getattr(session, name)
        return answer(work(**given), given)

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [
        inspect.Parameter(p.name, kind, annotation=options[p.name], default=p.default)
        for p in sorted(action.parameters, key=lambda p: p.default is not REQUIRED)
        if p.name in options
    ]
    first = inspect.Parameter("session", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    command.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    command.__name__, command.__doc__ = name, f"{action.help}."
    return acting(command)


def opening(command: Callable[..., Answer]) -> Callable[..., None]:
    """A command that works on the open vault itself."""
    return _with_options(command, opened, {})


def _with_options(command: Callable[..., Answer], enter: Callable[..., Any], more: dict[str, Any]) -> Callable[..., None]:
    """``command`` without its first parameter, which ``enter`` provides, and with the options that ``enter`` takes."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    kind = inspect.Parameter.KEYWORD_ONLY
    added = {"key_file": KeyFile, "key_share": KeyShares, **more, "anchor": AnchorFile}
    parameters = [
        *(p.replace(kind=kind) for p in own),
        inspect.Parameter("vault", kind, annotation=Place),
        *(inspect.Parameter(name, kind, annotation=hint, default=None) for name, hint in added.items()),
        inspect.Parameter("json", kind, annotation=Json, default=False),
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        as_json = given.pop("json")
        entered = enter(given.pop("vault"), *(given.pop(name) for name in added))
        tell(*command(entered, **given), as_json=as_json)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def session(
    place: str,
    key_file: Path | None,
    shares: list[Path] | None,
    token_file: Path | None,
    anchor: Path | None,
    *,
    maintenance: bool = True,
) -> Session:
    """A vault, served or opened here, with the acting person logged in."""
    text = token(token_file)
    person: Session = opened(place, key_file, shares, anchor, maintenance=maintenance).login(text)
    return person


def opened(
    place: str, key_file: Path | None, shares: list[Path] | None, anchor: Path | None, *, maintenance: bool = True, **options: Any
) -> Any:
    """The vault: through its service, which holds the key, or opened here with the key, which is maintenance."""
    from shoal.protector.remote import RemoteVault, is_remote
    from shoal.protector.vault import Vault as Vault

    if is_remote(place):
        if options.get("accept") is not None:
            raise UsageError("this is done on the machine of the vault itself.", hint="Name its database and key there.")
        return RemoteVault(place)
    return Vault.open(place, key=master_key(key_file, shares), anchor=anchor, maintenance=maintenance, **options)


def care_of(session: Session) -> Any:
    """The functions of owner and auditor for this session: over the service, or here."""
    from shoal.protector import care

    return getattr(session, "care", care)


def master_key(file: Path | None, shares: list[Path] | None = None) -> KeyProvider:
    """The master key from a file, from enough shares, or from the environment."""
    from shoal.protector import keys
    from shoal.protector.crypto.hsm_keys import key_at

    if shares:
        return keys.from_shares([read_secret(share) for share in shares])
    return key_at(file) if file is not None else keys.from_env(forget=True)


def token(file: Path | None, variable: str = "SHOAL_VAULT_TOKEN") -> str:
    if file is not None:
        return read_secret(file)
    text = os.environ.pop(variable, "")
    if not text:
        raise UsageError("no token was given.", hint=f"Set {variable}, or pass --token-file FILE.")
    return text


def read_secret(file: Path) -> str:
    """One secret from a file that others cannot read."""
    from shoal.protector.crypto.master_keys import read_private

    return read_private(file)


def new_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=False)
    except OSError as error:
        raise UsageError(f"folder '{folder.name}' cannot be made: {error.strerror}.", hint="Name a new folder.") from None


@contextlib.contextmanager
def secret_file(file: Path) -> Iterator[Callable[[str], object]]:
    """A new file (mode 0600) for one secret, made before the secret is: what can be had only once must have its place."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(f"'{file.name}' cannot be written: {error.strerror}.", hint="Existing files are kept.") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            yield lambda text: out.write(text + "\n")
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def lines_of(given: list[str] | None, file: Path | None) -> list[str]:
    """Texts from the command line or from a file with one on each line (``-`` is standard input); exactly one of them."""
    if bool(given) == (file is not None):
        raise UsageError("give pseudonyms as arguments or with --file, one of the two.")
    if file is None:
        return list(given or ())
    with refuse(UsageError(f"'{file.name}' cannot be read as UTF-8 text."), OSError, UnicodeDecodeError):
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_json(file: Path, what: str) -> dict[str, Any]:
    try:
        body = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        body = None
    if not isinstance(body, dict):
        raise UsageError(f"'{file.name}' is not {what}.", hint="Give the file as Shoal wrote it.")
    return body


def write_json(file: Path, body: dict[str, Any]) -> None:
    """An object into a file that appears whole or not at all."""
    with atomic(file) as temporary:
        temporary.write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def waits(change: Change, more: str = "") -> str:
    """The message about a proposed change; ``more`` is what its confirmation requires."""
    return f"{change.id} waits for a second person: another owner or the auditor runs `shoal vault confirm {change.id}{more}`."


def require_ok(ok: bool, problems: tuple[str, ...]) -> None:
    """End with exit code 1 where a check found something."""
    if not ok:
        raise TamperError("the check found: " + " ".join(problems), hint="Stop, keep the files, and restore a trusted copy.")


def table_options(other: object, id: str, out: Path | None) -> tuple[list[str], Path]:
    """The columns and the output of a table; what came beside it is refused."""
    if other or not id or out is None:
        raise UsageError("a table is taken alone: --table FILE --id COLUMN --out FILE.")
    return list(names(id)), out


def replaced(done: Any, out: Path) -> Answer:
    """The message about a table whose columns were replaced."""
    warn_of(done.left)
    details = {"rows": done.rows, "missing": done.missing, "left": {k: list(v) for k, v in done.left.items()}, "out": str(out)}
    return details, f"{done.rows:,} rows written to {out}; {done.missing:,} cells have no value there."


def warn_of(left: Mapping[str, Sequence[str]]) -> None:
    """Say which columns still tell who people are."""
    from shoal.protector.pseudonyms.tables import sentence

    if left and (warning := sentence({role: list(names) for role, names in left.items()})):
        _shared.say(f"Careful: {warning}")
