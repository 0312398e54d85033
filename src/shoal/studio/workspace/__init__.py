"""What a studio keeps: tables, their policies with every step that can be taken back, jobs, releases.

One private folder holds the files; a database beside them (SQLite, or PostgreSQL by URL) says what they are. Everything that is
reported as done is on the disk before it is reported, so that a killed process loses no step and no release.
"""

from shoal.studio.workspace.workspace import Workspace

__all__ = ["Workspace"]
