// Which rows are looked at: words and shell patterns of names, or a condition over the numbers.
import { isFault, parseExpression, type Expression } from "./expression.ts";
import type { Level, Port, Report } from "./report.ts";
import { numberOf } from "./table.ts";

export interface Wish {
  text: string;
  levels: Level[]; // empty: all
  section: string | undefined;
  dtype: string; // empty: any
  port: Port; // empty: any
}

export interface Filtered {
  rows: number[];
  fault?: string; // of a condition that cannot be read
}

const EPS: Record<string, number> = { f64: 2 ** -52, f32: 2 ** -23, f16: 2 ** -10, bf16: 2 ** -7 };

export function isCondition(text: string): boolean {
  return /[<>=]|!=/.test(text);
}

export function globToRegExp(glob: string): RegExp {
  let out = "";
  for (let i = 0; i < glob.length; ++i) {
    const c = glob[i]!;
    if (c === "*") out += ".*";
    else if (c === "?") out += ".";
    else if (c === "[") {
      const end = glob.indexOf("]", i + 2);
      if (end < 0) out += "\\[";
      else {
        const inside = glob.slice(i + 1, end).replace(/\\/g, "\\\\").replace(/^!/, "^").replace(/\[/g, "\\[");
        out += `[${inside}]`;
        i = end;
      }
    } else out += c.replace(/[\\^$.|+(){}]/g, "\\$&");
  }
  try {
    return new RegExp(`^${out}$`, "s"); // as --only takes it: letters have their case
  } catch {
    return /(?!)/; // "[z-a]" fits nothing
  }
}

function wordTest(word: string): (text: string) => boolean {
  if (/[*?[]/.test(word)) {
    const pattern = globToRegExp(word);
    return (text) => pattern.test(text);
  }
  const wanted = word.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

const SEARCHED = ["name", "mine", "golden", "reason", "note", "status"];

function textTest(report: Report, text: string): (row: number) => boolean {
  const words = text.split(/\s+/).filter((word) => word).map(wordTest);
  const cells = SEARCHED.map((title) => report.table.find(title)?.cells).filter((found) => found !== undefined);
  return (row) => words.every((test) => cells.some((column) => typeof column[row] === "string" && test(column[row])));
}

function conditionTest(report: Report, expression: Expression): (row: number) => boolean {
  const columns = new Map(expression.names.map((name) => [name, report.table.find(name)?.cells]));
  let row = 0;
  const look = (name: string): number | undefined => {
    const cells = columns.get(name);
    if (cells) return numberOf(cells[row]);
    if (name === "layer") return Math.max(0, report.operator(row).layer);
    if (name === "eps") return Math.max(EPS[report.table.text("mine_dtype", row)] ?? 0, EPS[report.table.text("golden_dtype", row)] ?? 0);
    if (name === "count") {
      const shape = report.table.text("golden_shape", row) || report.table.text("mine_shape", row);
      return shape ? (shape.match(/\d+/g) ?? []).reduce((product, each) => product * Number(each), 1) : undefined;
    }
    return undefined;
  };
  return (each) => {
    row = each;
    return expression.holds(look) === true;
  };
}

export function filterRows(report: Report, wish: Wish): Filtered {
  const tests: ((row: number) => boolean)[] = [];
  let fault: string | undefined;
  if (wish.section !== undefined) {
    const section = report.sections.findIndex((each) => each.name === wish.section);
    tests.push((row) => report.sectionOf[row] === section);
  }
  if (wish.levels.length > 0) tests.push((row) => wish.levels.includes(report.level(row)));
  if (wish.port) tests.push((row) => report.ports[row] === wish.port);
  if (wish.dtype) tests.push((row) => report.table.cell("mine_dtype", row) === wish.dtype || report.table.cell("golden_dtype", row) === wish.dtype);
  const text = wish.text.trim();
  if (text && isCondition(text)) {
    const expression = parseExpression(text);
    if (isFault(expression)) {
      fault = `${expression.message} (${expression.at + 1})`;
      tests.push(textTest(report, text));
    } else {
      const unknown = expression.names.filter((name) => !report.table.find(name) && !["layer", "eps", "count"].includes(name));
      if (unknown.length > 0) fault = `'${unknown[0]}' is no column`;
      tests.push(conditionTest(report, expression));
    }
  } else if (text) tests.push(textTest(report, text));
  const rows: number[] = [];
  for (let row = 0; row < report.count; ++row) if (tests.every((test) => test(row))) rows.push(row);
  return { rows, ...(fault === undefined ? {} : { fault }) };
}

// Numbers first, then texts, what is absent last, whichever way round.
export function sortRows(report: Report, rows: number[], title: string, down: boolean): number[] {
  const cells = report.table.find(title)?.cells;
  if (!cells) return rows;
  const sign = down ? -1 : 1;
  const order = new Intl.Collator("en", { numeric: true });
  const numbers = rows.map((row) => numberOf(cells[row]));
  const index = rows.map((_, i) => i);
  index.sort((i, j) => {
    const x = cells[rows[i]!] ?? null;
    const y = cells[rows[j]!] ?? null;
    if (x === null || y === null) return Number(x === null) - Number(y === null) || i - j;
    const a = numbers[i];
    const b = numbers[j];
    if (a !== undefined && b !== undefined) {
      const large = (n: number): number => (Number.isNaN(n) ? Infinity : n);
      return large(a) === large(b) ? i - j : sign * (large(a) < large(b) ? -1 : 1);
    }
    if (a !== undefined || b !== undefined) return a !== undefined ? -1 : 1;
    return sign * order.compare(String(x), String(y)) || i - j;
  });
  return index.map((i) => rows[i]!);
}
