"""The partition-windowed view of a DataFrame."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from yarnspec.errors import UsageError
from yarnspec.window.folds import AggregateFunction, aggregated, reduced
from yarnspec.window.handover import DEFAULT_QUEUE_SIZE
from yarnspec.window.keys import FittedKey
from yarnspec.window.order import Order
from yarnspec.window.rows import RowFormat, fold_rows, map_batches, map_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row
    from pyspark.sql.types import DataType, StructType

Records = Literal["arrow", "rows"]

_KEY_TYPES: dict[Any, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "binary",
    datetime.date: "date",
    datetime.datetime: "timestamp",
    decimal.Decimal: "decimal(38,18)",
}


class PartitionWindowedDataFrame:
    """All rows of each partition of a DataFrame as one window; made by ``full_window_partition``.

    Everything here keeps the DataFrame's partitions, is as lazy as the DataFrame, and gives a DataFrame.
    """

    def __init__(self, data: DataFrame) -> None:
        self._data = data

    def map_partition(
        self,
        fn: Callable[[Iterator[Any]], Iterable[Any]],
        schema: StructType | DataType | str | None = None,
        *,
        records: Records | None = None,
        queue_size: int = DEFAULT_QUEUE_SIZE,
    ) -> DataFrame:
        """Return the rows that ``fn`` makes of each partition. It runs while the partition's rows arrive.

        Args:
            fn: gets an iterator, to be read by one thread at a time, and returns or yields results. With Arrow: of
                RecordBatch, results RecordBatch or Table with the columns of the schema, in any order. With rows: of
                Row, results tuple, list or Row (all by place) or dict (by name).
            schema: of the results; the DataFrame's own by default. With one type, like ``"bigint"``, results are
                values of a column ``value``. A result that does not fit is an error of the task.
            records: ``"arrow"`` or ``"rows"``; by default Arrow when the annotation of fn's parameter names
                RecordBatch, else rows.
            queue_size: so many rows are between Spark and ``fn`` at most; one Arrow batch is always let in.

        >>> from collections.abc import Iterator
        >>> import pyarrow as pa
        >>> def first_of_each(batches: Iterator[pa.RecordBatch]):
        ...     for batch in batches:
        ...         yield batch.slice(0, 1)
        >>> full_window_partition(spark.range(6, numPartitions=2)).map_partition(first_of_each).collect()
        [Row(id=0), Row(id=3)]
        >>> def total(rows):
        ...     yield (sum(row.id for row in rows),)
        >>> full_window_partition(spark.range(6, numPartitions=2)).map_partition(total, "sum bigint").collect()
        [Row(sum=3), Row(sum=12)]
        """
        _check_queue_size(queue_size)
        if records not in (None, "arrow", "rows"):
            raise UsageError(f"records={records!r}: say 'arrow' or 'rows'")
        results = self._format(schema)
        if records == "arrow" or (records is None and takes_batches(fn)):
            return self._in_arrow(partial(map_batches, fn, results, queue_size), results.schema, fn)
        return self._in_arrow(partial(map_rows, fn, self._data.schema, results, queue_size), results.schema, fn)

    def sort_partition(
        self,
        key: int | str | Column | Callable[[Row], Any],
        order: Order = Order.ASCENDING,
        *,
        stable: bool = False,
        key_type: DataType | str | None = None,
    ) -> DataFrame:
        """The rows of each partition in order, by Spark's own sort, which goes to disk where memory does not do.

        Nulls come first in ascending and last in descending order; NaN is larger than any number.

        Args:
            key: the index or the name of a field, a Column, or a function of the row.
            order: ascending or descending.
            stable: keep the order of rows with equal keys, at the cost of a number carried with each row.
            key_type: the type of what a key function returns, where its annotation does not say it. A value that does
                not fit the type (nor can be null or a number made to fit) is a TypeError of the task.

        >>> data = spark.createDataFrame([(2, "b"), (1, "a"), (3, None)], "n bigint, s string").coalesce(1)
        >>> full_window_partition(data).sort_partition("n", Order.DESCENDING).collect()
        [Row(n=3, s=None), Row(n=2, s='b'), Row(n=1, s='a')]
        >>> full_window_partition(data).sort_partition(1).collect()
        [Row(n=3, s=None), Row(n=1, s='a'), Row(n=2, s='b')]
        >>> full_window_partition(data).sort_partition(lambda row: row.n % 2, stable=True, key_type="bigint").collect()
        [Row(n=2, s='b'), Row(n=1, s='a'), Row(n=3, s=None)]
        """
        from pyspark.sql import functions

        data = self._data
        names = data.columns
        # Two columns of one name can be told apart by their place alone.
        by_place = isinstance(key, int) and len({name.lower() for name in names}) < len(names)
        if by_place:
            data = data.toDF(*(f"_{place}" for place in range(len(names))))
        column = self._key_column(data, key, key_type)
        added = []
        if callable(key):
            added.append(_free_name("__yarnspec_key", data))
            data, column = data.withColumn(added[-1], column), functions.col(added[-1])
        columns = [column.desc() if Order(order).reverse else column.asc()]
        if stable:
            added.append(_free_name("__yarnspec_row_number", data))
            data = data.withColumn(added[-1], functions.monotonically_increasing_id())
            columns.append(functions.col(added[-1]))
        data = data.sortWithinPartitions(*columns)
        if added:
            data = data.drop(*added)
        return data.toDF(*names) if by_place else data

    def aggregate(self, function: AggregateFunction[Row, Any, Any], schema: StructType | DataType | str) -> DataFrame:
        """One result for each partition, also for an empty one.

        Args:
            function: an ``AggregateFunction``; its results are tuple, list or Row (all by place) or dict (by name).
            schema: of the results. With one type, like ``"double"``, a result is the value of a column ``value``. A
                result that does not fit is an error of the task.

        >>> class Longest(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return ""
        ...
        ...     def add(self, value, accumulator):
        ...         return max(accumulator, value.word, key=len)
        ...
        ...     def get_result(self, accumulator):
        ...         return accumulator
        >>> data = spark.createDataFrame([("a",), ("ccc",), ("bb",)], "word string").coalesce(1)
        >>> full_window_partition(data).aggregate(Longest(), "string").collect()
        [Row(value='ccc')]
        """
        results = self._format(schema)
        fold = partial(aggregated, function)
        return self._in_arrow(partial(fold_rows, fold, self._data.schema, results), results.schema, function)

    def reduce(self, fn: Callable[[Row, Row], Any]) -> DataFrame:
        """The rows of each partition reduced to one, of the same schema; nothing for an empty partition.

        A result is a tuple, list or Row (all by place) or a dict (by name); one that does not fit is an error of the
        task.

        >>> data = spark.range(5, numPartitions=2)
        >>> full_window_partition(data).reduce(lambda one, other: (one[0] + other[0],)).collect()
        [Row(id=1), Row(id=9)]
        """
        results = self._format(None)
        fold = partial(reduced, fn)
        return self._in_arrow(partial(fold_rows, fold, self._data.schema, results), results.schema, fn)

    def _in_arrow(self, task: Callable[..., Any], schema: StructType, fn: Any) -> DataFrame:
        """``DataFrame.mapInArrow``, which on its way asks for pandas without needing it."""
        from pyspark.sql import functions
        from pyspark.sql.classic.dataframe import DataFrame
        from pyspark.sql.udf import UserDefinedFunction
        from pyspark.util import PythonEvalType

        data: Any = self._data
        if not data.columns:
            # Arrow batches without columns come without their rows.
            raise UsageError("a DataFrame without columns has nothing for a function to see: select one")
        twice = self._names_twice()
        if twice:
            raise UsageError(
                f"the DataFrame has more than one column of the name {', '.join(twice)}: give them names of their own "
                "(toDF) before a function is to see them"
            )
        name = getattr(fn, "__name__", type(fn).__name__)
        function = UserDefinedFunction(task, schema, name, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        # A name with a dot in it is not the field of a struct.
        column: Any = function(*(functions.col(_quoted(name)) for name in data.columns))
        return DataFrame(data._jdf.mapInArrow(column._jc, False, None), data.sparkSession)

    def _names_twice(self) -> list[str]:
        """The names of columns that Spark cannot tell from those before them."""
        seen: set[str] = set()
        twice = []
        for name in self._data.columns:
            if self._folded(name) in seen:
                twice.append(name)
            seen.add(self._folded(name))
        return twice

    def _folded(self, name: str) -> str:
        return name if self._data.sparkSession.conf.get("spark.sql.caseSensitive") == "true" else name.lower()

    def _format(self, schema: StructType | DataType | str | None) -> RowFormat:
        from pyspark.sql.types import DataType, StructField, StructType

        conf = self._data.sparkSession.conf
        if schema is None:
            schema = self._data.schema
        elif isinstance(schema, str):
            schema = DataType.fromDDL(schema)
        single = not isinstance(schema, StructType)
        return RowFormat(
            schema=StructType([StructField("value", schema)]) if single else schema,
            single=single,
            batch_rows=max(0, int(conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))) or 10_000,
            large_types=conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true",
        )

    def _key_column(self, data: DataFrame, key: Any, key_type: DataType | str | None) -> Column:
        from pyspark.sql import Column, functions
        from pyspark.sql.types import DataType

        if isinstance(key, Column):
            if _is_ordered(key):
                raise UsageError(
                    "the Column has an order already, from asc() or desc(): leave that out, and say order= instead"
                )
            return key
        if isinstance(key, str):
            if self._folded(key) in map(self._folded, self._names_twice()):
                raise UsageError(f"the DataFrame has more than one column of the name {key}: say its index")
            return data[key]
        if isinstance(key, int) and not isinstance(key, bool):
            if not -len(data.columns) <= key < len(data.columns):
                raise UsageError(f"there is no field {key}: the DataFrame has {len(data.columns)} columns")
            return functions.col(_quoted(data.columns[key]))
        if not callable(key):
            raise TypeError(f"a sort key is an index, a name, a Column or a function, not {key!r}")
        key_type = key_type or _returned_type(key)
        if key_type is None:
            raise UsageError(
                "Spark has to know the type of what the key function returns: annotate the function, or say "
                "key_type='bigint' (for keys of Python's own types, sort the RDD)"
            )
        if isinstance(key_type, str):
            key_type = DataType.fromDDL(key_type)
        return functions.udf(FittedKey(key, key_type), key_type, useArrow=False)(functions.struct("*"))


def _is_ordered(column: Any) -> bool:
    """Whether it is an order, as ``desc()`` makes it, and no value: Spark cannot order that again."""
    return bool(column._jc.node().getClass().getSimpleName() == "SortOrder")


def _quoted(name: str) -> str:
    """A column's name for Spark, whatever it consists of."""
    return "`{}`".format(name.replace("`", "``"))


def _free_name(name: str, data: DataFrame) -> str:
    """The name, or a longer one where the user's data has it; Spark takes small and capital letters for the same."""
    taken = {column.lower() for column in data.columns}
    while name in taken:
        name += "_"
    return name


def _check_queue_size(queue_size: int) -> None:
    if queue_size < 1:
        raise UsageError(f"queue_size={queue_size}: a queue holds one record at least")


def takes_batches(fn: Callable[..., Any]) -> bool:
    """Whether the annotation of the first parameter speaks of Arrow batches; it may be text that cannot be resolved."""
    try:
        first = next(iter(inspect.signature(fn).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    if first is None:
        return False
    hint = first.annotation
    with contextlib.suppress(Exception):  # whatever comes of evaluating it
        hint = typing.get_type_hints(fn).get(first.name, hint)
    return "RecordBatch" in str(hint)


def _returned_type(key: Callable[..., Any]) -> str | None:
    """Spark's name for the type that a function's annotation says it returns, ``| None`` aside."""
    try:
        hint = typing.get_type_hints(key).get("return")
    except (NameError, TypeError):
        return None
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        hint = kinds[0] if len(kinds) == 1 else None
    return _KEY_TYPES.get(hint)
