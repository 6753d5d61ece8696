"""Values that no record can have, in the place of any value of it."""
import json
import os

from tests.abuse.kinds import RECORDS, kind

BROKEN = {
    "numbers beyond all": lambda tree: tree.rng.choice(
        ["1e999", "-1e999", "9" * 5000, "NaN", "9223372036854775808", "-9223372036854775809"]),
    "other types": lambda tree: tree.rng.choice(
        ["null", "[]", "{}", "\"x\"", "true", "0.5", "-1", "\"9999-99-99T00:00:00+00:00\""]),
    "nested deep": lambda tree: tree.rng.choice(
        ["[" * 200000 + "]" * 200000, "[" * 900 + "]" * 900, "{\"a\":" * 900 + "1" + "}" * 900]),
    "half a character": lambda tree: tree.rng.choice(
        ["\"\\ud800\"", "\"a\\udfff\"", "\"\\u0000\"", "\"\\udc80\""]),
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
            lines[number] = _value_of(tree, lines[number], BROKEN[name](tree))
        except (ValueError, IndexError, RecursionError):
            return False  # changed before
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
        tree.hostile.append(path)
        return None
    return change


for _name in BROKEN:
    for _target in RECORDS:
        kind("%s in %s" % (_name, _target))(_broken(_name, _target))
