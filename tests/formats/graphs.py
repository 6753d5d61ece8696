"""Graphs for tests: a strategy that makes any, and the example of the docs."""
import json

from hypothesis import strategies as st

from keras_npu_dump.formats.graph import atc_json
from keras_npu_dump.formats.graph.ge_graph import (
    AttrList,
    DataType,
    Desc,
    Graph,
    GraphOp,
    NamedAttrs,
    TensorAttr,
)

NAMES = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)
FLOATS = st.floats(width=32, allow_nan=False)
INTS = st.integers(-(1 << 63), (1 << 63) - 1)
FLAT_LISTS = st.one_of(
    st.lists(NAMES, max_size=3).map(lambda v: AttrList(v, "STRING")),
    st.lists(INTS, max_size=3).map(lambda v: AttrList(v, "INT")),
    st.lists(FLOATS, max_size=3).map(lambda v: AttrList(v, "FLOAT")),
    st.lists(st.booleans(), max_size=3).map(lambda v: AttrList(v, "BOOL")),
    st.lists(st.binary(max_size=8), max_size=3).map(
        lambda v: AttrList(v, "BYTES")),
    st.lists(st.lists(INTS, max_size=3), max_size=3).map(
        lambda v: AttrList(v, "LIST_INT")))
PLAIN = st.one_of(NAMES, INTS, FLOATS, st.booleans(), st.binary(max_size=20),
                  INTS.map(DataType), FLAT_LISTS)
DESCS = st.builds(
    Desc, dtype=st.sampled_from(["DT_FLOAT", "DT_INT32", "DT_UNDEFINED"]),
    shape=st.lists(st.integers(-2, 1 << 40), max_size=4),
    layout=st.sampled_from(["", "NHWC", "FRACTAL_NZ"]),
    origin_shape=st.one_of(st.none(), st.lists(st.integers(0, 9),
                                               max_size=3)),
    origin_name=st.one_of(st.none(), NAMES),
    origin_index=st.one_of(st.none(), st.integers(0, 3)),
    attrs=st.dictionaries(NAMES, PLAIN, max_size=2),
    fields=st.fixed_dictionaries({"size": st.integers(1, 1 << 50),
                                  "device_type": st.just("NPU")}))
ATTRS = st.one_of(
    PLAIN, st.builds(NamedAttrs, NAMES,
                     st.dictionaries(NAMES, PLAIN, max_size=2)),
    st.builds(TensorAttr, DESCS, st.binary(min_size=1, max_size=30)), DESCS)
EDGES = st.builds(lambda name, index: "%s:%d" % (name, index), NAMES,
                  st.integers(-1, 5)) | st.just("")
OPS = st.builds(
    GraphOp, name=NAMES, type=NAMES, inputs=st.lists(EDGES, max_size=3),
    input_descs=st.lists(DESCS, max_size=2),
    output_descs=st.lists(DESCS, max_size=2),
    original_op_names=st.one_of(st.none(), st.lists(
        NAMES.filter(bool), max_size=2)),
    attrs=st.dictionaries(NAMES, ATTRS, max_size=3),
    id=st.integers(0, 1 << 40), stream_id=st.integers(0, 9),
    subgraph_names=st.lists(NAMES, max_size=2),
    fields=st.fixed_dictionaries({"has_out_attr": st.just(True)}))
GRAPHS = st.builds(Graph, name=NAMES, ops=st.lists(OPS, max_size=4),
                   attrs=st.dictionaries(NAMES, ATTRS, max_size=2),
                   inputs=st.lists(NAMES, max_size=2),
                   outputs=st.lists(NAMES, max_size=2))


def toy():
    """The example of the reference: a fused operator and a sub-graph."""
    op = GraphOp(
        "toy/dense/MatMulBiasAdd", "MatMulV2",
        ["toy/x:0", "toy/dense/kernel:0", "", "toy/init:-1"],
        [Desc("DT_FLOAT16", (4, 16), "FRACTAL_NZ", origin_format="ND")],
        [Desc("DT_FLOAT16", (4, 32), "ND", origin_name="toy/dense/BiasAdd",
              origin_index=0, origin_shape=(4, 32))],
        ["toy/dense/MatMul", "toy/dense/BiasAdd"],
        {"_fe_imply_type": 6,
         "pass_name": AttrList(["ToyMatMulBiasPass"], "STRING")}, id=12)
    return [Graph("__inference_train_function_55", [op],
                  {"_session_graph_id": "0_11"}),
            Graph("toy/while_body0whilefn7",
                  [GraphOp("toy/inner", "Add", id=3)])]


TOY_TEXT = b'''graph {
  name: "__inference_train_function_55"
  op {
    name: "toy/dense/MatMulBiasAdd"
    type: "MatMulV2"
    input: "toy/x:0"
    input: "toy/dense/kernel:0"
    input: ""
    input: "toy/init:-1"
    attr {
      key: "_datadump_original_op_names"
      value {
        list {
          s: "toy/dense/MatMul"
          s: "toy/dense/BiasAdd"
          val_type: VT_LIST_STRING
        }
      }
    }
    attr {
      key: "_fe_imply_type"
      value {
        i: 6
      }
    }
    attr {
      key: "pass_name"
      value {
        list {
          s: "ToyMatMulBiasPass"
          val_type: VT_LIST_STRING
        }
      }
    }
    id: 12
    input_desc {
      dtype: DT_FLOAT16
      shape {
        dim: 4
        dim: 16
      }
      layout: "FRACTAL_NZ"
      attr {
        key: "origin_format"
        value {
          s: "ND"
        }
      }
    }
    output_desc {
      dtype: DT_FLOAT16
      shape {
        dim: 4
        dim: 32
      }
      layout: "ND"
      attr {
        key: "_datadump_origin_name"
        value {
          s: "toy/dense/BiasAdd"
        }
      }
      attr {
        key: "_datadump_origin_output_index"
        value {
          i: 0
        }
      }
      attr {
        key: "origin_shape"
        value {
          list {
            i: 4
            i: 32
            val_type: VT_LIST_INT
          }
        }
      }
    }
  }
  attr {
    key: "_session_graph_id"
    value {
      s: "0_11"
    }
  }
}
graph {
  name: "toy/while_body0whilefn7"
  op {
    name: "toy/inner"
    type: "Add"
    id: 3
  }
}
'''


def json_of(path):
    """The whole document of `atc_json.iter_json` as a dict."""
    return json.loads("".join(atc_json.iter_json(path)))
