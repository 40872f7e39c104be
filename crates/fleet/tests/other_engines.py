"""What other engines make of a dataset, and of the command's own queries, beside what it makes of them itself; and a
dataset in a bucket, of a server that speaks as S3 does, beside the same in a folder.

usage: other_engines.py LIFETRACE_FLEET
"""

import datetime
import json
import logging
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import duckdb
import pyarrow.dataset
from moto.server import ThreadedMotoServer

FLEET = sys.argv[1]
TABLES = ["runs", "labels", "samples", "sites", "totals", "rollup", "growth"]


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
            ours = json.loads(fleet("query", dataset, query, "--json"))
            result = engine.execute(query)
            names = [column[0] for column in result.description]
            check(name, ours, [dict(zip(names, row)) for row in result.fetchall()])
        for table in TABLES:
            paths = [str(it) for it in pathlib.Path(dataset, table).rglob("*.parquet")]
            rows = pyarrow.dataset.dataset(paths).count_rows()
            ours = json.loads(fleet("query", dataset, f"SELECT count(*) AS rows FROM {table}", "--json"))
            assert ours == [{"rows": rows}], (table, ours, rows)
            print(f"{table}: {rows} rows in pyarrow")
        bucket(traces, dataset)


def bucket(traces, dataset):
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    os.environ.update(
        AWS_ENDPOINT=address, AWS_ALLOW_HTTP="true", AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s", AWS_REGION="us-east-1"
    )
    urllib.request.urlopen(urllib.request.Request(f"{address}/fleets", method="PUT"))
    there = "s3://fleets/of/tests"
    paths = sorted(str(it) for it in pathlib.Path(traces).iterdir())
    for part in (paths[:10], paths[5:]):
        fleet("add", there, *part)
    fleet("compact", there)
    assert fleet("check", there) == "all that is in the dataset can be read\n"
    words = ["--where", "service = service-1", "--json"]
    for verb in ("runs", "top", "leaks", "outliers"):
        one, other = (json.loads(fleet(verb, place, *words)) for place in (dataset, there))
        assert alike(one, other), (verb, one, other)
        print(f"{verb}: the same from a bucket")
    urllib.request.urlopen(urllib.request.Request(f"{address}/fleets/other/file", data=b"x", method="PUT"))
    refused = subprocess.run([FLEET, "add", "s3://fleets/other", paths[0]], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and "neither empty nor a dataset" in refused.stderr, refused
    server.stop()


def alike(one, other):
    """Sums of the same numbers in another order are not the same to the last digit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


main()
