#!/usr/bin/python3
"""Writes the kept inputs of the fuzz targets, DIR/<target>/: small files of every kind the parsers know.

    make_corpus.py --out tests/fuzz/corpus

They are written by numpy, torch and by hand, never by Assay. Run it again after adding a kind; the result is the same on
every run but for the files torch writes, whose bytes depend on its version.
"""
from __future__ import annotations

import argparse
import collections
import io
import json
import pathlib
import pickle
import struct

import numpy
import torch

corpus = pathlib.Path()  # as the command line says


def keep(target: str, name: str, content: bytes | str) -> None:
    path = corpus / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def npy(array: numpy.ndarray, version: tuple[int, int] = (1, 0)) -> bytes:
    out = io.BytesIO()
    numpy.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def make_numpy() -> None:
    six = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    keep("fuzz_format", "c_order.npy", npy(six))
    keep("fuzz_format", "fortran.npy", npy(numpy.asfortranarray(six)))
    keep("fuzz_format", "big_endian.npy", npy(six.astype(">f8")))
    keep("fuzz_format", "scalar_v2.npy", npy(numpy.array(7, dtype=numpy.int64), (2, 0)))
    keep("fuzz_format", "empty_v3.npy", npy(numpy.empty((0, 4), dtype=numpy.float16), (3, 0)))
    keep("fuzz_format", "bool.npy", npy(numpy.array([True, False, True])))
    keep("fuzz_format", "complex.npy", npy(numpy.array([1 + 2j, 3 - 4j], dtype=numpy.complex64)))
    keep("fuzz_format", "record.npy", npy(numpy.zeros(2, dtype=[("a", "<i4"), ("b", "<f8")])))
    for name, save in (("stored.npz", numpy.savez), ("deflated.npz", numpy.savez_compressed)):
        out = io.BytesIO()
        save(out, weight=six, bias=numpy.ones(4, dtype=numpy.int8))
        keep("fuzz_format", name, out.getvalue())
    out = io.BytesIO()
    numpy.savez_compressed(out, turned=numpy.asfortranarray(six), cube=numpy.asfortranarray(numpy.arange(24.0).reshape(2, 3, 4)))
    keep("fuzz_format", "fortran_deflated.npz", out.getvalue())


def make_golden() -> None:
    """Runs of every operator: its type, its parameters, a processor, and tensors, as fuzz_golden.cc takes them."""
    types = ["float32", "float16", "bfloat16", "int8", "int32", "int64", "float64", "uint8", "int16", "uint32", "bool"]
    data = pathlib.Path(__file__).resolve().parents[1] / "data" / "opcheck"
    for case in json.loads((data / "index.json").read_text())["cases"]:
        out = f"{case['op']}\n{json.dumps(case['op_param'])}\n".encode() + bytes([2 if "310P" in case["soc"] else 1])
        for tensor in case["inputs"]:
            array = numpy.load(data / tensor["file"])
            out += bytes([types.index(tensor["dtype"]), len(tensor["shape"]), *tensor["shape"]]) + array.tobytes()
        if len(out) < 4096:
            keep("fuzz_golden", f"{case['name']}.run", out)
    keep("fuzz_golden", "table.csv", "CaseNum|OpName|OpParam|OutDType\n1|LinearOperation_1_1|{}|float16\n")


def make_statistics() -> None:
    one = {"name": "output.0", "dtype": "f16", "shape": [2, 3], "max": 2.5, "min": -1.0, "mean": 0.1, "norm": "inf", "nan": 1,
           "inf": 0, "zero": 2, "crc32": "0a1b2c3d", "finite": {"max": 2.5, "min": -1.0, "mean": 0.2, "norm": 3.0},
           "facts": {"op_name": "Add_2", "dump_time": 17}}
    two = {"name": "", "dtype": "bool", "shape": [], "max": True, "min": False, "mean": None, "norm": "nan"}
    source = {"name": "x", "format": "ge_dump", "bytes": 568}
    keep("fuzz_format", "one.stats.json", json.dumps({"assay_stats": 1, "source": source, "tensors": [one]}))
    keep("fuzz_format", "two.stats.json", json.dumps({"assay_stats": 1, "source": source, "tensors": [one, two]}))
    keep("fuzz_format", "none.stats.json", json.dumps({"assay_stats": 1, "tensors": []}))


def make_torch() -> None:
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    objects = {
        "plain": base,
        "strided": base.t()[1:, ::2],
        "bf16": base.bfloat16(),
        "empty": torch.empty(0, 3, dtype=torch.int64),
        "state": collections.OrderedDict(weight=torch.nn.Parameter(base), bias=base[0], step=3, name="a"),
        "nested": {"a": [base[0], (base[1], None)], "b": {"c": base.half(), 5: True}},
        "sparse": base.to_sparse(),
        "quantised": torch.quantize_per_tensor(base, 0.1, 3, torch.quint8),
    }
    for name, value in objects.items():
        for kind, zipped in (("zip", True), ("legacy", False)):
            out = io.BytesIO()
            torch.save(value, out, _use_new_zipfile_serialization=zipped)
            keep("fuzz_format", f"{name}_{kind}.pt", out.getvalue())


def make_safetensors() -> None:
    def file(header: dict, data: bytes) -> bytes:
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data

    keep("fuzz_format", "two.safetensors",
         file({"__metadata__": {"format": "pt"},
               "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
               "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]}}, bytes(range(22))))
    keep("fuzz_format", "scalar.safetensors",
         file({"x": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}}, struct.pack("<q", -1)))
    keep("fuzz_format", "model.safetensors.index.json",
         json.dumps({"metadata": {"total_size": 22}, "weight_map": {"a": "two.safetensors", "b": "../two.safetensors"}}))


def make_atb() -> None:
    def file(dtype: int, dims: str, data: bytes, extra: str = "", layout: int = 2) -> bytes:
        count = "1" if data else "0"
        place = f"$Object.data=0,{len(data)}\n" if data else ""
        return (f"$Version=1.0\n$Object.Count={count}\n$Object.Length={len(data)}\nformat={layout}\ndtype={dtype}\n"
                f"dims={dims}\n{extra}{place}$End=1\n").encode() + data

    keep("fuzz_format", "f32.bin", file(0, "2,3", struct.pack("<6f", 1, -2, 3.5, 0, 0.25, 1000)))
    keep("fuzz_format", "f16_nz.bin", file(1, "1,1,16,16", bytes(512), layout=29))
    keep("fuzz_format", "int4.bin", file(29, "3", b"\x21\x03"))
    keep("fuzz_format", "described.bin", file(27, "4,8", b""))
    keep("fuzz_format", "alias.bin", file(0, "2", b"", extra="data=1_0_outtensor0.bin\n"))
    keep("fuzz_format", "statistics.bin", file(0, "2", b"", extra="max=2.0\nmin=1.0\nmean=1.5\nl2norm=2.236068\n"))


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number: int, value: int | bytes | str) -> bytes:
    """One protobuf field: a number, or a string, bytes or message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def make_ge() -> None:
    def shape(*dims: int) -> bytes:
        return field(1, b"".join(map(varint, dims)))

    def tensor(numbers: tuple[int, int, int], dtype: int, layout: int, stored: bytes, original: bytes, size: int,
               data: bytes = b"") -> bytes:
        data_at, size_at, original_at = numbers
        return (field(1, dtype) + field(2, layout) + field(3, stored) + (field(data_at, data) if data else b"")
                + field(size_at, size) + field(original_at, original))

    output, source = (5, 6, 7), (4, 5, 6)
    head = field(1, "2.0") + field(2, 1706596912161) + field(6, "Add_2")
    message = (head + field(3, tensor(output, 7, 2, shape(1, 2), shape(1, 2), 8))
               + field(4, tensor(source, 1, 2, shape(2), shape(2), 8)) + field(4, tensor(source, 2, 2, shape(2), shape(2), 4)))
    payload = struct.pack("<2f", 1, 2) + bytes.fromhex("00420044") + struct.pack("<2i", 5, 6)
    keep("fuzz_format", "Add.Add_2.44.6.1706596912161941", struct.pack("<Q", len(message)) + message + payload)

    message = (head + field(3, tensor(output, 2, 29, shape(1, 1, 16, 16), shape(3, 5), 512)) + field(5, field(1, 0) + field(3, 4))
               + field(7, field(1, "key") + field(2, "value")) + field(8, field(1, 0) + field(3, 4)))
    keep("fuzz_format", "Cast.nz.1.2.1706596912161942", struct.pack("<Q", len(message)) + message + bytes(520))

    whole = head + field(3, tensor(output, 7, 2, shape(2), shape(2), 8, struct.pack("<2i", 5, 6)))
    keep("fuzz_format", "Add.old.1.2.1706596912161943", whole)


def make_pickles() -> None:
    value = {"list": [1, 2.5, None, True, "text", b"bytes", 2**80, -1], "tuple": (1, (2, (3,))), "set": {1, 2},
             "ordered": collections.OrderedDict(a=1), "none": (), "frozen": frozenset([1])}
    loop: list = []
    loop.append(loop)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        keep("fuzz_pickle", f"containers_{protocol}.pkl", pickle.dumps(value, protocol))
        keep("fuzz_pickle", f"loop_{protocol}.pkl", pickle.dumps(loop, protocol))
    keep("fuzz_pickle", "call.pkl", b"cos\nsystem\n(S'true'\ntR.")
    keep("fuzz_pickle", "deep.pkl", b"\x80\x02" + b"]" * 500 + b"a" * 499 + b".")
    keep("fuzz_pickle", "array.pkl", pickle.dumps(numpy.arange(3)))

    class Writer(pickle.Pickler):
        def persistent_id(self, obj: object) -> object:
            return ("storage", torch.FloatStorage, "0", "cpu", 4) if isinstance(obj, bytearray) else None

    out = io.BytesIO()
    Writer(out, 2).dump([bytearray(4), {"a": bytearray(1)}])
    keep("fuzz_pickle", "persistent.pkl", out.getvalue())


def make_text() -> None:
    rules = ["max_abs <= 1e-3 or cosine >= 0.999", "rel_l2 < 8 * eps and not (nonfinite_mismatch > 0)",
             "layers.*.weight=max_rel <= 0.01", "-(1 + 2) * 3 / 4 < mean_abs", "min(max_abs, 2) == 1 or sqrt(count) != 0",
             "(" * 40 + "1 < 2" + ")" * 40]
    for number, rule in enumerate(rules):
        keep("fuzz_rule", f"rule_{number}.txt", rule)
    keep("fuzz_rule", "list.yaml", 'rules:\n  - match: "*"\n    pass: max_abs <= 1e-3\n  - match: "layers.[0-9]*"\n    pass: cosine > 0.99\n')
    keep("fuzz_rule", "map.yaml", 'version: 1\nrules:\n  "*.weight": "rel_l2 <= 0.01"\n  "*": \'max_abs < 1\'\n')
    keep("fuzz_rule", "odd.yaml", "a: &x [1, {b: c}]\nd: *x\n--- \n- |\n  text\n- >-\n  folded\n")

    keep("fuzz_text", "glob.txt", "layers.[0-9]*.w?\nlayers.10.w1\nlayers.2.w[!a-z]\n***a*b*[\n")
    keep("fuzz_text", "numbers.txt", "64Ki\n2GB\n1.5GiB\n512M\n-1\n1e309\nnan\n9223372036854775808\n0x10\n")
    keep("fuzz_text", "order.txt", "a007b\na7b\na10\n")
    keep("fuzz_text", "bytes.txt", b"caf\xc3\xa9\n\xff\xfe\n\x1b[31m\n\xe2\x82\n")
    keep("fuzz_text", "dtypes.txt", "f32\ntorch.float32\nFloat16\nbf16\nhalf\nbool\nf8e4m3fn\n")

    keep("fuzz_manifest", "lines.txt", "# order\nb.npy\nsub/a.npy\n\n ./c.npy \n../d.npy\n")
    keep("fuzz_manifest", "array.json", '["b.npy", "sub/../a.npy", "caf\\u00e9.npy"]')
    keep("fuzz_manifest", "deep.json", "[" * 200 + "]" * 200)


def make_ge_graph() -> None:
    keep("fuzz_ge_graph", "graph.txt", 'name: "graph_1"\nop {\n  name: "Add"\n  type: "Add"\n  input: "a:0"\n  input: "b:-1"\n'
         '  output_desc {\n    dtype: DT_FLOAT\n    shape { dim: 4 dim: -1 }\n    attr {\n      key: "_fx_tensor_name"\n'
         '      value { s: "add-aten.add.Tensor.OUTPUT.0" }\n    }\n  }\n}\n')
    keep("fuzz_ge_graph", "model.txt", 'name: "m" graph { name: "g" op { name: "If" attr { key: "then" value { g { op { name: "x" } } } } '
         'attr { key: "_datadump_original_op_names" value { list { s: "a" s: "b" g { op { } } } } } output_desc { attr { key: '
         '"_datadump_origin_name" value { s: "a" } } attr { key: "_datadump_origin_output_index" value { i: 1 } } } } } graph { }')
    keep("fuzz_ge_graph", "forms.txt", "a: [1, -2.5e-3, inf, 0x1F] b < c: 'x' \"y\\001\\x41\\u00e9\\\"\" > [my.ext] { 5: - 1 } # end\n"
         "d: [{ e: [] }, <>]; f { }, op: { name: 'caf\\303\\251' }")
    keep("fuzz_ge_graph", "deep.txt", "op { attr { value { g { " * 30 + "op { }" + "} " * 120)
    keep("fuzz_ge_graph", "tensorflow.pbtxt", 'node { name: "a" op: "Add" input: "b" attr { key: "T" value { type: DT_FLOAT } } }')
    keep("fuzz_ge_graph", "graph.py", "# -*- coding: utf-8 -*-\nfrom torch import tensor\n")


def make_ge_stats() -> None:
    titles = "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count," \
             "Negative Inf Count,Positive Inf Count\n"
    keep("fuzz_ge_stats", "all.csv", titles + "Input,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0\n"
         "Output,0,8,DT_INT64,ND,-,NA,NA,NA,1,NA,NA,NA\n" + titles + "Output,1,4,DT_BF16,UNKNOW,2,inf,-inf,nan,2,0,1,1\n")
    keep("fuzz_torchair", "names.txt", "Add x\nAdd_1 Add y\nMul Add Add_1 z Mul\n\nAddAdd_1\nAdd_12\nMul_lxslice3\nAdd.Add_2.44.6.1706596912161941\n"
         "Conv.a.b.2.9.1706596912161941.4.487.0.0\nAdd.Add.1.1706596912161941_min_max.npz\nAdd.Add.1.2.1706596912161941.stats.json\n"
         "cat-aten.cat.INPUT.0.12.20251017071211190258_rank_3_pid_900.npy\nmm-aten.mm.OUTPUT.1.20251017071211190258_min_max.npy\n"
         "dynamo_original_graph_3_rank_12_pid_42_ts_1.txt\nworldsize8_global_rank03\ngraph_2\n")
    keep("fuzz_torchair", "repeats.txt", "a\naa\naaa a a a\n\n" + "a" * 300 + "b\n" + "a" * 300 + "\n")
    keep("fuzz_torchair", "mapping.csv", "1234567890,Add.a_long_name.1.2.1706596912161941\n\"12\",\"a\"\"b\"\nx\n1,2,3\n")
    keep("fuzz_ge_stats", "some.csv", "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,l2norm\n"
         "Input,0,12,DT_FLOAT,ND,3,3,1,-1,1.41421\nInput,1,12,DT_FLOAT,ND,3,NA,NA,NA\n")


def make_topology() -> None:
    op = {"opName": "LinearOperation_0_0", "opType": "LinearOperation", "param": {"hasBias": False, "perm": [0, 2, 1],
          "norm": {"eps": 1e-5, "kind": "rms"}}, "inTensors": ["in0", "w0"], "outTensors": ["h0"]}
    add = {"opName": "ElewiseOperation_0_1", "opType": "ElewiseOperation", "param": {"elewiseType": 8},
           "inTensors": ["h0", "in0"], "outTensors": ["out0"]}
    layer = {"opName": "Layer_0", "opType": "Layer", "inTensors": ["in0", "w0"], "outTensors": ["out0"], "nodes": [op, add]}
    model = {"modelName": "Model", "inTensors": ["in0"], "outTensors": ["out0"], "internalTensors": [], "weightTensors": ["w0"],
             "kCacheTensors": ["k"], "nodes": [layer]}
    keep("fuzz_topology", "layer.json", json.dumps(layer | {"param": ""}))
    keep("fuzz_topology", "model.json", json.dumps(model))
    keep("fuzz_topology", "circle.json", json.dumps(model | {"nodes": [add, op | {"inTensors": ["out0", "k"], "outTensors": ["h0", "k"]}]}))
    keep("fuzz_topology", "odd.json", '{"nodes": [{"opName": 1, "param": {"a": NaN, "b": [[1], {"c": "d"}], "a": ["x", 2]}}, null]}')
    keep("fuzz_topology", "table.csv", "CaseNum|OpName|InDType|InShape|OutDType|OutShape\n"
         "1|LinearOperation_0_0|float;bf16|2,2;-1|double|\n")


def make_inference() -> None:
    for number, name in enumerate(("logits_boolq_12_0.pth", "logits_humanevalx_cpp_007_3.pth", "logits_js_7.pth",
                                   "a_-5_+10.pth", "nothing.pth", "logits_x_y.pth", "_" * 40 + ".pth")):
        keep("fuzz_logits_name", f"name_{number}.txt", name)

    titles = "queries,input_token_ids,output_token_ids,passed\n"
    keep("fuzz_bad_cases", "queries.csv", titles + '"why, so?","[1, 2]",[3],True\nhow,[1],[4],False\n--\n'
         + titles + '"why, so?","[1, 2]",[3],False\n')
    keep("fuzz_bad_cases", "keys.csv", "key,passed,queries\n007,Correct,a\n8,wrong,b\n,true,c\n--\nkey,pass,queries\n7,Wrong,a\n8,NaN,b\n")
    keep("fuzz_bad_cases", "open_quote.csv", titles + '"a,b\nc,d\n')

    titles = ("Device and PID,Execution Count,Op Name,Op Type,Op Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,"
              "Tensor Path\n")
    row = "0_4321,0,Layer/Linear,Linear,1_0,{},0,{},nd,{},{},{}\n"
    place = "/a/atb_dump_data/data/0_4321/0/1_Layer/0_Linear/{}"
    keep("fuzz_atb_statistic", "tensors.csv", titles
         + row.format("input", "float16", "2x3", "N/A,N/A,N/A,N/A", place.format("before/intensor0.bin"))
         + row.format("output", "int8", "", "N/A,N/A,N/A,N/A", place.format("../after/outtensor0.bin")))
    keep("fuzz_atb_statistic", "statistics.csv", titles + row.format("output", "bf16", "2x-1", "1.5,-inf,nan,1e400", "N/A") * 2)
    keep("fuzz_atb_statistic", "huge.csv", titles + row.format("input", "double", "4294967296x4294967296", "(1,2),a,b,c", "/x"))

    leaf = {"name": "root.lm_head", "type": "Linear", "children": []}
    keep("fuzz_torch_hook", "tree.json", json.dumps({"name": "root", "type": "Model", "children": [leaf, leaf | {"name": "root.norm"}]}))
    keep("fuzz_torch_hook", "odd.json", '{"name": "root", "children": [null, {"name": "a", "type": 1, "children": {}}, {"type": "b"}]}')
    keep("fuzz_torch_hook", "deep.json", '{"name": "a", "children": [' * 300 + "]}" * 300)
    keep("fuzz_torch_hook", "statistics.csv", "NodeName,NodeType,InputOutput,Index,DataType,Shape,Max,Min,Mean,L2Norm\n"
         'root,Model,Input,0,torch.float32,"(1, 3)",1.0,0.0,0.5,1.2\nroot,Model,Output,x,torch.bool,"(-1,)",inf,nan,,1\n')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR",
                        help="what is written in it replaces files of the same name")
    corpus = parser.parse_args().out
    torch.manual_seed(0)
    make_numpy()
    make_golden()
    make_statistics()
    make_torch()
    make_safetensors()
    make_atb()
    make_ge()
    make_pickles()
    make_text()
    make_ge_graph()
    make_ge_stats()
    make_topology()
    make_inference()
    print(sum(path.stat().st_size for path in corpus.rglob("*") if path.is_file()), "bytes")
