"""Packs a dump and the answers of the version that made it, as an archive to keep.

    python pack.py FOLDER ARCHIVE

FOLDER holds dump/, which a training has just left. Run once, by version 0.1.0; see
README.md beside this file.
"""
import contextlib
import gzip
import io
import json
import os
import sys
import tarfile

import keras_npu_dump
from keras_npu_dump.cli import main


def answers(dump):
    """The commands' exit statuses and documents, and the values of every tensor."""
    found = {}
    for name, arguments in (
            ("collect", ["collect", dump, "--verify"]), ("triage", ["triage", dump]),
            ("inspect", ["inspect", dump]),
            ("operators", ["inspect", dump, "--op", ".", "--role", "all"])):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = main(arguments + ["--json"])
        found[name] = {"status": status, "document": json.loads(printed.getvalue() or "null")}
    found["tensors"] = []
    run = keras_npu_dump.open_run(dump)
    for pair in run.pairs:
        for step in pair.steps:
            for row in step.statistics() if step.kinds.get("dump") else ():
                values = step.tensor(row["op"], int(row["index"]), row["io"])
                found["tensors"].append([
                    step.records[0].path, row["op"], row["io"], int(row["index"]),
                    values.dtype.str, list(values.shape), values.tobytes().hex()])
    return found


def pack(folder, archive):
    """Nothing of the packing gets in; the files' own times do, collect reads them."""
    def neutral(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member
    with open(archive, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for place, names, files in os.walk(folder):
                names.sort()
                for path in [place] + [os.path.join(place, name) for name in sorted(files)]:
                    if path != folder:
                        tar.add(path, os.path.relpath(path, folder), False, filter=neutral)


if __name__ == "__main__":
    source = os.path.abspath(sys.argv[1])
    given = answers(os.path.join(source, "dump"))
    with open(os.path.join(source, "answers.json"), "w", encoding="utf-8") as stream:
        json.dump(given, stream, indent=1)
        stream.write("\n")
    pack(source, sys.argv[2])
