// On paper nothing scrolls: the table of what failed is made when the page is printed, as the filter and the order have it.
import type { Report } from "../data/report.ts";
import { shortNumber } from "../data/scale.ts";
import { numberOf } from "../data/table.ts";
import type { Say } from "./text.ts";

const MOST_ROWS = 300;
const TITLES = ["section", "mine", "verdict", "rel_l2", "max_abs", "norm_diff_pct", "reason"];

export function printedTable(report: Report, rows: number[], say: Say): HTMLElement {
  const failed = rows.filter((row) => report.failed(row));
  const chosen = failed.length > 0 ? failed : rows;
  const titles = TITLES.filter((title) => report.table.find(title)?.cells.some((cell) => cell !== null && cell !== ""));
  const place = document.createElement("div");
  place.className = "printed";
  const table = place.appendChild(document.createElement("table"));
  const head = table.createTHead().insertRow();
  for (const title of titles) head.appendChild(document.createElement("th")).textContent = title;
  const body = table.createTBody();
  for (const row of chosen.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    line.className = report.level(row);
    for (const title of titles) {
      const cell = report.table.cell(title, row);
      const number = numberOf(cell ?? undefined);
      const place = line.insertCell();
      if (number !== undefined || title === "verdict") place.className = "number";
      place.textContent = title === "mine" ? report.name(row) : number !== undefined ? shortNumber(number, 4) : String(cell ?? "");
    }
  }
  if (chosen.length > MOST_ROWS) place.appendChild(document.createElement("p")).textContent = say("selection", { count: MOST_ROWS, all: chosen.length });
  return place;
}
