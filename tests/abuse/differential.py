"""With one hostile entry beside a good dump the answer is that without it, and one problem."""
import json

# Answers that are compared whole; of the others the parts named here.
COMPARED = ("collect", "verify", "inspect", "operators", "triage", "export npy", "export bin",
            "export json")


def document(tree, answer):
    """An answer's document, with the box taken out of its paths."""
    if not answer["stdout"]:
        return None
    text = answer["stdout"].decode("utf-8").replace(json.dumps(tree.box)[1:-1], "BOX")
    try:
        return json.loads(text)
    except ValueError:
        return None  # told elsewhere


def problems(found):
    return [(one["code"], one["message"], one["path"]) for one in found]


def differences(name, good, bad):
    """What differs between the documents of a good tree and one with a hostile entry."""
    if good is None or bad is None:
        return [] if good is bad else ["no document"]
    told = []
    for key in sorted(set(good) | set(bad)):
        before, after = good.get(key), bad.get(key)
        if key in ("problems", "passed", "skipped") and isinstance(before, list):
            more = [one for one in after if one not in before]
            lost = [one for one in before if one not in after]
            if lost or len(more) > 1:
                told.append("problems: %d lost, %d more: %.300s" % (len(lost), len(more), more))
        elif key == "checked":
            told += ["checked.%s" % inner for inner in before
                     if inner not in ("unreadable",) and before[inner] != after[inner]]
        elif before != after:
            told.append("%s: %.200s" % (key, _first(before, after)))
    return told


def _first(before, after):
    """Where two values differ first."""
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return "%d became %d: %.150s" % (len(before), len(after), [
                one for one in after if one not in before] or [
                    one for one in before if one not in after])
        for number, (one, other) in enumerate(zip(before, after)):
            if one != other:
                return "[%d] %s" % (number, _first(one, other))
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(set(before) | set(after)):
            if before.get(key) != after.get(key):
                return ".%s %s" % (key, _first(before.get(key), after.get(key)))
    return "%r became %r" % (before, after)
