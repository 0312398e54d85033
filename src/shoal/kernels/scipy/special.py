"""As ``scipy.special``."""

from __future__ import annotations

from typing import Any

from shoal.kernels.scipy import room


def __getattr__(name: str) -> Any:
    return getattr(room("special"), name)
