"""With one hostile entry the answer is that without it, and one problem more."""
import collections
import json

# Answers that are compared whole where the entry lies beside what is good.
COMPARED = ("collect", "verify", "inspect", "operators", "triage", "export npy", "export bin",
            "export json")
# Of a dump file that is damaged: everything but its own values.
DAMAGED = ("verify", "operators")


def document(tree, answer):
    """An answer's document, with the box taken out of its paths; None where there is none."""
    try:
        return json.loads(answer["stdout"].decode("utf-8").replace(
            json.dumps(tree.box)[1:-1], "BOX"))
    except ValueError:
        return None


def beside(good, bad):
    """What differs between the documents of a good tree and one with a hostile entry."""
    if good is None:
        return []  # refused, as nothing can be exported from statistics
    if bad is None:
        return ["no document"]
    told = []
    for key in sorted(set(good) | set(bad)):
        before, after = good.get(key), bad.get(key)
        if key == "problems":
            more, lost = _more(before, after)
            if lost or len(more) > 1:
                told.append("problems: %d lost, %d more: %.300s" % (len(lost), len(more), more))
        elif key == "passed":
            if after - before not in (0, 1):
                told.append("passed: %d became %d" % (before, after))
        elif key == "checked":
            told += ["checked.%s" % inner for inner in before
                     if inner != "unreadable" and before[inner] != after[inner]]
        elif before != after:
            told.append("%s: %.200s" % (key, _first(before, after)))
    return told


def damaged(name, good, bad):
    """What is wrong in the answer on a dump with one damaged dump file."""
    if good is None or bad is None:
        return ["no document"]
    if name == "operators":
        return _rows_differ(_rows(good), _rows(bad))
    told = []
    if not _more(good["problems"], bad["problems"])[0]:
        told.append("nothing is told of a damaged file")
    before, after = _bare(good), _bare(bad)
    if before != after:
        told.append("pairs: %.200s" % _first(before, after))
    if good["training"] != bad["training"]:
        told.append("training: %s became %s" % (good["training"], bad["training"]))
    return told


def _more(before, after):
    return [one for one in after if one not in before], [one for one in before if one not in after]


def _bare(found):
    """Pairs without counts of files, and without the evidence that counts them."""
    pairs = []
    for pair in found["pairs"]:
        steps = [{key: value for key, value in step.items()
                  if key not in ("files", "bytes", "kinds")} for step in pair["steps"]]
        pairs.append(dict(pair, steps=steps, evidence=None))
    return pairs


def _rows(found):
    """{(operator, rank, data_index): its tensors in an execution}"""
    rows = collections.defaultdict(list)
    for op in found["operators"]:
        for tensor in op["tensors"]:
            rows[op["op"], tensor["rank"], tensor["data_index"]].append(tensor)
    return rows


def _rows_differ(before, after):
    changed = [key for key in before if before[key] != after.get(key, [])]
    changed += [key for key in after if key not in before]
    # Several small graphs may have an operator of one name.
    names = {(op, data_index) for op, _, data_index in changed}
    return [] if len(names) <= 1 else ["%d operators have other values: %s" % (
        len(names), sorted(names)[:4])]


def _first(before, after):
    """Where two values differ first."""
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            more, lost = _more(before, after)
            return "%d became %d: %.150s" % (len(before), len(after), more or lost)
        for number, (one, other) in enumerate(zip(before, after)):
            if one != other:
                return "[%d] %s" % (number, _first(one, other))
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(set(before) | set(after)):
            if before.get(key) != after.get(key):
                return ".%s %s" % (key, _first(before.get(key), after.get(key)))
    return "%r became %r" % (before, after)
