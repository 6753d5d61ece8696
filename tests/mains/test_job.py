"""A job of four: what becomes of the others when one is killed and one finds no room?"""
import json
import sys

from tests.conftest import run_command
from tests.mains.running import MAINS, RUN, trained

# As the scripts around the mains start their ranks, all with the same path. Logs go through
# a pipe, as the rank that finds no room cannot write into files at all.
SHELL = """
modes=(whole killed full whole)
for RANK_ID in 0 1 2 3; do
    export RANK_ID ASCEND_DEVICE_ID=$RANK_ID RANK_SIZE=4 MODE=${modes[$RANK_ID]}
    ( "$@" 2>&1; echo "status $?" ) | cat > $RANK_ID.log &
done
wait
"""


def test_four_processes_one_killed_and_one_out_of_disk(tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}")
    run_command(["bash", "-c", SHELL, "job"] + RUN + [
        "--data_dump_path=d", "--data_dump_step=0|5|8", str(MAINS / "job.py")], tmp_path,
        {"RANK_TABLE_FILE": str(table)})
    logs = [(tmp_path / ("%d.log" % rank)).read_text() for rank in range(4)]
    statuses = [int(log.split()[-1]) for log in logs]
    assert (statuses[0], statuses[1], statuses[3]) == (0, 128 + 9, 0), logs
    # In the current folder, where GE would let the ranks overwrite each other, is no graph.
    assert not list(tmp_path.glob("*.txt"))

    done = run_command([sys.executable, "-m", "keras_npu_dump", "collect", "d", "--json"], tmp_path,
                       check=False)
    document = json.loads(done.stdout)
    assert done.returncode == 1
    runs = {one["rank"]: one for one in document["runs"]}
    assert sorted(runs) == [0, 1, 2, 3]
    assert len({one["run_id"] for one in document["runs"]}) == 4

    # The whole ones are whole.
    for rank in (0, 3):
        assert trained(document, str(rank)) == [
            [(0, (0, 0, 0)), (5, (0, 0, 5)), (8, (0, 1, 2))]]
        assert runs[rank]["ended"]
        execution, = runs[rank]["executions"].values()
        assert (execution["count"], execution["dumped"]) == (12, [0, 5, 8])

    # The killed one: its first dump is there, its end is not known.
    assert trained(document, "1") == [[(0, (0, 0, 0))]]
    execution, = runs[1]["executions"].values()
    assert (runs[1]["ended"], execution["count"], execution["last"]) == (None, None, 0)

    # The one without room: its first dump is whole, and what it lacks is told of its run.
    assert "No space left" in logs[2] or "File too large" in logs[2]
    assert trained(document, "2")[0][0] == (0, (0, 0, 0))
    own = [one for one in document["problems"] if one["severity"] == "error" and (
        runs[2]["run_id"] in (one["path"] or "") or "/2/" in (one["path"] or ""))]
    assert own and {one["code"] for one in own} <= {
        "step-not-reached", "step-missing", "truncated-file", "empty-file"}
    others = [one for one in document["problems"] if one["severity"] == "error" and one not in own]
    assert all(runs[1]["run_id"] in one["path"] for one in others)
    assert json.loads((tmp_path / "d" / "manifest.json").read_text())["schema"]
