"""Every technique that makes a table safe, as a step of a plan. Importing this room registers its steps."""

from shoal.hierarchies import step as _generalize

__all__: list[str] = []

_REGISTERED = (_generalize,)
