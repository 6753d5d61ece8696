"""Every command, with what it is asked and where it may write."""
import os


def commands(tree):
    """(name, arguments) of what is run on a tree, in this order. --json where it is asked."""
    dump = tree.dump
    rng = tree.rng
    out = os.path.join(tree.box, "out")
    step = tree.base.sorts["step"]
    found = [
        ("triage first", ["triage", dump, "--json"]),
        ("collect", ["collect", dump, "--json"]),
        ("collect table", ["collect", dump]),
        ("verify", ["collect", dump, "--verify", "--json", "--output", out + "/m.json"]),
        ("inspect", ["inspect", dump, "--json"]),
        ("inspect table", ["inspect", dump]),
        ("operators", ["inspect", dump, "--op", ".", "--role", "all", "--json"]),
        ("operators table", ["inspect", dump, "--op", ".", "--step", "0|2"]),
        ("tensor", ["inspect", dump, "--tensor", "IteratorGetNext"] + _json(rng)),
        ("triage", ["triage", dump, "--json"]),
        ("triage table", ["triage", dump, "--role", "all"]),
        ("part", ["collect", tree.path(rng.choice(step))] + _json(rng)),
        ("inspect part", ["inspect", tree.path(rng.choice(step))] + _json(rng)),
        ("doctor", ["doctor", "--emulate", "--data_dump_path=" + dump] + _json(rng)),
        ("run", ["run", "--emulate", "--flagfile=" + tree.path("next.flags"), "no_such.py"]),
    ]
    for form in ("npy", "bin", "json", "msaccucmp"):
        found.append(("export " + form, ["export", dump, "--to", form, "--output",
                                         os.path.join(out, form), "--json"]))
    found.append(("export archive", ["export", dump, "--to", "msaccucmp", "--output",
                                     out + "/all.tar.gz"] + _json(rng)))
    for number, path in enumerate(tree.hostile[:2]):
        if os.path.islink(path) and os.path.isdir(path):
            continue  # who names a link to a folder asks for that folder
        found += [
            ("inspect hostile", ["inspect", path] + _json(rng)),
            ("export hostile", ["export", path, "--to", rng.choice(("npy", "json")), "--output",
                                "%s/hostile%d" % (out, number)] + _json(rng)),
            ("collect hostile", ["collect", path] + _json(rng))]
    return found


def _json(rng):
    return rng.choice(([], ["--json"]))
