"""Is an execution that was noted and never ran forgotten?"""
import json

from keras_npu_dump.records.journal_lines import read_journal


def test_withdrawn_executions_are_none_and_may_come_again(tmp_path):
    def execution(index, batch):
        return {"event": "execution", "section": 0, "data_index": index, "fit": 0, "epoch": 0,
                "batch": batch, "batches": 1, "uncertain": None}

    lines = [{"event": "section", "section": 0, "model": "net", "reason": "start"},
             execution(0, 0), execution(1, 1),
             {"event": "withdraw", "section": 0, "data_index": 1},
             {"event": "withdraw", "section": 0, "data_index": 7}]
    path = tmp_path / "iterations.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    section, = read_journal(str(path))
    assert sorted(section.executions) == [0] and section.last == 0
    with path.open("a") as file:
        file.write(json.dumps(execution(1, 0)) + "\n")
    section, = read_journal(str(path))
    assert section.executions[1].iteration == {"fit": 0, "epoch": 0, "batch": 0}
