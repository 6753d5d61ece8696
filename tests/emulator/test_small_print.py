"""Names, modes, layers, overflow, dialects: what else a device's files are like."""
import os
import re
import stat

import numpy as np
import pytest

from keras_npu_dump.formats import mapping, tree
from keras_npu_dump.formats.stats import stats_file
from keras_npu_dump.formats.tensor import dump_file, opdebug
from tests.emulator.conftest import inputs, operators, outputs


def only_step(observed, name, data_index=0):
    return observed.steps(name)[data_index]


def test_dump_mode_input_leaves_inputs_only_and_dump_layer_only_what_it_names(observe):
    seen = observe("layers")
    name = seen.result[0][0]
    found = operators(only_step(seen, name))
    assert list(found) == ["mul_me"]
    header = found["mul_me"][0][0]
    assert [entry.kind for entry in header.entries] == ["input", "input"]
    np.testing.assert_array_equal(inputs(found["mul_me"][0])[0], [[1.0, 2.0]])


def test_a_layer_that_does_not_exist_is_said_when_the_process_ends(observe):
    lines = [line for line in observe("layers").stderr.splitlines() if "not_there" in line]
    assert len(lines) == 1 and "mul_me" not in lines[0]


def test_dump_mode_output_leaves_outputs_only(observe):
    seen = observe("every_step")
    name = next(name for name, _ in seen.result if "train" in name)
    for records in operators(only_step(seen, name)).values():
        assert {entry.kind for entry in records[0][0].entries} == {"output"}


def test_names_are_sanitised_and_the_header_has_the_true_name(observe):
    seen = observe("long_names")
    folder = only_step(seen, seen.result[0][0])
    file = next(file for file in tree.list_files(str(folder)) if file.name.startswith("AddV2."))
    assert file.dump.op_name == "x_y"
    assert dump_file.read_header(str(folder / file.name)).op_name == "x.y"


def test_a_name_over_255_bytes_becomes_digits_with_a_line_in_mapping_csv(observe):
    seen = observe("long_names")
    folder = only_step(seen, seen.result[0][0])
    known = mapping.read_mapping(str(folder))
    assert len(known) == 1
    digits, long_name = next(iter(known.items()))
    assert digits.isdigit() and len(long_name) > 255 and long_name.startswith("Mul.")
    header = dump_file.read_header(str(folder / digits))
    assert header.op_name.endswith("/long") and "b.c" in header.op_name
    for name in (digits, "mapping.csv"):
        assert stat.S_IMODE(os.stat(str(folder / name)).st_mode) == 0o600


def test_formats_6_headers_name_the_operator_and_output_in_tensorflow(dumped, observe):
    name = next(graph[0] for graph in dumped.graphs["conv"] if "train" in graph[0])
    every = observe("every_step")
    assign = next(name for name in every.models() if name.startswith("AssignVariableOp_"))
    several = 0
    for folder in (dumped.steps(name)[0], only_step(every, assign)):
        found = operators(folder)
        assert found
        for op_name, records in found.items():
            for entry in records[0][0].outputs:
                origin = entry.original_op
                assert (origin.name, origin.output_index) == (op_name, entry.index)
                several += entry.index > 0
    assert several > 5


def test_functions_inside_tf_data_are_said_not_to_be_dumped(observe):
    found = re.findall(r"what happens inside \S+ cannot be dumped \((\w+) holds ",
                       observe("long_names").stderr)
    assert sorted(found) == ["MapDataset", "ReduceDataset"]


def test_files_are_marked_as_emulated(observe):
    seen = observe("layers")
    record = operators(only_step(seen, seen.result[0][0]))["mul_me"][0]
    assert (record[0].dfx_message, record[0].attrs) == ("emulated by keras_npu_dump", {})
    for graphs in seen.build_files().values():
        assert graphs[0].attrs["_emulated_by"] == "keras_npu_dump"


def test_overflow_leaves_the_operator_s_dump_and_its_opdebug_file(observe):
    seen = observe("overflow")
    name = seen.result[0][0]
    steps = seen.steps(name)
    assert sorted(steps) == [1]  # dump_step and dump_layer do not matter, finite steps leave none
    files = {file.dump.op_name: file for file in tree.list_files(str(steps[1]))
             if file.kind == "dump"}
    assert sorted(files) == ["after", "product"]
    records = [file for file in tree.list_files(str(steps[1])) if file.kind == "overflow"]
    assert len(records) == 2
    by_task = {file.dump.task_id: file for file in records}
    model_id = int(steps[1].parent.name)
    assert model_id > 1
    for file in files.values():
        found = opdebug.read_overflow(str(steps[1] / by_task[file.dump.task_id].name))[0]
        assert (found.task_id, found.stream_id) == (file.dump.task_id, file.dump.stream_id)
        assert found.valid and found.model_id == model_id
    product = operators_of(steps[1], files["product"])
    assert not np.isfinite(outputs(product)[0]).any()
    assert inputs(product)[0].max() == np.float16(3e4)


def operators_of(folder, file):
    return dump_file.read_file(str(folder / file.name))


def test_statistics_are_one_csv_per_operator_with_an_average_between_its_ends(observe):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN="new")
    folder = only_step(seen, seen.result["ge_name"])
    checked = 0
    for file in tree.list_files(str(folder)):
        assert file.kind == "stats"
        for row in stats_file.read_stats(str(folder / file.name)):
            assert row["io"] == "Output"
            if row["data_type"] == "DT_FLOAT" and row["count"] > 0:
                # Six digits are printed.
                slack = 1e-5 * max(abs(row["min"]), abs(row["max"]))
                assert row["min"] - slack <= row["avg"] <= row["max"] + slack
                checked += 1
    assert checked > 20


@pytest.mark.parametrize("generation, count", [("new", 5), ("new,files=a2,csv=kernel", 9)])
def test_file_names_of_the_a2_series_have_four_more_numbers(observe, generation, count):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    folder = only_step(seen, seen.result["ge_name"])
    names = [file.name[:-len(".csv")] for file in tree.list_files(str(folder))]
    assert names and {len(name.split(".")) for name in names} == {count}


def test_formats_4_numbers_of_a2_names(observe):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN="new,files=a2,csv=kernel")
    dumps = [file.dump for file in tree.list_files(str(only_step(seen, seen.result["ge_name"])))]
    for dump in dumps:
        assert (dump.task_type, dump.thread_id, dump.device_id) == (4, 0, 0)
        assert dump.context_id == dump.task_id
    assert len({dump.context_id for dump in dumps}) == len(dumps) > 20


@pytest.mark.parametrize("generation, row", [
    ("new", "Output,0,2,-,ND,1,,,,,,,"),
    ("new,files=a2,csv=kernel", "Output,0,2,DT_BF16,ND,1,")])
def test_the_dialects_of_statistics_differ_in_bfloat16(observe, generation, row):
    seen = observe("end_of_data", KERAS_NPU_DUMP_EMULATE_CANN=generation)
    folder = only_step(seen, seen.result["dynamic"][0])
    file = next(file for file in tree.list_files(str(folder)) if file.dump.op_name == "shortened")
    assert (folder / file.name).read_text().startswith(stats_file.HEADER + "\n" + row)
    assert len(stats_file.read_stats(str(folder / file.name))) == 1


def test_time_stamps_rise_within_a_process(dumped):
    for scenario in ("lstm", "two_steps"):
        name = next(graph[0] for graph in dumped.graphs[scenario] if "train" in graph[0])
        stamps = [file.dump.timestamp for folder in dumped.steps(name).values()
                  for file in tree.list_files(str(folder))]
        assert len(set(stamps)) == len(stamps)
        assert all(len(str(stamp)) == 16 for stamp in stamps)


def test_a_wrong_generation_is_refused_with_what_there_is():
    from keras_npu_dump.emulator.ge import generation
    from keras_npu_dump.errors import ConfigError
    with pytest.raises(ConfigError, match=r"names=function\|suffix\|tf1"):
        generation.parse("new,names=x")
    with pytest.raises(ConfigError, match="2022, new, old"):
        generation.parse("newest")
    assert generation.parse(None) == generation.Generation()
