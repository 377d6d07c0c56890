// What feeds the selected operator and what it feeds, two steps each way.
import { useMemo } from "preact/hooks";
import { neighbourhood, type Edge, type Flow } from "../data/neighbours.ts";
import { errorTitle, type Report } from "../data/report.ts";
import { heatScale } from "../data/grid.ts";
import { heat, logScale, shortNumber } from "../data/scale.ts";
import { heatColour, levelColour, type Palette } from "./colour.ts";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  flow: Flow;
  operator: number;
  metric: string;
  pick: (row: number) => void;
  palette: Palette;
  say: Say;
  width: number;
}

const FEEDS = { graph: "feeds_graph", same: "feeds_same", order: "feeds_order" } as const;
const BOX_HEIGHT = 34;
const STEP = 54;
const GAP = 8;
const WIDEST = 230;

export function NeighboursView({ report, flow, operator, metric, pick, palette, say, width }: Props) {
  const drawing = useMemo(() => neighbourhood(report, flow, operator), [report, flow, operator]);
  const scale = useMemo(() => heatScale(report, metric, function* () {
    for (let row = 0; row < report.count; ++row) yield report.error(metric, row);
  }()), [report, metric]);
  const steps = [...new Set(drawing.boxes.map((box) => box.column))].sort((a, b) => a - b);
  const height = steps.length * STEP - (STEP - BOX_HEIGHT) + 6;
  const countOf = (step: number): number => drawing.boxes.filter((box) => box.column === step).length;
  const boxWidth = (step: number): number => Math.min(WIDEST, (width - GAP * (countOf(step) - 1)) / countOf(step));
  const left = (step: number, line: number): number => width / 2 + line * (boxWidth(step) + GAP) - boxWidth(step) / 2;
  const top = (step: number): number => steps.indexOf(step) * STEP + 3;
  const errorOf = (index: number): number | undefined => {
    const rows = report.operators[index]!.rows;
    const made = rows.filter((row) => report.ports[row] === "output" || report.ports[row] === "");
    return largest((made.length ? made : rows).map((row) => report.error(metric, row)));
  };
  const place = new Map(drawing.boxes.map((box) => [box.operator, box]));
  const edgeError = (edge: Edge): number | undefined => (edge.row >= 0 ? report.error(metric, edge.row) : errorOf(edge.from));
  return (
    <div class="neighbours">
      <svg width={width} height={height} role="img" aria-label={say("neighbours")}>
        {drawing.edges.map((edge) => {
          const from = place.get(edge.from)!;
          const to = place.get(edge.to)!;
          const x = left(from.column, from.line) + boxWidth(from.column) / 2;
          const y = top(from.column) + BOX_HEIGHT;
          const u = left(to.column, to.line) + boxWidth(to.column) / 2;
          const v = top(to.column);
          const error = edgeError(edge);
          const share = error === undefined ? 0 : heat(error, scale);
          return (
            <path
              key={`${edge.from} ${edge.to}`}
              d={`M${x} ${y} C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`}
              fill="none"
              stroke={error === undefined ? palette.line : heatColour(palette, 0.25 + 0.75 * share)}
              stroke-width={1.5 + 3 * share}
              stroke-dasharray={edge.kind === "graph" ? "none" : edge.kind === "same" ? "6 3" : "1.5 3"}
            >
              <title>{error === undefined ? say("not_compared") : `${errorTitle(metric)} ${shortNumber(error)}`}</title>
            </path>
          );
        })}
        {drawing.boxes.map((box) => {
          const each = report.operators[box.operator]!;
          const error = errorOf(box.operator);
          const x = left(box.column, box.line);
          const y = top(box.column);
          const room = boxWidth(box.column);
          return (
            <g key={box.operator} class="box" onClick={() => pick(worstRow(report, box.operator, metric))}>
              <title>{`${each.name}\n${each.alone ? say(each.alone === "mine" ? "only_mine" : "only_golden") : `${errorTitle(metric)} ${shortNumber(error)}`}`}</title>
              <rect x={x + 0.5} y={y} width={room - 1} height={BOX_HEIGHT} rx={4} fill={palette.back} stroke={box.column === 0 ? palette.text : palette.line} stroke-width={box.column === 0 ? 2 : 1} stroke-dasharray={each.alone ? "4 3" : "none"} />
              <rect x={x + 0.5} y={y} width={4} height={BOX_HEIGHT} fill={levelColour(palette, each.worst)} />
              <text x={x + 10} y={y + 14} class="box-name" fill={palette.text}>
                {fitted(each.role || each.name, room)}
              </text>
              <text x={x + 10} y={y + 27} class="box-error" fill={palette.faint}>
                {each.layer >= 0 && room > 100 ? `${say("layer")} ${each.layer} · ` : ""}
                {each.type && room > 170 ? `${fitted(each.type, room / 2)} · ` : ""}
                {each.alone ? say(each.alone === "mine" ? "only_mine" : "only_golden") : error === undefined ? "–" : shortNumber(error)}
              </text>
            </g>
          );
        })}
      </svg>
      <p class="quiet small">
        {drawing.kinds.map((kind) => say(FEEDS[kind])).join(" · ")}
        {drawing.more.length > 0 && ` · +${drawing.more.reduce((sum, each) => sum + each.count, 0)}`}
      </p>
      <Balance report={report} operator={operator} metric={metric} palette={palette} say={say} />
    </div>
  );
}

// Of a text that is too long its end tells more.
function fitted(text: string, width: number): string {
  const room = Math.max(4, Math.floor((width - 14) / 6.4));
  return text.length > room ? `…${text.slice(1 - room)}` : text;
}

export function worstRow(report: Report, operator: number, metric: string): number {
  const rows = report.operators[operator]!.rows;
  const score = (row: number): number => report.levels[row]! * 1e6 + (report.ports[row] === "output" ? 1e3 : 0) + Math.min(100, report.error(metric, row) ?? 0);
  return rows.reduce((best, row) => (score(row) > score(best) ? row : best), rows[0]!);
}

function largest(values: (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length ? Math.max(...known) : undefined;
}

// What the operator was given against what it gave: how much of the error it made itself.
function Balance({ report, operator, metric, palette, say }: { report: Report; operator: number; metric: string; palette: Palette; say: Say }) {
  const rows = report.operators[operator]!.rows;
  const of = (...ports: string[]): number | undefined => largest(rows.filter((row) => ports.includes(report.ports[row]!)).map((row) => report.error(metric, row)));
  const given = of("input", "parameter");
  const made = of("output");
  if (given === undefined || made === undefined || report.isOfNumbers) return null;
  const account = rows.find((row) => report.ports[row] === "output" && report.table.number(".own", row) !== undefined);
  const expected = account !== undefined && metric === "rel_l2" && say("expected", { own: shortNumber(report.table.number(".own", account)), inherited: shortNumber(report.table.number(".inherited", account)), bound: shortNumber(report.table.number(".bound", account)) });
  const scale = logScale([given, made]);
  const wide = { low: Math.min(scale.low, scale.high - 3), high: scale.high };
  const bar = (label: string, error: number) => (
    <div class="balance-line">
      <span>{label}</span>
      <span class="error-bar wide">
        <i style={{ width: `${Math.round(heat(error, wide) * 100)}%`, background: heatColour(palette, heat(error, wide)) }} />
      </span>
      <b>{shortNumber(error)}</b>
    </div>
  );
  return (
    <div class="balance" aria-label={say("introduced")}>
      <p class="small quiet">
        {say("introduced")} ({errorTitle(metric)}){given > 0 && Number.isFinite(made / given) && made > 0 ? ` × ${shortNumber(made / given)}` : ""}
      </p>
      {bar(say("given"), given)}
      {bar(say("made"), made)}
      {expected && <p class="small quiet">{expected}</p>}
    </div>
  );
}
