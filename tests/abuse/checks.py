"""What has to hold for every command on every tree."""
import json
import os
import re
import stat
import subprocess

from tests.abuse.trees import look

TRACEBACK = b"Traceback (most recent call last)"
# Options of `run` that a next.flags may have, with what their values may look like.
FLAGS = {
    "data_dump_flag": r"true", "data_dump_path": None, "data_dump_step": r"[0-9|-]+|all",
    "data_dump_mode": r"all|input|output", "data_dump_data": r"stats|tensor",
    "data_dump_layer": None, "data_dump_ranks": r"[0-9,]+",
}
# What a terminal obeys, but for line ends and tabs.
OBEYED = re.compile(b"[\x00-\x08\x0b-\x1f\x7f].{0,40}")
# Where commands may write: what `collect` and `triage` leave in the dump folder, and out/.
WRITTEN = re.compile(r"dump/(manifest\.json|next\.flags)$|out(/|$)")


def faults(name, arguments, answer):
    """What is wrong with one answer, as texts; empty where all is well."""
    found = []
    if answer["hung"]:
        return ["hangs (%.0f s)" % answer["seconds"]]
    if answer["swollen"]:
        return ["holds %d MB" % (answer["memory"] >> 20)]
    if TRACEBACK in answer["stderr"]:
        return ["traceback: " + _last_line(answer["stderr"])]
    if answer["status"] not in (0, 1, 2):
        found.append("status %d: %s" % (answer["status"], _last_line(answer["stderr"])))
    if name == "run" and answer["status"] != 2:
        found.append("run of a script that is not there: status %d" % answer["status"])
    if "--json" in arguments and not (answer["status"] == 2 and not answer["stdout"]):
        try:
            json.loads(answer["stdout"].decode("utf-8"), parse_constant=_no_constant)
        except ValueError as error:
            found.append("stdout is no JSON document: %s" % error)
    if answer["status"] == 2 and not answer["stderr"] and not answer["stdout"]:
        found.append("status 2 without a word")
    for stream in ("stdout", "stderr"):
        obeyed = OBEYED.search(answer[stream])
        if obeyed:
            found.append("%s has what a terminal obeys: %r" % (stream, obeyed.group()))
    return found


def _last_line(text):
    lines = text.decode("utf-8", "replace").strip().splitlines() or [""]
    where = [line.strip() for line in lines if "keras_npu_dump" in line]
    return "%s (%s)" % (lines[-1][:200], where[-1][-110:] if where else "")


def _no_constant(text):
    raise ValueError("%s is not JSON" % text)


def changes(before, after, collected=""):
    """What was changed, made or removed in a box, but for what may be written.

    Args:
      collected: a folder for which a manifest was asked, below the box.
    """
    found = []
    own = os.path.join(collected, "manifest.json")
    for path in sorted(set(before) | set(after)):
        if before.get(path) != after.get(path) and path != own and not WRITTEN.match(path):
            what = "made" if path not in before else "removed" if path not in after else "changed"
            found.append("%s %r" % (what, path))
    return found[:5]


def flag_faults(tree, before, after):
    """Is what triage wrote nothing but known options with known values, as absl reads it?"""
    from absl import flags as absl_flags

    from keras_npu_dump.cli.running import _run_flags
    written = after.get("dump/next.flags")
    if written is None or written == before.get("dump/next.flags"):
        return []  # refused, or in the way; what lay there before is not ours
    if not stat.S_ISREG(written[0]):
        return ["next.flags is no file"]
    path = tree.path("next.flags")
    values = _run_flags()
    try:
        rest = values(["run", "--flagfile=" + path])[1:]
    except (absl_flags.Error, UnicodeDecodeError) as error:
        return ["next.flags is refused: %s" % error]
    found = []
    if rest:
        found.append("next.flags starts a script: %r" % rest[:3])
    for name in values:
        value = values[name].value
        # False and None are what is not set.
        if not values[name].present or name in ("flagfile", "undefok"):
            continue
        if name not in FLAGS:
            found.append("next.flags sets %s" % name)
        elif FLAGS[name] and not re.match("(%s)$" % FLAGS[name], str(value).lower()):
            found.append("next.flags sets %s=%r" % (name, value))
    return found


def script_faults(tree):
    """Does compare.sh do nothing but start the comparator?"""
    script = os.path.join(tree.box, "out", "msaccucmp", "compare.sh")
    if not os.path.isfile(script):
        return []
    checked = subprocess.run(["bash", "-n", script], stderr=subprocess.PIPE)
    if checked.returncode:
        return ["compare.sh: %r" % checked.stderr[-200:]]
    stubs = os.path.join(tree.box, "out", "stubs")
    os.mkdir(stubs)
    stub = os.path.join(stubs, "python3")
    with open(stub, "w") as stream:
        stream.write("#!/bin/sh\nexit 0\n")
    os.chmod(stub, 0o755)
    before = look(tree.box)
    done = subprocess.run(["bash", script, tree.box], cwd=os.path.join(tree.box, "work"), env={
        "PATH": stubs + ":/usr/bin:/bin", "MSACCUCMP": stub},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    found = ["compare.sh " + one for one in changes(before, look(tree.box))]
    if done.returncode:
        found.append("compare.sh ends with %d: %r" % (done.returncode, done.stderr[-200:]))
    return found
