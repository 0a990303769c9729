"""PySpark's own examples, as its wheel ships them: which run here, with which arguments, and why others do not."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pyspark

DIRECTORY = Path(pyspark.__file__).parent / "examples/src/main/python"
DATA = Path(pyspark.__file__).parent / "data"
"""Examples read it by paths like ``data/mllib/…``, which begin in the user's home in HDFS."""


class Runs(NamedTuple):
    """An example that ends with exit code 0."""

    arguments: str = ""
    says: str | None = ""
    """Part of its standard output, which is never empty; None: the driver prints nothing."""
    options: tuple[str, ...] = ()
    """Of the submit; ``{archive}``: an archive of the files in MADE, ``{pandas}``: a directory with PANDAS."""


class LeftOut(NamedTuple):
    """An example that no test runs."""

    why: str


ENDLESS = LeftOut("waits for a socket, a directory or a server for ever")
CONVERTERS = LeftOut("needs the jar of Spark's Scala examples, which the wheel does not have")
# A task's long chain of RDDs overflows the stack of the quick JVMs that the tests use: so it does with spark-submit.
DEEP = Runs(options=("--conf", "spark.executor.extraJavaOptions=-Xss4m"))

# yarnspec does not need pandas, so it is not among what the tests install.
PANDAS = ("pandas==2.3.3", "python-dateutil==2.9.0.post0", "pytz==2025.2", "six==1.17.0", "tzdata==2025.2")
WITH_PANDAS = (
    *("--conf", "spark.yarn.appMasterEnv.PYTHONPATH={pandas}"),
    *("--conf", "spark.executorEnv.PYTHONPATH={pandas}"),
)

# The first pattern that fits an example counts.
EXAMPLES: dict[str, Runs | LeftOut] = {
    "als.py": Runs("10 50 5 2 2", "Iteration 1:"),
    "avro_inputformat.py": CONVERTERS,
    "kmeans.py": Runs("data/mllib/kmeans_data.txt 2 0.1", "Final centers: ["),
    "logistic_regression.py": Runs("data/made/points.txt 3", "On iteration 3\nFinal w: ["),
    "pagerank.py": Runs("data/mllib/pagerank_data.txt 3", "has rank: "),
    "parquet_inputformat.py": CONVERTERS,
    "pi.py": Runs("4", "Pi is roughly 3.1"),
    "sort.py": Runs("data/graphx/followers.txt", "1\n1\n1\n2\n2\n3\n"),
    # Of one core it would take 40 s.
    "status_api_demo.py": Runs(says="Job results are: [", options=("--executor-cores", "8")),
    # Else each join has as many partitions as both sides together, and the last ones thousands.
    "transitive_closure.py": Runs("2", "TC has ", ("--conf", "spark.default.parallelism=2")),
    "wordcount.py": Runs("data/graphx/users.txt", "1,BarackObama,Barack: 1\n"),
    # In two partitions one of its folds has a single class, and spark-submit fails as well.
    "ml/cross_validator.py": Runs(options=("--conf", "spark.default.parallelism=1")),
    "ml/dataframe_example.py": LeftOut(
        "deletes what it has saved as a local directory: fails with spark-submit as well, where HDFS is the default"
    ),
    "ml/*": Runs(),
    "mllib/gaussian_mixture_model.py": Runs("data/mllib/kmeans_data.txt 2 --maxIterations 5 --seed 1", "weight = "),
    "mllib/kmeans.py": Runs("data/mllib/kmeans_data.txt 2", "Final centers: ["),
    "mllib/logistic_regression.py": Runs("data/mllib/sample_svm_data.txt 3", "Final intercept: 0.0"),
    # Its executors print.
    "mllib/power_iteration_clustering_example.py": Runs(says=None),
    "mllib/ranking_metrics_example.py": DEEP,
    "mllib/recommendation_example.py": DEEP,
    "mllib/streaming_k_means_example.py": Runs(says="Final centers: ["),
    "mllib/streaming_*": ENDLESS,
    "mllib/word2vec.py": Runs("data/made/words.txt", "tea: "),
    "mllib/*": Runs(),
    "sql/arrow.py": Runs(options=WITH_PANDAS),
    "sql/basic.py": Runs(says="Name: Justin"),
    "sql/datasource.py": LeftOut("reads files in Parquet and ORC that the wheel does not have, and a database"),
    # It loads a file of the driver's directory.
    "sql/hive.py": Runs(says="|238|val_238|", options=("--archives", "{archive}#examples")),
    "sql/jdbc.py": LeftOut("needs a database that all hosts reach"),
    "sql/streaming/*": ENDLESS,
    "sql/udtf.py": Runs(options=WITH_PANDAS),
    "streaming/queue_stream.py": Runs(says="(0, 100)"),
    "streaming/*": ENDLESS,
}

# Small files that examples ask for and the wheel does not have.
MADE = {
    "data/made/points.txt": "".join(f"{2 * (n % 2) - 1} {' '.join([str(n % 2 + 0.1 * n)] * 10)}\n" for n in range(8)),
    "data/made/words.txt": "china tea\n" * 8,
    "examples/src/main/resources/kv1.txt": "".join(f"{n}\x01val_{n}\n" for n in (238, 86, 4, 4)),
    "examples/src/main/resources/people.json": '{"name": "Michael"}\n{"name": "Justin", "age": 19}\n',
    "examples/src/main/resources/people.txt": "Michael, 29\nJustin, 19\n",
}


def names() -> list[str]:
    """Every example of the wheel, by its path."""
    paths = (path.relative_to(DIRECTORY) for path in DIRECTORY.rglob("*.py") if path.name != "__init__.py")
    return sorted(map(str, paths))


def pattern_of(name: str) -> str:
    """The key of EXAMPLES that decides about an example; StopIteration for one that nobody has thought of."""
    return next(pattern for pattern in EXAMPLES if fnmatch(name, pattern))


def running() -> dict[str, Runs]:
    """The examples that run, by their path."""
    each = {name: EXAMPLES[pattern_of(name)] for name in names()}
    return {name: example for name, example in each.items() if isinstance(example, Runs)}
