"""Look-ups that arrive together share one transaction.

A single look-up is the call made most often, and every transaction seals the state and waits for the disk. So look-ups that wait
at the same time are answered by one transaction, at most 256 of them. Only those with the same token, domain, purpose, role and
relation are joined; the log counts each of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from starlette.concurrency import run_in_threadpool

from shoal.errors import DataError, ShoalError

if TYPE_CHECKING:
    from shoal.protector.session import Session


class FindGroup(NamedTuple):
    """What look-ups share that may be answered together."""

    session: Session
    domain: str
    purpose: str
    role: str
    relation: str


Waiting = tuple[str, "asyncio.Future[str | None]"]


class FindBatcher:
    """Look-ups that arrive together, answered from one transaction per token, domain and purpose."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._waiting: list[tuple[FindGroup, Waiting]] = []
        self._running = False

    async def find(self, group: FindGroup, identity: str) -> str | None:
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((group, (identity, answer)))
        if not self._running:
            self._running = True
            self._task = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                part, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
                groups: dict[FindGroup, list[Waiting]] = {}
                for group, member in part:
                    groups.setdefault(group, []).append(member)
                for group, members in groups.items():
                    await self._answer(group, members)
        finally:
            self._running = False

    async def _answer(self, group: FindGroup, members: Sequence[Waiting]) -> None:
        identities = [identity for identity, _ in members]
        session, domain, purpose, role, relation = group
        try:
            found = await run_in_threadpool(session.find_many, domain, identities, purpose=purpose, role=role, relation=relation)
        except ShoalError as error:
            if len(members) > 1 and (isinstance(error, DataError) or getattr(error, "reason", "") == "limit"):
                for member in members:  # what is wrong with one, or too much together, is not the others' fault
                    await self._answer(group, [member])
                return
            for _, answer in members:
                if not answer.cancelled():
                    answer.set_exception(error)
            return
        for (_, answer), pseudonym in zip(members, found, strict=True):
            if not answer.cancelled():
                answer.set_result(pseudonym)
