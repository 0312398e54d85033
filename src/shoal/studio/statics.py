"""The style sheet, the scripts and the sign: the same for everybody, kept by browsers until they change."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response

from shoal.studio import pages

KINDS = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "exposed.css": "text/css",
    "exposed.js": "text/javascript",
    "fish.svg": "image/svg+xml",
}
LONG = {"cache-control": "private, max-age=31536000, immutable"}


def create_router() -> APIRouter:
    router = APIRouter()

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in KINDS:
            raise HTTPException(404)
        text = pages.served(name)
        return Response(text, media_type=KINDS[name], headers=LONG)

    return router
