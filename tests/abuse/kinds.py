"""What is done to a dump: each kind changes a tree by one thing.

A kind returns nothing, or False where the tree has no place for it. `beside` kinds
put something next to what is good and leave all of that as it was.
"""
import os
import re
import shutil

from tests.abuse.names import odd_name
from tests.abuse.things import NEVER_READ, TERABYTE, THINGS
from tests.formats.test_mutations import mutate

KINDS = {}
# Kinds of `beside` after which every answer is what it was, but for one problem.
BESIDE = set()
# Kinds after which one dump file has other values, or none, and nothing else changes.
DAMAGE = set()
PLACES = ("root", "time", "device", "model", "step", "graphs", "pid", "runs", "run_folder")
TARGETS = ("data", "build", "train_build", "run", "journal", "manifest", "run_manifest", "flags",
           "step", "model", "device", "time", "pid", "graphs", "runs", "run_folder")


def kind(name):
    def add(function):
        KINDS[name] = function
        return function
    return add


def _free(tree, place):
    """A path in a folder of this sort that nothing has, named as if it belonged there."""
    folder = tree.dump if place == "root" else tree.one(place)
    if folder is None or not os.path.isdir(folder) or os.path.islink(folder):
        return None
    csv = ".csv" if tree.base.name.endswith("stats") else ""
    number = tree.rng.randrange(100, 1000)
    name = tree.rng.choice({
        "root": ["20301201005600", "manifest.json.old", "mapping.csv", "core.%d" % number],
        "time": ["7", "70000"], "device": ["__inference_train_function_%d" % number, "other"],
        "model": ["%d" % number], "graphs": ["pid_%d_deviceid_0" % number],
        "step": ["MatMul.hostile.%d.3.1796086477857628%s" % (number, csv), "mapping.csv",
                 "Opdebug.Node_OpDebug.%d.3.1796086477857628" % number,
                 "18446744073709551%d" % number],
        "pid": ["ge_proto_00000%d_graph_%d_Build.txt" % (number, number),
                "ge_onnx_00000001.pbtxt"],
        "runs": ["20301201005600_rank0_pid%d" % number],
        "run_folder": ["sources.json", "functions", ".keras-npu-dump-%016d.tmp" % number],
    }[place])
    path = os.path.join(folder, name)
    return None if os.path.lexists(path) else path


def _beside(thing, place):
    def change(tree):
        path = _free(tree, place)
        if path is None:
            return False
        THINGS[thing](tree, path)
        tree.hostile.append(path)
        return None
    return change


def _replace(thing, target):
    def change(tree):
        path = tree.one(target)
        if path is None:
            return False
        _clear(path)
        THINGS[thing](tree, path)
        tree.hostile.append(path)
        return None
    return change


def _clear(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


for _thing in THINGS:
    for _place in PLACES:
        KINDS["%s beside %s" % (_thing, _place)] = _beside(_thing, _place)
        if _thing in NEVER_READ:
            BESIDE.add("%s beside %s" % (_thing, _place))
    for _target in TARGETS:
        KINDS["%s for %s" % (_thing, _target)] = _replace(_thing, _target)


@kind("a run's record is hostile in a folder of its own")
def _run_of_its_own(tree):
    runs = tree.one("runs")
    if runs is None or not os.path.isdir(runs) or os.path.islink(runs):
        return False
    folder = os.path.join(runs, "20301201005600_rank0_pid1")
    if os.path.lexists(folder):
        return False
    os.mkdir(folder)
    path = os.path.join(folder, tree.rng.choice(("run.json", "iterations.jsonl")))
    THINGS[tree.rng.choice(NEVER_READ + ["terabyte", "folder"])](tree, path)
    tree.hostile.append(path)
    return None


# Content.

def _changing(target, change):
    """A kind that gives a file of one sort other content."""
    def apply(tree):
        path = tree.one(target)
        if path is None or not os.path.isfile(path) or os.path.islink(path):
            return False
        if os.path.getsize(path) > 1 << 24:
            return False
        with open(path, "rb") as stream:
            content = stream.read()
        # Hard links and times stay out of it: the file is a new one.
        os.unlink(path)
        with open(path, "wb") as stream:
            stream.write(change(tree, content))
        tree.hostile.append(path)
        return None
    return apply


def _cut(tree, content):
    return content[:tree.rng.randrange(len(content) or 1)]


def _flip(tree, content):
    return mutate(content, tree.rng)


def _noise(tree, content):
    return bytes(tree.rng.randrange(256) for _ in range(min(len(content), 20000)))


def _doubled(tree, content):
    return content + content


FILES = ("data", "build", "train_build")
RECORDS = ("run", "journal", "manifest", "run_manifest")
for _name, _change in (("cut", _cut), ("flipped", _flip), ("noise", _noise),
                       ("doubled", _doubled)):
    for _target in FILES + RECORDS:
        KINDS["%s %s" % (_name, _target)] = _changing(_target, _change)


@kind("a dump file grown to a terabyte")
def _grown(tree):
    path = tree.one(tree.rng.choice(("data", "build", "journal", "run")))
    if path is None or not os.path.isfile(path) or os.path.islink(path):
        return False
    os.truncate(path, TERABYTE)
    tree.hostile.append(path)
    return None


@kind("a step without its files")
def _emptied(tree):
    step = tree.one("step")
    if step is None or not os.path.isdir(step) or os.path.islink(step):
        return False
    for name in os.listdir(step):
        _clear(os.path.join(step, name))
    tree.hostile.append(step)
    return None


@kind("a file is gone")
def _gone(tree):
    path = tree.one(tree.rng.choice(TARGETS))
    if path is None:
        return False
    _clear(path)
    tree.hostile.append(path)
    return None


DAMAGE.update("%s for data" % thing for thing in THINGS)
DAMAGE.update("%s data" % change for change in ("cut", "noise"))


# Names and numbers.

@kind("an odd name")
def _odd_names(tree):
    place = tree.rng.choice(PLACES[:-1])
    folder = tree.dump if place == "root" else tree.one(place)
    if folder is None or not os.path.isdir(folder) or os.path.islink(folder):
        return False
    for number in range(tree.rng.choice((1, 1, 30))):
        path = os.path.join(folder, odd_name(tree.rng, place, number))
        if not os.path.lexists(path):
            THINGS[tree.rng.choice(("folder", "full folder", "empty file", "garbage", "fifo"))](
                tree, path)
            tree.hostile.append(path)
    return None


@kind("an odd name for something good")
def _renamed(tree):
    target = tree.rng.choice(("data", "build", "step", "model", "device", "time", "pid"))
    path = tree.one(target)
    if path is None:
        return False
    place = {"data": "step", "build": "pid"}.get(target, "root")
    new = os.path.join(os.path.dirname(path), odd_name(tree.rng, place, 0))
    if os.path.lexists(new):
        return False
    os.rename(path, new)
    tree.hostile.append(new)
    return None


@kind("very many entries")
def _many(tree):
    place = tree.rng.choice(PLACES)
    folder = tree.dump if place == "root" else tree.one(place)
    if folder is None or not os.path.isdir(folder) or os.path.islink(folder):
        return False
    name = tree.rng.choice(("%d", "MatMul.x.%d.1.1700000000000000", "ge_proto_%08d_Build.txt",
                            "run_%d", "%d.csv"))
    make = THINGS[tree.rng.choice(("folder", "empty file", "fifo", "dangling link"))]
    for number in range(3000):
        path = os.path.join(folder, name % (number + 100000))
        if not os.path.lexists(path):
            make(tree, path)
    tree.hostile.append(folder)
    return None


# What a dump says, and what is later obeyed.

COMMANDS = ["\n--emulate=false", "\nevil.py", "$(touch pwned)", "`touch pwned`", "; touch pwned #",
            "\" ; touch pwned; \"", "' ; touch pwned; '", "\r--data_dump_step=all",
            "\x1b]0;title\x07",
            "\u2028evil.py", " evil.py", "=1+1", "\\\nevil.py", "--", "../../../canary/file",
            "/" + "x" * 5000, "\x85evil.py", "\x0bevil.py", "%s", "#"]


@kind("an operator's name that is a command")
def _commanding_operator(tree):
    """In the graph, the dump files of its own having the name that CANN would give them."""
    from keras_npu_dump.formats.names import sanitise
    path = tree.one("train_build")
    if path is None or not os.path.isfile(path) or os.path.islink(path):
        return False
    if os.path.getsize(path) > 1 << 24:
        return False
    with open(path, "rb") as stream:
        text = stream.read()
    names = re.findall(br'\n    name: "([^"\n]+)"', text)
    overflowing = b"mean_squared_error/SquaredDifference"
    if not names:
        return False
    name = overflowing if overflowing in names and tree.rng.random() < 0.8 else tree.rng.choice(
        names)
    bad = name.decode("utf-8", "replace") + tree.rng.choice(COMMANDS)
    quoted = bad.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace(
        "\r", "\\r").encode("utf-8")
    with open(path, "wb") as stream:
        stream.write(text.replace(b'"' + name + b'"', b'"' + quoted + b'"'))
    old = "." + sanitise(name.decode("utf-8", "replace")) + "."
    for file in tree.find("data"):
        new = os.path.join(os.path.dirname(file), os.path.basename(file).replace(
            old, "." + sanitise(bad)[:180] + "."))
        if old in os.path.basename(file) and "/" not in os.path.basename(new):
            os.rename(file, new)
    tree.hostile.append(path)
    return None


@kind("a run's record that gives commands")
def _commanding_record(tree):
    import json
    path = tree.one("run")
    if path is None or not os.path.isfile(path) or os.path.islink(path):
        return False
    if os.path.getsize(path) > 1 << 24:
        return False
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except ValueError:
        return False
    word = tree.rng.choice(COMMANDS)
    where = tree.rng.choice(["dump_path", "dump_path", "dump_path", "dump_step", "dump_layer",
                             "dump_mode", "host", "run_id", "cause", "graph_path", "script"])
    if where in document["options"]:
        document["options"][where] = str(document["options"][where]) + word
    else:
        document[where] = str(document.get(where)) + word
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(document, stream)
    tree.hostile.append(path)
    return None


@kind("a mapping that leads elsewhere")
def _mapping(tree):
    """Digits for a name, and mapping.csv with a name that leaves the folder."""
    path = tree.one("data")
    if path is None or not os.path.isfile(path):
        return False
    folder = os.path.dirname(path)
    digits = "1844674407370955%04d" % tree.rng.randrange(10000)
    os.rename(path, os.path.join(folder, digits))
    goal = tree.rng.choice(["../../../../../../canary/MatMul.x.1.2.1796086477857628",
                            tree.box + "/canary/file", "..", "", "a\x00b", digits,
                            "MatMul.$(touch pwned).1.2.1796086477857628",
                            "MatMul.a\u2028--script.1.2.1796086477857628", "x" * 4000,
                            os.path.basename(path)])
    with open(os.path.join(folder, "mapping.csv"), "w", encoding="utf-8") as stream:
        stream.write("%s,%s\n%s" % (digits, goal, tree.rng.choice(["", "\"", ",,,\n", "1" * 9999])))
    tree.hostile.append(folder)
    return None


def groups():
    """All kinds, those alike together: each group has its turn."""
    from tests.abuse import records  # noqa: F401  # adds its kinds
    found = {}
    for name in sorted(KINDS):
        # One thing in all places, one change of all files.
        head = re.split(" (?:beside|for|in) | (?=%s)" % "|".join(FILES + RECORDS), name)[0]
        found.setdefault((head, " beside " in name), []).append(name)
    return list(found.values())
