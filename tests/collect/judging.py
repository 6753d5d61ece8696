"""Compares what collect says with the truth of a generated job."""
import dataclasses
import os
import re
from typing import List

SURE = ("exact", "id", "content")
# Codes that no job has without a reason, whatever their severity.
_NEVER_ALONE = ("ambiguous-pair", "unreadable", "operator-missing", "step-partial", "run-crashed",
                "operator-foreign", "foreign-file")


@dataclasses.dataclass
class Verdict:
    """`wrong`: pairs said with confidence that are not true. `unfound`: true pairs
    that were not found. `faults`: anything else that is not as it is."""

    pairs: int = 0
    found: int = 0
    wrong: List[str] = dataclasses.field(default_factory=list)
    unfound: List[str] = dataclasses.field(default_factory=list)
    faults: List[str] = dataclasses.field(default_factory=list)


def judge(truth, document, root):
    verdict = Verdict(pairs=len(truth.pairs))
    dump = os.path.join(root, "dump")

    def from_root(path):
        return os.path.relpath(os.path.join(dump, path), root)

    said = {}
    for pair in document["pairs"]:
        for step in pair["steps"]:
            said[step["path"]] = pair
    known = {}
    for true in truth.pairs:
        for folder in true.folders:
            known[folder] = true
    for path, pair in said.items():
        folder = path if path in known else os.path.dirname(path)
        true = known.get(folder)
        if pair["confidence"] in SURE and (
                true is None or from_root(pair["graph"]) not in true.graphs):
            verdict.wrong.append("%s -> %s (%s)" % (path, pair["graph"], pair["confidence"]))
    for true in truth.pairs:
        problem = _pair_fault(true, said, from_root)
        if problem is None:
            verdict.found += 1
        else:
            verdict.unfound.append(problem)
    _iterations(truth, said, verdict)
    _problems(truth, document, said, verdict)
    _roles(truth, document, from_root, verdict)
    _training(truth, document, from_root, verdict)
    return verdict


def _pair_fault(true, said, from_root):
    pairs = []
    for step in true.iterations:
        pair = said.get(step)
        if pair is None:
            return "%s has no pair" % step
        if pair not in pairs:
            pairs.append(pair)
    if len(pairs) > 1:
        return "%s are several pairs" % sorted(true.folders)
    if not true.sure:
        # Undecidable: any answer is right that does not claim to be sure.
        return None
    if from_root(pairs[0]["graph"]) not in true.graphs:
        return "%s -> %s, true is %s" % (sorted(true.folders), pairs[0]["graph"], true.graphs)
    if true.confidence is not None and pairs[0]["confidence"] != true.confidence:
        return "%s is %s, the traces allow %s" % (
            sorted(true.folders), pairs[0]["confidence"], true.confidence)
    if pairs[0]["role"] != true.role:
        return "%s has role %s, true is %s" % (sorted(true.folders), pairs[0]["role"], true.role)
    return None


def _iterations(truth, said, verdict):
    for true in truth.pairs:
        for path, iteration in true.iterations.items():
            pair = said.get(path)
            if pair is None:
                continue
            have = next(step for step in pair["steps"] if step["path"] == path)["iteration"]
            if true.latest and true.sure and have != iteration:
                verdict.faults.append("%s is iteration %s, true is %s" % (path, have, iteration))


def _problems(truth, document, said, verdict):
    expected = set()
    for code, words, severity in truth.problems:
        expected.add(code)
        if code == "no-pair" and any(words in path and pair["confidence"] == "guess"
                                     for path, pair in said.items()):
            # The name of one graph and the content of none: a guess is an answer.
            expected.update(("operator-foreign", "operator-missing"))
            continue
        if not any(one["code"] == code and words in "%s %s" % (one["message"], one["path"])
                   and severity in (None, one["severity"]) for one in document["problems"]):
            verdict.faults.append("expected %s (%s) with %r" % (code, severity, words))
    for one in document["problems"]:
        if one["severity"] == "error" and one["code"] not in expected | truth.allowed:
            verdict.faults.append("unexpected %s: %s" % (one["code"], one["message"]))
        if one["code"] in _NEVER_ALONE and one["code"] not in expected | truth.allowed and not (
                one["code"] == "operator-missing" and expected & {
                    "unmapped-name", "empty-file", "truncated-file"}):
            verdict.faults.append("unexpected %s: %s" % (one["code"], one["message"]))


def _roles(truth, document, from_root, verdict):
    for graph in document["graphs"]:
        true = truth.roles.get(from_root(graph["file"]))
        if true is not None and graph["role"] != true:
            verdict.faults.append("%s (%s) has role %s, true is %s" % (
                graph["file"], graph["name"], graph["role"], true))


def _training(truth, document, from_root, verdict):
    """The training graphs of each rank in the order in which they were executed."""
    true = {}
    for one in sorted(truth.pairs, key=lambda pair: pair.section):
        if one.latest and one.role == "train":
            true.setdefault(one.rank, []).append(sorted(one.graphs)[0])
    if len({pair["device"] for pair in document["pairs"]}) < len(true) and any(
            key.startswith("device:") for key in document["training"]):
        return  # ranks that no record names and that share a device number
    said = {}
    for key, positions in document["training"].items():
        rank = int(re.match(r"(?:device:)?(\d+)$", key).group(1))
        said[rank] = [from_root(document["pairs"][position]["graph"]) for position in positions]
    if not any(one.latest for one in truth.pairs) and any(
            one["code"] == "no-run" for one in document["problems"]):
        return  # a launch that left neither record nor dump left no trace
    if true != said and not verdict.unfound and all(one.sure for one in truth.pairs):
        verdict.faults.append("training is %s, true is %s" % (said, true))
