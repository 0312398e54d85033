"""Eight bytes of an array at once, from any place, and copies of many: inside compiled loops. Loads numba.

Where a word lies in memory is as on every processor that numba and pyarrow are built for: the lowest byte first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import HAVE_NUMBA, loaded_numba


def load_word(data: Any, at: int) -> Any:
    """The eight bytes from ``at`` on as one number."""
    return np.uint64(int.from_bytes(data[at : at + 8].tobytes(), "little"))


def store_word(data: Any, at: int, word: Any) -> None:
    """Write the eight bytes of a number from ``at`` on."""
    data[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def copy_bytes(data: Any, start: int, size: int, out: Any, to: int) -> None:
    """Copy bytes from one array into another."""
    out[to : to + size] = data[start : start + size]


def _compiled() -> tuple[Any, Any, Any]:
    """The same three in machine code, where nobody looks whether the places are inside of the arrays."""
    loaded_numba()
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        return builder.gep(context.make_array(kind)(context, builder, array).data, [at])

    @intrinsic
    def load(typing: Any, data: Any, at: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            here = place(context, builder, signature.args[0], *args)
            return builder.load(builder.bitcast(here, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(data, types.intp), code

    @intrinsic
    def store(typing: Any, data: Any, at: Any, word: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            here = place(context, builder, signature.args[0], args[0], args[1])
            builder.store(args[2], builder.bitcast(here, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(data, types.intp, types.uint64), code

    @intrinsic
    def move(typing: Any, data: Any, start: Any, size: Any, out: Any, to: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source = place(context, builder, signature.args[0], args[0], args[1])
            target = place(context, builder, signature.args[3], args[3], args[4])
            cgutils.raw_memcpy(  # type: ignore[no-untyped-call]
                builder, target, source, args[2], 1
            )
            return context.get_dummy_value()

        return types.void(data, types.intp, types.intp, out, types.intp), code

    return load, store, move


if HAVE_NUMBA:
    load_word, store_word, copy_bytes = _compiled()
