"""How an executor is started in its container: a stock Spark executor, and nothing that could command the AM."""

from __future__ import annotations

import shlex

from yarnspec.core.messages.events import ExecutorProfile
from yarnspec.plan import (
    EXECUTOR_VARIABLES_FILE,
    HADOOP_CONF_JAR_FILE,
    JAR_FILE,
    SPARK_JARS_LINK,
    SPARK_SECRET_FILE,
    Plan,
)
from yarnspec.spark.log_links import executor_links
from yarnspec.spark.runtime import MODULE_OPTIONS, UTF_8_FOR_THE_JVM
from yarnspec.spark.variables import export_script, option_word, shell_word

EXECUTOR_ID = "YARNSPEC_EXECUTOR_ID"
DRIVER_ADDRESS = "YARNSPEC_DRIVER_ADDRESS"
DRIVER_GATE = "YARNSPEC_DRIVER_GATE"
EPOCH = "YARNSPEC_EPOCH"
PROFILE = "YARNSPEC_PROFILE"
HEAP_MB = "YARNSPEC_HEAP_MB"
CORES = "YARNSPEC_CORES"
"""Only in containers of a resource profile: its number, and the size of its executors."""

_DRIVER_WAIT_S = 180


def launch_script(plan: Plan, *, authenticate: bool, network_options: tuple[str, ...] = ()) -> str:
    """The bash script of Skein's ``executor`` service.

    Skein puts the application's key pair into every container; the script removes it before anything of the user's
    runs. The driver's address comes from the container's environment, since the containers are asked for before the
    driver listens: the script waits until it takes executors (``yarnspec.am.driver.gate``). The shared secret never
    stands in an argument or in the container's environment (YARN writes that into a log): it is exported here, from a
    shipped file.

    Args:
        plan: sizes, Python, class path, options.
        authenticate: whether ``spark.authenticate`` is on.
        network_options: ``-Dspark.…`` options an executor needs before it has the driver's configuration.
    """
    java_options = [*MODULE_OPTIONS, *plan.executor_java_options, *network_options]
    if authenticate:
        java_options.append("-Dspark.authenticate=true")
    jars = f"$PWD/{SPARK_JARS_LINK}" if plan.spark_jars == SPARK_JARS_LINK else shlex.quote(plan.spark_jars or "")
    own = [f"$PWD/{JAR_FILE}"] if plan.options.recovery.enabled else []
    # The user's first, then the working directory, as in Spark.
    users_class_path = "".join(f"{shell_word(entry)}:" for entry in plan.executor_class_path)
    class_path = ":".join(["$PWD", *own, f"$PWD/{HADOOP_CONF_JAR_FILE}"])
    secret = f'export _SPARK_AUTH_SECRET="$(cat {SPARK_SECRET_FILE})"' if authenticate else ""
    # conda's lines for a shell read variables that may not be set.
    activate = f"set +u\n{plan.activate}\nset -u" if plan.activate else ""
    return f"""\
set -eu
mkdir -p tmp
for credential in .skein.crt .skein.pem; do
  rm -f "$(readlink -f "$credential")" "$credential"
done
# Where YARN runs containers as a user of its own, HDFS still has to see the application's.
export SPARK_USER={shlex.quote(plan.user)}
{activate}
if [ -z "${{SPARK_HOME:-}}" ]; then
  # Before the user's variables are set: a PYTHONPATH among them may lead to another pyspark.
  SPARK_HOME=$({shlex.quote(plan.python)} -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')
fi
# One of the user's may lead to another Spark, or nowhere: Spark's own executors do not look for their jars there.
yarnspec_spark_home=$SPARK_HOME
{export_script(executor_links(plan))}. ./{EXECUTOR_VARIABLES_FILE}
{secret}
python={shlex.quote(plan.worker_python)}
export SPARK_HOME="$yarnspec_spark_home" PYSPARK_PYTHON="$python" SPARK_LOCAL_IP="$NM_HOST"
spark_jars={jars or '""'}
[ -n "$spark_jars" ] || spark_jars="$SPARK_HOME/jars"
gate=/dev/tcp/${{{DRIVER_GATE}%:*}}/${{{DRIVER_GATE}##*:}}
driver=/dev/tcp/${{{DRIVER_ADDRESS}%:*}}/${{{DRIVER_ADDRESS}##*:}}
give_up=$((SECONDS + {_DRIVER_WAIT_S}))
until (exec 3<>"$gate" 4<>"$driver") 2>/dev/null; do
  if [ "$SECONDS" -ge "$give_up" ]; then
    echo "the driver at ${DRIVER_ADDRESS} was not ready within {_DRIVER_WAIT_S} s" >&2
    exit 1
  fi
  sleep 0.1
done
{UTF_8_FOR_THE_JVM}
exec "${{JAVA_HOME:+$JAVA_HOME/bin/}}java" -Xmx"${{{HEAP_MB}:-{plan.executors.heap_mb}}}m" {" ".join(_java_word(option, plan) for option in java_options)} \\
  -Djava.io.tmpdir="$PWD/tmp" \\
  -Dspark.yarn.app.container.log.dir="${{LOG_DIRS%%,*}}" \\
  -cp {users_class_path}"{class_path}:$spark_jars/*" \\
  org.apache.spark.executor.CoarseGrainedExecutorBackend \\
  --driver-url "spark://CoarseGrainedScheduler@${DRIVER_ADDRESS}" \\
  --executor-id "${EXECUTOR_ID}" --bind-address "$NM_HOST" --hostname "$NM_HOST" \\
  --cores "${{{CORES}:-{plan.executors.cores}}}" --app-id "$SKEIN_APPLICATION_ID" \\
  --resourceProfileId "${{{PROFILE}:-0}}"
"""  # noqa: E501 - a command of the script stands on one line


def _java_word(option: str, plan: Plan) -> str:
    """A Java option as a word of the script; the JVM sees as many processors as its own container has cores."""
    if option == f"-XX:ActiveProcessorCount={plan.executors.cores}":
        return f'-XX:ActiveProcessorCount="${{{CORES}:-{plan.executors.cores}}}"'
    return option_word(option, _OPTIONS_NAMES)


_OPTIONS_NAMES = {"APP_ID": "SKEIN_APPLICATION_ID", "EXECUTOR_ID": EXECUTOR_ID}
"""Spark's documentation promises these two for an executor's Java options, beside the container's variables."""


def container_environment(
    executor_id: str, driver_address: str, gate: str, epoch: int, profile: ExecutorProfile | None = None
) -> dict[str, str]:
    """The variables of one executor's container. Their values are plain words, because Skein puts them into a script.

    ``profile``: the size of an executor that is not of the usual one.
    """
    common = {EXECUTOR_ID: executor_id, DRIVER_ADDRESS: driver_address, DRIVER_GATE: gate, EPOCH: str(epoch)}
    if profile is None:
        return common
    return common | {PROFILE: str(profile.id), HEAP_MB: str(profile.heap_mb), CORES: str(profile.cores)}
