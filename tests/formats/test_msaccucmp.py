"""The vendor's comparator reads our files, and what it writes is what we
write: every type that it supports, every layout that it converts."""
import json
import os

import numpy as np

from keras_npu_dump.export.npy import export_npy
from keras_npu_dump.formats import dtypes, names
from keras_npu_dump.formats.dtypes import format_number
from keras_npu_dump.formats.tensor import decode, dump_file, layouts, opdebug
from tests.formats import msaccucmp
from tests.formats.test_layouts import blocked_nhwc, fractal_z, numbered, nz, permuted

# What the vendor's converter reads (const_manager.py).
TYPES = list(range(13)) + [16, 17, 23, 27, 29, 33, 34, 35]
UNSUPPORTED = [13, 18, 28, 36, 39]


def name_of(op_type, number):
    return names.format_dump_name(names.DumpName(
        op_type, "net/%s_%d" % (op_type, number), number, 3,
        1617161424189416 + number))


def codes_that_differ(number):
    """Bytes that the vendor's converter takes for another value than the
    definition of the type: it has no NaN in E4M3FN, no -inf, and 48 codes of
    HiFloat8 of magnitude 0.5 to 4 wrong."""
    codes = np.arange(256)
    body = codes & 0x7F
    if number == 35:
        return body == 0x7F
    if number == 34:
        return codes == 0xFC
    if number == 33:
        return (body >= 0x08) & (body < 0x20) | (codes == 0xEF)
    return np.zeros(256, bool)


def test_every_type_is_read_by_it_and_written_alike(vendor, tmp_path):
    source, theirs, ours = (tmp_path / name for name in ("in", "theirs",
                                                         "ours"))
    source.mkdir()
    theirs.mkdir()
    rng = np.random.RandomState(0)
    for number in TYPES:
        raw = bytes(range(256)) * 2 if decode.stored_bytes(number, 8) == 8 \
            else rng.bytes(512)
        if number == 11:
            raw = bytes(rng.randint(0, 2, 512, np.uint8))
        count = 512 * 8 // dtypes.dtype_bits(number)
        dump_file.write_file(
            source / name_of("Type", number), "net/type", [],
            [dump_file.TensorValue(raw, number, shape=(count // 2, 2)),
             dump_file.TensorValue(raw[:16] * 2, number, shape=()),
             dump_file.TensorValue(b"", number, shape=(0, 3))])
    statuses, output = vendor([["convert", "-d", source, "-out", theirs]])
    assert statuses == [0], output
    export_npy(source, ours)
    expected = {name_of("Type", number) + ".output.%d.npy" % index
                for number in TYPES for index in range(3)}
    # what is packed or has no scalar form fails to be reshaped over there
    missing = expected - set(os.listdir(theirs))
    assert {name.split(".")[1] for name in missing} <= {"net_Type_29"}
    assert set(os.listdir(ours)) == expected
    compared = 0
    for number in TYPES:
        for index in range(3):
            name = name_of("Type", number) + ".output.%d.npy" % index
            if name in missing:
                continue
            with open(os.path.join(str(theirs), name), "rb") as file:
                their = np.load(file)
            our = np.load(ours / name)
            if index == 1 and number != 0:
                their = their.reshape(-1)[:1].reshape(())
            assert our.shape == their.shape, name
            if not our.size:
                continue  # an empty array has no type over there
            differ = codes_that_differ(number)
            if differ.any() and index == 0:
                skip = np.tile(differ, 2).reshape(our.shape)
                assert not np.array_equal(our[skip], their[skip])
                our, their = our[~skip], their[~skip]
            np.testing.assert_array_equal(our, their, name)
            compared += 1
    assert compared >= 2 * len(TYPES) - 1


def test_what_it_does_not_support_we_give_as_bytes(vendor, tmp_path):
    source, theirs = tmp_path / "in", tmp_path / "theirs"
    source.mkdir()
    theirs.mkdir()
    for number in UNSUPPORTED:
        dump_file.write_file(source / name_of("Raw", number), "net/raw", [],
                          [dump_file.TensorValue(b"12345678", number, shape=(4,))])
    statuses, _ = vendor([["convert", "-d", source, "-out", theirs]])
    assert statuses != [0]
    assert not [name for name in os.listdir(theirs) if name.endswith(".npy")]
    result = export_npy(source, tmp_path / "ours")
    assert len(result.raw) == len(UNSUPPORTED) - 1  # 18 (QINT8) has values
    assert result.written == len(UNSUPPORTED)


def layout_cases():
    """(source layout, target layout, dumped values, shape in the target)."""
    plain = numbered((2, 5, 6, 20)).astype(np.float32)  # N, H, W, C
    filters = numbered((3, 2, 20, 37)).astype(np.float32)  # H, W, C, N
    for target in ("NCHW", "NHWC", "HWCN"):
        yield ("NC1HWC0", target, blocked_nhwc(plain, 16),
               permuted(plain, "NHWC", target))
        yield ("NC1HWC0", target, blocked_nhwc(plain, 32),
               permuted(plain, "NHWC", target))
    for target in ("NCHW", "HWCN"):
        yield ("FRACTAL_Z", target, fractal_z(filters),
               permuted(filters, "HWCN", target))
    for target in ("ND", "NCHW", "NHWC"):
        for shape in ((20, 35), (3, 20, 35), (2, 3, 16, 32)):
            values = numbered(shape).astype(np.float32)
            yield ("FRACTAL_NZ", target, nz(values, 16), values)
    deep = numbered((2, 3, 4, 5, 20)).astype(np.float32)  # N, D, H, W, C
    blocks = np.stack([blocked_nhwc(deep[:, d], 16) for d in range(3)], 1)
    for target in ("ND", "NCDHW"):
        yield ("NDC1HWC0", target, blocks, permuted(deep, "NDHWC", "NCDHW"))
    for source in ("NCHW", "NHWC", "HWCN"):
        values = permuted(filters, "HWCN", source)
        yield (source, "FRACTAL_Z", values, fractal_z(filters))
        for target in ("NCHW", "NHWC", "HWCN"):
            if target != source and (source, target) != ("NCHW", "HWCN"):
                yield (source, target, values,
                       permuted(filters, "HWCN", target))


def shipped_conversions():
    """The conversions that the vendor has, by the names of its files."""
    interpreter = msaccucmp.python()
    folder = os.path.join(os.path.dirname(os.path.dirname(interpreter)),
                          "lib", "python3.11", "site-packages", "msprobe",
                          "msaccucmp", "format_manager",
                          "builtin_format_convert")
    return {tuple(name[len("convert_"):-len(".py")].split("_to_"))
            for name in os.listdir(folder) if name.startswith("convert_")}


def test_every_layout_conversion_gives_the_same(vendor, tmp_path):
    cases = list(layout_cases())
    commands = []
    for number, (source, target, values, expected) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        dumped = folder / name_of("Layout", number)
        # with an original shape it cuts the blocks of FRACTAL_Z to it, too
        original = expected.shape if target != "FRACTAL_Z" else None
        dump_file.write_file(dumped, "net/layout", [], [dump_file.TensorValue(
            np.ascontiguousarray(values), format=format_number(source),
            original_shape=original)])
        out = tmp_path / ("out%d" % number)
        out.mkdir()
        commands.append(["convert", "-d", dumped, "-out", out, "-f", target,
                         "-o", "0"])
    statuses, output = vendor(commands)
    converted = set()
    for number, (source, target, values, expected) in enumerate(cases):
        label = "%s to %s" % (source, target)
        assert statuses[number] == 0, (label, output[-3000:])
        name, = os.listdir(tmp_path / ("out%d" % number))
        their = np.load(tmp_path / ("out%d" % number) / name)
        shape = expected.shape if target != "FRACTAL_Z" else None
        our = layouts.convert(values, source, target, shape)
        np.testing.assert_array_equal(our, expected, label)
        # theirs joins leading dimensions of a matrix
        np.testing.assert_array_equal(their.reshape(-1), our.reshape(-1),
                                      label)
        converted.add((source, target))
    assert converted == shipped_conversions()


def test_grouped_filters_agree_where_the_vendor_keeps_all_values(vendor,
                                                                 tmp_path):
    """Its index of a group's blocks is 0 for the first block of channels, so
    later groups overwrite earlier ones unless all fit into one block."""
    commands, cases = [], []
    for c, n, groups in ((4, 4, 4), (8, 2, 2), (16, 16, 2)):
        filters = numbered((1, 2, c, n * groups)).astype(np.float32)
        number = len(cases)
        out = tmp_path / ("out%d" % number)
        out.mkdir()
        path = tmp_path / name_of("Group", number)
        dump_file.write_file(path, "net/g", [], [dump_file.TensorValue(
            filters, format=16, sub_format=groups)])
        commands.append(["convert", "-d", path, "-out", out, "-f",
                         "FRACTAL_Z", "-o", "0"])
        cases.append((filters, groups, out))
    statuses, output = vendor(commands)
    assert statuses == [0, 0, 0], output
    for number, (filters, groups, out) in enumerate(cases):
        name, = os.listdir(out)
        their = np.load(out / name)
        our = layouts.to_fractal_z(filters, groups)
        assert their.shape == our.shape
        if number < 2:
            np.testing.assert_array_equal(their, our)
        else:  # 16 x 16: a block for each group
            assert np.count_nonzero(their) < filters.size
            assert np.count_nonzero(our) == filters.size


def test_names_buffers_and_overflow_records_are_alike(vendor, tmp_path):
    source, theirs, ours = (tmp_path / name for name in ("in", "theirs",
                                                         "ours"))
    source.mkdir()
    theirs.mkdir()
    values = np.arange(6, dtype=np.float32)
    dump_file.write_file(source / name_of("Add", 1), "net/add", [values],
                      [values * 2], buffers=[b"buffer"], spaces=[b"log"])
    old = bytearray(2048)
    old[256:264] = (77).to_bytes(8, "little")
    old[1040:1048] = (0x20).to_bytes(8, "little")
    for number, record in enumerate((
            opdebug.pack_record("AIC", {"task_id": 5, "pc_start": 4096},
                                 (1, 2, 3, 4), 1),
            opdebug.pack_record("AIV", {"model_id": 5}, (9,), 0),
            opdebug.pack_record("AICPU", {"cpu_id": 2}),
            opdebug.pack_record("SDMA", {"src_addr": 1 << 40}),
            bytes(old))):
        dump_file.write_file(
            source / ("Opdebug.Node_OpDebug.%d.3.1617161424189416" % number),
            "Node_OpDebug", [], [record])
    statuses, output = vendor([["convert", "-d", source, "-out", theirs]])
    assert statuses == [0], output
    export_npy(source, ours)
    assert sorted(os.listdir(ours)) == sorted(os.listdir(theirs))
    for name in os.listdir(ours):
        if name.endswith(".json"):
            with open(os.path.join(str(theirs), name)) as file:
                assert json.load(file) == json.loads(
                    (ours / name).read_text()), name
        elif name.endswith(".bin"):
            assert (theirs / name).read_bytes() == (ours / name).read_bytes()
        else:
            np.testing.assert_array_equal(np.load(theirs / name),
                                          np.load(ours / name))


def test_ffts_slices_have_the_same_shapes(vendor, tmp_path):
    from tests.formats.test_overflow_and_ffts import slices_of
    source, theirs, ours = (tmp_path / name for name in ("in", "theirs",
                                                         "ours"))
    source.mkdir()
    theirs.mkdir()
    whole = np.arange(60, dtype=np.float32).reshape(5, 12)
    slices_of(source, whole, 4, True)
    _, output = vendor([["convert", "-d", source, "-out", theirs]])
    export_npy(source, ours)
    assert sorted(os.listdir(ours)) == sorted(
        name for name in os.listdir(theirs) if name.endswith(".npy")), output
    for name in os.listdir(ours):
        our = np.load(ours / name)
        assert our.ndim == 2 and our.shape[1] == 12
        np.testing.assert_array_equal(np.load(theirs / name), our)
