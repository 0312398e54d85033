"""Who may use a studio: named users with passwords and roles, their sessions, and the workspace of each.

Kept apart from every workspace, in a database of its own beside them.
"""

from shoal.studio.workspace.people.people import People
from shoal.studio.workspace.people.users import ROLES, User

__all__ = ["ROLES", "People", "User"]
