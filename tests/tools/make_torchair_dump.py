#!/usr/bin/python3
"""Write a matched pair of TorchAir dumps of one synthetic model, mine/ (of the graph engine, GE) and golden/ (of the FX
interpreter, or of the engine without fusion), and truth.json, which says what belongs together.

    make_torchair_dump.py --out pair                                          # f16, one rank, one graph, two tokens
    make_torchair_dump.py --out pair --ranks 2 --graphs 2 --model-ids reversed
    make_torchair_dump.py --out pair --ge plain --fx gm_rank                  # the folders of older versions
    make_torchair_dump.py --out pair --golden ge --fault Softmax:1.5@0.1.1    # rank 0, graph 1, token 1

Both sides are computed for real from the same weights; mine rounds every result to --dtype. The same flags give the same bytes.

truth.json: "mine" and "golden" are the paths to compare. "tensors" lists every tensor of either side: "file"; "name", that of the
file before it was hashed or compacted, which no other file of the dump has; "slot" (of FX files what follows INPUT or OUTPUT);
"rank", "graph", "token"; "value", equal in two tensors of a frame if they hold the same and may be compared; "tainted", it
comes after the fault; "numeric", false for a pickled None and for a text; "private", the engine put the operator in; "constant".
"pairs" lists what has to be compared: the index of a tensor of mine, and of those of golden that will do; with "required" false
it need not be, but with nothing else. "alone" lists tensors of either side that have no partner. "first" is the pair of the
first divergence, "fault" the operator of mine (fused, if it was) that has it.
"""
from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import sys

from torchair_dumps import EngineDump, Frame, FxDump, Held, Written, engine_ops
from torchair_model import Fault, Run, run_graph

ROOTS = {"msit": ("msit_ge_dump", "msit_fx_dump"), "msprobe": ("msprobe_ge_dump", "msprobe_fx_dump"),
         "ait": ("dump_20250101_120000", "ait_fx")}
LONG_SCOPE = "model_model_decoder_layers_transformer_block_with_a_name_that_tells_all_of_its_many_ancestors_one_by_one_"


class Planted:
    """--fault OP:FACTOR or OP:FACTOR@RANK.GRAPH.TOKEN; without a place it is in every frame."""

    def __init__(self, text: str) -> None:
        text, _, place = text.partition("@")
        op, _, factor = text.rpartition(":")
        self.fault = Fault(op, factor)
        self.place = tuple(int(part) for part in place.split(".")) if place else None
        if not op or (self.place and len(self.place) != 3):
            raise ValueError

    def of(self, frame: Frame) -> Fault | None:
        return self.fault if self.place in (None, frame[:3]) else None


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--out", type=pathlib.Path, required=True, help="new folder")
    add("--dtype", choices=("f16", "bf16", "f32"), default="f16", help="of the model")
    add("--layers", type=int, default=1)
    add("--ranks", type=int, default=1)
    add("--graphs", type=int, default=1, help="compiled graphs of a rank")
    add("--tokens", type=int, default=2, help="executions of each graph")
    add("--seed", type=int, default=1)
    add("--golden", choices=("fx", "ge"), default="fx", help="ge: the engine without fusion")
    add("--tool", choices=ROOTS, default="msit", help="whose folder names")
    add("--ge", choices=("ranks", "plain"), default="ranks", help="plain: older engines, without worldsize*_global_rank*")
    add("--fx", choices=("graph", "gm", "gm_rank", "direct"), default="graph",
        help="graph_1/0; data_dump/1/gm_*_dump; the same, older, with the rank in file names; gm_*_dump alone")
    add("--model-ids", choices=("same", "reversed", "opaque"), default="same",
        help="of the engine: as the graphs are counted; the other way round; with model names that do not tell the graph")
    add("--file-names", choices=("five", "four", "ffts"), default="five", help="fields in the names of the engine's files")
    add("--no-fusion", action="store_true", help="mine too")
    add("--opaque-fused", action="store_true", help="names of fused operators do not tell; a ge_proto file of the engine does")
    add("--no-private", action="store_true", help="the engine puts in no operators of its own")
    add("--plain-formats", action="store_true", help="every tensor is stored as the model sees it")
    add("--long-names", action="store_true", help="names of more than 255 bytes, which mapping.csv tells")
    add("--hard-graph-text", action="store_true", help="braces and colons inside texts, one-line blocks, comments")
    add("--mixed", action="store_true", help="softmax in f32, whatever --dtype is")
    add("--arguments", action="store_true", help="operators whose FX arguments do not stand where the engine's inputs do")
    add("--odd", action="store_true", help="not-a-number, infinity, large integers")
    add("--empty", action="store_true", help="tensors without an element")
    add("--mine-form", choices=("full", "min_max", "stats_csv"), default="full", help="what is kept of every tensor")
    add("--golden-form", choices=("full", "min_max", "stats_csv"), default="full")
    add("--missing", action="append", default=[], metavar="SIDE:OP", help="an operator that mine or golden did not dump")
    add("--fault", type=Planted, metavar="OP:FACTOR[@RANK.GRAPH.TOKEN]", help="an output of mine that is wrong by a factor")
    args = parser.parse_args(words)
    if args.fx == "direct" and (args.ranks, args.graphs, args.tokens) != (1, 1, 1):
        parser.error("--fx direct is one rank, one graph, one token")
    if args.golden == "fx" and args.golden_form == "stats_csv":
        parser.error("--golden-form stats_csv needs --golden ge")
    if args.ge == "plain" and args.fx == "graph" and args.golden == "fx":
        parser.error("--ge plain goes with the older --fx folders")
    if any(word.partition(":")[0] not in ("mine", "golden") for word in args.missing):
        parser.error("--missing needs mine:OP or golden:OP")
    if args.out.exists():
        parser.error(f"--out {args.out} exists")
    return args


def find_pairs(mine: list[Held], golden: list[Held]) -> list[dict]:
    """Of every tensor of mine: those of golden that hold the same value at the same place of an operator that it stands for.

    Inputs of the operators inside a fused one that do not come first are left to the program when golden is FX, and so are
    constants: FX has numbers there, of another type and often of another meaning."""
    places: dict[tuple, list[int]] = {}
    for index, held in enumerate(golden):
        for member in held.members:
            places.setdefault((held.frame, member, held.slot.partition(".")[0], held.value.key), []).append(index)
    from_fx = any(held.file.endswith(".npy") for held in golden)
    pairs = []
    for index, held in enumerate(mine):
        side = held.slot.partition(".")[0]
        found = [at for member in held.members for at in places.get((held.frame, member, side, held.value.key), [])]
        if not found:
            continue
        first = any(held.members[0] in golden[at].members for at in found)
        required = not held.value.constant and (first or side == "output" or not from_fx)
        pairs.append({"mine": index, "golden": sorted(set(found)), "required": required})
    return pairs


def describe(held: Held) -> dict:
    frame = held.frame
    return {"file": held.file, "name": held.name, "slot": held.slot, "op": held.op, "rank": frame.rank, "graph": frame.graph,
            "token": frame.token, "value": held.value.key, "tainted": held.value.tainted, "numeric": held.readable,
            "private": not held.members, "constant": held.value.constant}


def rename_fused(ops: list[Written], opaque: bool) -> tuple[list[Written], dict[str, tuple[str, ...]]]:
    if not opaque:
        return ops, {}
    named, names = [], {}
    for op in ops:
        if len(op.members) > 1:
            op = op._replace(name=f"fused_kernel_{len(names)}")
            names[op.name] = op.members
        named.append(op)
    return named, names


def main(words: list[str] | None = None) -> int:
    args = arguments(words)
    ge_root, fx_root = ROOTS[args.tool]
    mine = EngineDump(args.out, f"mine/{ge_root}", args, 0, args.mine_form, args.file_names)
    golden = EngineDump(args.out, f"golden/{ge_root}", args, 1, args.golden_form, "five") if args.golden == "ge" \
        else FxDump(args.out, f"golden/{fx_root}", args)
    frames = itertools.product(range(args.ranks), range(1, args.graphs + 1), range(args.tokens))
    hits = [write_frame(args, Frame(*place, number), mine, golden) for number, place in enumerate(frames)]
    if args.fault and not any(hits):
        sys.exit(f"--fault {args.fault.fault.op}: no operator of the graph has that name in that frame; truth.json of a run "
                 "without --fault lists them")
    truth = {"mine": mine.root, "golden": golden.root if args.golden == "ge" else golden.passed()}
    truth |= tell(mine.held, golden.held)
    (args.out / "truth.json").write_text(json.dumps(truth, indent=1))
    required = sum(pair["required"] for pair in truth["pairs"])
    print(f"{args.out}: {required} pairs of tensors belong together")
    return 0


def write_frame(args: argparse.Namespace, frame: Frame, mine: EngineDump, golden: EngineDump | FxDump) -> bool:
    """Both sides of one execution of one graph; whether the fault is in it."""
    missing = {side: {word.partition(":")[2] for word in args.missing if word.startswith(side)} for side in ("mine", "golden")}
    scope = LONG_SCOPE if args.long_names else ""
    seed = args.seed * 1000003 + frame.number
    options = (args.layers, args.mixed, args.arguments, args.odd, args.empty)
    right = run_graph(Run(seed, None, None, None, scope), *options)
    wrong = run_graph(Run(seed, args.dtype, right, args.fault.of(frame) if args.fault else None, scope), *options)
    ops, opaque = rename_fused(engine_ops(wrong, not args.no_fusion, not args.no_private, args.plain_formats), args.opaque_fused)
    mine.write(frame, ops, missing["mine"])
    if frame.token == 0:
        mine.write_graph(frame.rank, frame.graph, wrong, opaque)
    if isinstance(golden, FxDump):
        golden.write(frame, right, missing["golden"])
        return wrong.fault_hit
    golden.write(frame, engine_ops(right, False, False, True), missing["golden"])
    if frame.token == 0:
        golden.write_graph(frame.rank, frame.graph, right, {})
    return wrong.fault_hit


def tell(mine: list[Held], golden: list[Held]) -> dict:
    pairs = find_pairs(mine, golden)
    paired = {pair["mine"] for pair in pairs}
    taken = {at for pair in pairs for at in pair["golden"]}
    first = next((pair for pair in pairs if pair["required"] and mine[pair["mine"]].value.tainted), None)
    return {"tensors": {"mine": [describe(held) for held in mine], "golden": [describe(held) for held in golden]},
            "pairs": pairs,
            "alone": {"mine": [i for i in range(len(mine)) if i not in paired],
                      "golden": [i for i in range(len(golden)) if i not in taken]},
            "first": first, "fault": first and mine[first["mine"]].op}


if __name__ == "__main__":
    sys.exit(main())
