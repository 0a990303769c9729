"""Every ``spark.yarn.*`` property and its treatment: the translation and the docs follow this table."""

from __future__ import annotations

from typing import Literal

import msgspec

Treatment = Literal["honoured", "translated", "warned"]


class YarnKey(msgspec.Struct, frozen=True):
    """One property of Spark's YARN client. ``note`` ends the sentence "warning: KEY …" where the treatment is warned.

    A key that ends in ``.`` stands for every key that begins with it.
    """

    key: str
    treatment: Treatment
    note: str


NO_TOKENS = "has no effect: delegation tokens are not fetched yet"
_NO_SPARK_AM = "has no effect: the application master is Skein's, not Spark's"
_OWN_HEARTBEATS = (
    "has no effect: the application master calls the ResourceManager every second, "
    "and every 250 ms for 3 s after it asked for a container or gave one up, or one came or ended"
)
_NO_SPARK_CLIENT = "has no effect: yarnspec submits the application itself"
_INTERNAL = "has no effect: Spark sets it for itself"
_GONE = "has no effect: Spark does not use it any more"

YARN_KEYS: tuple[YarnKey, ...] = (
    # The application
    YarnKey("spark.yarn.queue", "honoured", "the queue; `--queue` wins"),
    YarnKey("spark.yarn.tags", "honoured", "the application's tags"),
    YarnKey("spark.yarn.priority", "honoured", "the application's priority"),
    YarnKey(
        "spark.yarn.maxAppAttempts",
        "honoured",
        "wins over the option `am.max_attempts`; 1 also means that a driver is not started again in its attempt, "
        "unless `recovery.driver_restarts` is set",
    ),
    YarnKey(
        "spark.yarn.am.attemptFailuresValidityInterval",
        "honoured",
        "period in which failed attempts count; with it finished work is kept only where `recovery.enabled` is set",
    ),
    YarnKey("spark.yarn.rolledLog.includePattern", "honoured", "log files that YARN collects while they are written"),
    YarnKey("spark.yarn.rolledLog.excludePattern", "honoured", "log files that YARN leaves out of this"),
    YarnKey("spark.yarn.submit.waitAppCompletion", "honoured", "in both deploy modes; `--wait` and `--no-wait` win"),
    YarnKey("spark.yarn.report.interval", "translated", "wins over the option `submit.poll_interval`"),
    YarnKey("spark.yarn.applicationType", "warned", "has no effect: its tools find it by the type `yarnspec`"),
    # The application master and the driver in it
    YarnKey("spark.yarn.appMasterEnv.", "honoured", "environment of the driver, which runs in the AM container"),
    YarnKey("spark.yarn.am.cores", "translated", "the AM container has at least so many cores (else `--driver-cores`)"),
    YarnKey(
        "spark.yarn.am.memory",
        "warned",
        "has no effect: the driver runs in the AM container, whose memory follows from --driver-memory",
    ),
    YarnKey(
        "spark.yarn.am.memoryOverhead",
        "warned",
        "has no effect: the driver runs in the AM container; use spark.driver.memoryOverhead",
    ),
    YarnKey("spark.yarn.am.nodeLabelExpression", "honoured", "node label of the AM container"),
    YarnKey(
        "spark.yarn.am.waitTime",
        "honoured",
        "a program that has made no SparkContext by then has failed; without it there is no limit (Spark: 100s)",
    ),
    YarnKey(
        "spark.yarn.am.extraJavaOptions",
        "warned",
        "has no effect: the AM's JVM is Skein's; use --driver-java-options for the driver's",
    ),
    YarnKey("spark.yarn.am.defaultJavaOptions", "warned", "has no effect: the AM's JVM is Skein's"),
    YarnKey(
        "spark.yarn.am.extraLibraryPath",
        "warned",
        "has no effect: the AM's JVM is Skein's; use --driver-library-path for the driver's",
    ),
    YarnKey("spark.yarn.am.limitActiveProcessorCount.enabled", "warned", "has no effect: the AM's JVM is Skein's"),
    YarnKey("spark.yarn.am.clientModeExitOnError", "warned", "has no effect: the driver ends with the application"),
    YarnKey(
        "spark.yarn.am.clientModeTreatDisconnectAsFailed",
        "warned",
        "has no effect: the driver runs in the AM container and cannot be disconnected from it",
    ),
    YarnKey("spark.yarn.am.tokenConfRegex", "warned", "has no effect: the ResourceManager gets no configuration"),
    YarnKey("spark.yarn.am.finalMessageLimit", "warned", "has no effect: diagnostics have a limit of their own"),
    YarnKey("spark.yarn.am.resource.", "honoured", "resource types of the AM container, in which the driver runs"),
    YarnKey("spark.yarn.am.port", "warned", _GONE),
    YarnKey("spark.yarn.driver.memoryOverhead", "translated", "the old name of `spark.driver.memoryOverhead`"),
    YarnKey("spark.yarn.driver.resource.", "honoured", "resource types of the AM container"),
    YarnKey("spark.yarn.unmanagedAM.enabled", "warned", "has no effect: the driver runs in the AM container"),
    YarnKey("spark.yarn.applicationMaster.waitTries", "warned", _GONE),
    # Executors
    YarnKey(
        "spark.yarn.exclude.nodes",
        "translated",
        "joined with `--exclude-hosts`; a warning names hosts that YARN does not know",
    ),
    YarnKey("spark.yarn.executor.nodeLabelExpression", "honoured", "node label of the executors' containers"),
    YarnKey("spark.yarn.executor.memoryOverhead", "translated", "the old name of `spark.executor.memoryOverhead`"),
    YarnKey("spark.yarn.executor.failuresValidityInterval", "translated", "the old name without `.yarn`"),
    YarnKey("spark.yarn.max.executor.failures", "translated", "the old name of `spark.executor.maxNumFailures`"),
    YarnKey("spark.yarn.max.worker.failures", "translated", "the oldest name of `spark.executor.maxNumFailures`"),
    YarnKey(
        "spark.yarn.executor.launch.excludeOnFailure.enabled",
        "warned",
        "has no effect: the negotiator decides which hosts are blocked; see `yarnspec hosts`",
    ),
    YarnKey(
        "spark.yarn.blacklist.executor.launch.blacklisting.enabled",
        "warned",
        "has no effect: the negotiator decides which hosts are blocked; see `yarnspec hosts`",
    ),
    YarnKey("spark.yarn.executor.oomKill.enabled", "warned", "has no effect: executors always end on OutOfMemoryError"),
    YarnKey("spark.yarn.executor.resource.", "honoured", "resource types of the executors' containers"),
    YarnKey("spark.yarn.resourceGpuDeviceName", "honoured", "YARN's name of the resource `gpu`"),
    YarnKey("spark.yarn.resourceFpgaDeviceName", "honoured", "YARN's name of the resource `fpga`"),
    YarnKey("spark.yarn.user.classpath.first", "translated", "`spark.driver.` and `spark.executor.userClassPathFirst`"),
    YarnKey("spark.yarn.shuffle.server.recovery.disabled", "warned", "has no effect: it is told by Spark's AM only"),
    # Files
    YarnKey(
        "spark.yarn.archive",
        "translated",
        "`--spark-jars`, which wins: an archive in HDFS; one of the gateway or the hosts is refused",
    ),
    YarnKey(
        "spark.yarn.jars",
        "translated",
        "`--spark-jars`, when it is one `local:` directory; else it has no effect, with a warning",
    ),
    YarnKey("spark.yarn.jar", "warned", "has no effect: it named the one jar of Spark 1; use --spark-jars"),
    YarnKey("spark.yarn.dist.files", "honoured", "joined with `--files`"),
    YarnKey("spark.yarn.dist.archives", "honoured", "joined with `--archives`"),
    YarnKey("spark.yarn.dist.jars", "honoured", "joined with `--jars`"),
    YarnKey("spark.yarn.dist.pyFiles", "honoured", "joined with `--py-files`"),
    YarnKey(
        "spark.yarn.dist.forceDownloadSchemes",
        "warned",
        "has no effect: http, https and ftp files are fetched by Spark in the driver, all others by YARN",
    ),
    YarnKey("spark.yarn.stagingDir", "warned", "has no effect: Skein stages below `.skein` in the user's HDFS home"),
    YarnKey("spark.yarn.preserve.staging.files", "warned", "has no effect: the staging directory is always deleted"),
    YarnKey("spark.yarn.submit.file.replication", "warned", "has no effect: HDFS decides how often it keeps a file"),
    YarnKey("spark.yarn.config.gatewayPath", "honoured", "replaced in class and library paths and in `local:` jars"),
    YarnKey("spark.yarn.config.replacementPath", "honoured", "what replaces `spark.yarn.config.gatewayPath`"),
    YarnKey(
        "spark.yarn.populateHadoopClasspath", "warned", "has no effect: the Hadoop classes are those that Spark ships"
    ),
    # Security
    YarnKey("spark.yarn.principal", "warned", "has no effect yet; see --principal"),
    YarnKey("spark.yarn.keytab", "warned", "has no effect yet; see --keytab"),
    YarnKey("spark.yarn.access.namenodes", "warned", NO_TOKENS),
    YarnKey("spark.yarn.access.hadoopFileSystems", "warned", NO_TOKENS),
    YarnKey("spark.yarn.kerberos.relogin.period", "warned", "has no effect: delegation tokens are not renewed yet"),
    YarnKey(
        "spark.yarn.kerberos.renewal.excludeHadoopFileSystems",
        "warned",
        NO_TOKENS,
    ),
    YarnKey("spark.yarn.security.credentials.", "warned", NO_TOKENS),
    YarnKey("spark.yarn.security.tokens.", "warned", NO_TOKENS),
    YarnKey("spark.yarn.credentials.file.retention.count", "warned", _GONE),
    YarnKey("spark.yarn.credentials.file.retention.days", "warned", _GONE),
    YarnKey("spark.yarn.services", "warned", _GONE),
    # Spark's AM and client read these; yarnspec has neither.
    YarnKey("spark.yarn.scheduler.heartbeat.interval-ms", "warned", _OWN_HEARTBEATS),
    YarnKey("spark.yarn.scheduler.initial-allocation.interval", "warned", _OWN_HEARTBEATS),
    YarnKey("spark.yarn.scheduler.reporterThread.maxFailures", "warned", _NO_SPARK_AM),
    YarnKey("spark.yarn.containerLauncherMaxThreads", "warned", _NO_SPARK_AM),
    YarnKey("spark.yarn.metrics.namespace", "warned", _NO_SPARK_AM),
    YarnKey(
        "spark.yarn.historyServer.address",
        "honoured",
        "YARN's link leads there after the end; `${…}` and `${hadoopconf-…}` in it are replaced",
    ),
    YarnKey("spark.yarn.historyServer.allowTracking", "warned", "has no effect: YARN's link is the running page"),
    YarnKey("spark.yarn.clientLaunchMonitorInterval", "warned", _NO_SPARK_CLIENT),
    YarnKey("spark.yarn.report.loggingFrequency", "warned", _NO_SPARK_CLIENT),
    YarnKey("spark.yarn.includeDriverLogsLink", "honoured", "a submit that waits names the pages of the driver's logs"),
    YarnKey("spark.yarn.client.statCache.preload.enabled", "warned", _NO_SPARK_CLIENT),
    YarnKey("spark.yarn.client.statCache.preload.perDirectoryThreshold", "warned", _NO_SPARK_CLIENT),
    YarnKey("spark.yarn.launchContainers", "warned", "has no effect: it is for Spark's own tests"),
    # Spark's notes to itself
    YarnKey("spark.yarn.isPython", "warned", _INTERNAL),
    YarnKey("spark.yarn.isHadoopProvided", "warned", _INTERNAL),
    YarnKey("spark.yarn.user.jar", "warned", _INTERNAL),
    YarnKey("spark.yarn.secondary.jars", "warned", _INTERNAL),
    YarnKey("spark.yarn.app.id", "warned", _INTERNAL),
    YarnKey("spark.yarn.app.container.log.dir", "warned", _INTERNAL),
    YarnKey("spark.yarn.cache.", "warned", _INTERNAL),
)

_EXACT = {each.key: each for each in YARN_KEYS if not each.key.endswith(".")}
_PREFIXES = tuple(each for each in YARN_KEYS if each.key.endswith("."))


def find(key: str) -> YarnKey | None:
    """Return the row that says what becomes of a property, or None when Spark has no such property."""
    if key in _EXACT:
        return _EXACT[key]
    return next((each for each in _PREFIXES if key.startswith(each.key) and key != each.key), None)


def known() -> list[str]:
    """Every name in the table, for "did you mean"."""
    return [each.key for each in YARN_KEYS]
