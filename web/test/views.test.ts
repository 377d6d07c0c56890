import assert from "node:assert/strict";
import test from "node:test";
import { commandFor, coverOf, csvCell, csvOf, shellWords } from "../src/data/export.ts";
import { heatScale, modelGrid, sectionGrid } from "../src/data/grid.ts";
import { kindOf } from "../src/data/names.ts";
import { globToRegExp } from "../src/data/filter.ts";
import { Flow, neighbourhood, portNumber } from "../src/data/neighbours.ts";
import { boundOf } from "../src/data/report.ts";
import { heat, laneOf, logScale, shortNumber } from "../src/data/scale.ts";
import { buildTree, pathTo, visible } from "../src/data/tree.ts";
import { bandsOf, courseData, initials } from "../src/ui/course_data.ts";
import { emptyView, fromHash, toHash } from "../src/ui/store.ts";
import { TEXTS } from "../src/ui/text.ts";
import { sample, type Line } from "./sample.ts";

const layers: Line[] = [];
for (let layer = 0; layer < 3; ++layer)
  for (const part of ["q", "mlp.up"]) layers.push({ name: `layers.${layer}.${part}`, rel_l2: layer === 2 ? 0.5 : 1e-4 * (layer + 1), max_abs: 0.1 * layers.length, verdict: layer === 2 ? "fail" : "pass", reason: layer === 2 ? "rel_l2 0.5 > 0.01; max_abs 3 > 1" : null });
const model = sample([{ name: "embedding", rel_l2: 0 }, ...layers], { divergence: { section: null, name: "layers.2.q", mine: "layers.2.q", golden: "layers.2.q" } });

test("the first divergence is found again as a row", () => {
  assert.equal(model.firstDivergence, 5);
});

test("a tree rolls up what is worst", () => {
  const root = buildTree(model, "rel_l2");
  assert.deepEqual(root.children.map((child) => child.label), ["embedding", "layers"]);
  const all = root.children[1]!;
  assert.equal(all.failed, 2);
  assert.equal(all.worst, 2);
  assert.equal(all.error, 0.5);
  assert.equal(all.firstFailed, 5);
  assert.equal(all.rows, 6);
  assert.equal(visible(root, new Set()).length, 2);
  const open = new Set(pathTo(root, 5).slice(0, -1));
  assert.ok(visible(root, open).some((branch) => branch.row === 5));
});

test("layers down, roles across, what stands outside of layers in a line and columns of its own", () => {
  const grid = modelGrid(model, "rel_l2", undefined, "outside");
  assert.equal(grid.kind, "layers");
  assert.deepEqual(grid.lines, ["0", "1", "2", "outside"]);
  assert.deepEqual(grid.columns, ["q", "mlp.up", "embedding"]);
  assert.equal(grid.cells.get(2 * 3)!.error, 0.5);
  assert.equal(grid.cells.get(2 * 3)!.level, 2);
  assert.equal(grid.cells.get(3 * 3 + 2)!.row, 0);
});

test("more roles than there is room for share the last column", () => {
  const many = sample(Array.from({ length: 400 }, (_, i) => ({ name: `layers.${i % 2}.part${Math.floor(i / 2)}`, rel_l2: i })));
  const grid = modelGrid(many, "rel_l2", undefined, "outside");
  assert.equal(grid.columns.length, 160);
  assert.equal(grid.columns[159], "… 41");
  assert.equal(grid.cells.get(2 * 160 - 1)!.error, 399);
});

test("a row that fails by its NaN stands at the top", () => {
  const report = sample([{ name: "a", rel_l2: 1e-6, nonfinite_mismatch: 3, verdict: "fail" }, { name: "b", rel_l2: 1e-6, nonfinite_mismatch: 0 }, { name: "c", rel_l2: 1e-6, nonfinite_mismatch: 3 }]);
  assert.deepEqual([0, 1, 2].map((row) => report.error("rel_l2", row)), [Infinity, 1e-6, 1e-6]);
});

test("what has no elements has no error", () => {
  const report = sample([{ name: "a", nonfinite_mismatch: 0, equal: 0, compared_by: "no elements", verdict: "ignored" }]);
  assert.equal(report.error("nonfinite_mismatch", 0), undefined);
});

test("statistics: what norms may be apart, and a difference from nothing", () => {
  const statistics = { compared_by: "statistics", ".bound": 0.01 };
  const report = sample([
    { name: "a", norm_diff_pct: 3, golden_norm: 2, mine_norm: 2.06, ...statistics },
    { name: "b", norm_diff_pct: null, golden_norm: 0, mine_norm: 0.5, ...statistics },
    { name: "c", norm_diff_pct: null, golden_norm: 0, mine_norm: 0, ...statistics },
    { name: "d", rel_l2: 0.1, ".bound": 0.02, compared_by: "elements" },
  ]);
  assert.deepEqual([0, 1, 2, 3].map((row) => report.error("norm_diff_pct", row)), [3, Infinity, undefined, undefined]);
  assert.deepEqual([0, 3].map((row) => report.stated("norm_diff_pct", row)), [1, undefined]);
  assert.deepEqual([0, 3].map((row) => report.stated("rel_l2", row)), [undefined, 0.02]);
});

test("what is beyond its bound is hot, and what is allowed is not", () => {
  const report = sample([{ name: "a", rel_l2: 0, ".bound": 0.032 }, { name: "b", rel_l2: 1, ".bound": 0.032, verdict: "fail" }, { name: "c", rel_l2: 1.4, ".bound": 0.032, verdict: "fail" }]);
  const scale = heatScale(report, "rel_l2", [0, 1, 1.4]);
  assert.ok(heat(1, scale) > 0.6 && heat(0.032, scale) < 0.5, JSON.stringify(scale));
  const quiet = heatScale(report, "rel_l2", [1e-6, 2e-6]);
  assert.ok(heat(2e-6, quiet) < 0.3, JSON.stringify(quiet));
  assert.ok(heat(1, heatScale(report, "max_abs", [1, 1.4])) > 0.5);
});

test("thousands of layers share lines", () => {
  const many = sample(Array.from({ length: 3000 }, (_, i) => ({ name: `layers.${i}.q`, rel_l2: i })));
  const grid = modelGrid(many, "rel_l2", undefined, "outside");
  assert.ok(grid.lines.length <= 400);
  assert.equal(grid.lines[0], "0–7");
  assert.equal(grid.cells.get(0)!.error, 7);
});

test("without layers: kinds down, calls across; one side alone is marked", () => {
  const grid = modelGrid(sample([{ name: "Functional.linear.0.forward" }, { name: "Functional.linear.1.forward", status: "only in golden" }, { name: "Torch.add.0.forward" }]), "rel_l2", undefined, "");
  assert.equal(grid.kind, "calls");
  assert.deepEqual(grid.lines, ["Functional.linear.forward", "Torch.add.forward"]);
  assert.equal(grid.cells.get(1)!.alone, "golden");
  assert.equal(kindOf("1_Layer/0_LinearOperation"), "Layer/LinearOperation");
});

test("ranks and steps across, in the order of steps", () => {
  const lines = ["rank 1 step 0", "rank 0 step 1", "rank 0 step 0"].flatMap((section) => [{ section, name: "layers.0.q", rel_l2: section === "rank 0 step 1" ? 1 : 0.1 }]);
  const grid = sectionGrid(sample(lines), "rel_l2");
  assert.deepEqual(grid.columns, ["rank 0 step 0", "rank 1 step 0", "rank 0 step 1"]);
  assert.equal(grid.cells.get(2)!.error, 1);
});

test("edges from the graph, from equal errors, and from nothing but the order", () => {
  const report = sample([
    { name: "a", "mine": "a.output.0", max_abs: 0.25, rel_l2: 0.1, ".node": 0 },
    { name: "b", "mine": "b.input.0", ".port": "input", max_abs: 0.25, rel_l2: 0.1, ".node": 1 },
    { name: "b", "mine": "b.output.0", max_abs: 0.5, rel_l2: 0.2, ".node": 1 },
    { name: "c", "mine": "c.input.0", ".port": "input", ".node": 2, ".sources": [[0, 0, 0]] },
    { name: "c", "mine": "c.output.0", ".node": 2, ".sources": [[0, 0, 0]] },
    { name: "d", "mine": "d.output.0", ".node": 3 },
  ]);
  const flow = new Flow(report);
  assert.deepEqual(flow.inputs(1).map((edge) => [edge.from, edge.kind]), [[0, "same"]]);
  assert.deepEqual(flow.inputs(2), [{ from: 0, to: 2, row: 3, kind: "graph" }]);
  assert.deepEqual(flow.inputs(3).map((edge) => [edge.from, edge.kind]), [[2, "order"]]);
  const drawing = neighbourhood(report, flow, 2);
  assert.deepEqual(drawing.boxes.map((box) => [box.operator, box.column]), [[0, -1], [2, 0], [3, 1]]);
  assert.deepEqual(drawing.kinds, ["graph", "order"]);
  assert.equal(portNumber("x/before/intensor1.bin"), 1);
  assert.equal(portNumber("x.weight"), -1);
});

test("an operator by itself has neighbours of no kind", () => {
  const report = sample([{ name: "a" }]);
  assert.deepEqual(neighbourhood(report, new Flow(report), 0).kinds, []);
});

test("what is inside of an operator, or around it, did not run before it", () => {
  const names = ["layers.0.norm", "layers.0.mlp.up", "layers.0.mlp.down", "layers.0.mlp", "layers.0", "layers.1.norm"];
  const report = sample(names.map((name) => ({ name })));
  const flow = new Flow(report);
  const before = (name: string): string[] => flow.inputs(names.indexOf(name)).map((edge) => names[edge.from]!);
  assert.deepEqual(before("layers.0.mlp"), ["layers.0.norm"]);
  assert.deepEqual(before("layers.0.mlp.down"), ["layers.0.mlp.up"]);
  assert.deepEqual(before("layers.0"), []);
  assert.deepEqual(before("layers.1.norm"), ["layers.0"]);
  // Nothing takes from the last in a module: what ran behind it is shown.
  assert.deepEqual(neighbourhood(report, flow, 2).boxes.filter((box) => box.column === 1).map((box) => names[box.operator]), ["layers.1.norm"]);
});

const calls: Line[] = [];
for (let layer = 0; layer < 2; ++layer)
  for (const [call, module] of [[0, "attn.q"], [1, "attn.q"], [2, "mlp.up"]] as const)
    calls.push({ name: `Functional.linear.${layer * 3 + call}.forward`, ".within": `Module.model.layers.${layer}.${module}.Linear.forward.0`, rel_l2: layer });

test("calls stand in the modules that the dump says they ran in", () => {
  const report = sample([...calls, { name: "Functional.embedding.0.forward", ".within": "Module.model.embed.Embedding.forward.0" }, { name: "Torch.add.0.forward" }]);
  assert.deepEqual(report.operators[4]!.path, ["model", "layers", "1", "attn", "q", "Functional.linear.4.forward"]);
  assert.equal(report.operators[4]!.layer, 1);
  assert.equal(report.operators[4]!.role, "attn.q/Functional.linear.forward#2");
  const grid = modelGrid(report, "rel_l2", undefined, "outside");
  assert.deepEqual(grid.lines, ["0", "1", "outside"]);
  assert.deepEqual(grid.columns, ["attn.q/Functional.linear.forward", "attn.q/Functional.linear.forward#2", "mlp.up/Functional.linear.forward", "model.embed/Functional.embedding.forward", "Torch.add.0.forward"]);
  const root = buildTree(report, "rel_l2");
  assert.deepEqual(root.children.map((child) => child.label), ["model", "Torch.add.0.forward"]);
});

test("a checkpoint: each tensor of a file is an operator, whatever file holds it", () => {
  const lines: Line[] = [];
  for (let layer = 0; layer < 3; ++layer)
    for (const part of ["q.weight", "q.bias"]) {
      const mine = `model-0000${layer}-of-3.safetensors:model.layers.${layer}.${part}`;
      lines.push({ name: `model-0000${layer}-of-3.safetensors`, mine, golden: mine, ".port": null, ".node": layer });
    }
  lines.push({ name: "model-00002-of-3.safetensors", mine: "model-00002-of-3.safetensors:lr", golden: "model-00002-of-3.safetensors:lr", ".port": "value", ".node": 2 });
  const report = sample(lines);
  assert.equal(report.operators.length, 7);
  assert.deepEqual(report.operators[3]!.path, ["model", "layers", "1", "q", "bias"]);
  assert.equal(report.operators[3]!.layer, 1);
  const grid = modelGrid(report, "rel_l2", undefined, "outside");
  assert.deepEqual([grid.lines, grid.columns], [["0", "1", "2", "outside"], ["q.weight", "q.bias", "lr"]]);
  assert.equal(report.operators[0]!.name, "model-00000-of-3.safetensors:model.layers.0.q.weight");
});

test("layers that the graph tells: golden's own operators stand among those that ran around them", () => {
  const operators: Line[] = [];
  for (let layer = 0; layer < 2; ++layer) {
    operators.push({ name: `MatMul_${layer * 7}`, ".layers": layer, ".type": "MatMulV2" }, { name: `MatMul_${layer * 7 + 1}`, ".layers": layer, ".type": "MatMulV2" });
    operators.push({ name: `view_${layer}`, ".layers": 0, ".type": "aten.view", mine: null, status: "only in golden" });
  }
  const report = sample(operators);
  assert.deepEqual(report.operators.map((operator) => operator.layer), [0, 0, 0, 1, 1, 1]);
  const grid = modelGrid(report, "rel_l2", undefined, "outside");
  assert.deepEqual([grid.lines, grid.columns], [["0", "1"], ["MatMulV2", "MatMulV2 2", "aten.view"]]);
});

test("what one side alone has is marked in the tree and of the operator", () => {
  const report = sample([{ name: "layers.0.q" }, { name: "layers.1.q", golden: null, status: "only in mine" }, { name: "layers.2.q", mine: null, golden: "layers.2.q", status: "only in golden" }]);
  assert.deepEqual(report.operators.map((operator) => operator.alone), ["", "mine", "golden"]);
  const layers = buildTree(report, "rel_l2").children[0]!;
  assert.deepEqual([layers.alone, ...layers.children.map((child) => child.alone)], ["", "", "mine", "golden"]);
});

test("an operator that feeds hundreds has a few drawn, the worst among them", () => {
  const lines: Line[] = [{ name: "a", ".node": 0 }];
  for (let i = 1; i <= 300; ++i) lines.push({ name: `b${i}`, ".node": i, ".sources": [[0, 0, 0]], verdict: i === 250 ? "fail" : "pass" });
  const report = sample(lines);
  const drawing = neighbourhood(report, new Flow(report), 0);
  assert.ok(drawing.boxes.length <= 11);
  assert.ok(drawing.boxes.some((box) => box.operator === 250));
  assert.equal(drawing.more[0]!.count, 295);
});

test("a logarithmic scale has lanes for equality and for NaN", () => {
  const scale = logScale([1e-5, 0.3, 0, Infinity, undefined]);
  assert.deepEqual(scale, { low: -5, high: 0 });
  assert.ok(laneOf(0, scale) < -5 && laneOf(NaN, scale) > 0);
  assert.equal(laneOf(0.1, scale), -1);
  assert.equal(heat(0, scale), 0);
  assert.equal(heat(Infinity, scale), 1);
  assert.deepEqual(logScale([]), { low: -8, high: 0 });
});

test("numbers in few digits", () => {
  assert.deepEqual([0, 0.123456, 1234567, 1.5e-7, 2e10, NaN, -Infinity, undefined].map((value) => shortNumber(value)), ["0", "0.123", "1234567", "1.5e-7", "2e10", "NaN", "−∞", "–"]);
});

test("the bound that a reason names", () => {
  assert.equal(boundOf("rel_l2 0.158836 > 0.032; ulp_max 30378 > 4", "rel_l2"), 0.032);
  assert.equal(boundOf("rel_l2 0.158836 > 0.032; ulp_max 30378 > 4", "ulp_max"), 4);
  assert.equal(boundOf("rel_l2 0.05 > 0.021 (2.5 * inherited); rel_l2 0.05 > 0.032", "rel_l2"), 0.032);
  assert.equal(boundOf("shape [2] of mine", "rel_l2"), undefined);
});

test("a row that failed stands above what it is beyond", () => {
  const lines = [{ name: "a", rel_l2: 0.05, ".bound": 0.06, verdict: "fail", reason: "rel_l2 0.05 > 0.021 (2.5 * inherited); rel_l2 0.05 > 0.032" }, { name: "b", rel_l2: 0.04, ".bound": 0.06 }];
  assert.deepEqual(courseData(sample(lines), [0, 1], "rel_l2", true).bounds, [0.032, 0.06]);
});

test("the course: bands of layers, bounds, lanes", () => {
  const data = courseData(model, [0, 1, 2, 3, 4, 5, 6], "rel_l2", true);
  assert.deepEqual(data.bands.map((band) => [band.from, band.to, band.label]), [[0, 1, ""], [1, 3, "0"], [3, 5, "1"], [5, 7, "2"]]);
  assert.equal(data.bounds[5], 0.01);
  assert.equal(bandsOf(model, [0], true).length, 0);
  assert.equal(initials("rank 3 step 1"), "r3 s1");
});

test("csv as the csv report has it", () => {
  assert.equal(csvCell('a"b,c'), '"a""b,c"');
  assert.equal(csvCell("=1+1"), "'=1+1");
  assert.equal(csvCell("-inf"), "-inf");
  assert.equal(csvCell(-0.5), "-0.5");
  assert.equal(csvCell(null), "");
  const lines = csvOf(model, [0]).split("\n");
  assert.ok(lines[0]!.startsWith("section,name,mine"));
  assert.equal(lines.length, 3);
});

test("the command keeps the flags and chooses the tensors", () => {
  const report = sample([{ name: "it's [a],b" }, { name: "x1z" }, { name: "x2z" }, { name: "y" }], { command: "assay compare 'a b' c --only old --report html --rule 'rel_l2 <= 1' --output=o" });
  assert.equal(commandFor(report, [1]), "assay compare 'a b' c --rule 'rel_l2 <= 1' --only x1z");
  assert.equal(commandFor(report, [0]), "assay compare 'a b' c --rule 'rel_l2 <= 1' --only 'it'\\''s [[]a??b'");
  assert.equal(commandFor(report, [0, 1, 2, 3]), "assay compare 'a b' c --rule 'rel_l2 <= 1'");
  assert.deepEqual(shellWords("a 'b c'\\''d' e"), ["a", "b c'd", "e"]);
});

test("the command of a page that is served, or that another tool's command made", () => {
  assert.equal(commandFor(sample([{ name: "a" }, { name: "b" }], { command: "assay view x y --port 80 --no-browser" }), [0]), "assay compare x y --only a");
  assert.equal(commandFor(sample([{ name: "a" }, { name: "b" }], { command: "msprobe -f pytorch compare -i x.json" }), [0]), "assay compare a b --only a");
});

test("the command names both sides, and the sections", () => {
  const lines = ["rank 0", "rank 1", "rank 2"].flatMap((section) => [{ section, name: "p", mine: "p.npu", golden: "p.gpu" }, { section, name: "q" }]);
  const report = sample(lines);
  assert.equal(commandFor(report, [2, 4]), "assay compare a b --sections 'rank 1,rank 2' --only p.gpu,p.npu".replace("p.gpu,p.npu", "'p.*'"));
  assert.equal(commandFor(report, [0, 3]), "assay compare a b --sections 'rank 0' --only 'p.*'\nassay compare a b --sections 'rank 1' --only q");
  assert.equal(commandFor(report, [2, 3]), "assay compare a b --sections 'rank 1'");
});

test("patterns fit what is wanted and nothing else", () => {
  const all = Array.from({ length: 40 }, (_, layer) => ["q", "k", "mlp.up", "mlp.down"].map((part) => `model.layers.${layer}.${part}`)).flat();
  const fits = (patterns: string[], name: string): boolean => patterns.some((each) => globToRegExp(each).test(name));
  for (const wanted of [(name: string) => /layers\.[34]\./.test(name), (name: string) => name.endsWith(".q"), (name: string) => name.length % 3 === 0, (name: string) => name < "model.layers.2", (_: string) => false]) {
    const names = all.filter(wanted);
    const patterns = coverOf(names, all.filter((name) => !wanted(name)));
    assert.deepEqual(all.filter((name) => fits(patterns, name)), names);
  }
  assert.deepEqual(coverOf(all.filter((name) => name.endsWith(".q")), all.filter((name) => !name.endsWith(".q"))), ["*.q"]);
  assert.deepEqual(coverOf(["l.3.a", "l.3.b"], ["l.30.a", "l.2"]), ["l.3.*"]);
  assert.deepEqual(coverOf(["ab", "abc"], ["abd"]), ["ab", "abc"]);
});

test("an address keeps the view, and nonsense in it does no harm", () => {
  const view = { ...emptyView(), row: 7, text: "a&b=#c", levels: ["fail" as const], section: "", tab: "heat" as const, zoom: [3, 9] as [number, number], sort: "max:abs", down: false, strip: true, columns: ["mine", "rel_l2"] };
  assert.deepEqual(fromHash(`#${toHash(view)}`, emptyView()), view);
  const bad = fromHash("#row=-1&v=nope&tab=x&z=9-3&sort=&p=zzz&l=fr", emptyView());
  assert.deepEqual(bad, emptyView());
});

test("both languages have the same words and the same gaps in them", () => {
  for (const [key, text] of Object.entries(TEXTS.EN)) {
    const gaps = (each: string): string => (each.match(/\{\w+\}/g) ?? []).sort().join();
    assert.equal(gaps(text), gaps(TEXTS.ZH[key as keyof typeof TEXTS.ZH]), key);
  }
});
