"""Kinds that are known and not yet mended; whoever mends them deletes the entry."""
import json
import os
import re

from tests.abuse.kinds import FILES, KINDS, RECORDS, kind

# Broken records: their contents are to be checked where they are read, in a room of
# their own that is not built yet.
_RECORDS_THAT_BREAK = {
    "numbers beyond all": lambda tree: tree.rng.choice(["1e999", "-1e999", "9" * 5000, "NaN"]),
    "other types": lambda tree: tree.rng.choice(["null", "[]", "{}", "\"x\"", "true", "0.5", "-1"]),
    "nested deep": lambda tree: "[" * 200000 + "]" * 200000,
    "half a character": lambda tree: "\"\\ud800\"",
}


def _value_of(tree, text, replacement):
    """Puts other text in place of one value of a JSON text."""
    document = json.loads(text)
    mark = "0mark0"
    places = []

    def walk(value):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            places.append((value, key))
            if isinstance(inner, (dict, list)):
                walk(inner)
    walk(document)
    holder, key = tree.rng.choice(places)
    holder[key] = mark
    return json.dumps(document).replace('"%s"' % mark, replacement)


def _broken(name, target):
    def change(tree):
        path = tree.one(target)
        if path is None or not os.path.isfile(path) or os.path.islink(path):
            return False
        if os.path.getsize(path) > 1 << 24:
            return False
        with open(path, "rb") as stream:
            content = stream.read()
        try:
            lines = content.decode("utf-8").splitlines() if target == "journal" else [
                content.decode("utf-8")]
            number = tree.rng.randrange(len(lines))
            lines[number] = _value_of(tree, lines[number], _RECORDS_THAT_BREAK[name](tree))
        except ValueError:
            return False
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
        tree.hostile.append(path)
        return None
    return change


BROKEN = []
for _name in _RECORDS_THAT_BREAK:
    for _target in RECORDS:
        BROKEN.append("%s in %s" % (_name, _target))
        kind(BROKEN[-1])(_broken(_name, _target))

# name of a kind -> why it is not drawn yet. The reasons are the issue's own order: broken
# records, links and escapes follow together, as they need the same rooms.
COMES_LATER = dict.fromkeys(
    BROKEN + ["%s %s" % (change, one) for change in ("flipped", "noise") for one in RECORDS],
    "the contents of records are not checked yet")

# Messages repeat a path of the user's own as it is, escapes included.
STDERR_COMES_LATER = False


def groups():
    """The kinds that hold today, those alike together: each group has its turn."""
    found = {}
    for name in sorted(KINDS):
        if name not in COMES_LATER:
            # One thing in all places, one change of all files.
            head = re.split(" (?:beside|for) | (?=%s)" % "|".join(FILES + RECORDS), name)[0]
            found.setdefault((head, " beside " in name), []).append(name)
    return list(found.values())
