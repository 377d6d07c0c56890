// The detail of a tensor, as docs/page_data.md describes it.

export type Drawn = number | "nan" | "inf" | "-inf";

export interface Axis {
  dim: number;
  size: number;
  step: number;
}

export interface Errors {
  max_abs: Drawn[];
  mean_abs: Drawn[];
  nonfinite?: number[];
}

export interface Profile extends Axis, Errors {
  rel_l2: Drawn[];
}

export interface BlockMap extends Errors {
  rows: Axis;
  columns: Axis;
}

export interface Fit {
  scale: Drawn;
  offset: Drawn;
  rel_l2: Drawn;
}

export interface Window {
  row_dim: number;
  column_dim: number;
  first_row: number;
  first_column: number;
  rows: number;
  columns: number;
  mine: Drawn[];
  golden: Drawn[];
}

export interface Detail {
  shape: number[];
  mine_dtype: string;
  golden_dtype: string;
  count: number;
  finite: number;
  equal: number;
  nonfinite_apart: number;
  diagnosis: string;
  diagnoses: { kind: string; text: string }[];
  axis: { scale: "linear" | "log"; edges: Drawn[] };
  histogram: { mine: number[]; golden: number[] };
  scatter: { bins: number; at: number[]; counts: number[] };
  difference: { zero: number; edges: Drawn[]; counts: number[] };
  map: BlockMap;
  profiles: Profile[];
  worst: { at: number[]; mine: Drawn; golden: Drawn; window: Window } | null;
  fit: { none: Fit; scale: Fit; offset: Fit; both: Fit };
}

export function drawn(value: Drawn | undefined): number {
  if (typeof value === "number") return value;
  return value === "inf" ? Infinity : value === "-inf" ? -Infinity : NaN;
}

// "12" or "12 to 15": which indices an entry of an axis stands for.
export function entryText(axis: Axis, entry: number): string {
  const first = entry * axis.step;
  const last = Math.min(axis.size, first + axis.step) - 1;
  return last > first ? `${first}–${last}` : `${first}`;
}

export function entries(axis: Axis): number {
  return Math.ceil(axis.size / axis.step);
}
