"""The `yarn`, `hdfs` and `hadoop` commands of a mini cluster: short shell scripts in its bin directory."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from yarnspec.minicluster.hadoop.home import Home

_YARN_CLI = "org.apache.hadoop.yarn.client.cli"

# Subcommand → (main class, whether the class wants the subcommand as its first argument).
_CLASSES: dict[str, dict[str, tuple[str, bool]]] = {
    "yarn": {
        "application": (f"{_YARN_CLI}.ApplicationCLI", True),
        "app": (f"{_YARN_CLI}.ApplicationCLI", True),
        "applicationattempt": (f"{_YARN_CLI}.ApplicationCLI", True),
        "container": (f"{_YARN_CLI}.ApplicationCLI", True),
        "cluster": (f"{_YARN_CLI}.ClusterCLI", False),
        "logs": (f"{_YARN_CLI}.LogsCLI", False),
        "node": (f"{_YARN_CLI}.NodeCLI", False),
        "nodeattributes": (f"{_YARN_CLI}.NodeAttributesCLI", False),
        "queue": (f"{_YARN_CLI}.QueueCLI", False),
        "rmadmin": (f"{_YARN_CLI}.RMAdminCLI", False),
        "version": ("org.apache.hadoop.util.VersionInfo", False),
    },
    "hdfs": {
        "dfs": ("org.apache.hadoop.fs.FsShell", False),
        "dfsadmin": ("org.apache.hadoop.hdfs.tools.DFSAdmin", False),
        "fsck": ("org.apache.hadoop.hdfs.tools.DFSck", False),
        "getconf": ("org.apache.hadoop.hdfs.tools.GetConf", False),
        "version": ("org.apache.hadoop.util.VersionInfo", False),
    },
    "hadoop": {
        "fs": ("org.apache.hadoop.fs.FsShell", False),
        "version": ("org.apache.hadoop.util.VersionInfo", False),
    },
}

_SCRIPT = """\
#!/bin/sh
# The {name} command of the mini cluster in {home}; written by `yarnspec minicluster start`.
HADOOP_CONF_DIR="${{HADOOP_CONF_DIR:-{conf}}}"
JAVA_HOME="${{JAVA_HOME:-{java_home}}}"
export HADOOP_CONF_DIR JAVA_HOME
jars={jars}
command="${{1:-}}"
[ $# -gt 0 ] && shift
case "$command" in
classpath)
    if [ "${{1:-}}" = --glob ]; then
        all="$HADOOP_CONF_DIR"
        for jar in "$jars"/*.jar; do all="$all:$jar"; done
    else
        all="$HADOOP_CONF_DIR:$jars/*"
    fi
    printf '%s\\n' "$all${{HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}}"
    exit 0 ;;
{cases}
*)
    echo "usage: {name} classpath [--glob] | {names} ..." >&2
    exit 2 ;;
esac
exec "$JAVA_HOME/bin/java" -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx256m \\
    -Dlog4j.configuration=file:{log4j} $HADOOP_OPTS \\
    -cp "$HADOOP_CONF_DIR:$jars/*${{HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}}" "$main" "$@"
"""

_LOG4J = """\
log4j.rootLogger=WARN,console
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%p %c{1}: %m%n
"""


def write_scripts(home: Home, jars: Path, java_home: Path) -> None:
    """Write the commands, with the Hadoop configuration of this cluster as their default."""
    home.bin.mkdir(parents=True, exist_ok=True)
    log4j = home.bin / "log4j.properties"
    log4j.write_text(_LOG4J, encoding="utf-8")
    for name, classes in _CLASSES.items():
        path = home.bin / name
        text = _SCRIPT.format(
            name=name,
            home=home.root,
            conf=home.conf,
            java_home=java_home,
            jars=shlex.quote(str(jars)),
            log4j=shlex.quote(str(log4j)),
            names=" | ".join(classes),
            cases="\n".join(_case(*each) for each in classes.items()),
        )
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)


def _case(name: str, target: tuple[str, bool]) -> str:
    main, wants_name = target
    keep = f' set -- {name} "$@" ;' if wants_name else ""
    return f"{name}) main={main} ;{keep};"
