"""Makes a tree from a seed, runs every command on it, and says what does not hold."""
import os
import random

from tests.abuse import checks, differential
from tests.abuse.commands import commands
from tests.abuse.kinds import BESIDE, DAMAGE, KINDS, groups
from tests.abuse.trees import Tree, look


class Abuse:
    """What the trees of one test share: the driver, the dumps, their good answers.

    `every`: all commands on every tree, and not about half of them.
    """

    def __init__(self, driver, bases, folder, every=True):
        self.every = every
        self.driver = driver
        self.bases = bases
        self.folder = str(folder)
        self._good = {}

    def check(self, seed, only=""):
        """Runs all commands on the tree of a seed.

        Args:
          only: a part of the names of kinds that are drawn first.

        Returns:
          Texts of what does not hold, each with the changes and the command.
        """
        rng = random.Random(seed)
        base = rng.choice(self.bases)
        drawn = [[name for name in one if only in name] for one in groups()]
        drawn = [one for one in drawn if one]
        kinds = [rng.choice(drawn[seed % len(drawn)])]
        # Half of the trees have one change alone: those can be compared.
        if rng.random() < 0.5:
            kinds += [rng.choice(rng.choice(drawn)) for _ in range(rng.choice((1, 2)))]
        tree = Tree(base, os.path.join(self.folder, "tree"), seed)
        try:
            if rng.random() < 0.5:
                for path in tree.find("manifest") + tree.find("run_manifest"):
                    os.unlink(path)
            applied = [one for one in kinds if KINDS[one](tree) is not False]
            compared = ()
            if len(applied) == 1:
                compared = (differential.COMPARED if applied[0] in BESIDE else
                            differential.DAMAGED if applied[0] in DAMAGE else ())
            found, answers = self._run(tree, compared)
            for name in compared:
                found += ["%s: %s" % (name, one) for one in self._differences(
                    base, name, differential.document(tree, answers[name]), applied[0])]
            return ["seed %s, %s, %s: %s" % (seed, base.name, " + ".join(applied), one)
                    for one in found]
        finally:
            tree.remove()

    def _run(self, tree, needed):
        """Runs the commands; `needed` are those that must not be left out."""
        found, answers = [], {}
        before = look(tree.box, content=True)
        for number, (name, arguments) in enumerate(commands(tree)):
            if not self.every and name not in needed and tree.rng.random() < 0.5:
                continue
            answer = self.driver.run(arguments, os.path.join(tree.box, "work"),
                                     os.path.join(self.folder, "printed%d" % number))
            after = look(tree.box, content=True)
            collected = (os.path.relpath(arguments[1], tree.box) if arguments[0] == "collect"
                         else "")
            told = checks.faults(name, arguments, answer)
            told += checks.changes(before, after, collected)
            if arguments[0] == "triage":
                told += checks.flag_faults(tree, before, after)
            if name == "export msaccucmp":
                told += checks.script_faults(tree)
                after = look(tree.box, content=True)
            before = after
            found += ["%s: %s" % (name, one) for one in told]
            answers[name] = answer
        return found, answers

    def _differences(self, base, name, document, kind):
        good = self._good_answers(base)[name]
        if kind in BESIDE:
            return differential.beside(good, document)
        return differential.damaged(name, good, document)

    def _good_answers(self, base):
        if base.name not in self._good:
            tree = Tree(base, os.path.join(self.folder, "good"), 0)
            try:
                found, answers = self._run(tree, differential.COMPARED)
                assert not found, found
                self._good[base.name] = {name: differential.document(tree, answers[name])
                                         for name in differential.COMPARED}
            finally:
                tree.remove()
        return self._good[base.name]
