"""What other engines make of a dataset, and of the command's own queries, beside what it makes of them itself.

usage: other_engines.py LIFETRACE_FLEET
"""

import datetime
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import duckdb
import pyarrow.dataset

FLEET = sys.argv[1]
TABLES = ["runs", "labels", "samples", "sites", "rollup", "growth"]


def fleet(*words):
    return subprocess.run([FLEET, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def same(ours, theirs):
    if isinstance(ours, float) or isinstance(theirs, float):
        return theirs is not None and math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(theirs, datetime.datetime):
        theirs = theirs.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str(ours) == str(theirs)


def check(name, ours, theirs):
    """Rows as lists of dicts; in no order unless both have one."""
    key = lambda row: [str(round(it, 3) if isinstance(it, float) else it) for it in row.values()]
    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    assert len(ours) == len(theirs), f"{name}: {len(ours)} rows here, {len(theirs)} there"
    for one, other in zip(ours, theirs):
        # A value that is null is not in our JSON.
        assert set(one) <= set(other), f"{name}: {one} {other}"
        for column, value in other.items():
            mine = one.get(column)
            assert (mine is None and value is None) or same(mine, value), f"{name}: {one} {other}"
    print(f"{name}: {len(ours)} rows")


def main():
    with tempfile.TemporaryDirectory() as folder:
        traces, dataset = f"{folder}/traces", f"{folder}/dataset"
        fleet("synthetic", traces, "--runs", "24", "--samples", "1000")
        fleet("add", dataset, "--watch", traces, "--once")
        engine = duckdb.connect()
        for table in TABLES:
            engine.execute(f"CREATE VIEW {table} AS SELECT * FROM '{dataset}/{table}/*/*/*.parquet'")
        queries = json.loads(fleet("queries"))
        for view, query in queries["views"].items():
            engine.execute(f"CREATE VIEW {view} AS {query}")
        for name, query in queries["questions"].items():
            ours = json.loads(fleet("query", dataset, query, "--form", "json"))
            result = engine.execute(query)
            names = [column[0] for column in result.description]
            check(name, ours, [dict(zip(names, row)) for row in result.fetchall()])
        for table in TABLES:
            paths = [str(it) for it in pathlib.Path(dataset, table).rglob("*.parquet")]
            rows = pyarrow.dataset.dataset(paths).count_rows()
            ours = json.loads(fleet("query", dataset, f"SELECT count(*) AS rows FROM {table}", "--form", "json"))
            assert ours == [{"rows": rows}], (table, ours, rows)
            print(f"{table}: {rows} rows in pyarrow")


main()
