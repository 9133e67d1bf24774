#!/usr/bin/env python3
"""Reads the CSV or JSON output of the command from standard input, with the standard library.

  rows.py csv|json columns         the columns of all rows, which must agree
  rows.py csv|json get COLUMN...   those values, a row a line; null and "" are -
"""
import csv
import json
import sys


def main():
    kind, action, *names = sys.argv[1:]
    if kind == "csv":
        reader = csv.DictReader(sys.stdin, strict=True)
        rows, columns = list(reader), reader.fieldnames
    else:
        rows = json.load(sys.stdin)
        assert isinstance(rows, list)
        columns = list(rows[0]) if rows else []
    assert all(list(row) == columns for row in rows)
    if action == "columns":
        print(*columns)
    for row in rows if action == "get" else []:
        print(*("-" if row[name] in (None, "") else row[name] for name in names))


main()
