"""Small networks as GE graphs: the operators of training, evaluation and the rest."""
import dataclasses
from typing import List, Optional

FLOAT = "DT_FLOAT"


@dataclasses.dataclass
class Op:
    name: str
    type: str
    inputs: list = dataclasses.field(default_factory=list)
    outputs: list = dataclasses.field(default_factory=list)
    sources: List[str] = dataclasses.field(default_factory=list)
    originals: Optional[List[str]] = dataclasses.field(default_factory=list)
    subgraphs: List[str] = dataclasses.field(default_factory=list)
    no_task: bool = False
    dumped: bool = True


def _quiet(name, kind, outputs=(), sources=()):
    """An operator that never leaves a file."""
    return Op(name, kind, [], list(outputs), list(sources), dumped=False)


def _feed(batch, width, iterator):
    tensor = (FLOAT, (batch, width))
    if iterator:
        return [_quiet("AnonymousIterator0", "IteratorV2", [("DT_INT64", ())]),
                _quiet("IteratorGetNext", "IteratorGetNext", [tensor, (FLOAT, (batch, 1))],
                       ["AnonymousIterator0:0"])]
    return [_quiet("x", "Data", [tensor], [""]), _quiet("y", "Data", [(FLOAT, (batch, 1))], [""])]


def forward(model, widths, batch):
    """MatMul (fused with its bias) and Relu for each layer, then a loss."""
    ops = []
    source = "IteratorGetNext:0"
    for number, (width, units) in enumerate(zip(widths, widths[1:])):
        layer = "%s/dense%s" % (model, "_%d" % number if number else "")
        ops.append(_quiet(layer + "/kernel", "Variable", [(FLOAT, (width, units))]))
        ops.append(Op(layer + "/MatMul", "MatMulV2",
                      [(FLOAT, (batch, width)), (FLOAT, (width, units))],
                      [(FLOAT, (batch, units))], [source, layer + "/kernel:0"],
                      [layer + "/MatMul", layer + "/BiasAdd"]))
        ops.append(Op(layer + "/Relu", "Relu", [(FLOAT, (batch, units))],
                      [(FLOAT, (batch, units))], [layer + "/MatMul:0"], [layer + "/Relu"]))
        source = layer + "/Relu:0"
    return ops


def loss(batch, units):
    return [Op("mean_squared_error/SquaredDifference", "SquaredDifference",
               [(FLOAT, (batch, units)), (FLOAT, (batch, units))], [(FLOAT, (batch, units))],
               [], ["mean_squared_error/SquaredDifference"]),
            Op("mean_squared_error/Mean", "ReduceMeanD", [(FLOAT, (batch, units))], [(FLOAT, ())],
               [], ["mean_squared_error/Mean"])]


def metrics():
    return [Op("AssignAddVariableOp", "AssignAdd", [(FLOAT, ()), (FLOAT, ())], [(FLOAT, ())],
               [], ["AssignAddVariableOp"]),
            Op("div_no_nan", "DivNoNan", [(FLOAT, ()), (FLOAT, ())], [(FLOAT, ())],
               [], ["div_no_nan"])]


def backward(model, widths, batch, optimizer, plain_names):
    ops = []
    for number, (width, units) in reversed(list(enumerate(zip(widths, widths[1:])))):
        layer = "%s/dense%s" % (model, "_%d" % number if number else "")
        scope = "" if plain_names else "gradient_tape/"
        ops.append(Op(scope + layer + "/ReluGrad", "ReluGrad",
                      [(FLOAT, (batch, units))] * 2, [(FLOAT, (batch, units))],
                      [], [scope + layer + "/ReluGrad"]))
        ops.append(Op(scope + layer + "/MatMul_1", "MatMulV2",
                      [(FLOAT, (batch, width)), (FLOAT, (batch, units))],
                      [(FLOAT, (width, units))], [], [scope + layer + "/MatMul_1"]))
        if optimizer == "adam":
            ops.append(Op("Adam/Adam/update%d/ResourceApplyAdam" % number, "ApplyAdamD",
                          [(FLOAT, (width, units))] * 3, [(FLOAT, (width, units))] * 3,
                          [], ["Adam/Adam/update%d/ResourceApplyAdam" % number]))
        else:
            ops.append(Op("AssignSubVariableOp_%d" % number, "AssignSub",
                          [(FLOAT, (width, units))] * 2, [(FLOAT, (width, units))],
                          [], ["AssignSubVariableOp_%d" % number]))
    return ops


def _frame(ops, step_id):
    """What stands in every executed graph: constants, the step counter, the output."""
    quiet = [_quiet("Const", "Constant", [("DT_INT32", ())])]
    if step_id:
        quiet.append(_quiet("ge_global_step", "Variable", [("DT_INT64", ())]))
    reshape = Op("flatten/Reshape", "Reshape", [(FLOAT, (4,))], [(FLOAT, (4,))],
                 [], ["flatten/Reshape"], no_task=True, dumped=False)
    return quiet + [reshape] + ops + [_quiet("Node_Output", "NetOutput", [], ["Const:-1"])]


def train(model, widths, batch, iterator=True, optimizer="adam", step_id=True, plain_names=False):
    return _frame(_feed(batch, widths[0], iterator) + forward(model, widths, batch)
                  + loss(batch, widths[-1]) + metrics()
                  + backward(model, widths, batch, optimizer, plain_names), step_id)


def evaluate(model, widths, batch, iterator=True, step_id=True):
    return _frame(_feed(batch, widths[0], iterator) + forward(model, widths, batch)
                  + loss(batch, widths[-1]) + metrics(), step_id)


def predict(model, widths, batch, iterator=True, step_id=True):
    return _frame(_feed(batch, widths[0], iterator) + forward(model, widths, batch), step_id)


def initialise(variable, shape, step_id=True):
    """A graph that assigns one variable, as GE builds one for each at the start."""
    return _frame([_quiet(variable, "Variable", [(FLOAT, shape)]),
                   Op("Assign_%s" % variable, "Assign", [(FLOAT, shape)] * 2, [(FLOAT, shape)],
                      [], ["Assign_%s" % variable])], step_id)


def iterator(number):
    """A `dp_init_` graph; it leaves no dump: its operators run on the host."""
    return [_quiet("AnonymousIterator%d" % number, "IteratorV2", [("DT_INT64", ())]),
            _quiet("MakeIterator", "MakeIterator", [], ["AnonymousIterator%d:0" % number]),
            _quiet("Node_Output", "NetOutput", [], ["MakeIterator:-1"])]


def split(root, ops, parts):
    """The dynamic form: `ops` spread over sub-graphs, the root calls them."""
    names = ["%s_sub_%d_%s" % (root, number, "know" if number % 2 else "unknow")
             for number in range(parts)]
    calls = [Op("PartitionedCall_%d" % number, "PartitionedCall", [], [], [], [],
                [name], dumped=False) for number, name in enumerate(names)]
    size = -(-len(ops) // parts)
    graphs = [(root, calls + [_quiet("Node_Output", "NetOutput")])]
    for number, name in enumerate(names):
        graphs.append((name, ops[number * size:(number + 1) * size]))
    return graphs
