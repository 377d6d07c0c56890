import assert from "node:assert/strict";
import test from "node:test";
import { isFault, parseExpression } from "../src/data/expression.ts";
import { filterRows, globToRegExp, sortRows, type Wish } from "../src/data/filter.ts";
import { sample } from "./sample.ts";

const ALL: Wish = { text: "", levels: [], section: undefined, dtype: "", port: "" };

function holds(text: string, values: Record<string, number>): boolean | undefined {
  const expression = parseExpression(text);
  assert.ok(!isFault(expression), text);
  return expression.holds((name) => values[name]);
}

test("the rule language", () => {
  assert.equal(holds("rel_l2 > 1e-3", { rel_l2: 0.01 }), true);
  assert.equal(holds("rel_l2 > 1e-3 and max_abs < 1", { rel_l2: 0.01, max_abs: 2 }), false);
  assert.equal(holds("a < 1 or b < 1 and c < 1", { a: 0, b: 2, c: 2 }), true);
  assert.equal(holds("not (a < 1)", { a: 2 }), true);
  assert.equal(holds("(a + 1) * 2 == 6", { a: 2 }), true);
  assert.equal(holds("((a < 1))", { a: 0 }), true);
  assert.equal(holds("(a) < 1", { a: 0 }), true);
  assert.equal(holds("-a <= -.5", { a: 1 }), true);
  assert.equal(holds("max(abs(a), b) >= 3", { a: -3, b: 1 }), true);
  assert.equal(holds("min(log10(a), sqrt(a)) == 2", { a: 100 }), true);
  assert.equal(holds("a - b - c == 0", { a: 3, b: 2, c: 1 }), true);
});

test("what depends on a missing number is unknown", () => {
  assert.equal(holds("rel_l2 > 1", {}), undefined);
  assert.equal(holds("not (rel_l2 > 1)", {}), undefined);
  assert.equal(holds("rel_l2 > 1 or a == 1", { a: 1 }), true);
  assert.equal(holds("rel_l2 > 1 and a == 2", { a: 1 }), false);
  assert.equal(holds("a < 1", { a: NaN }), undefined);
  assert.equal(holds("a == nan", { a: NaN }), true);
});

test("mistakes are told with their place", () => {
  for (const text of ["max_abs <=", "a < b < c", "(a < 1", "a ! 1", "and", "a", "f(1) < 2", "1 + < 2"]) {
    const found = parseExpression(text);
    assert.ok(isFault(found), text);
    assert.ok(found.at >= 0 && found.at <= text.length);
  }
  assert.ok(isFault(parseExpression(`${"(".repeat(5000)}a < 1`)));
});

test("shell patterns", () => {
  assert.ok(globToRegExp("*mlp*").test("layers.2.mlp.up"));
  assert.ok(!globToRegExp("mlp").test("layers.2.mlp"));
  assert.ok(globToRegExp("layers.[0-2].*").test("layers.1.x"));
  assert.ok(!globToRegExp("layers.[!0-2].*").test("layers.1.x"));
  assert.ok(globToRegExp("a.b").test("a.b") && !globToRegExp("a.b").test("axb"));
  assert.ok(!globToRegExp("[z-a]").test("z")); // fits nothing, and breaks nothing
});

const report = sample([
  { name: "layers.0.mlp.up", rel_l2: 1e-4, max_abs: 0.1 },
  { name: "layers.1.mlp.up", rel_l2: 0.3, max_abs: 1, verdict: "fail", reason: "rel_l2 0.3 > 0.01" },
  { name: "layers.1.attention.q", rel_l2: "nan", verdict: "error", mine_dtype: "bf16" },
  { name: "head", verdict: "ignored", status: "only in mine", golden: null },
]);

const ids = (wish: Partial<Wish>): number[] => filterRows(report, { ...ALL, ...wish }).rows.map((row) => report.id(row));

test("words, patterns, verdicts, types, conditions", () => {
  assert.deepEqual(ids({}), [1, 2, 3, 4]);
  assert.deepEqual(ids({ text: "MLP" }), [1, 2]);
  assert.deepEqual(ids({ text: "mlp layers.1" }), [2]);
  assert.deepEqual(ids({ text: "*.1.*" }), [2, 3]);
  assert.deepEqual(ids({ levels: ["fail", "error"] }), [2, 3]);
  assert.deepEqual(ids({ dtype: "bf16" }), [3]);
  assert.deepEqual(ids({ text: "rel_l2 > 0.01" }), [2]);
  assert.deepEqual(ids({ text: "layer >= 1" }), [2, 3]);
  assert.deepEqual(ids({ text: "only in mine" }), [4]);
});

test("a condition that cannot be read says so", () => {
  assert.match(filterRows(report, { ...ALL, text: "rel_l2 >" }).fault!, /expected/);
  assert.match(filterRows(report, { ...ALL, text: "nonsense > 1" }).fault!, /nonsense/);
});

test("sorting: NaN is the largest, what is absent comes last either way", () => {
  const order = (down: boolean): number[] => sortRows(report, [0, 1, 2, 3], "rel_l2", down).map((row) => report.id(row));
  assert.deepEqual(order(true), [3, 2, 1, 4]);
  assert.deepEqual(order(false), [1, 2, 3, 4]);
});
