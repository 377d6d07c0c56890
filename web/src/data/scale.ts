// Errors on a logarithmic scale, with a place for what has no logarithm: no error at all, and NaN or infinity.

export interface LogScale {
  low: number; // exponents of ten
  high: number;
}

export function logScale(values: Iterable<number | undefined>): LogScale {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === undefined || !Number.isFinite(value) || value <= 0) continue;
    const log = Math.log10(value);
    if (log < low) low = log;
    if (log > high) high = log;
  }
  if (low > high) return { low: -8, high: 0 };
  low = Math.floor(low) + 0; // no -0
  high = Math.ceil(high) + 0;
  if (low === high) low -= 1;
  return { low: Math.max(low, high - 40), high };
}

// Where a value stands: on a lane one below the lowest for 0, one above the highest for NaN and infinity.
export function laneOf(value: number, scale: LogScale): number {
  if (Number.isNaN(value) || value === Infinity) return scale.high + 0.7;
  if (value <= 0) return scale.low - 0.7;
  return Math.max(scale.low - 0.35, Math.log10(value));
}

// 0 (no error) to 1 (the largest).
export function heat(value: number, scale: LogScale): number {
  if (!(value > 0)) return Number.isNaN(value) ? 1 : 0;
  if (value === Infinity) return 1;
  return Math.min(1, Math.max(0.04, (Math.log10(value) - scale.low) / (scale.high - scale.low)));
}

export function shortNumber(value: number | undefined, digits = 3): string {
  if (value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}
