#!/usr/bin/python3
"""Hold what `assay compare` and `assay msit llm compare` say of the dumps in tests/data/atb_names against what is known of them.

    check_atb_names.py --bin build/release

A failure is a line 'dump: what is wrong'. The last line is 'N passed, M failed'.
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from typing import NamedTuple

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "atb_names" / "dumps.tar.xz"
TERM = "3_LinearRowParallelNoAdd/0_LinearNoQuant/0_LinearOperation/after/outtensor0.bin"


class Expected(NamedTuple):
    compared: int  # rows, at least
    pairs: dict[str, str] = {}  # of token 0: the end of a name of mine, and that of golden
    notes: dict[str, str] = {}  # of such a row
    fault: str = ""  # the node that is named first, and as origin
    not_compared: str = ""  # one of the operators that the origin is not told from


EXPECTED = {
    "inner_attention_graph": Expected(300, {
        "2_Prefill_layer/0_Attention/2_SelfAttentionPA/after/outtensor0.bin": "layers.0.self_attn.o_proj/input_0.pth",
        "2_Prefill_layer/0_Attention/after/outtensor0.bin": "layers.0.self_attn/output_0.pth"}),
    "row_parallel_partial_sum": Expected(320, {
        f"2_Prefill_layer/0_Attention/{TERM}": "layers.0.self_attn.o_proj/output.pth",
        "3_Prefill_layer/2_Mlp/5_LinearRowParallelNoAdd/1_AllReduceOperation/after/outtensor0.bin":
            "layers.1.mlp.down_proj/output.pth"},
        {f"2_Prefill_layer/0_Attention/{TERM}": "mine added up from 2 ranks"}),
    "row_parallel_atb_atb": Expected(470, {}, {f"2_Prefill_layer/0_Attention/{TERM}": "mine added up from 2 ranks"}),
    "lmhead_gather": Expected(304, {
        "5_LmHead/0_GatherOperation/after/outtensor0.bin": "root.lm_head/input_0.pth",
        "5_LmHead/1_LinearOperation/before/intensor0.bin": "root.lm_head/input_0.pth"},
        {"5_LmHead/1_LinearOperation/before/intensor0.bin": "1 of 5 positions of golden"}),
    "moe_experts": Expected(232, {
        "1_Decoder_layer/4_SparseMoe/0_LinearOperation/after/outtensor0.bin": "layers.0.block_sparse_moe.gate/output.pth",
        "1_Decoder_layer/4_SparseMoe/10_GroupedMatmulOperation/after/outtensor0.bin":
            "layers.0.block_sparse_moe.experts.{0..3}.w2/output.pth",
        "1_Decoder_layer/4_SparseMoe/6_GroupedMatmulOperation/after/outtensor0.bin":
            "experts.{0..3}.w1/output.pth + root.model.layers.0.block_sparse_moe.experts.{0..3}.w3/output.pth",
        "1_Decoder_layer/4_SparseMoe/after/outtensor0.bin": "layers.0.block_sparse_moe/output_0.pth"},
        {"1_Decoder_layer/4_SparseMoe/6_GroupedMatmulOperation/after/outtensor0.bin": "the rows of 4 experts of golden"}),
    "moe_origin": Expected(232, {}, {}, "2_Decoder_layer/4_SparseMoe/11_MoeTokenUnpermuteOperation",
                           "2_Decoder_layer/4_SparseMoe/4_ElewiseOperation"),
    "bias_then_residual": Expected(162, {
        "3_Gpt2Layer/6_ElewiseOperation/after/outtensor0.bin": "h.0.attn.c_proj/output.pth",
        "3_Gpt2Layer/7_ElewiseOperation/after/outtensor0.bin": "h.0.ln_2/input_0.pth",
        "3_Gpt2Layer/3_SplitOperation/after/outtensor1.bin": "h.0.attn.c_attn/output.pth",
        "1_PositionEmbedding/after/outtensor0.bin": "root.transformer.wpe/output.pth"},
        {"3_Gpt2Layer/3_SplitOperation/after/outtensor1.bin": "part 2 of 3 of golden"}),
    "renamed_layer_type": Expected(450),
    "tp_shape_columns": Expected(476),
    "stats_int_norm": Expected(450),
}


def check_compare(program: pathlib.Path, folder: pathlib.Path, expected: Expected) -> list[str]:
    done = subprocess.run([program, "compare", "mine", "golden", "--report", "json", "--output", "-", "-q"], cwd=folder,
                          capture_output=True, text=True)
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        return [f"no report: {done.stderr}"]
    rows, summary = document["rows"], document["summary"]
    wrong = [f"{row['section']} {row['mine']} | {row['golden']}: {row['status']}: {row['reason']}" for row in rows
             if row["verdict"] in ("fail", "error") and not expected.fault]
    if done.returncode != bool(expected.fault):
        wrong.append(f"exit code {done.returncode}")
    compared = sum(row["status"] == "compared" for row in rows)
    if compared < expected.compared:
        wrong.append(f"{compared} rows compared, not {expected.compared}")
    first = [row for row in rows if row["section"] == "token 0" and row["mine"] and row["golden"]]
    for mine, golden in expected.pairs.items():
        found = [row["golden"] for row in first if row["mine"].endswith(mine)]
        if len(found) != 1 or not found[0].endswith(golden):
            wrong.append(f"{mine} is paired with {found}, not {golden}")
    for mine, note in expected.notes.items():
        if not any(row["mine"].endswith(mine) and note in (row["note"] or "") for row in first):
            wrong.append(f"{mine}: no note says '{note}'")
    if expected.fault:
        for kind in ("first_divergence", "first_origin"):
            if (summary[kind] or {}).get("name") != expected.fault:
                wrong.append(f"{kind} is {(summary[kind] or {}).get('name')}")
        if expected.not_compared not in (summary["first_origin"] or {}).get("not_compared", []):
            wrong.append(f"the origin does not name {expected.not_compared}: {summary['first_origin']}")
    return wrong


def table(program: pathlib.Path, folder: pathlib.Path, level: str) -> list[dict[str, str]]:
    out = folder / f"table_{level}"
    subprocess.run([program, "msit", "llm", "compare", "-gp", "golden", "-mp", "mine", "-cl", level, "-o", out, "-l", "error"],
                   cwd=folder, capture_output=True)
    with open(next(out.glob("*.csv")), newline="") as file:
        return list(csv.DictReader(file))


def check_joined_shapes(program: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """What ranks share out is described as a whole."""
    rows = {row["my_data_path"].partition("/0_5000/")[2]: row for row in table(program, folder, "api")}
    row = rows.get("0/5_LmHead/1_LinearOperation/after/outtensor0.bin")
    if row is None:
        return ["the logits of the first rank have no row"]
    wrong = [f"{name} is {row[name]}, that of golden {row[name.replace('my', 'golden')]}" for name in ("my_shape",)
             if row[name] != row[name.replace("my", "golden")]]
    for name in ("max", "min", "mean"):
        mine, golden = (float(row[f"{side}_{name}_value"]) for side in ("my", "golden"))
        if abs(mine - golden) > 0.01 * abs(golden):
            wrong.append(f"{name}: {mine} of mine, {golden} of golden")
    return wrong


def check_words(program: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """An origin with an input that was not compared does not say that its inputs pass."""
    text = subprocess.run([program, "compare", "mine", "golden"], cwd=folder, capture_output=True, text=True).stdout
    line = next((line for line in text.splitlines() if line.startswith("First origin")), "no origin")
    is_right = "what was compared of its inputs passes" in line and "  not compared before it: 2_Decoder_layer" in text
    return [] if is_right else [line]


def check_other_ranks(program: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """What cannot be read of another rank is said also of a tensor that has no counterpart."""
    alone = folder / "mine" / "msit_dump_20250101_010101" / "tensors/1_5001/1/5_LmHead/1_AllGatherOperation/after/outtensor0.bin"
    os.truncate(alone, 100)
    done = subprocess.run([program, "compare", "mine", "golden"], cwd=folder, capture_output=True, text=True)
    is_right = done.returncode == 2 and done.stdout.startswith("ERROR: 1 of 474 ") and "ends at byte 100" in done.stdout
    return [] if is_right else [f"exit {done.returncode}: {done.stdout[:100]}"]


def check_logits(program: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Logits are paired as operators are."""
    logits, operators = (table(program, folder, level) for level in ("logits", "api"))
    return [] if logits == operators and logits else [f"{len(logits)} rows of logits, {len(operators)} of operators"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the program")
    args = parser.parse_args()
    program = (args.bin / "assay").resolve()
    memory = pathlib.Path("/dev/shm")  # thousands of small files
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as work:
        with tarfile.open(DATA) as archive:
            archive.extractall(work)
        checks = [(name, check_compare, expected) for name, expected in EXPECTED.items()]
        checks += [("tp_shape_columns", check_joined_shapes), ("lmhead_gather", check_logits), ("moe_origin", check_words),
                   ("row_parallel_atb_atb", check_other_ranks)]
        for name, check, *more in checks:
            wrong = check(program, pathlib.Path(work) / name, *more)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for line in wrong[:5]:
                print(f"{name}: {line}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
