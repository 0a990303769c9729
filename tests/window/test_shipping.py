"""The zip file that brings yarnspec.window and yarnspec.sink to a Python which has no yarnspec."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from yarnspec.window.shipping import write_zip


def test_the_same_bytes_each_time(tmp_path: Path) -> None:
    write_zip(tmp_path / "one.zip")
    write_zip(tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_bare_python_runs_the_tasks_from_it(tmp_path: Path) -> None:
    """Without any package beside it, as Spark's workers have at least pyspark: sort to disk, queue, fold."""
    path = tmp_path / "window.zip"
    write_zip(path)
    program = f"""
import sys
sys.path.insert(0, {str(path)!r})
from operator import itemgetter
from yarnspec.window import AggregateFunction, Order, full_window_partition
from yarnspec.window.objects import map_objects
from yarnspec.window.folds import reduced
from yarnspec.sink import PartitionFileSink
from yarnspec.sink.tasks import chunks_of
from yarnspec.window.sort import ExternalSort
assert sys.modules["yarnspec"].__file__.startswith({str(path)!r})
records = [(number * 7919 % 1000, number) for number in range(1000)]
found = list(ExternalSort(itemgetter(0), Order.DESCENDING, 4096, ["/tmp"]).sort(records))
assert found == sorted(records, key=itemgetter(0), reverse=True)
assert list(map_objects(lambda records: map(str, records), 10, range(3))) == ["0", "1", "2"]
assert list(reduced(max, [1, 3, 2])) == [3]
assert list(chunks_of(lambda records, file: file.write(bytes(records)), range(3))) == [b"\\0\\1\\2"]
assert not any(name.partition(".")[0] in ("pyspark", "pyarrow", "numpy", "msgspec") for name in sys.modules)
"""
    # No site-packages, no PYTHONPATH, and not the directory of the tests.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_the_rest_of_an_installed_yarnspec_stays_in_reach(tmp_path: Path) -> None:
    path = tmp_path / "window.zip"
    write_zip(path)
    installed = tmp_path / "site" / "yarnspec"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    (installed / "other.py").write_text("there = True\n")
    program = f"""
import sys
sys.path[:0] = [{str(path)!r}, {str(installed.parent)!r}]
import yarnspec.other, yarnspec.window
assert yarnspec.other.there
assert yarnspec.window.__file__.startswith({str(path)!r})
"""
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, timeout=60)


def test_it_holds_what_tasks_need_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "window.zip"
    write_zip(path)
    with zipfile.ZipFile(path) as archive:
        others = [name for name in archive.namelist() if not name.startswith(("yarnspec/sink/", "yarnspec/window/"))]
    assert others == ["yarnspec/__init__.py", "yarnspec/errors.py", "yarnspec/units.py"]


def test_what_spark_ships_of_ours_is_small_and_the_same_in_every_process() -> None:
    """A restarted driver recognises finished work by what it would ship again."""
    program = """
import hashlib
from functools import partial
from operator import itemgetter
from pyspark import cloudpickle
from pyspark.serializers import PickleSerializer
from yarnspec.sink.tasks import arrow_chunks_of, chunks_of, row_chunks_of
from yarnspec.window.folds import aggregated, reduced
from yarnspec.window.objects import Brought, map_objects, map_results, sort_objects, through_batches, through_records
from yarnspec.window.order import Order, field_of
tasks = [
    partial(through_records, partial(map_objects, len), 10),
    partial(through_batches, partial(map_results, len), 10),
    Brought(PickleSerializer(), batched=False),
    partial(sort_objects, partial(field_of, "name"), Order.DESCENDING, 10),
    partial(sort_objects, itemgetter(0), Order.ASCENDING, 10),
    partial(aggregated, None),
    partial(reduced, max),
    *(partial(each, len) for each in (arrow_chunks_of, chunks_of, row_chunks_of)),
]
for task in tasks:
    pickled = cloudpickle.dumps(task)
    assert len(pickled) < 300, len(pickled)
    print(hashlib.sha256(pickled).hexdigest())
"""
    told = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1
