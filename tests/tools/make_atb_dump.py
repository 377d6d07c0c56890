#!/usr/bin/python3
"""Write a matched pair of dumps of one synthetic decoder, golden/ and mine/, and truth.json, which says what belongs together.

    make_atb_dump.py --out pair                                   # golden: PyTorch hooks in fp32, mine: ATB in fp16
    make_atb_dump.py --out pair --layers 12 --two-models --tokens 3
    make_atb_dump.py --out pair --ranks 2 --dtype bf16            # mine: tensor parallel
    make_atb_dump.py --out pair --quant --fault model.layers.1.mlp.down_proj:1.5
    make_atb_dump.py --out pair --atb-twin --msprobe-layout       # golden: another version of the ATB graph, in fp32
    make_atb_dump.py --out pair --ranks 4 --golden-ranks 2 --kv-heads 4   # both tensor parallel

Both sides are computed for real from the same weights; mine rounds every output to --dtype. The same flags and seed give the
same bytes. Every pair of truth.json: "mine" lists the file of each rank, "golden" the files that lie side by side along the
last dimension; "mine_axis" -1 means that the ranks are to be joined there, null that all hold the same; "repeat" that mine
has golden's rows so many times; "weights" lists pairs of weights, whose files of golden lie below each other; "rows" which rows of golden are meant; "tainted" that the value comes after the fault.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import sys

import torch

from atb_decoder import AtbPass, Ranges, Settings, make_weights, module_tree, parameter_name, torch_files, torch_pass, \
    torch_weights
from atb_dump_writers import AtbWriter, Fault, Place, TorchWriter, torch_rank

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
GOLDEN_PID, MINE_PID = 3100, 4200
LATER_START = 5  # where the numbers of a renumbered twin begin
ONE_MODEL, TWO_MODELS = ["LlamaModel"], ["LlamaModel_Prefill", "LlamaModel_Decoder"]
PLAIN_TYPES = {"LinearQuantOperation": "LinearOperation"}


def write_torch(out: pathlib.Path, s: Settings, weights: dict, args) -> tuple[pathlib.Path, list[torch.Tensor]]:
    """Returns the folder and the input of each token: the prompt, then what the model says itself."""
    root = out / "golden" / "msit_dump_20250101_115900"
    writer = TorchWriter(root, GOLDEN_PID, module_tree(s), args.statistics, not args.outputs_only, args.golden_ranks)
    if args.torch_weights:
        writer.write_weights({parameter_name(key): weight for key, weight in weights.items()})
    return root, run_torch(s, weights, writer)


def run_torch(s: Settings, weights: dict, writer: TorchWriter | None) -> list[torch.Tensor]:
    inputs = [torch.randint(s.vocab, (s.requests, s.prompt), generator=torch.Generator().manual_seed(s.seed + 1))]
    cache: dict = {}
    for token in range(s.tokens):
        if writer:
            writer.token = token
        logits = torch_pass(s, weights, inputs[-1], cache, writer.record if writer else lambda *_: None)
        inputs.append(logits[:, -1:].argmax(-1))
    return inputs[:-1]


def calibrate(s: Settings, weights: dict, inputs: list[torch.Tensor], seen: int) -> Ranges | None:
    """A calibration that has `seen` of the tokens: what later ones have beyond its ranges is cut off."""
    if not s.quant:
        return None
    ranges = Ranges()
    model = AtbPass(s._replace(quant=False), weights, ranges)
    past = 0
    for ids in inputs[:seen]:
        model.run(ids, past, "Prefill_layer", False)
        past += ids.shape[1]
    return ranges


def run_atb(writer: AtbWriter, s: Settings, weights: dict, inputs: list[torch.Tensor], two_models: bool, start: int,
            transdata: bool, ranges: Ranges | None = None) -> list[dict]:
    """Writes all rounds; returns which folder has which token."""
    names = TWO_MODELS if two_models else ONE_MODEL
    if two_models:
        writer.begin(0, None, start)
        AtbPass(s, weights, writer, ranges).run(torch.ones_like(inputs[0]), 0, "Prefill_layer", False)
        writer.end()
    model = AtbPass(s, weights, writer, ranges)
    past = 0
    folders = []
    second = start
    for token, ids in enumerate(inputs):
        decode = two_models and token > 0
        folder = max(token, 1) if two_models else token
        writer.begin(folder, token, second if decode else start)
        model.run(ids, past, "Decoder_layer" if decode else "Prefill_layer", decode)
        writer.end()
        past += ids.shape[1]
        folders.append({"token": token, "folder": str(folder)})
        if token == 0:
            second = start + len(writer.top)
        if token == 0 or (token == 1 and two_models):
            writer.write_topology(names[token], transdata)
    return folders


def with_wrong(weights: dict, wrong: str | None) -> dict:
    name, _, factor = (wrong or "").rpartition(":")
    return weights | {name: weights[name] * float(factor)} if wrong else weights


def describe(place: Place, s: Settings, root: str) -> dict:
    entry = {"token": place.token, "op": place.node.name, "op_type": place.node.op_type, "key": place.value.key,
             "mine": [f"{root}/{file}" for file in place.files],
             "mine_axis": -1 if place.value.sharded and s.ranks > 1 else None, "tainted": place.value.tainted}
    if s.batch > 1:
        entry["repeat"] = s.batch
    if place.value.quant_inputs and place.side == "after":
        for word, index in zip(("scale", "offset"), place.value.quant_inputs):
            entry[word] = [f"{root}/{file}".replace(f"after/outtensor{place.index}", f"before/intensor{index}")
                           for file in place.files]
    return entry


def pairs_with_torch(places: list[Place], s: Settings, mine: str, golden: str, suffix: str, starts: list[int],
                     inputs: bool, golden_ranks: int) -> list[dict]:
    device = torch_rank(GOLDEN_PID, 0, golden_ranks)
    pairs = []
    for place in places:
        # As many ranks on both sides are compared one by one, as one rank is.
        found = torch_files(place.value.key, place.node.op_type, place.layer, 1 if golden_ranks > 1 else s.ranks)
        if found is None or (place.value.is_quantised and place.side == "before"):
            continue
        if not inputs and any("/input" in file for file in found.files):
            continue
        entry = describe(place, s, mine)
        entry["golden"] = [f"{golden}/torch_tensors/{device}/{place.token}/" +
                           (file.rpartition("/")[0] + "/statistics.csv" if suffix == "csv" else f"{file}.pth")
                           for file in found.files]
        if found.rows:
            entry["rows"] = starts[place.token:place.token + 2]
            entry["repeat"] = s.batch * s.requests
        pairs.append(entry)
    return pairs


def weights_in_torch(places: list[Place], mine: str, golden: str, golden_ranks: int) -> list[dict]:
    """Of the first token, where they are looked for."""
    device = torch_rank(GOLDEN_PID, 0, golden_ranks)
    pairs = []
    for place in places:
        names = torch_weights(place.value.weight) if place.token == 0 else None
        if names:
            pairs.append({"token": 0, "name": place.value.weight, "mine": [f"{mine}/{file}" for file in place.files], "golden": [
                f"{golden}/torch_tensors/{device}/weights/root.{name}.pth" for name in names]})
    return pairs


def weights_in_twin(places: list[Place], twin: list[Place], mine: str, golden: str) -> list[dict]:
    waiting: dict[tuple, list[Place]] = {}
    for place in twin:
        waiting.setdefault((place.token, place.value.weight), []).append(place)
    return [{"token": place.token, "name": place.value.weight, "mine": [f"{mine}/{file}" for file in place.files],
             "golden": [f"{golden}/{waiting[place.token, place.value.weight].pop(0).files[0]}"]}
            for place in places if waiting.get((place.token, place.value.weight))]


def pairs_with_twin(places: list[Place], twin: list[Place], s: Settings, mine: str, golden: str) -> list[dict]:
    def identity(place: Place) -> tuple:
        kind = PLAIN_TYPES.get(place.node.op_type, place.node.op_type)
        group = place.node.param is None
        return place.token, place.value.key, kind, place.side, group, place.value.is_quantised
    waiting: dict[tuple, list[Place]] = {}
    for place in twin:
        waiting.setdefault(identity(place), []).append(place)
    pairs = []
    for place in places:
        same = waiting.get(identity(place))
        if same:
            entry = describe(place, s, mine)
            other = same.pop(0)
            entry |= {"golden": [f"{golden}/{other.files[0]}"], "golden_op": other.node.name}
            pairs.append(entry)
    return pairs


def arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="new folder")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=2, help="a prompt and so many less one that follow")
    parser.add_argument("--prompt", type=int, default=6, help="length of the prompt")
    parser.add_argument("--requests", type=int, default=1, help="prompts at a time, on both sides")
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--inner", type=int, default=48)
    parser.add_argument("--vocab", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", choices=DTYPES, default="fp16", help="of mine")
    parser.add_argument("--golden-dtype", choices=DTYPES, default="fp32", help="of an ATB twin; PyTorch is fp32")
    parser.add_argument("--ranks", type=int, default=1, help="tensor parallel ranks of mine")
    parser.add_argument("--golden-ranks", type=int, default=1, help="tensor parallel ranks of golden")
    parser.add_argument("--batch", type=int, default=1, help="mine has the same request so many times")
    parser.add_argument("--two-models", action="store_true", help="prefill and decode graphs, a warm-up in folder 0")
    parser.add_argument("--quant", action="store_true", help="mine multiplies in int8")
    parser.add_argument("--calibrated", type=int, metavar="N",
                        help="with --quant: the calibration saw the first N tokens only, not all of them; others may be clipped")
    parser.add_argument("--stated-scales", action="store_true",
                        help="with --quant: the scale and offset of activations are parameters of the operation, no tensors")
    parser.add_argument("--columns-out", action="store_true", help="mine holds the weights of projections as [in, out]")
    parser.add_argument("--torch-weights", action="store_true", help="the dump of PyTorch holds the weights as well")
    parser.add_argument("--norms", choices=("inside", "outside"), default="inside", help="of the Attention and Mlp groups")
    parser.add_argument("--statistics", action="store_true", help="statistics instead of data, on both sides")
    parser.add_argument("--msprobe-layout", action="store_true", help="atb_dump_data and statistic.csv instead of msit_dump")
    parser.add_argument("--atb-twin", nargs="?", choices=("renumbered", "transdata", "same"), const="renumbered",
                        help="golden is an ATB dump: with other numbers and an operation more (the default), with a conversion in "
                        "front, or with the same graph")
    parser.add_argument("--fault", type=Fault, metavar="NODE:FACTOR",
                        help="an output of mine that is wrong by a factor, named by opName, folder, or module as in "
                        "model.layers.0.mlp.up_proj:1.5")
    parser.add_argument("--wrong-weight", metavar="NAME:FACTOR",
                        help="a weight of mine that is wrong by a factor, in all that is computed from it: norm:1.2, lm_head:1.2, "
                        "1.post_attention_layernorm:1.2")
    parser.add_argument("--no-weights", action="store_true", help="leave out the weights among the inputs of operations")
    parser.add_argument("--outputs-only", action="store_true", help="leave out the inputs")
    args = parser.parse_args(words)
    for name, value in (("heads", args.heads), ("kv-heads", args.kv_heads), ("inner", args.inner), ("vocab", args.vocab)):
        for flag, ranks in (("--ranks", args.ranks), ("--golden-ranks", args.golden_ranks)):
            if value % ranks:
                parser.error(f"--{name} {value} is no multiple of {flag} {ranks}")
    if args.quant and args.columns_out:
        parser.error("--columns-out does not go with --quant")
    if args.stated_scales and args.ranks > 1:
        parser.error("--stated-scales goes with one rank: the topology is the same for all")
    if args.hidden % (2 * args.heads) or args.heads % args.kv_heads:
        parser.error("--hidden must be a multiple of twice --heads, and --heads of --kv-heads")
    if args.out.exists():
        parser.error(f"--out {args.out} exists")
    return args


def main(words: list[str] | None = None) -> int:
    args = arguments(words)
    s = Settings(args.layers, args.tokens, args.prompt, args.hidden, args.heads, args.kv_heads, args.inner, args.vocab,
                 args.seed, args.requests, args.ranks, args.batch, DTYPES[args.dtype], args.quant, args.norms,
                 args.columns_out, args.stated_scales)
    weights = make_weights(s)
    folder = "atb_dump_data" if args.msprobe_layout else "msit_dump_20250101_120000"
    options = (args.msprobe_layout, args.statistics, not args.no_weights, not args.outputs_only)
    mine = AtbWriter(args.out / "mine" / folder, s, MINE_PID, *options, fault=args.fault)
    truth: dict = {}
    if args.atb_twin:
        twin = s._replace(ranks=args.golden_ranks, batch=1, quant=False, columns_out=False, dtype=DTYPES[args.golden_dtype],
                          extra_cast=args.atb_twin == "renumbered")
        root = args.out / "golden" / ("atb_dump_data" if args.msprobe_layout else "ait_dump")
        golden = AtbWriter(root, twin, GOLDEN_PID, *options, shift=int(args.atb_twin == "transdata"))
        inputs = run_torch(s, weights, None)
        truth["golden_tokens"] = run_atb(golden, twin, weights, inputs, args.two_models,
                                         LATER_START if args.atb_twin == "renumbered" else 0, args.atb_twin == "transdata")
    else:
        root, inputs = write_torch(args.out, s, weights, args)
    truth["mine_tokens"] = run_atb(mine, s, with_wrong(weights, args.wrong_weight), inputs, args.two_models, 0, False,
                                   calibrate(s, weights, inputs, args.calibrated or len(inputs)))
    if args.fault and not args.fault.hits:
        sys.exit(f"--fault {args.fault.node}: no operation has that name or folder, and no output stands for that module; "
                 "without --fault, truth.json lists the operations")
    names = [str(path.relative_to(args.out)) for path in (mine.root, root)]
    if args.atb_twin:
        pairs = pairs_with_twin(mine.places, golden.places, s, *names)
        shared = weights_in_twin(mine.weight_places, golden.weight_places, *names)
    else:
        starts = [sum(x.shape[1] for x in inputs[:n]) for n in range(len(inputs) + 1)]
        pairs = pairs_with_torch(mine.places, s, *names, "csv" if args.statistics else "pth", starts, not args.outputs_only,
                                 args.golden_ranks)
        shared = weights_in_torch(mine.weight_places, *names, args.golden_ranks) if args.torch_weights else []
    fault = args.fault and {"node": args.fault.node, "factor": args.fault.factor, "folders": sorted(set(args.fault.hits))}
    truth |= {"mine": names[0], "golden": names[1], "fault": fault, "pairs": pairs, "weights": shared}
    (args.out / "truth.json").write_text(json.dumps(truth, indent=1))
    print(f"{args.out}: {len(pairs)} pairs of tensors belong together")
    return 0


if __name__ == "__main__":
    sys.exit(main())
