// A small report, as the file of a page has it.
import type { RunData } from "../src/data/load.ts";
import { Report } from "../src/data/report.ts";
import { Table, type ColumnHead } from "../src/data/table.ts";

export type Line = Record<string, unknown>;

const COLUMNS: ColumnHead[] = [
  { title: ".id", kind: "number" },
  { title: "section", kind: "text" },
  { title: "name", kind: "text" },
  { title: "mine", kind: "text" },
  { title: "golden", kind: "text" },
  { title: "verdict", kind: "verdict" },
  { title: "status", kind: "text" },
  { title: "mine_dtype", kind: "text" },
  { title: "golden_dtype", kind: "text" },
  { title: "mine_shape", kind: "shape" },
  { title: "golden_shape", kind: "shape" },
  { title: "max_abs", kind: "number" },
  { title: "rel_l2", kind: "number" },
  { title: "cosine", kind: "number" },
  { title: "norm_diff_pct", kind: "number" },
  { title: "nonfinite_mismatch", kind: "number" },
  { title: "mine_norm", kind: "number" },
  { title: "golden_norm", kind: "number" },
  { title: "compared_by", kind: "text" },
  { title: "reason", kind: "text" },
  { title: ".port", kind: "text" },
  { title: ".node", kind: "number" },
  { title: ".sources", kind: "shape" },
  { title: ".layers", kind: "number" },
  { title: ".type", kind: "text" },
  { title: ".within", kind: "text" },
  { title: ".bound", kind: "number" },
];

export function sample(lines: Line[], patch: { command?: string; divergence?: Line } = {}): Report {
  const table = new Table(COLUMNS);
  lines.forEach((line, i) => {
    const full: Line = { ".id": i + 1, mine: line["name"], golden: line["name"], verdict: "pass", status: "compared", mine_dtype: "f32", golden_dtype: "f32", ".node": i, ".port": "output", ...line };
    table.add(COLUMNS.map((column) => full[column.title]));
  });
  const data = {
    page: { version: 1, rows: lines.length, failed: 0, held: lines.length, held_failed: 0, columns: COLUMNS },
    run: { assay: "0", generated: "", command: patch.command ?? "assay compare a b", mine: "a", golden: "b", layouts: { mine: "folder", golden: "folder" }, matcher: "name", rules: "native", columns: [] },
    summary: { answer: "fail", verdict: "FAIL: 1 of 2.", first_divergence: patch.divergence ?? null, first_origin: null },
  } as unknown as RunData;
  return new Report(data, table);
}
