"""How a run came to its end, in words: why a step that was asked for never came."""
from __future__ import annotations

from typing import List, NamedTuple, Optional

from keras_npu_dump.records.problems import INFO, Problems
from keras_npu_dump.records.reading import RecordedRun

STEP_HINT = "a loop of one's own wants `with dump.step():` around each step"
EAGER_HINT = ("fit() ran under tf.config.run_functions_eagerly(True) or with run_eagerly=True,"
              " which executes no training graph on the device: leave it out to dump")
_NOTHING_HINT = ("no training graph ran on the device: nothing was trained, or all of it eagerly"
                 " (run_eagerly=True, a loop without tf.function) or in sessions of TensorFlow 1")


class Ending(NamedTuple):
    """What follows "step 5 not reached", what to do about it, and a severity of its own."""

    text: str
    hint: Optional[str]
    severity: Optional[str]


def of(run: RecordedRun, counts: List[int], problems: Problems) -> Ending:
    """The ending of a run: what its record and the journal's counts say about it.

    Args:
      run: the run record with its journal.
      counts: numbers of executions, for each training graph that ran.
      problems: that were told before; an exception's words are told once.
    """
    how_it_ended = run.how_it_ended_told(problems.have_told(run.failure))
    most = max(counts or [0])
    executions = "%d executions" % most
    if len(counts) > 1:
        executions = "%s executions" % " and ".join(str(count) for count in counts)
    graphs = " in %d training graphs" % len(counts) if len(counts) > 1 else ""
    if run.alive:
        return Ending(", %s ran%s; the training is still running" % (executions, graphs), None,
                      INFO)
    if run.document.get("opened") is False:
        return Ending(", npu_device was never opened%s" % (
            ": " + how_it_ended if how_it_ended else ""), None, None)
    if run.ended is None and not run.over:
        # The journal notes dumped executions and ends of fits: more may have run.
        return Ending(", %s or more ran%s; the process ended before" % (executions, graphs), None,
                      None)
    if run.status == "failed":
        how, failure = how_it_ended, run.failure
        if how is None:
            return Ending(", %s ran%s; the training failed before" % (executions, graphs), None,
                          None)
        if failure is not None and failure.data_index is not None:
            return Ending(": " + how, None, None)
        return Ending(": %s %s" % (how, "after %s%s" % (executions, graphs) if most
                                   else "before the first execution"), None, None)
    if most:
        hint = ("data_index counts executions of one graph from 0, over all epochs; ask for a step "
                "below %d" % most)
    else:
        hint = EAGER_HINT if run.document.get("eager") else _NOTHING_HINT
    return Ending(", %s ran%s" % (executions, graphs), hint, None)


def is_uncounted_loop(run: RecordedRun) -> bool:
    """Whether `with dump:` was entered and `with dump.step():` never."""
    return bool(run.sections) and all(
        section.model == "loop" and section.last is None for section in run.sections)


def watched(run: RecordedRun) -> bool:
    """Whether executions ran that overflow detection could see; where nobody has counted,
    an opened device is believed."""
    if run.document.get("opened") is False:
        return False
    return (not run.sections or is_uncounted_loop(run)
            or any(section.count != 0 for section in run.sections))


def tell_death(run: RecordedRun, problems: Problems) -> None:
    """A training that died may have been asked for more than it came to."""
    if not (run.options.get("enable_dump") or run.options.get("enable_dump_debug")):
        return
    died = run.died_told(problems.have_told(run.failure))
    if died is not None:
        problems.add("run-crashed", "the training of %s did not end well: %s" % (
            run.run_id, died), path=run.folder, hint="what it would have dumped after that is"
            " not there")
