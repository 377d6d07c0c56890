import assert from "node:assert/strict";
import test from "node:test";
import { layOut } from "../src/data/multiples.ts";
import { sectionPlace } from "../src/data/names.ts";

const sections = (...names: string[]) => names.map((name) => ({ name, place: sectionPlace(name), rows: [] }));

test("ranks across, steps down", () => {
  const found = layOut(sections("rank 0 step 0", "rank 1 step 0", "rank 0 step 1", "rank 1 step 1"), 800, 150);
  assert.deepEqual([found.lines, found.columns], [2, 2]);
  assert.deepEqual(found.columnTitles, ["rank 0", "rank 1"]);
  assert.deepEqual(found.lineTitles, ["step 0", "step 1"]);
  assert.deepEqual(found.items.find((each) => each.section === 1), { section: 1, line: 0, column: 1 });
});

test("one number alone: one after another, in its order, in lines of about equal length", () => {
  const found = layOut(sections("token 9", "token 10", "token 2", "token 3", "token 4"), 700, 150);
  assert.deepEqual(found.items.map((each) => each.section), [2, 3, 4, 0, 1]);
  assert.deepEqual([found.lines, found.columns], [2, 3]);
  assert.deepEqual(found.lineTitles, []);
});

test("ranks that hardly share a step do not make a grid of holes", () => {
  const found = layOut(sections(...Array.from({ length: 6 }, (_, i) => `rank ${i} step ${i}`)), 2000, 150);
  assert.deepEqual([found.lines, found.columns], [1, 6]);
});

test("as many as there are, however narrow the place", () => {
  const found = layOut(sections(...Array.from({ length: 64 }, (_, i) => `rank ${i}`)), 100, 150);
  assert.equal(found.items.length, 64);
  assert.equal(found.columns, 1);
});
