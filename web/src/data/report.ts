// A report as the views see it: sections, operators, and of each row what every picture needs.
import type { RunData, Place } from "./load.ts";
import { kindOf, placesOf, sectionPlace, type SectionPlace } from "./names.ts";
import { numberOf, type Table } from "./table.ts";

export const LEVELS = ["pass", "ignored", "fail", "error"] as const;
export type Level = (typeof LEVELS)[number];
export const FAIL = 2;
export const ERROR = 3;

export type Port = "input" | "output" | "parameter" | "gradient" | "value" | "";

export interface Section {
  name: string;
  place: SectionPlace;
  rows: number[];
}

export interface Operator {
  section: number;
  name: string;
  path: string[];
  layer: number;
  role: string;
  type: string;
  node: number; // as the graph numbers it; -1: it does not
  rows: number[];
  worst: number; // level
  alone: "" | "mine" | "golden"; // all of it is on this side only
}

function isError(title: string): boolean {
  return !title.startsWith(".") && !/^(worst|mine|golden|argmax|margin)_/.test(title) && title !== "equal";
}

interface Reading {
  title: string; // of what a picture shows
  error: (value: number) => number;
  shareOf: string | undefined; // the statistic whose share it is
}

// How a metric is read as an error: those that are largest where all is well are turned over.
function readingOf(metric: string): Reading {
  const shareOf = /^(?:rel_l[12]|cosine)$/.test(metric) ? "norm" : /^(.+)_diff_pct$/.exec(metric)?.[1];
  if (/^cosine|^ratio_|^equal_ratio$|_agree$/.test(metric)) return { title: `1 − ${metric}`, error: (value) => Math.max(0, 1 - value), shareOf };
  if (metric === "sqnr") return { title: "noise / signal (sqnr)", error: (value) => 10 ** (-value / 20), shareOf };
  return { title: metric, error: Math.abs, shareOf };
}

const readings = new Map<string, Reading>();
function reading(metric: string): Reading {
  let known = readings.get(metric);
  if (!known) readings.set(metric, (known = readingOf(metric)));
  return known;
}

// What a picture of a metric shows.
export function errorTitle(metric: string): string {
  return reading(metric).title;
}

export class Report {
  readonly levels: Uint8Array;
  readonly sectionOf: Int32Array;
  readonly operatorOf: Int32Array;
  readonly ports: Port[];
  readonly sections: Section[] = [];
  readonly operators: Operator[] = [];
  readonly metrics: string[]; // those that a picture can show, the best first
  private readonly rowOfId = new Map<number, number>();

  constructor(
    readonly data: RunData,
    readonly table: Table,
  ) {
    const count = table.count;
    this.levels = new Uint8Array(count);
    this.sectionOf = new Int32Array(count);
    this.operatorOf = new Int32Array(count);
    this.ports = new Array<Port>(count);
    this.index();
    this.metrics = this.metricColumns();
  }

  get count(): number {
    return this.table.count;
  }

  id(row: number): number {
    return this.table.cell(".id", row) as number;
  }

  rowOf(id: number): number | undefined {
    return this.rowOfId.get(id);
  }

  level(row: number): Level {
    return LEVELS[this.levels[row]!]!;
  }

  failed(row: number): boolean {
    return this.levels[row]! >= FAIL;
  }

  // What a row is called: the tensor of mine, else of golden.
  name(row: number): string {
    for (const title of ["mine", "golden", "tensor"]) {
      const name = this.table.text(title, row);
      if (name) return name;
    }
    return this.table.text("name", row);
  }

  operator(row: number): Operator {
    return this.operators[this.operatorOf[row]!]!;
  }

  findPlace(place: Place | null | undefined): number | undefined {
    if (!place) return undefined;
    const wanted = ["section", "name", "mine", "golden", "tensor"].map((title) => [title, place[title] ?? null] as const);
    for (let row = 0; row < this.count; ++row)
      if (wanted.every(([title, text]) => !(title in place) || (this.table.cell(title, row) ?? null) === text || (this.table.text(title, row) === (text ?? "")))) return row;
    return undefined;
  }

  // Where nothing says in which order tensors were made, they stand in that of their names.
  get isOrderKnown(): boolean {
    return this.data.run["order"] !== "by name";
  }

  // Two dumps; else one that is looked at by itself, or whose operators are run again.
  get hasTwoDumps(): boolean {
    return this.data.run.golden !== "";
  }

  // … of which only what is NaN or infinite is asked.
  get isOfNumbers(): boolean {
    return this.table.find("infs") !== undefined;
  }

  get firstDivergence(): number | undefined {
    return this.findPlace(this.data.summary.first_divergence);
  }

  get firstOrigin(): number | undefined {
    const origin = this.data.summary.first_origin;
    if (!origin) return undefined;
    const place = { section: origin.section ?? null, name: origin.name ?? null };
    const exact = this.findPlace({ ...place, mine: origin.mine ?? null, golden: origin.golden ?? null });
    return exact ?? this.findPlace(place);
  }

  // What could not be compared at all; where the dump itself cannot be read, no row stands for it.
  get firstError(): number | undefined {
    const row = this.levels.indexOf(ERROR);
    return row < 0 ? undefined : row;
  }

  // The first that failed; where none did, the one with the largest error.
  worstRow(metric: string): number | undefined {
    let worst: number | undefined;
    let most = -1;
    for (let row = 0; row < this.count; ++row) {
      if (this.failed(row)) return row;
      const error = this.error(metric, row) ?? -1;
      if (error > most) {
        most = error;
        worst = row;
      }
    }
    return worst ?? (this.count > 0 ? 0 : undefined);
  }

  private index(): void {
    const { table } = this;
    const verdicts = table.find("verdict")?.cells ?? [];
    const sections = table.find("section")?.cells ?? [];
    const names = table.find("name")?.cells ?? [];
    const ports = table.find(".port")?.cells ?? [];
    const nodes = table.find(".node")?.cells ?? [];
    const numbers = new Map<string, number>();
    let current: Operator | undefined;
    const byKey = new Map<string, number>();
    for (let row = 0; row < table.count; ++row) {
      this.rowOfId.set(this.id(row), row);
      this.levels[row] = Math.max(0, LEVELS.indexOf((verdicts[row] ?? "pass") as Level));
      this.ports[row] = (ports[row] ?? "") as Port;
      const sectionName = (sections[row] ?? "") as string;
      let section = numbers.get(sectionName);
      if (section === undefined) {
        section = this.sections.length;
        numbers.set(sectionName, section);
        this.sections.push({ name: sectionName, place: sectionPlace(sectionName), rows: [] });
      }
      this.sectionOf[row] = section;
      this.sections[section]!.rows.push(row);
      const name = ownName((names[row] ?? "") as string, this.ports[row]!, this.name(row));
      if (!current || current.section !== section || current.name !== name) {
        const key = `${section}\n${name}`;
        const known = byKey.get(key);
        if (known === undefined) {
          current = { section, name, path: [], layer: -1, role: "", type: table.text(".type", row), node: (nodes[row] ?? -1) as number, rows: [], worst: 0, alone: "" };
          byKey.set(key, this.operators.length);
          this.operators.push(current);
        } else {
          current = this.operators[known]!;
        }
      }
      this.operatorOf[row] = byKey.get(`${section}\n${name}`)!;
      current.rows.push(row);
      current.worst = Math.max(current.worst, this.levels[row]!);
    }
    this.placeOperators();
    this.takeLayersOfGraph();
    for (const operator of this.operators) operator.alone = this.sideOf(operator);
  }

  private placeOperators(): void {
    const modules = this.operators.map((operator) => this.table.text(".within", operator.rows[0]!));
    const distinct = [...new Set([...this.operators.map((operator) => operator.name), ...modules.filter((module) => module)])];
    const places = new Map(placesOf(distinct).map((place, i) => [distinct[i]!, place]));
    const calls = new Map<string, number>();
    this.operators.forEach((operator, i) => {
      const own = places.get(operator.name)!;
      const module = places.get(modules[i]!);
      const isPlaced = !module || own.path.slice(0, module.path.length).join("/") === module.path.join("/");
      if (isPlaced) {
        operator.path = own.path;
        operator.layer = own.layer;
        operator.role = own.role;
        return;
      }
      // Calls are numbered through the whole model: within a module the first of its kind is the first.
      const kind = kindOf(operator.name);
      const key = `${operator.section} ${modules[i]} ${kind}`;
      const call = calls.get(key) ?? 0;
      calls.set(key, call + 1);
      operator.path = [...module.path, own.path.join(".")];
      operator.layer = module.layer;
      operator.role = `${module.layer >= 0 ? module.role : module.path.join(".")}/${kind}${call > 0 ? `#${call + 1}` : ""}`;
    });
  }

  // On which side alone a row is.
  aloneOf(row: number): Operator["alone"] {
    const status = this.table.cell("status", row);
    return status === "only in mine" ? "mine" : status === "only in golden" ? "golden" : "";
  }

  private sideOf(operator: Operator): Operator["alone"] {
    const first = this.aloneOf(operator.rows[0]!);
    return operator.rows.every((row) => this.aloneOf(row) === first) ? first : "";
  }

  // Where names tell of no layer, the dump may say how many had finished.
  private takeLayersOfGraph(): void {
    if (this.operators.some((operator) => operator.layer >= 0)) return;
    const before = this.operators.map((operator) => this.table.number(".layers", operator.rows[0]!) ?? 0);
    if (!before.some((layers) => layers > 0)) return;
    const calls = new Map<string, number>();
    let last = 0;
    this.operators.forEach((operator, i) => {
      if (i > 0 && this.operators[i - 1]!.section !== operator.section) last = 0;
      // Of what golden alone has nobody says it: it stands among what ran around it.
      operator.layer = last = this.sideOf(operator) === "golden" ? last : before[i]!;
      // Names are numbered through the whole graph: within a layer the first of its kind is the first.
      const kind = operator.type || kindOf(operator.name);
      const key = `${operator.section} ${operator.layer} ${kind}`;
      const call = (calls.get(key) ?? 0) + 1;
      calls.set(key, call);
      operator.role = call > 1 ? `${kind} ${call}` : kind;
    });
  }

  private metricColumns(): string[] {
    const found = this.table.columns
      .filter((column) => column.kind === "number" && isError(column.title))
      .filter((column) => column.cells.some((cell) => numberOf(cell) !== undefined))
      .map((column) => column.title);
    const order = ["rel_l2", "max_abs", "norm_diff_pct", "mean_abs", "ulp_max", "max_diff", "of_type_max"];
    const rank = (title: string): number => (order.indexOf(title) + order.length + 1) % (order.length + 1);
    return found.sort((a, b) => rank(a) - rank(b));
  }

  // An error that grows where a row gets worse; undefined: the row has none. Infinity: NaN or infinite.
  error(metric: string, row: number): number | undefined {
    if (this.table.cell("compared_by", row) === "no elements") return undefined;
    // What is NaN on one side alone is as wrong as can be, however near the rest is.
    if (this.failed(row) && ["nonfinite_mismatch", "nans", "infs"].some((title) => this.table.number(title, row)! > 0)) return Infinity;
    const value = this.table.number(metric, row);
    if (value === undefined) return this.isShareOfNothing(metric, row) ? Infinity : undefined;
    if (Number.isNaN(value)) return Infinity;
    return reading(metric).error(value);
  }

  // What the rules allow, where they say it of this metric.
  stated(metric: string, row: number): number | undefined {
    const isOfNorms = this.table.cell("compared_by", row) === "statistics";
    if (metric !== (isOfNorms ? "norm_diff_pct" : "rel_l2")) return undefined;
    const bound = this.table.number(".bound", row);
    return bound === undefined ? undefined : isOfNorms ? 100 * bound : bound;
  }

  // A difference as a share of a golden 0 is no number, and the largest there is.
  private isShareOfNothing(metric: string, row: number): boolean {
    const statistic = reading(metric).shareOf;
    if (statistic === undefined || this.table.number(`golden_${statistic}`, row) !== 0) return false;
    const mine = this.table.number(`mine_${statistic}`, row);
    return mine !== undefined && mine !== 0;
  }
}

// A file that holds many tensors is no operator: each of them stands for itself.
function ownName(node: string, port: Port, tensor: string): string {
  return (port === "" || port === "value") && tensor.startsWith(`${node}:`) ? tensor : node;
}

// The bound of a rule that a reason names, of several the widest: "rel_l2 0.3 > 0.032; …".
export function boundOf(reason: string, metric: string): number | undefined {
  let widest: number | undefined;
  for (const part of reason.split("; ")) {
    const match = /^(\w+) \S+ (?:>|>=|<|<=) ([-+.\deE]+)/.exec(part);
    if (match && match[1] === metric) {
      const bound = Number(match[2]);
      if (Number.isFinite(bound)) widest = Math.max(widest ?? 0, reading(metric).error(bound));
    }
  }
  return widest;
}
