"""The user's Hadoop configuration: what HADOOP_CONF_DIR says about the cluster, and copies of it with our overrides."""

from __future__ import annotations

import atexit
import os
import pwd
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from yarnspec.errors import UsageError
from yarnspec.plan import USERS_HADOOP_CONF
from yarnspec.yarn.hadoop.site_files import Property, read_site_file, render_site_file

PLACEMENT_PROVIDER = "org.yarnspec.rm.PlacementProxyProvider"
PROVIDER_KEYS = ("yarn.client.failover-no-ha-proxy-provider", "yarn.client.failover-proxy-provider")
DELEGATE_PREFIX = "yarnspec.delegate."
AM_EXPIRY_KEY = "yarn.am.liveness-monitor.expiry-interval-ms"
SHUTDOWN_KEY = "hadoop.service.shutdown.timeout"
ATTEMPTS_KEY = "yarn.resourcemanager.am.max-attempts"
GLOBAL_ATTEMPTS_KEY = "yarn.resourcemanager.am.global.max-attempts"

DIRECTORY_VARIABLES = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Each holds entries of a class path, as Spark takes them: of two files of one name the first is read, as a whole."""

# Read in this order, as Hadoop does: what comes later wins, except over a property that is final.
SITE_FILES = ("core-site.xml", "hdfs-site.xml", "yarn-site.xml")
# Shipped as well when there. Custom resource types decide how the AM speaks to the ResourceManager.
_FURTHER_SHIPPED_FILES = ("*-site.xml", "resource-types.xml")
_OVERRIDES_FILE = "yarn-site.xml"
_SPARKS_FILE = "__spark_hadoop_conf__.xml"
"""Spark reads it after all site files: a core-site.xml from --files adds to the cluster's and does not replace it."""
_MAX_COPIED_FILE_BYTES = 4 * 1024 * 1024

# Hadoop 3.5's own defaults, as far as yarnspec asks for them.
_DEFAULTS = {
    "fs.defaultFS": "file:///",
    "hadoop.security.authentication": "simple",
    "hadoop.tmp.dir": "/tmp/hadoop-${user.name}",  # noqa: S108 - Hadoop's default
    "yarn.http.policy": "HTTP_ONLY",
    "yarn.log-aggregation-enable": "false",
    "yarn.resourcemanager.address": "${yarn.resourcemanager.hostname}:8032",
    ATTEMPTS_KEY: "2",
    "yarn.resourcemanager.ha.enabled": "false",
    "yarn.resourcemanager.hostname": "0.0.0.0",  # noqa: S104 - Hadoop's default
    "yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:8088",
    "yarn.resourcemanager.webapp.https.address": "${yarn.resourcemanager.hostname}:8090",
    AM_EXPIRY_KEY: "600000",
}
_WEBAPP_PORTS = {"http": 8088, "https": 8090}
_REFERENCE = re.compile(r"\$\{([^{}$\s]+)\}")
_MAX_SUBSTITUTIONS = 20
_TRUE = "true"


class RmAddress(msgspec.Struct, frozen=True):
    """Where one ResourceManager's web service is; ``id`` is its HA id, empty without HA."""

    id: str
    url: str


def _may_be_read(path: Path) -> bool:
    return path.name in SITE_FILES or os.access(path, os.R_OK)


class HadoopConf:
    """The client's Hadoop configuration, with Hadoop's rules for ``final`` and ``${…}``."""

    def __init__(
        self,
        files: Mapping[str, list[Property]],
        *,
        directories: tuple[Path, ...] = (),
        environ: Mapping[str, str] = os.environ,
        proxy_user: str | None = None,
        sparks: Path | None = None,
    ) -> None:
        self.directories = directories
        """Where the files are from; of two of one name the first directory's counts."""
        self.sparks = sparks
        """That of the directories which is Spark's: its other files are not Hadoop's, and may hold passwords."""
        self.proxy_user = proxy_user
        """Whom the user acts for, where it is somebody else."""
        self._files = dict(files)
        self._environ = dict(environ)
        self._values: dict[str, str] = {}
        finals: set[str] = set()
        for file_name in SITE_FILES:
            for item in self._files.get(file_name, ()):
                if item.name not in finals:
                    self._values[item.name] = item.value
                if item.final:
                    finals.add(item.name)

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ, *, sparks: Path | None = None) -> HadoopConf:
        """Read the files of the directories in ``HADOOP_CONF_DIR`` and ``YARN_CONF_DIR``.

        ``sparks`` is Spark's configuration directory. If it has site files they come first, as on Spark's class path.
        """
        directories, missing = configuration_directories(environ)
        if missing and not directories:
            raise UsageError(f"{'; '.join(missing)}.")
        if not directories:
            script = sparks / "spark-env.sh" if sparks is not None else None
            there = script is not None and script.is_file()
            hint = f" Perhaps {script} sets it; yarnspec does not read that file." if there else ""
            raise UsageError(
                "HADOOP_CONF_DIR is not set: export it as the directory with your cluster's core-site.xml and "
                f"yarn-site.xml.{hint}"
            )
        if sparks is not None and any(sparks.glob("*-site.xml")):
            return cls.from_directories((sparks, *directories), environ, sparks=sparks)
        return cls.from_directories(directories, environ)

    @classmethod
    def from_directories(
        cls, directories: Sequence[Path], environ: Mapping[str, str] = os.environ, *, sparks: Path | None = None
    ) -> HadoopConf:
        """Read the files of configuration directories; ``sparks``: the one of them that is Spark's."""
        paths: dict[str, Path] = {}
        for directory in directories:
            if not os.access(directory, os.R_OK | os.X_OK):
                raise UsageError(
                    f"The Hadoop configuration directory {directory} cannot be read; check its permissions."
                )
            found = [path for pattern in _FURTHER_SHIPPED_FILES for path in sorted(directory.glob(pattern))]
            # Spark does not ship a file either that this user may not read. Without Hadoop's own nothing works.
            paths = {path.name: path for path in found if path.is_file() and _may_be_read(path)} | paths
        if not any(name in paths for name in SITE_FILES):
            where = os.pathsep.join(map(str, directories))
            raise UsageError(f"There is none of {', '.join(SITE_FILES)} in the Hadoop configuration {where}.")
        files = {name: read_site_file(path) for name, path in paths.items()}
        return cls(files, directories=tuple(directories), environ=environ, sparks=sparks)

    def get(self, key: str, default: str | None = None) -> str | None:
        """A value with its ``${…}`` resolved: the files' one, else Hadoop's own default, else ``default``."""
        raw = self._values.get(key, _DEFAULTS.get(key))
        return default if raw is None else self._substitute(raw)

    def require(self, key: str) -> str:
        """A value that a working configuration must have."""
        value = self.get(key)
        if not value:
            raise UsageError(f"The Hadoop configuration {self.where} does not set {key}.")
        return value

    def get_bool(self, key: str, *, default: bool = False) -> bool:
        """A value that is ``true`` or ``false``; anything else counts as the default, as in Hadoop."""
        value = (self.get(key) or "").strip().lower()
        return default if value not in {_TRUE, "false"} else value == _TRUE

    def get_int(self, key: str, default: int) -> int:
        """A whole number."""
        value = self.get(key)
        if value is None:
            return default
        try:
            return int(value.strip())
        except ValueError:
            raise UsageError(
                f"The Hadoop configuration {self.where} says {key} = {value!r}, not a whole number."
            ) from None

    def is_set(self, key: str) -> bool:
        """Whether the user's own files say something about this key."""
        return key in self._values

    def items(self) -> Iterator[tuple[str, str]]:
        """Every property of the user's files, resolved."""
        for key, raw in self._values.items():
            yield key, self._substitute(raw)

    @property
    def default_fs(self) -> str:
        """The URL of the default file system."""
        return self.require("fs.defaultFS")

    @property
    def secure(self) -> bool:
        """Whether the cluster wants Kerberos."""
        return (self.get("hadoop.security.authentication") or "").lower() == "kerberos"

    def acting_for(self, user: str) -> HadoopConf:
        """This configuration, used for another user."""
        return HadoopConf(
            self._files, directories=self.directories, environ=self._environ, proxy_user=user, sparks=self.sparks
        )

    @property
    def environ(self) -> dict[str, str]:
        """The environment in which Hadoop's own commands act as this configuration's user does."""
        proxy = {} if self.proxy_user is None else {"HADOOP_PROXY_USER": self.proxy_user}
        if not self.directories:
            return {**self._environ, **proxy}
        others = {name: value for name, value in self._environ.items() if name not in DIRECTORY_VARIABLES}
        return {**others, **proxy, "HADOOP_CONF_DIR": str(self._one_directory)}

    @cached_property
    def _one_directory(self) -> Path:
        """One directory with all files: Hadoop's scripts take one only, and YARN_CONF_DIR in the place of the other."""
        if len(self.directories) == 1:
            return self.directories[0]
        made = Path(tempfile.mkdtemp(prefix="yarnspec-hadoop-conf-"))
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return write_conf_dir(self, made, {})

    @property
    def user(self) -> str:
        """Whose home, files and applications are meant: who is acted for, else who logs in."""
        return self.proxy_user or self.login

    @property
    def login(self) -> str:
        """The user whom the cluster sees: HADOOP_USER_NAME with simple authentication, else the system's user."""
        name = self._environ.get("HADOOP_USER_NAME")
        if name and not self.secure:
            return name
        return system_user()

    def rm_addresses(self) -> tuple[RmAddress, ...]:
        """The web address of the ResourceManager, or of each of them with HA."""
        https = self.require("yarn.http.policy").upper() == "HTTPS_ONLY"
        scheme = "https" if https else "http"
        key = "yarn.resourcemanager.webapp.https.address" if https else "yarn.resourcemanager.webapp.address"
        if not self.get_bool("yarn.resourcemanager.ha.enabled"):
            return (RmAddress("", _base_url(scheme, self.require(key))),)
        ids = [name.strip() for name in self.require("yarn.resourcemanager.ha.rm-ids").split(",") if name.strip()]
        found = []
        for rm_id in ids:
            address = self.get(f"{key}.{rm_id}")
            if not address:
                host = self.get(f"yarn.resourcemanager.hostname.{rm_id}")
                if not host:
                    raise UsageError(
                        f"The Hadoop configuration {self.where} sets neither {key}.{rm_id} nor "
                        f"yarn.resourcemanager.hostname.{rm_id}."
                    )
                address = f"{host}:{_WEBAPP_PORTS[scheme]}"
            found.append(RmAddress(rm_id, _base_url(scheme, address)))
        return tuple(found)

    def placement_overrides(self) -> dict[str, str]:
        """The settings that make Hadoop's client use our proxy provider, with the user's own providers carried over."""
        overrides = {
            # Skein's AM heartbeats at half of it: every second, not every five.
            AM_EXPIRY_KEY: "2000",
            # Skein unregisters while its JVM shuts down, which Hadoop cuts off after 30 s: a ResourceManager that was
            # away for longer would start the program again. How long it is called is for Hadoop's RM client to say.
            SHUTDOWN_KEY: "1d",
        }
        for key in PROVIDER_KEYS:
            overrides[key] = PLACEMENT_PROVIDER
            configured = self.get(key)
            if configured and configured != PLACEMENT_PROVIDER:
                overrides[DELEGATE_PREFIX + key.removeprefix("yarn.client.")] = configured
        return overrides

    def master_overrides(self, attempts: int) -> dict[str, str]:
        """The placement's overrides for Skein's AM, which takes the attempt of this number for the last one.

        It compares with this key of its own configuration too, by default two, whatever the ResourceManager grants.
        """
        return {**self.placement_overrides(), ATTEMPTS_KEY: str(attempts)}

    def rendered_files(self, overrides: Mapping[str, str]) -> dict[str, bytes]:
        """The site files with overrides: taken out wherever the user's files set them, added to yarn-site.xml."""
        rendered = {}
        for name in {*self._files, *([_OVERRIDES_FILE] if overrides else ())}:
            kept = [item for item in self._files.get(name, ()) if item.name not in overrides]
            if name == _OVERRIDES_FILE:
                kept += [Property(key, value, final=True) for key, value in sorted(overrides.items())]
            rendered[name] = render_site_file(kept)
        return rendered

    def as_one_file(self, overrides: Mapping[str, str]) -> bytes:
        """All properties of Hadoop's site files as one file, without those that have an override."""
        return render_site_file(Property(key, value) for key, value in self._values.items() if key not in overrides)

    @property
    def where(self) -> str:
        """The directories that it was read from, in words."""
        return os.pathsep.join(map(str, self.directories)) or "(in memory)"

    def _substitute(self, value: str) -> str:
        for _ in range(_MAX_SUBSTITUTIONS):
            match = _REFERENCE.search(value)
            if match is None:
                return value
            found = self._lookup(match.group(1))
            if found is None:
                return value  # Hadoop keeps what it cannot resolve
            value = value[: match.start()] + found + value[match.end() :]
        raise UsageError(f"The Hadoop configuration {self.where} refers to itself in {value!r}.")

    def _lookup(self, name: str) -> str | None:
        if name.startswith("env."):
            variable, separator, default = name.removeprefix("env.").partition("-")
            if variable.endswith(":"):
                # ":-" also replaces an empty variable, "-" only a missing one.
                return self._environ.get(variable[:-1]) or (default if separator else None)
            return self._environ.get(variable, default if separator else None)
        if name == "user.name":
            return system_user()
        if name == "user.home":
            return str(Path.home())
        if name == "java.io.tmpdir":
            return "/tmp"  # noqa: S108 - what Java says
        return self._values.get(name, _DEFAULTS.get(name))


def passed_over(environ: Mapping[str, str]) -> str:
    """A sentence about entries of the two variables that are no directories; empty when there are none."""
    _, missing = configuration_directories(environ)
    return f"{'; '.join(missing)}: passed over" if missing else ""


def check_the_cluster(environ: Mapping[str, str] = os.environ) -> str:
    """Advice for the end of an error: what to do when the cluster does not answer."""
    wrong = passed_over(environ)
    said = "Check that it runs and that HADOOP_CONF_DIR names the right cluster."
    return f"{said} {wrong}." if wrong else said


def configuration_directories(environ: Mapping[str, str]) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The directories of the Hadoop configuration in their order, and a clause for each entry that is none.

    A JVM passes over such an entry of its class path.
    """
    entries = [
        (name, Path(entry).absolute())
        for name in DIRECTORY_VARIABLES
        for entry in environ.get(name, "").split(os.pathsep)
        if entry.strip()
    ]
    # Path's own is_dir raises where this user may not look.
    there = dict.fromkeys(path for _, path in entries if os.path.isdir(path))  # noqa: PTH112
    return tuple(there), tuple(
        f"{name} names {path}, which is not a directory" for name, path in entries if path not in there
    )


def system_user() -> str:
    """The name of the system's user that this process runs as (not what ``LOGNAME`` claims)."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def write_conf_jar(conf: HadoopConf, path: Path, overrides: Mapping[str, str]) -> Path:
    """A jar with the site files and our overrides, for the class path of Skein's AM (readable by its owner only).

    Below ``USERS_HADOOP_CONF`` it has them without our overrides.
    """
    files = {**conf.rendered_files(overrides), _SPARKS_FILE: conf.as_one_file(overrides)}
    files |= {f"{USERS_HADOOP_CONF}/{name}": content for name, content in conf.rendered_files({}).items()}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as raw, zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in sorted(files.items()):
            # ZipInfo's fixed date: the same configuration makes the same bytes.
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o600 << 16
            jar.writestr(entry, content)
    return path


def write_conf_dir(conf: HadoopConf, path: Path, overrides: Mapping[str, str]) -> Path:
    """A configuration directory (0700) with everything of the user's one and our overrides, for a JVM of ours.

    Of Spark's directory it has the site files only.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    rendered = conf.rendered_files(overrides)
    for directory in (each for each in conf.directories if each != conf.sparks):
        for source in directory.iterdir():
            # Whatever else Hadoop's client may look for beside the site files: ssl-client.xml, log4j settings, ….
            if source.name in rendered or not source.is_file() or source.stat().st_size > _MAX_COPIED_FILE_BYTES:
                continue
            if os.access(source, os.R_OK) and not (path / source.name).exists():
                _write_private(path / source.name, source.read_bytes())
    for name, content in rendered.items():
        _write_private(path / name, content)
    return path


def _write_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def _base_url(scheme: str, address: str) -> str:
    host, separator, port = address.strip().rpartition(":")
    if not separator:
        host, port = address.strip(), str(_WEBAPP_PORTS[scheme])
    # The wildcard address is where a ResourceManager listens; a client on the same machine reaches it by loopback.
    host = "127.0.0.1" if host in {"0.0.0.0", ""} else host  # noqa: S104
    return f"{scheme}://{host}:{port}"
