// The table: every column, any number of rows.
import { useState } from "preact/hooks";
import { numberOf, type Column } from "../data/table.ts";
import { heatScale } from "../data/grid.ts";
import { heat, shortNumber, type LogScale } from "../data/scale.ts";
import type { Report } from "../data/report.ts";
import { LEVEL_SIGNS } from "./canvas.tsx";
import { commandFor, csvOf } from "../data/export.ts";
import { copyText, saveText } from "./copy.ts";
import { heatColour, type Palette } from "./colour.ts";
import { Scroller } from "./scroller.tsx";
import type { Say } from "./text.ts";
import type { View } from "./store.ts";
import { useMemo } from "preact/hooks";

interface Props {
  report: Report;
  rows: number[]; // filtered and sorted
  view: View;
  set: (patch: Partial<View>) => void;
  selected: number | undefined;
  pick: (row: number) => void;
  marked: ReadonlySet<number>;
  mark: (row: number) => void;
  metric: string;
  palette: Palette;
  say: Say;
}

const USUAL = ["section", "mine", "tensor", "verdict", "rel_l2", "max_abs", "norm_diff_pct", "max_diff", "of_type_max", "nans", "infs", "reason", "cosine", "ulp_max", "mine_dtype", "mine_shape", "golden", "note"];
const WIDTHS: Record<string, number> = { section: 110, name: 240, mine: 290, tensor: 290, golden: 260, verdict: 76, status: 110, reason: 238, note: 320, mine_dtype: 88, golden_dtype: 98, mine_shape: 110, golden_shape: 116, why: 110, compared_by: 96 };
const LINE = 24;
const LETTER = 7.1; // pixels, of names
const NAMES = new Set(["mine", "golden", "tensor", "name"]);

// Sections as wide as the longest, within bounds.
function widths(report: Report, columns: Column[]): number[] {
  return columns.map((column) => {
    const usual = WIDTHS[column.title] ?? (column.kind === "number" ? Math.max(92, 20 + 7.6 * column.title.length) : 130);
    if (column.title !== "section") return usual;
    return Math.min(230, Math.max(70, 14 + LETTER * Math.max(...report.sections.map((section) => section.name.length))));
  });
}

export function usualColumns(report: Report): string[] {
  return USUAL.filter((title) => report.table.find(title)?.cells.some((cell) => cell !== null && cell !== ""));
}

export function TableView({ report, rows, view, set, selected, pick, marked, mark, metric, palette, say }: Props) {
  const all = report.table.columns.filter((column) => !column.title.startsWith("."));
  const shown = view.columns.length > 0 ? view.columns : usualColumns(report);
  const columns = shown.map((title) => report.table.find(title)).filter((column): column is Column => column !== undefined);
  const wide = useMemo(() => new Map(widths(report, columns).map((each, i) => [columns[i]!, each])), [report, shown.join()]);
  const widthOf = (column: Column): number => wide.get(column) ?? 130;
  const width = columns.reduce((sum, column) => sum + widthOf(column), 28);
  const scale = useMemo(() => heatScale(report, metric, (report.table.find(metric)?.cells ?? []).map(numberOf)), [report, metric]);
  const focus = selected === undefined ? -1 : rows.indexOf(selected);
  const chosen = marked.size > 0 ? [...marked].sort((a, b) => a - b) : rows;
  const turn = (title: string): void => {
    if (view.sort !== title) set({ sort: title, down: true });
    else if (view.down) set({ down: false });
    else set({ sort: "", down: true });
  };
  return (
    <div class="table-view">
      <div class="tools">
        <span class="quiet">
          {say("selection", { count: rows.length, all: report.count })}
          {marked.size > 0 && ` · ${say("marked", { count: marked.size })}`}
        </span>
        <span class="gap" />
        <Chooser all={all} shown={shown} set={(titles) => set({ columns: titles })} say={say} />
        <button onClick={() => saveText("assay_rows.csv", csvOf(report, chosen))}>{say("csv")}</button>
        {report.hasTwoDumps && <CopyCommand text={() => commandFor(report, chosen)} say={say} />}
      </div>
      {rows.length === 0 ? (
        <p class="nothing">
          {say("nothing_fits")} <button onClick={() => set({ text: "", levels: [], section: undefined, dtype: "", port: "" })}>{say("clear")}</button>
        </p>
      ) : (
        <Scroller
          label={say("table")}
          count={rows.length}
          height={LINE}
          width={width}
          {...(focus >= 0 ? { focus } : {})}
          head={
            <div class="line head" role="row" style={{ minWidth: `${width}px` }}>
              <span class="cell sign" />
              {columns.map((column) => (
                <div
                  key={column.title}
                  role="columnheader"
                  tabIndex={0}
                  aria-sort={view.sort === column.title ? (view.down ? "descending" : "ascending") : "none"}
                  class={`cell ${column.kind}`}
                  style={{ width: `${widthOf(column)}px` }}
                  title={say("sort", { title: column.title })}
                  onClick={() => turn(column.title)}
                  onKeyDown={(event) => event.key === "Enter" && turn(column.title)}
                >
                  {column.title}
                  {view.sort === column.title ? (view.down ? " ↓" : " ↑") : ""}
                </div>
              ))}
            </div>
          }
          line={(i) => {
            const row = rows[i]!;
            const level = report.level(row);
            return (
              <div
                role="row"
                aria-rowindex={i + 1}
                aria-selected={row === selected}
                class={`line ${level}${row === selected ? " selected" : ""}${marked.has(row) ? " marked" : ""}`}
                onClick={(event) => (event.ctrlKey || event.metaKey || event.shiftKey ? mark(row) : pick(row))}
              >
                <span class={`cell sign ${level}`}>{LEVEL_SIGNS[report.levels[row]!]}</span>
                {columns.map((column) => (
                  <CellView key={column.title} report={report} column={column} row={row} width={widthOf(column)} isMetric={column.title === metric} scale={scale} palette={palette} />
                ))}
              </div>
            );
          }}
        />
      )}
    </div>
  );
}

function CellView({ report, column, row, width, isMetric, scale, palette }: { report: Report; column: Column; row: number; width: number; isMetric: boolean; scale: LogScale; palette: Palette }) {
  const cell = column.cells[row] ?? null;
  if (NAMES.has(column.title)) {
    // Where mine lacks it, golden's name says what it is.
    const name = cell === null && column.title === "mine" ? report.name(row) : cell === null ? "" : String(cell);
    return (
      <span role="gridcell" class={`cell text name-cell${cell === null ? " other" : ""}`} style={{ width: `${width}px` }} title={name}>
        <bdi dir="ltr">{name}</bdi>
      </span>
    );
  }
  const number = column.kind === "number" ? numberOf(cell) : undefined;
  const text = cell === null ? "" : number !== undefined ? shortNumber(number, 4) : String(cell);
  const error = isMetric ? report.error(column.title, row) : undefined;
  const share = error === undefined ? undefined : heat(error, scale);
  return (
    <span role="gridcell" class={`cell ${column.kind}${column.kind === "verdict" ? ` ${report.level(row)}` : ""}`} style={{ width: `${width}px` }} title={cell === null ? "" : String(cell)}>
      {share !== undefined && <i class="size" style={{ width: `${Math.round(share * 100)}%`, background: heatColour(palette, share) }} />}
      {text}
    </span>
  );
}

function CopyCommand({ text, say }: { text: () => string; say: Say }) {
  const [done, setDone] = useState<"copied" | "too_many_names" | undefined>(undefined);
  return (
    <button
      onClick={() => {
        const command = text();
        if (command) copyText(command);
        setDone(command ? "copied" : "too_many_names");
        setTimeout(() => setDone(undefined), command ? 1500 : 4000);
      }}
    >
      {say(done ?? "command_for")}
    </button>
  );
}

function Chooser({ all, shown, set, say }: { all: Column[]; shown: string[]; set: (titles: string[]) => void; say: Say }) {
  return (
    <details class="chooser">
      <summary>{say("columns")}</summary>
      <div class="chooser-box">
        {all.map((column) => (
          <label key={column.title}>
            <input
              type="checkbox"
              checked={shown.includes(column.title)}
              onChange={(event) => {
                const on = event.currentTarget.checked;
                set(all.map((each) => each.title).filter((title) => (title === column.title ? on : shown.includes(title))));
              }}
            />
            {column.title}
          </label>
        ))}
      </div>
    </details>
  );
}
