// The rows of a report, column by column.

export type Kind = "text" | "number" | "shape" | "verdict";
export type Cell = string | number | boolean | null;

export interface ColumnHead {
  title: string;
  kind: Kind;
}

export interface Column extends ColumnHead {
  cells: Cell[];
}

// What a cell is as a number; undefined where it is none: absent, a checksum, a word.
export function numberOf(cell: Cell | undefined): number | undefined {
  if (typeof cell === "number") return cell;
  if (typeof cell === "boolean") return cell ? 1 : 0;
  if (cell === "nan") return NaN;
  if (cell === "inf") return Infinity;
  if (cell === "-inf") return -Infinity;
  return undefined;
}

export class Table {
  readonly columns: Column[];
  count = 0;
  private readonly byTitle = new Map<string, Column>();
  // Most texts stand in many rows: each is kept once.
  private readonly texts = new Map<string, string>();

  constructor(heads: ColumnHead[]) {
    this.columns = heads.map((head) => ({ ...head, cells: [] }));
    for (const column of this.columns) if (!this.byTitle.has(column.title)) this.byTitle.set(column.title, column);
  }

  find(title: string): Column | undefined {
    return this.byTitle.get(title);
  }

  cell(title: string, row: number): Cell {
    return this.byTitle.get(title)?.cells[row] ?? null;
  }

  text(title: string, row: number): string {
    const cell = this.cell(title, row);
    return cell === null ? "" : String(cell);
  }

  number(title: string, row: number): number | undefined {
    return numberOf(this.cell(title, row));
  }

  // One value per column. A shape, or another list, becomes its text.
  add(values: unknown[]): void {
    for (let i = 0; i < this.columns.length; ++i) {
      const value = values[i];
      const cells = this.columns[i]!.cells;
      if (value === null || value === undefined) cells.push(null);
      else if (typeof value === "number" || typeof value === "boolean") cells.push(value);
      else cells.push(this.once(typeof value === "string" ? value : listText(value)));
    }
    ++this.count;
  }

  private once(text: string): string {
    const known = this.texts.get(text);
    if (known !== undefined) return known;
    this.texts.set(text, text);
    return text;
  }
}

function listText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map((each) => (typeof each === "number" ? String(each) : JSON.stringify(each))).join(", ")}]` : JSON.stringify(value);
}
