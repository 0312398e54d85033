"""sqlglot's expressions, loaded when the first one is made: counting a file by codes needs none, and loading takes a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import exp as exp
else:

    class _Later:
        """Stands for the module ``sqlglot.exp``."""

        def __getattr__(self, name: str) -> Any:
            from sqlglot import exp as module

            value = getattr(module, name)
            setattr(self, name, value)
            return value

    exp = _Later()
