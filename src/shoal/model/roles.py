"""Roles of columns, the rule for missing values, and the schema of a table."""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from shoal.errors import AmbiguousColumnError, RoleError, missing_column


class Role(enum.Enum):
    """What a column means to an attacker.

    >>> Role.parse("QUASIIDENTIFYING"), Role.parse("direct")
    (<Role.QUASI: 'quasi'>, <Role.DIRECT: 'direct'>)
    """

    DIRECT = "direct"  # names a person by itself: removed or masked
    QUASI = "quasi"  # known to an attacker, identifies in combination: generalized
    SENSITIVE = "sensitive"  # what must not be learnt about a person
    INSENSITIVE = "insensitive"  # neither; published as it is
    UNDECIDED = "undecided"  # nothing shows which of the four it is: never published as it is

    @classmethod
    def parse(cls, text: str | Role) -> Role:
        """A role from its name, or from the names other tools use."""
        if isinstance(text, Role):
            return text
        word = text.strip().lower().replace("-", "").replace("_", "").replace(" ", "")
        role = _ALIASES.get(word)
        if role is None:
            raise RoleError(f"role '{text}' is not known.", hint="Roles: direct, quasi, sensitive, insensitive.", role=text)
        return role


_ALIASES = {
    **dict.fromkeys(("direct", "identifying", "ident"), Role.DIRECT),
    **dict.fromkeys(("quasi", "qi", "quasiidentifier", "quasiidentifying", "quasiident"), Role.QUASI),
    **dict.fromkeys(("sensitive", "sensatt"), Role.SENSITIVE),
    "insensitive": Role.INSENSITIVE,
    "undecided": Role.UNDECIDED,
}
DECIDED = (Role.DIRECT, Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
"""Roles that a person or a policy can give to a column."""


class MissingPolicy(enum.Enum):
    """How a missing quasi-identifier value is compared.

    ``OWN``: a missing value is a value of its own (strict; the default; the only rule that is ever certified).
    ``WILDCARD``: a missing value matches every value (sdcMicro's rule). ``DROP``: rows with one are left out.
    """

    OWN = "own"
    WILDCARD = "wildcard"
    DROP = "drop"


NUMBERS = ("integer", "decimal", "float")
MOMENTS = ("date", "timestamp")
SCALES = ("number", "ordered", "nominal", "date", "place", "id", "text")
"""Kinds of columns that hold numbers; that hold points in time. What the values of a column can be (:class:`Column`)."""


@dataclass(frozen=True)
class Column:
    """One column: its name and its kind, in words that all engines share.

    ``kind`` is one of ``text, integer, decimal, float, boolean, date, time, timestamp, binary, other``.
    ``labels`` are value labels of statistical packages; ``user_missing`` the values declared missing there (a pair is a range
    with both ends); ``note`` is the variable label, ``form``, ``measure`` and ``width`` how such a package shows it. ``order``
    holds the categories of an ordered one from low to high, ``scale`` what a person says its values are (one of :data:`SCALES`),
    ``missing_values`` the spellings that a person says mean "no value": the table reads them as missing.
    ``stored`` is the Arrow type that the source keeps it in; ``former`` the one it kept the column in before a step made new
    numbers of it, which they get again where every published one fits.

    A column that a step made is ``grouped`` where its texts are new groups (packages get them as codes 1, 2 … with labels, in
    ``order``), and ``coded`` where they are the numbers of the source still, with codes and ``*`` among them.
    """

    name: str
    kind: str = "text"
    nullable: bool = True
    labels: Mapping[object, str] = field(default_factory=dict)
    user_missing: tuple[object, ...] = ()
    note: str = ""
    order: tuple[str, ...] = ()
    form: str = ""
    measure: str = ""
    width: int = 0
    stored: object = None
    former: object = None
    grouped: bool = False
    coded: bool = False
    scale: str = ""
    missing_values: tuple[str, ...] = ()


class ByRole:
    """The columns of each role, for everything that knows which column has which."""

    def of_role(self, role: Role) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def direct(self) -> tuple[str, ...]:
        return self.of_role(Role.DIRECT)

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.of_role(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        return self.of_role(Role.SENSITIVE)

    @property
    def insensitive(self) -> tuple[str, ...]:
        return self.of_role(Role.INSENSITIVE)

    @property
    def undecided(self) -> tuple[str, ...]:
        return self.of_role(Role.UNDECIDED)


@dataclass(frozen=True)
class Schema(ByRole):
    """Columns of a table in order, with the role of each that has one, the person column and the weight column.

    >>> s = Schema((Column("age", "integer"), Column("zip"), Column("name")))
    >>> s = s.with_roles(quasi=["age", "zip"], direct=["name"])
    >>> s.quasi, s.direct, s.unclassified
    (('age', 'zip'), ('name',), ())
    """

    columns: tuple[Column, ...]
    roles: Mapping[str, Role] = field(default_factory=dict)
    unit: str | None = None
    weight: str | None = None
    table: str = "table"

    def __post_init__(self) -> None:
        check_names([c.name for c in self.columns], table=self.table)
        for name in self.roles:
            self.require(name)
        for what, column in (("unit", self.unit), ("weight", self.weight)):
            if column is not None:
                self.require(column, what=what)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> Column:
        self.require(name)
        return self.columns[self._places[name]]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def require(self, name: str, *, what: str = "column") -> str:
        """``name`` itself if the table has it; otherwise an error with the nearest name."""
        if name not in self._places:
            raise missing_column(name, self.names, table=self.table, what=what)
        return name

    def of_role(self, role: Role) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if self.roles.get(c.name) is role)

    @property
    def unclassified(self) -> tuple[str, ...]:
        return tuple(n for n in self.names if n not in self.roles)

    def with_roles(
        self,
        *,
        direct: Iterable[str] = (),
        quasi: Iterable[str] = (),
        sensitive: Iterable[str] = (),
        insensitive: Iterable[str] = (),
        unit: str | None = None,
        weight: str | None = None,
    ) -> Schema:
        """A schema with these roles added; a column may not have two."""
        roles = dict(self.roles)
        given = ((Role.DIRECT, direct), (Role.QUASI, quasi), (Role.SENSITIVE, sensitive), (Role.INSENSITIVE, insensitive))
        for role, names in given:
            for name in names:
                self.require(name, what=_WHAT[role])
                if roles.get(name, role) is not role:
                    what = f"column '{name}' is given two roles: {roles[name].value} and {role.value}."
                    raise RoleError(what, hint="Name it in one of them only.", column=name)
                roles[name] = role
        return replace(self, roles=roles, unit=unit or self.unit, weight=weight or self.weight)


_WHAT = {
    Role.DIRECT: "direct identifier",
    Role.QUASI: "quasi-identifier",
    Role.SENSITIVE: "sensitive column",
    Role.INSENSITIVE: "insensitive column",
}


def check_names(names: Sequence[str], *, table: str) -> None:
    """Refuse duplicate column names, and names that differ only in ways people and engines overlook.

    Two names are confusable when they are equal after Unicode compatibility normalization, case folding and removal of
    blanks and invisible characters at the ends, or after Cyrillic and Greek letters are replaced by the
    Latin ones they look like.

    >>> check_names(["age", "Age "], table="patients")
    Traceback (most recent call last):
    shoal.errors.AmbiguousColumnError: columns 1 and 2 of table 'patients' are easily confused: 'age' and 'Age '.
      Rename one of them before its role is decided, or let a file be opened with --rename-duplicates.
    """
    _check_names(tuple(names), table)


@lru_cache(maxsize=8)
def _check_names(names: tuple[str, ...], table: str) -> None:
    """As :func:`check_names`; the same names are asked about several times while a table is opened."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        first = min(seen.setdefault(key, position) for key in (_skeleton(name), "as Latin: " + _skeleton(name.translate(_LATIN))))
        if first != position:
            earlier = names[first - 1]
            same = f"have the same name '{name}'" if earlier == name else f"are easily confused: {earlier!a} and {name!a}"
            what = f"columns {first} and {position} of table '{table}' {same}."
            hint = "Rename one of them before its role is decided, or let a file be opened with --rename-duplicates."
            raise AmbiguousColumnError(what, hint=hint, columns=(earlier, name))


def distinct_names(names: Sequence[str], *, alike: bool = True) -> list[str]:
    """The names, those that :func:`check_names` would refuse with a number behind them: ``age``, ``age_2``, ``age_3``.

    The first of several, and a name that nobody else has, stay as they are. Without ``alike`` only names that differ in case
    and blanks at most are numbered; those with letters of other alphabets that look the same are not.

    >>> distinct_names(["age", "sex", "Age", "age", "age_2"]), distinct_names(["sex", "s\u0435x"], alike=False)[1] == "s\u0435x"
    (['age', 'sex', 'Age_3', 'age_4', 'age_2'], True)
    """
    taken: set[str] = set()
    first = []
    for name in names:
        keys = _keys(name) if alike else {name.strip().casefold()}
        first.append(not keys & taken)
        taken |= keys
    taken = {key for name, own in zip(names, first, strict=True) if own for key in _keys(name)}
    out = []
    for name, own in zip(names, first, strict=True):
        new, n = name, 1
        while not own and _keys(new) & taken:
            n += 1
            new = f"{name}_{n}"
        taken |= _keys(new)
        out.append(new)
    return out


def _keys(name: str) -> set[str]:
    return {_skeleton(name), "as Latin: " + _skeleton(name.translate(_LATIN))}


_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb"  # Cyrillic a e o p c y x i j s d h
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"  # A B E K M H O P C T Y X I J S
    "\u03b1\u03b9\u03bd\u03bf"  # Greek a i v o
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7",  # A B E Z H I K M N O P T Y X
    "aeopcyxijsdhABEKMHOPCTYXIJSaivoABEZHIKMNOPTYX",
)


@lru_cache(maxsize=50_000)
def _skeleton(name: str) -> str:
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", visible.casefold()).strip()


def look(name: str) -> str:
    """A name as it looks: names that people take for one another give the same text.

    >>> look("St. Mary\u2019s") == look("ST MARY'S") == look("St. M\u0430ry's")
    True
    """
    return "".join(c for c in _skeleton(name.translate(_LATIN)) if c.isalnum())
