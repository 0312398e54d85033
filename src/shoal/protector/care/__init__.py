"""Care of a vault: what owner and auditor do beside the daily work. Every function takes a session.

>>> from shoal.protector import care
>>> [name for name in care.__all__ if name.startswith("rotate")]
['rotate_domain', 'rotate_master', 'rotate_signer']
"""

from shoal.protector.care.checking import Findings, checkpoint, verify, verify_log
from shoal.protector.care.copies import Backup, backup, copy, restore
from shoal.protector.care.forgetting import check_shred, export, forget, merge, shred, split
from shoal.protector.care.reports import log_segment, read_log, report, resolve, reveals, subject_of
from shoal.protector.care.rotation import destroy_key, retire_log, rotate_domain, rotate_master, rotate_signer

__all__ = [
    "Backup", "Findings", "backup", "check_shred", "checkpoint", "copy", "destroy_key", "export", "forget", "log_segment",
    "merge", "read_log", "report", "resolve", "restore", "retire_log", "reveals", "rotate_domain", "rotate_master",
    "rotate_signer", "shred", "split", "subject_of", "verify", "verify_log",
]  # fmt: skip
