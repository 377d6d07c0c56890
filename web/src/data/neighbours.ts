// What feeds an operator and what it feeds: from the graph where the dump has one; else an input is known again
// by its errors, which no other tensor has; else by nothing but the order in which operators ran.
import type { Report } from "./report.ts";

export type EdgeKind = "graph" | "same" | "order";

export interface Edge {
  from: number; // of Report.operators
  to: number;
  row: number; // the tensor that is handed over; -1: it has no row
  kind: EdgeKind;
}

export class Flow {
  private readonly into = new Map<number, Edge[]>();
  private readonly outOf = new Map<number, Edge[]>();
  private readonly ran: number[][]; // of each section, in order

  constructor(private readonly report: Report) {
    this.ran = report.sections.map(() => []);
    this.addGraph();
    this.addSame();
    this.addOrder();
  }

  inputs(operator: number): Edge[] {
    return this.into.get(operator) ?? [];
  }

  outputs(operator: number): Edge[] {
    return this.outOf.get(operator) ?? [];
  }

  // What ran behind an operator that nothing is known to take from: the last inside of a module, say.
  next(operator: number): Edge[] {
    const all = this.ran[this.report.operators[operator]!.section]!;
    const at = all.indexOf(operator);
    const furthest = Math.min(all.length, at + 1 + MOST_INSIDE);
    let next = at + 1;
    while (next < furthest && contains(this.report, all[next]!, operator)) ++next;
    // What has a graph says itself what it takes.
    if (next >= furthest || this.inputs(all[next]!).some((edge) => edge.kind !== "order")) return [];
    return [{ from: operator, to: all[next]!, row: -1, kind: "order" }];
  }

  private add(edge: Edge): void {
    if (edge.from === edge.to) return;
    const known = this.into.get(edge.to)?.find((each) => each.from === edge.from);
    if (known) {
      if (known.row < 0) known.row = edge.row;
      return;
    }
    push(this.into, edge.to, edge);
    push(this.outOf, edge.from, edge);
  }

  private addGraph(): void {
    const { report } = this;
    const sources = report.table.find(".sources")?.cells;
    if (!sources?.some((cell) => cell !== null)) return;
    const byNode = new Map<string, number>();
    report.operators.forEach((operator, i) => byNode.set(`${operator.section} ${operator.node}`, i));
    report.operators.forEach((operator, to) => {
      const text = operator.rows.map((row) => sources[row]).find((cell) => typeof cell === "string");
      if (!text) return;
      for (const [port, node] of JSON.parse(text as string) as number[][]) {
        const from = byNode.get(`${operator.section} ${node}`);
        if (from === undefined) continue;
        const row = operator.rows.find((each) => report.ports[each] === "input" && portNumber(report.name(each)) === port);
        this.add({ from, to, row: row ?? -1, kind: "graph" });
      }
    });
  }

  private addSame(): void {
    const { report } = this;
    const columns = ["max_abs", "rel_l2", "golden_shape"].map((title) => report.table.find(title)?.cells);
    if (!columns[0] || !columns[1]) return;
    const made = new Map<string, number>();
    report.operators.forEach((operator, index) => {
      const key = (row: number): string | undefined => {
        const error = columns[0]![row];
        if (typeof error !== "number" || error === 0 || typeof columns[1]![row] !== "number") return undefined;
        return `${operator.section} ${error} ${columns[1]![row]} ${columns[2]?.[row]}`;
      };
      for (const row of operator.rows) {
        if (report.ports[row] !== "input") continue;
        const text = key(row);
        const from = text === undefined ? undefined : made.get(text);
        if (from !== undefined && !contains(report, from, index)) this.add({ from, to: index, row, kind: "same" });
      }
      for (const row of operator.rows) {
        if (report.ports[row] !== "output") continue;
        const text = key(row);
        if (text !== undefined) made.set(text, index);
      }
    });
  }

  // What ran before it: neither what is inside of it nor what it is inside of.
  private addOrder(): void {
    this.report.operators.forEach((operator, index) => {
      const before = this.ran[operator.section]!;
      if (!this.into.has(index)) {
        let at = before.length - 1;
        const furthest = Math.max(0, before.length - MOST_INSIDE);
        while (at >= furthest && contains(this.report, before[at]!, index)) --at;
        if (at >= furthest) this.add({ from: before[at]!, to: index, row: -1, kind: "order" });
      }
      before.push(index);
    });
  }
}

const MOST_INSIDE = 2000; // operators of a module that are passed over

// One of them is inside of the other.
function contains(report: Report, one: number, other: number): boolean {
  const a = report.operators[one]!.path;
  const b = report.operators[other]!.path;
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; ++i) if (a[i] !== b[i]) return false;
  return a.length !== b.length;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

// "Add.input.1", "add-aten.add.Tensor.INPUT.1", "…/before/intensor1.bin"; -1: it has none.
export function portNumber(name: string): number {
  const match = /(\d+)(?:\.[a-z]+)?$/.exec(name);
  return match ? Number(match[1]) : -1;
}

export interface Box {
  operator: number;
  column: number; // -2 … 2; the operator itself is in column 0
  line: number;
}

export interface Neighbourhood {
  boxes: Box[];
  edges: Edge[];
  more: { column: number; count: number }[]; // that are not drawn
  kinds: EdgeKind[]; // by which its edges are known, the surest first
}

const MOST_IN_COLUMN = 5;

export function neighbourhood(report: Report, flow: Flow, centre: number): Neighbourhood {
  const columnOf = new Map<number, number>([[centre, 0]]);
  const more: { column: number; count: number }[] = [];
  const behind = flow.outputs(centre).length > 0 ? [] : flow.next(centre);
  for (const direction of [-1, 1]) {
    let border = [centre];
    for (let distance = 1; distance <= 2; ++distance) {
      const found: number[] = [];
      for (const each of border)
        for (const edge of direction < 0 ? flow.inputs(each) : each === centre && behind.length > 0 ? behind : flow.outputs(each)) {
          const next = direction < 0 ? edge.from : edge.to;
          if (!columnOf.has(next) && !found.includes(next)) found.push(next);
        }
      // The worst first, since these are what one looks for.
      found.sort((a, b) => report.operators[b]!.worst - report.operators[a]!.worst || a - b);
      border = found.slice(0, MOST_IN_COLUMN).sort((a, b) => a - b);
      if (found.length > MOST_IN_COLUMN) more.push({ column: direction * distance, count: found.length - MOST_IN_COLUMN });
      for (const each of border) columnOf.set(each, direction * distance);
    }
  }
  const edges = [...behind];
  for (const operator of columnOf.keys())
    for (const edge of flow.inputs(operator)) if (columnOf.has(edge.from) && columnOf.get(edge.from)! < columnOf.get(operator)!) edges.push(edge);
  const boxes: Box[] = [];
  for (let column = -2; column <= 2; ++column) {
    const inside = [...columnOf].filter(([, each]) => each === column).map(([operator]) => operator);
    const height = (operator: number): number => {
      const lines = edges
        .flatMap((edge) => (edge.to === operator ? [edge.from] : edge.from === operator ? [edge.to] : []))
        .map((other) => boxes.find((box) => box.operator === other)?.line)
        .filter((line) => line !== undefined);
      return lines.length > 0 ? lines.reduce((sum, line) => sum + line, 0) / lines.length : Infinity;
    };
    const ordered = inside.map((operator, i) => ({ operator, i, height: height(operator) })).sort((a, b) => (a.height === b.height ? a.i - b.i : a.height < b.height ? -1 : 1));
    ordered.forEach(({ operator }, i) => boxes.push({ operator, column, line: i - (ordered.length - 1) / 2 }));
  }
  const kinds = (["graph", "same", "order"] as const).filter((kind) => edges.some((edge) => edge.kind === kind));
  return { boxes, edges, more, kinds };
}
