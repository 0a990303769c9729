"""TPC-DS tables as Parquet files, and the text of the 99 queries: both made once and kept on this machine.

The queries come from DuckDB's extension `tpcds`, which is made for one version of DuckDB only. So both are installed
into a directory of their own, asked for the text, and removed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from integration import packages
from integration.tpch.data import generate, made_once

TABLES = (
    "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address",
    "customer_demographics", "date_dim", "household_demographics", "income_band", "inventory", "item", "promotion",
    "reason", "ship_mode", "store", "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
    "web_sales", "web_site",
)  # fmt: skip
SCALE = 0.05
DUCKDB = "1.5.5"
TELLING = """
import json, pathlib, sys
import duckdb
(extension,) = pathlib.Path(sys.argv[1]).rglob("tpcds.duckdb_extension")
connection = duckdb.connect()
connection.execute(f"load '{extension}'")
json.dump(dict(connection.execute("select query_nr, query from tpcds_queries()").fetchall()), sys.stdout)
"""


def tpcds_data(scale: float = SCALE) -> Path:
    """The directory that holds `<table>/*.parquet` for this scale factor; it is made when it is missing."""
    return made_once(f"tpcds-sf{scale:g}", lambda directory: generate("tpcds", directory, scale, TABLES, 1))


def tpcds_queries() -> dict[int, str]:
    """The text of each query, as DuckDB has it.

    Raises:
        PackagesError: the extension is not on this machine, and PyPI did not give it in time.
    """
    kept = made_once(f"tpcds-queries-{DUCKDB}.json", _fetch)
    return {int(number): text for number, text in json.loads(kept.read_text()).items()}


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        packages.install(Path(place), f"duckdb=={DUCKDB}", f"duckdb-extension-tpcds=={DUCKDB}")
        target.write_text(packages.python("-c", TELLING, place, PYTHONPATH=place))
