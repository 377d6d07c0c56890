// The hierarchy of operators, with what is worst below each.
import type { Report } from "./report.ts";

export interface Branch {
  key: string; // its path, which no other has
  label: string;
  depth: number;
  children: Branch[];
  operator: number; // of Report.operators; -1: a group
  row: number; // a tensor; -1: none
  worst: number; // level
  error: number; // the largest below; -1: none
  rows: number;
  failed: number;
  firstFailed: number; // row; -1: none
  alone: "" | "mine" | "golden"; // everything below is on this side only
}

function branch(key: string, label: string, depth: number): Branch {
  return { key, label, depth, children: [], operator: -1, row: -1, worst: 0, error: -1, rows: 0, failed: 0, firstFailed: -1, alone: "" };
}

export function buildTree(report: Report, metric: string): Branch {
  const root = branch("", "", -1);
  const known = new Map<string, Branch>();
  const several = report.sections.length > 1;
  const below = (parent: Branch, label: string): Branch => {
    const key = `${parent.key}\u0001${label}`;
    let found = known.get(key);
    if (!found) {
      found = branch(key, label, parent.depth + 1);
      known.set(key, found);
      parent.children.push(found);
    }
    return found;
  };
  report.operators.forEach((operator, index) => {
    const chain = [root];
    let at = root;
    if (several) chain.push((at = below(at, report.sections[operator.section]!.name || "–")));
    const path = operator.path.length > 0 ? operator.path : [operator.name];
    for (const part of path) chain.push((at = below(at, part)));
    // Two calls of one module.
    if (at.operator >= 0) chain.push((at = below(at, operator.name)));
    at.operator = index;
    for (const row of operator.rows) {
      const error = report.error(metric, row) ?? -1;
      const level = report.levels[row]!;
      const side = report.aloneOf(row);
      const leaf = below(at, report.name(row));
      if (leaf.row < 0) leaf.row = row;
      for (const each of [...chain, leaf]) {
        each.alone = each.rows === 0 || each.alone === side ? side : "";
        each.rows += 1;
        each.worst = Math.max(each.worst, level);
        each.error = Math.max(each.error, error);
        if (level >= 2) {
          each.failed += 1;
          if (each.firstFailed < 0) each.firstFailed = row;
        }
      }
    }
  });
  shorten(root);
  return root;
}

// A group that holds one group alone is told in one line with it.
function shorten(at: Branch): void {
  for (const child of at.children) {
    while (child.children.length === 1 && child.operator < 0 && child.children[0]!.row < 0) {
      const only = child.children[0]!;
      child.label = `${child.label}.${only.label}`;
      child.key = only.key;
      child.operator = only.operator;
      child.children = only.children;
    }
    setDepth(child, at.depth + 1);
    shorten(child);
  }
}

function setDepth(at: Branch, depth: number): void {
  at.depth = depth;
  for (const child of at.children) setDepth(child, depth + 1);
}

// What is shown: the branches below those that are open.
export function visible(root: Branch, open: ReadonlySet<string>): Branch[] {
  const out: Branch[] = [];
  const add = (at: Branch): void => {
    for (const child of at.children) {
      out.push(child);
      if (open.has(child.key)) add(child);
    }
  };
  add(root);
  return out;
}

// The keys of everything above a row.
export function pathTo(root: Branch, row: number): string[] {
  const find = (at: Branch): string[] | undefined => {
    if (at.row === row) return [];
    for (const child of at.children) {
      const rest = find(child);
      if (rest) return [child.key, ...rest];
    }
    return undefined;
  };
  return find(root) ?? [];
}
