"""An encrypting front before a PostgreSQL server that cannot encrypt (the build of the tests): what a man in the middle is."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # "shall we encrypt?"


class TlsFront:
    """Listens on a port of its own, agrees on encryption with a certificate, and passes everything on."""

    def __init__(self, behind: int, certificate: tuple[Path, Path]) -> None:
        self._behind, self.encrypted = behind, 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(*certificate)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._run(self._serve)

    def _run(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._run(self._one, client)

    def _one(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            if client.recv(8) != _REQUEST:
                return
            client.sendall(b"S")
            with (
                self._context.wrap_socket(client, server_side=True) as secure,
                socket.create_connection(("127.0.0.1", self._behind)) as server,
            ):
                self.encrypted += 1
                self._run(_pass_on, server, secure)
                _pass_on(secure, server)

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)


def _pass_on(here: socket.socket, there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(65_536):
            there.sendall(data)
    with contextlib.suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)
