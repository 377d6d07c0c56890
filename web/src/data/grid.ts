// The heat maps: layers x what stands in each of them, and places x ranks, steps or tokens.
import { kindOf } from "./names.ts";
import type { Report } from "./report.ts";
import { logScale, type LogScale } from "./scale.ts";

export interface GridCell {
  row: number; // the worst; -1: none
  error: number | undefined;
  level: number;
  alone: "" | "mine" | "golden"; // a side that has it alone
}

const FEWEST_DECADES = 3;

// What is allowed is no hot colour, and what is not is no cold one, whatever the report holds: bounds lie inside.
export function heatScale(report: Report, metric: string, errors: Iterable<number | undefined>): LogScale {
  const scale = logScale(errors);
  let { low, high } = scale;
  for (let row = 0; row < report.count; ++row) {
    const allowed = report.stated(metric, row);
    if (allowed === undefined || allowed <= 0) continue;
    const bound = Math.log10(allowed);
    high = Math.max(high, Math.ceil(bound) + 1);
    low = Math.min(low, Math.floor(bound) - 1);
  }
  return { low: Math.min(low, high - FEWEST_DECADES), high };
}

export interface Grid {
  kind: "layers" | "calls" | "sections";
  lines: string[];
  columns: string[];
  cells: Map<number, GridCell>; // line * columns.length + column
}

const MOST_LINES = 400;
const MOST_COLUMNS = 160;

function put(report: Report, cells: Map<number, GridCell>, key: number, row: number, metric: string): void {
  const error = report.error(metric, row);
  const level = report.levels[row]!;
  const alone = report.aloneOf(row);
  const old = cells.get(key);
  if (!old) {
    cells.set(key, { row, error, level, alone });
    return;
  }
  const isWorse = level > old.level || (level === old.level && (error ?? -1) > (old.error ?? -1));
  if (isWorse) old.row = row;
  old.error = old.error === undefined ? error : error === undefined ? old.error : Math.max(old.error, error);
  old.level = Math.max(old.level, level);
  if (alone !== old.alone) old.alone = "";
}

// Of an operator, what it gave shows its error; where nothing of that was compared, all it has.
function shownRows(report: Report, rows: number[]): number[] {
  const made = rows.filter((row) => report.ports[row] === "output" || report.ports[row] === "");
  return made.length > 0 ? made : rows;
}

export function modelGrid(report: Report, metric: string, section: string | undefined, outside: string): Grid {
  const inside = report.operators.filter((operator) => section === undefined || report.sections[operator.section]!.name === section);
  const layered = inside.some((operator) => operator.layer >= 0);
  return layered ? layerGrid(report, metric, inside, outside) : callGrid(report, metric, inside);
}

type Operators = Report["operators"];

function layerGrid(report: Report, metric: string, inside: Operators, outside: string): Grid {
  const found = [...new Set(inside.map((operator) => operator.layer))].filter((layer) => layer >= 0).sort((a, b) => a - b);
  // Of more layers than there is room for, several stand in one line.
  const together = Math.ceil(found.length / MOST_LINES);
  const layers = found.filter((_, i) => i % together === 0);
  const without = inside.filter((operator) => operator.layer < 0);
  const ofLayers = titled(orderedRoles(inside.filter((operator) => operator.layer >= 0)));
  // What stands outside of layers has a line of its own, and columns of its own: no role of a layer is its name.
  const ofOthers = titled(orderedRoles(without));
  const columns = [...ofLayers.titles, ...ofOthers.titles];
  const cells = new Map<number, GridCell>();
  const lines = layers.map((layer, i) => (together === 1 ? String(layer) : `${layer}–${found[Math.min(found.length, (i + 1) * together) - 1]}`));
  if (without.length > 0) lines.push(outside);
  const lineOf = new Map(found.map((layer, i) => [layer, Math.floor(i / together)]));
  for (const operator of inside) {
    const isOutside = operator.layer < 0;
    const line = isOutside ? lines.length - 1 : lineOf.get(operator.layer)!;
    const column = isOutside ? ofLayers.titles.length + ofOthers.columnOf.get(operator.role)! : ofLayers.columnOf.get(operator.role)!;
    for (const row of shownRows(report, operator.rows)) put(report, cells, line * columns.length + column, row, metric);
  }
  return { kind: "layers", lines, columns, cells };
}

// Of more roles than there is room for, the last column shows the worst of the rest.
function titled(roles: string[]): { titles: string[]; columnOf: Map<string, number> } {
  const titles = roles.slice(0, MOST_COLUMNS);
  if (roles.length > MOST_COLUMNS) titles[MOST_COLUMNS - 1] = `… ${roles.length - MOST_COLUMNS + 1}`;
  return { titles, columnOf: new Map(roles.map((role, i) => [role, Math.min(i, MOST_COLUMNS - 1)])) };
}

// As they come in the layers: a role that only some layers have stands where it stands there.
function orderedRoles(operators: Operators): string[] {
  const sums = new Map<string, { sum: number; count: number }>();
  const counts = new Map<string, number>();
  for (const operator of operators) {
    const key = `${operator.section} ${operator.layer}`;
    const at = counts.get(key) ?? 0;
    counts.set(key, at + 1);
    const known = sums.get(operator.role);
    if (known) {
      known.sum += at;
      known.count += 1;
    } else sums.set(operator.role, { sum: at, count: 1 });
  }
  return [...sums].sort((a, b) => a[1].sum / a[1].count - b[1].sum / b[1].count).map(([role]) => role);
}

// Without layers: kinds of operators down, their calls across.
function callGrid(report: Report, metric: string, inside: Operators): Grid {
  const kinds = new Map<string, number>();
  const calls = new Map<string, number>();
  const cells = new Map<number, GridCell>();
  let width = 1;
  const placed: { line: number; call: number; operator: Operators[number] }[] = [];
  for (const operator of inside) {
    const kind = operator.type || kindOf(operator.name);
    if (!kinds.has(kind)) kinds.set(kind, kinds.size);
    const key = `${operator.section} ${kind}`;
    const count = calls.get(key) ?? 0;
    calls.set(key, count + 1);
    const call = Math.min(count, MOST_COLUMNS - 1);
    width = Math.max(width, call + 1);
    placed.push({ line: kinds.get(kind)!, call, operator });
  }
  for (const { line, call, operator } of placed) for (const row of shownRows(report, operator.rows)) put(report, cells, line * width + call, row, metric);
  return { kind: "calls", lines: [...kinds.keys()], columns: Array.from({ length: width }, (_, i) => (i === MOST_COLUMNS - 1 ? `${i} …` : String(i))), cells };
}

export function sectionGrid(report: Report, metric: string): Grid {
  const order = report.sections
    .map((section, i) => ({ section, i }))
    .sort((a, b) => {
      const x = a.section.place;
      const y = b.section.place;
      return x.step - y.step || x.graph - y.graph || x.token - y.token || x.rank - y.rank || a.i - b.i;
    });
  const columnOf = new Map(order.map(({ i }, column) => [i, column]));
  const names = [...new Set(report.operators.map((operator) => operator.name))];
  // Too many for a line each: layers, or runs of operators.
  const bundles = names.length <= MOST_LINES ? undefined : Math.ceil(names.length / MOST_LINES);
  const layered = report.operators.some((operator) => operator.layer >= 0);
  const numberOfName = new Map(names.map((name, i) => [name, i]));
  const lines: string[] = [];
  const known = new Map<string, number>();
  const cells = new Map<number, GridCell>();
  for (const operator of report.operators) {
    const label =
      bundles === undefined
        ? operator.layer >= 0
          ? `${operator.layer} · ${operator.role}`
          : operator.name
        : layered
          ? `${operator.layer < 0 ? "–" : operator.layer}`
          : names[Math.floor(numberOfName.get(operator.name)! / bundles) * bundles]!;
    let line = known.get(label);
    if (line === undefined) {
      line = lines.length;
      known.set(label, line);
      lines.push(label);
    }
    for (const row of shownRows(report, operator.rows)) put(report, cells, line * order.length + columnOf.get(operator.section)!, row, metric);
  }
  return { kind: "sections", lines, columns: order.map(({ section }) => section.name || "–"), cells };
}
