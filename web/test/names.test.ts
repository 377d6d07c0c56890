import assert from "node:assert/strict";
import test from "node:test";
import { ownPart, placesOf, sectionPlace, splitName } from "../src/data/names.ts";

const one = (name: string) => placesOf([name])[0]!;

test("a file of a folder: running number and suffix tell nothing", () => {
  assert.deepEqual(splitName("048_layers.2.mlp.activation.pt"), ["layers", "2", "mlp", "activation"]);
  assert.deepEqual(one("048_layers.2.mlp.activation.pt"), { path: ["layers", "2", "mlp", "activation"], layer: 2, role: "mlp.activation" });
  assert.equal(one("000_embedding.npy").layer, -1);
});

test("modules of msprobe: the class is no part of the path", () => {
  assert.deepEqual(splitName("Module.model.layers.3.self_attn.q_proj.Linear.forward.0"), ["model", "layers", "3", "self_attn", "q_proj"]);
  const place = one("Module.model.layers.3.self_attn.q_proj.Linear.forward.0");
  assert.equal(place.layer, 3);
  assert.equal(place.role, "self_attn.q_proj");
});

test("another call, or another direction, of a module is another operator", () => {
  assert.notDeepEqual(splitName("Module.fc.Linear.forward.0"), splitName("Module.fc.Linear.forward.1"));
  assert.notDeepEqual(splitName("Module.fc.Linear.forward.0"), splitName("Module.fc.Linear.backward.0"));
});

test("functions of msprobe stand by their kind", () => {
  assert.deepEqual(splitName("Functional.linear.12.forward"), ["Functional.linear", "12.forward"]);
  assert.equal(one("Functional.linear.12.forward").layer, -1);
});

test("blocks of ATB are layers where there are several of a folder", () => {
  const names = ["0_WordEmbedding", "1_BloomLayer/0_LayerNormOperation", "2_BloomLayer/0_LayerNormOperation", "2_BloomLayer"];
  const places = placesOf(names);
  assert.deepEqual(places.map((place) => place.layer), [-1, 0, 1, 1]);
  assert.equal(places[1]!.role, "0_LayerNormOperation");
  assert.equal(places[3]!.role, "output");
  assert.equal(placesOf(["1_OneLayer/0_Linear"])[0]!.layer, -1);
});

test("names of any depth stay shallow", () => {
  assert.ok(splitName("a.".repeat(100_000) + "b").length <= 24);
});

test("ranks, steps and tokens of a section", () => {
  assert.deepEqual(sectionPlace("rank 3 step 1"), { rank: 3, step: 1, token: -1, graph: -1 });
  assert.deepEqual(sectionPlace(""), { rank: -1, step: -1, token: -1, graph: -1 });
});

test("a tensor by what its operator does not say", () => {
  assert.equal(ownPart("Module.layers.3.input_layernorm.RMSNorm.forward.0.input.0", "Module.layers.3.input_layernorm.RMSNorm.forward.0"), "input.0");
  assert.equal(ownPart("0_Layer/1_Linear/after/outtensor0.bin", "0_Layer/1_Linear"), "after/outtensor0");
  assert.equal(ownPart("input_layernorm-aten.mul.Tensor.INPUT.1", "Mul"), "INPUT.1");
  assert.equal(ownPart("input_layernorm.weight", "input_layernorm.weight"), "input_layernorm.weight");
});
