"""What do the names of files say?"""
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_npu_dump.formats import names
from keras_npu_dump.formats.names import DumpName, GraphName

_SANITISED = st.text(string.ascii_letters + "_-:é", min_size=1, max_size=40)
_ID = st.integers(0, (1 << 32) - 1)
_TIME = st.integers(10 ** 15, 10 ** 16 - 1)


def real_names(shared_fixtures, *kinds):
    rows = [line.rstrip("\n").split("\t") for line in
            (shared_fixtures / "real_names.tsv").open(encoding="utf-8")]
    # What stands in brackets behind a name is a remark about it.
    return [(row[0], row[1].split(" (")[0]) for row in rows
            if row[0] in kinds]


# What a person would say about the real names.
EXPECTED = {
    "Add.bert_embeddings_addbert_embeddings_add_1.12.4.1617161424189416":
        DumpName("Add", "bert_embeddings_addbert_embeddings_add_1", 12, 4,
                 1617161424189416),
    "TransposeD.transpose.198.4.1617161441769837":
        DumpName("TransposeD", "transpose", 198, 4, 1617161441769837),
    "Unpack.unstack.199.4.1617161441772690":
        DumpName("Unpack", "unstack", 199, 4, 1617161441772690),
    "Cast.trans_Cast_169.62.5.1596191801355614":
        DumpName("Cast", "trans_Cast_169", 62, 5, 1596191801355614),
    "TransData.trans_TransData_0.3.5.1617188378994417":
        DumpName("TransData", "trans_TransData_0", 3, 5, 1617188378994417),
    "Add.Add_2.44.6.1706596912161941":
        DumpName("Add", "Add_2", 44, 6, 1706596912161941),
    "ConcatV2D.ConcatV2.42.6.1706596912161117":
        DumpName("ConcatV2D", "ConcatV2", 42, 6, 1706596912161117),
    "Add.8.5.1682067845380164":
        DumpName("Add", "", 8, 5, 1682067845380164),
    "Transpose.4.1682148295048447":
        DumpName("Transpose", "", 4, None, 1682148295048447),
    "L2Loss.L2Loss.3.1646472651352242":
        DumpName("L2Loss", "L2Loss", 3, None, 1646472651352242),
    "BNTrainingReduce.BNTrainingReduce.164.1682441437239036":
        DumpName("BNTrainingReduce", "BNTrainingReduce", 164, None,
                 1682441437239036),
    "NPUAllocFloatStatus.NPUAllocFloatStatus.24.0.1675157077145262":
        DumpName("NPUAllocFloatStatus", "NPUAllocFloatStatus", 24, 0,
                 1675157077145262),
    "Conv2D.Conv2D_lxslice0.2.9.1670205069987341.4.330.0.0":
        DumpName("Conv2D", "Conv2D_lxslice0", 2, 9, 1670205069987341, 4, 330,
                 0, 0, order_uncertain=True),
    "Conv2D.Conv2D_lxslice1.2.9.1670205069987340.4.330.0.0":
        DumpName("Conv2D", "Conv2D_lxslice1", 2, 9, 1670205069987340, 4, 330,
                 0, 0, order_uncertain=True),
    "Add.partition0_rank1_new_sub_graph1_sgt_graph_0_Add.0.3"
    ".1673383728093446.4.1.0.0":
        DumpName("Add", "partition0_rank1_new_sub_graph1_sgt_graph_0_Add", 0,
                 3, 1673383728093446, 4, 1, 0, 0, order_uncertain=True),
    "Opdebug.Node_OpDebug.0.3.1673383728094391.4.1.0.0":
        DumpName("Opdebug", "Node_OpDebug", 0, 3, 1673383728094391, 4, 1, 0,
                 0, order_uncertain=True),
    "OpType.OpName.3.11.22.777":
        DumpName("OpType", "OpName", 3, 11, 22, device_id=777,
                 order_uncertain=True),
    "exception_info.5.1.1706152473105513": None,
    "exception_info.2.1.20250611171538370.input.0.bin": None,
}


def test_every_real_dump_name_is_what_a_person_would_say(shared_fixtures):
    seen = 0
    for _, name in real_names(shared_fixtures, "dump_file", "dump_file_a2"):
        if " " in name:  # a remark, not a name
            continue
        assert names.parse_dump_name(name) == EXPECTED[name], name
        seen += 1
    assert seen == len(EXPECTED)


# As the newest runtime makes them (adump dump_stream_info.cpp).
NUMBERED = {
    "MatMulV2.dense_MatMul.7.12.4.1725960383079645":
        DumpName("MatMulV2", "dense_MatMul", 12, 4, 1725960383079645, dump_number=7),
    "MatMulV2.dense_MatMul.0.12.4.1725960383079645.csv":
        DumpName("MatMulV2", "dense_MatMul", 12, 4, 1725960383079645, csv=True,
                 dump_number=0),
    "Conv2D.conv.3.2.9.1725960383079645.FFTSPLUS.330.1.5":
        DumpName("Conv2D", "conv", 2, 9, 1725960383079645, 4, 330, 1, 5,
                 dump_number=3),
    "Conv2D.conv.3.2.9.1725960383079645.FFTSPLUS.330.1.5.csv":
        DumpName("Conv2D", "conv", 2, 9, 1725960383079645, 4, 330, 1, 5, True,
                 dump_number=3),
    "Opdebug.Node_OpDebug.1.0.3.1725960383079645":
        DumpName("Opdebug", "Node_OpDebug", 0, 3, 1725960383079645, dump_number=1),
}


@pytest.mark.parametrize("name", sorted(NUMBERED))
def test_names_of_the_newest_runtime_with_their_dump_number(name):
    assert names.parse_dump_name(name) == NUMBERED[name]
    assert names.format_dump_name(NUMBERED[name]) == name


@pytest.mark.parametrize("name", [
    "te_gatherv2_064b.5.1.0.3.20240912164014958", "te_gatherv2_064b.5.1.0.20240912164014958",
    "te_gatherv2_064b.gather.5.1.20240912164014958", "te_gatherv2_064b.5.1.20240912164014958",
    "te_gatherv2_064b.1.20240912164014958", "GatherV2.gather.1.2.3.20240912164014958.csv",
    "exception_info.5.1.1706152473105513"])
def test_exception_dumps_are_no_data_dumps(name):
    assert names.parse_dump_name(name) is None
    assert names.classify(name) == "foreign"


@pytest.mark.parametrize("name", [
    "Conv2D.conv.3.2.9.1725960383079645.FFTS.330.1.5",
    "Conv2D.conv.3.2.9.172596038307964.FFTSPLUS.330.1.5",
    "Conv2D.conv.3.2.9.1725960383079645.4.330.1.5",
    "Conv2D.conv.3.2.x.1725960383079645.FFTSPLUS.330.1.5",
    "Conv2D.conv.3.2.9.1725960383079645.FFTSPLUS.330.1.5.6"])
def test_what_only_looks_like_the_newest_form_is_foreign(name):
    assert names.classify(name) == "foreign"


def test_seventeen_digits_that_are_no_date_are_a_time():
    assert names.parse_dump_name("Add.a.1.2.20241912164014958").timestamp == 20241912164014958


def test_real_statistics_names_are_dump_names_with_csv(shared_fixtures):
    (_, text), = real_names(shared_fixtures, "stats_file")
    name = text.rpartition(" ")[2]
    assert names.classify(name) == "stats"
    assert names.parse_dump_name(name) == DumpName(
        "aclnnBatchMatMul_0_L2", "aclnnBatchMatMul", 65535, 65535,
        1725960383079645, csv=True)


def test_files_of_other_tools_are_foreign(shared_fixtures):
    for _, name in real_names(shared_fixtures, "npy_file", "result_file"):
        assert names.classify(name) == "foreign", name
    assert names.classify("exception_info.5.1.1706152473105513") == "foreign"
    assert names.classify("notes.txt") == "foreign"


def test_overflow_mapping_digits_and_graphs_are_told_apart():
    assert names.classify("Opdebug.Node_OpDebug.1.25.1614717262233160") \
        == "overflow"
    assert names.classify("mapping.csv") == "mapping"
    assert names.classify("23423125315") == "digits"
    assert names.classify("ge_proto_00000001_graph_1_Build.txt") == "graph"


REAL_GRAPHS = {
    "ge_proto_00292_Build.txt": ("ge_proto", 292, None, "Build"),
    "ge_proto_00005_Build.txt": ("ge_proto", 5, None, "Build"),
    "ge_proto_00000001_Build.txt": ("ge_proto", 1, None, "Build"),
    "ge_proto_00000062_Build.txt": ("ge_proto", 62, None, "Build"),
    "ge_proto_00000001_graph_1_Build.txt": ("ge_proto", 1, 1, "Build"),
    "ge_proto_00000001_graph_31_Build.txt": ("ge_proto", 1, 31, "Build"),
    "ge_onnx_00449_graph_101_Build.pbtxt": ("ge_onnx", 449, 101, "Build"),
    "ge_onnx_00000000_graph_1_Build.pbtxt": ("ge_onnx", 0, 1, "Build"),
    "ge_onnx_00000101_graph_0_Build.pbtxt": ("ge_onnx", 101, 0, "Build"),
    "ge_proto_00000179_PreRunAfterBuild.txt":
        ("ge_proto", 179, None, "PreRunAfterBuild"),
    "ge_proto_00000006_graph_0_RunCustomPassAfterBuiltinFusionPass.txt":
        ("ge_proto", 6, 0, "RunCustomPassAfterBuiltinFusionPass"),
    "ge_proto_00000261_partition0_rank31_new_sub_graph102_"
    "SecondPartitioning.txt":
        ("ge_proto", 261, None,
         "partition0_rank31_new_sub_graph102_SecondPartitioning"),
    "ge_proto_00057_PreRunAfterBuild.txt":
        ("ge_proto", 57, None, "PreRunAfterBuild"),
    "ge_proto_00000000_graph_1_test.txt": ("ge_proto", 0, 1, "test"),
}


def test_every_real_graph_name_is_read(shared_fixtures):
    seen = 0
    for _, name in real_names(shared_fixtures, "graph_file"):
        parsed = names.parse_graph_name(name)
        if "$" in name or "*" in name:  # a pattern, or another framework's
            assert parsed is None
            continue
        assert parsed[:4] == REAL_GRAPHS[name], name
        assert names.format_graph_name(parsed) == name
        seen += 1
    assert seen == len(REAL_GRAPHS)


def test_single_operator_graphs_are_marked():
    name = names.parse_graph_name(
        "ge_proto_00000003_aclop_graph_7_PreRunBegin.txt")
    assert name == GraphName("ge_proto", 3, 7, "PreRunBegin", aclop=True)
    assert not name.is_build


@given(_SANITISED, _SANITISED, _ID, st.one_of(st.none(), _ID), _TIME,
       st.booleans())
def test_a_written_name_reads_back(op_type, op_name, task, stream, time, csv):
    if op_name.isdigit() or op_type == "exception_info":
        return
    name = DumpName(op_type, op_name, task, stream, time, csv=csv)
    assert names.parse_dump_name(names.format_dump_name(name)) == name


@given(_SANITISED, _SANITISED, _ID, _ID, _TIME, _ID, _ID, _ID, st.booleans())
def test_a_written_ffts_name_reads_back(op_type, op_name, task, stream, time,
                                        context, thread, device, csv):
    if op_type == "exception_info":
        return
    name = DumpName(op_type, op_name, task, stream, time, 4, context, thread,
                    device, csv, True)
    assert names.parse_dump_name(names.format_dump_name(name)) == name


@given(st.sampled_from(["ge_proto", "ge_onnx", "ge_readable"]),
       st.integers(0, 10 ** 9), st.one_of(st.none(), st.integers(0, 10 ** 9)),
       st.text(string.ascii_letters, min_size=1), st.booleans())
def test_a_written_graph_name_reads_back(kind, index, graph_id, stage, aclop):
    name = GraphName(kind, index, graph_id, stage, aclop,
                     "pbtxt" if kind == "ge_onnx" else "txt",
                     max(8, len(str(index))))
    assert names.parse_graph_name(names.format_graph_name(name)) == name


@given(st.text(max_size=80))
def test_any_text_is_a_name_or_none(text):
    parsed = names.parse_dump_name(text)
    assert parsed is None or parsed.op_type
    names.parse_graph_name(text)
    assert isinstance(names.classify(text), str)


@pytest.mark.parametrize("raw, clean", [
    ("net/dense 1.0\\MatMul", "net_dense_1_0_MatMul"),
    ("a:b é", "a:b_é")])
def test_exactly_four_characters_are_replaced(raw, clean):
    assert names.sanitise(raw) == clean


def test_ffts_decorations_of_an_operator_name():
    name = names.parse_dump_name(
        "Conv2D.partition0_rank2_new_sub_graph15_sgt_graph_0_fp32_vars_"
        "conv2d_39_Conv2D_lxslice3.2.9.1670205071724946.4.487.0.0")
    assert name.slice == 3
    assert name.sgt_graph == 0
    assert name.base_op_name == "fp32_vars_conv2d_39_Conv2D"
    plain = names.parse_dump_name("Relu.relu.1.2.1670205071724946")
    assert (plain.slice, plain.sgt_graph, plain.base_op_name) \
        == (None, None, "relu")


def test_stage_is_sanitised_and_long_onnx_names_are_cut():
    assert names.format_graph_name(GraphName("ge_proto", 1, 2, "a/b:c")) \
        == "ge_proto_00000001_graph_2_a_b_c.txt"
    cut = names.format_graph_name(GraphName("ge_onnx", 1, 2, "x" * 300,
                                            extension="pbtxt"))
    assert len(cut) == 248 + len(".pbtxt")
