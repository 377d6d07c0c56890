// What the course of the error shows.
import { boundOf, type Report } from "../data/report.ts";
import { laneOf, logScale, type LogScale } from "../data/scale.ts";

export interface CourseData {
  rows: number[];
  errors: (number | undefined)[];
  bounds: (number | undefined)[];
  lanes: Float64Array;
  scale: LogScale;
  bands: Band[];
}

export interface Band {
  from: number;
  to: number; // behind the last
  label: string;
}

export function courseData(report: Report, rows: number[], metric: string, oneSection: boolean): CourseData {
  const errors = rows.map((row) => report.error(metric, row));
  const bounds = boundsOf(report, rows, metric);
  const scale = logScale([...errors, ...bounds]);
  const lanes = Float64Array.from(errors, (error) => (error === undefined ? scale.low - 1.15 : laneOf(error, scale)));
  return { rows, errors, bounds, lanes, scale, bands: bandsOf(report, rows, oneSection) };
}

// Rows that failed say what they are beyond. Of others our own rules say it, of rel_l2 and of norms; else it is that of
// the rows of the same types.
function boundsOf(report: Report, rows: number[], metric: string): (number | undefined)[] {
  const types = (row: number): string => `${report.table.text("mine_dtype", row)} ${report.table.text("golden_dtype", row)}`;
  const known = new Map<string, number>();
  const broken = rows.map((row) => {
    const bound = report.failed(row) ? boundOf(report.table.text("reason", row), metric) : undefined;
    if (bound !== undefined) known.set(types(row), Math.min(bound, known.get(types(row)) ?? Infinity));
    return bound;
  });
  const stated = rows.map((row) => report.stated(metric, row));
  const isStated = stated.some((bound) => bound !== undefined);
  return rows.map((row, i) => broken[i] ?? (isStated ? stated[i] : known.get(types(row))));
}

export function bandsOf(report: Report, rows: number[], oneSection: boolean): Band[] {
  const bands: Band[] = [];
  let key: string | undefined;
  rows.forEach((row, i) => {
    const operator = report.operator(row);
    const next = oneSection ? String(operator.layer) : String(operator.section);
    if (next !== key) {
      const label = oneSection ? (operator.layer < 0 ? "" : String(operator.layer)) : report.sections[operator.section]!.name;
      bands.push({ from: i, to: i + 1, label });
      key = next;
    }
    bands[bands.length - 1]!.to = i + 1;
  });
  return bands.length > 1 || !oneSection ? bands : [];
}

// "rank 3 step 1" where there is little room: "r3 s1".
export function initials(section: string): string {
  return section.replace(/([a-z])[a-z]* (\d+)/g, "$1$2");
}
