"""Makes a tree from a seed, runs every command on it, and says what does not hold."""
import os
import random

from tests.abuse import checks, differential, later
from tests.abuse.commands import commands
from tests.abuse.kinds import BESIDE, KINDS
from tests.abuse.trees import Tree, look


class Abuse:
    """What the trees of one test share: the driver, the dumps, their good answers."""

    def __init__(self, driver, bases, folder):
        self.driver = driver
        self.bases = bases
        self.folder = str(folder)
        self._good = {}

    def check(self, seed, first=None):
        """Runs all commands on the tree of a seed.

        Args:
          first: the kind of the first change; drawn where it is None.

        Returns:
          Texts of what does not hold, each with the changes and the command.
        """
        rng = random.Random(seed)
        base = rng.choice(self.bases)
        kinds = [first or rng.choice(later.drawn())]
        # Half of the trees have one change alone: those can be compared.
        if rng.random() < 0.5:
            kinds += [rng.choice(later.drawn()) for _ in range(rng.choice((1, 2)))]
        tree = self._tree(base, seed)
        try:
            if rng.random() < 0.5:
                for path in tree.find("manifest") + tree.find("run_manifest"):
                    os.unlink(path)
            applied = [one for one in kinds if KINDS[one](tree) is not False]
            found, answers = self._run(tree)
            if len(applied) == 1 and applied[0] in BESIDE:
                found += self._compared(base, tree, answers)
            return ["seed %s, %s, %s: %s" % (seed, base.name, " + ".join(applied), one)
                    for one in found]
        finally:
            tree.remove()

    def _tree(self, base, seed):
        return Tree(base, os.path.join(self.folder, "tree"), seed)

    def _run(self, tree):
        found, answers = [], {}
        before = look(tree.box, content=True)
        for number, (name, arguments) in enumerate(commands(tree)):
            answer = self.driver.run(arguments, os.path.join(tree.box, "work"),
                                     os.path.join(self.folder, "printed%d" % number))
            after = look(tree.box, content=True)
            told = checks.faults(name, arguments, answer) + checks.changes(before, after)
            if name == "triage":
                told += checks.flag_faults(tree)
            if name == "export msaccucmp":
                told += checks.script_faults(tree)
                after = look(tree.box, content=True)
            before = after
            found += ["%s: %s" % (name, one) for one in told]
            answers[name] = answer
        return found, answers

    def _compared(self, base, tree, answers):
        good = self._good_answers(base)
        found = []
        for name in differential.COMPARED:
            document = differential.document(tree, answers[name])
            found += ["%s differs: %s" % (name, one) for one in differential.differences(
                name, good[name], document)]
        return found

    def _good_answers(self, base):
        if base.name not in self._good:
            tree = Tree(base, os.path.join(self.folder, "good"), 0)
            try:
                found, answers = self._run(tree)
                assert not found, found
                self._good[base.name] = {name: differential.document(tree, answers[name])
                                         for name in differential.COMPARED}
            finally:
                tree.remove()
        return self._good[base.name]
