// Where an operator stands in its model, as far as its name tells: its path, its layer, and what it is there.

export interface NamePlace {
  path: string[]; // from the model down to the operator
  layer: number; // -1: none
  role: string; // the same in every layer: "mlp.activation"
}

const FILE_SUFFIX = /\.(npy|npz|pt|pth|bin|safetensors)$/;
const NUMBER = /^\d+$/;
const DIRECTIONS = new Set(["forward", "backward", "parameters_grad"]);
const MSPROBE_PREFIX = new Set(["Module", "Cell"]);
const API_PREFIX = new Set(["Functional", "Torch", "Tensor", "Mint", "MintFunctional", "Jit", "Primitive", "NPU", "Aten", "VF", "Distributed"]);

// "Module.layers.0.fc.Linear.forward.0" and "Functional.linear.3.forward"; undefined: another kind of name.
function ofMsprobe(parts: string[]): { path: string[]; kind: string } | undefined {
  const direction = parts.findIndex((part) => DIRECTIONS.has(part));
  if (direction < 1) return undefined;
  const kind = parts[direction]!;
  const call = parts.slice(direction + 1).join(".");
  if (MSPROBE_PREFIX.has(parts[0]!)) {
    // Behind the path stands the class.
    const path = parts.slice(1, Math.max(2, direction - 1));
    return { path: kind === "forward" && (call === "0" || call === "") ? path : [...path, call ? `${kind}.${call}` : kind], kind };
  }
  if (API_PREFIX.has(parts[0]!)) return { path: [parts.slice(0, direction - 1).join("."), parts.slice(direction - 1).join(".")], kind };
  return undefined;
}

const DEEPEST = 24; // a name may have any number of parts

export function splitName(name: string): string[] {
  const parts = partsOf(name);
  return parts.length <= DEEPEST ? parts : [...parts.slice(0, DEEPEST - 1), parts.slice(DEEPEST - 1).join(".")];
}

// Which file holds a tensor says nothing of its place: "model-00001-of-3.safetensors:model.layers.0.q.weight".
const IN_FILE = /^.*?\.(?:npz|pt|pth|bin|safetensors|ckpt):(?=.)/;

function partsOf(given: string): string[] {
  const name = given.replace(IN_FILE, "");
  const isPath = name.includes("/");
  let text = name.replace(FILE_SUFFIX, "");
  if (isPath) return text.split("/").filter((part) => part.length > 0);
  // The running number of a file; "0_WordEmbedding" is an operator of ATB.
  if (text !== name || text.includes(".")) text = text.replace(/^\d+[_-](?=[^\d])/, "");
  const parts = text.split(".");
  return ofMsprobe(parts)?.path ?? parts;
}

// All names of a report together: a part such as "3_DecoderLayer" is a layer only where there are several of them.
export function placesOf(names: string[]): NamePlace[] {
  const paths = names.map(splitName);
  const layersOfType = countedLayers(paths);
  return paths.map((path) => {
    for (let i = 0; i < path.length; ++i) {
      const part = path[i]!;
      if (NUMBER.test(part) && i > 0 && !NUMBER.test(path[i - 1]!) && i + 1 <= path.length && isContainer(path[i - 1]!))
        return { path, layer: Number(part), role: path.slice(i + 1).join(".") || path[i - 1]! };
      const layer = layersOfType.get(path.slice(0, i + 1).join("/"));
      if (layer !== undefined) return { path, layer, role: path.slice(i + 1).join("/") || "output" };
    }
    return { path, layer: -1, role: path.join(path.length > 1 && path[0]!.includes("_") ? "/" : ".") };
  });
}

const CONTAINERS = new Set(["layers", "layer", "h", "blocks", "block", "encoder", "decoder", "resblocks", "transformer_blocks", "stages"]);
function isContainer(word: string): boolean {
  return CONTAINERS.has(word) || /layers?$|blocks?$/i.test(word);
}

// "1_Bloom7bCommonLayer", "5_Bloom7bCommonLayer" … by the folder they stand in.
function countedLayers(paths: string[][]): Map<string, number> {
  const groups = new Map<string, Map<string, number>>(); // parent/type -> path -> number
  for (const path of paths)
    for (let i = 0; i < path.length; ++i) {
      const match = /^(\d+)_(\w*(?:layer|block)\w*)$/i.exec(path[i]!);
      if (!match || /norm/i.test(match[2]!)) continue;
      const full = path.slice(0, i + 1).join("/");
      const key = `${path.slice(0, i).join("/")}/`;
      let group = groups.get(key);
      if (!group) groups.set(key, (group = new Map()));
      group.set(full, Number(match[1]));
      break;
    }
  const layers = new Map<string, number>();
  for (const group of groups.values()) {
    if (group.size < 2) continue;
    const ordered = [...group].sort((a, b) => a[1] - b[1]);
    ordered.forEach(([full], index) => layers.set(full, index));
  }
  return layers;
}

// Of the name of a tensor what its operator does not say already: "input.0", "before/intensor1".
export function ownPart(name: string, operator: string): string {
  const text = name.replace(FILE_SUFFIX, "");
  if (text.startsWith(operator) && /^[./]./.test(text.slice(operator.length))) return text.slice(operator.length + 1);
  return /.*\b((?:input|output|parameters?|kwargs|INPUT|OUTPUT)\b[\w.]*|(?:intensor|outtensor)\d[\w.]*)$/.exec(text)?.[1] ?? name;
}

// "Functional.linear.3.forward" -> "Functional.linear.forward"
export function kindOf(name: string): string {
  return name
    .replace(/\.(npy|npz|pt|pth|bin|safetensors)$/, "")
    .replace(/^\d+_/, "")
    .split("/")
    .map((part) => part.replace(/^\d+_/, ""))
    .join("/")
    .split(".")
    .filter((part) => !/^\d+$/.test(part))
    .join(".")
    .replace(/_\d+$/, "");
}

export interface SectionPlace {
  rank: number;
  step: number;
  token: number;
  graph: number;
}

export function sectionPlace(section: string): SectionPlace {
  const find = (word: string): number => {
    const match = new RegExp(`(?:^| )${word} (\\d+)`).exec(section);
    return match ? Number(match[1]) : -1;
  };
  return { rank: find("rank"), step: find("step"), token: find("token"), graph: find("graph") };
}
