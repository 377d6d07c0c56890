// The courses of several ranks, steps or tokens beside each other, on one scale: "only rank 3" is one picture of many.
import { useMemo, useState } from "preact/hooks";
import { layOut, type Multiple } from "../data/multiples.ts";
import { errorTitle, FAIL, type Report } from "../data/report.ts";
import { laneOf, shortNumber } from "../data/scale.ts";
import { Canvas, Tip, useSize, type Pointer, type TipState } from "./canvas.tsx";
import { levelColour, type Palette } from "./colour.ts";
import { laneName } from "./course.tsx";
import { initials, type CourseData } from "./course_data.ts";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  data: CourseData; // of all rows
  fits: (row: number) => boolean;
  metric: string;
  selected: number | undefined;
  pick: (row: number) => void;
  choose: (section: string) => void; // shows it alone
  palette: Palette;
  say: Say;
}

const NARROWEST = 128;
const LOWEST = 44;
const TITLE = 15;
const MARGIN = 30; // of the titles of lines
const SCALE = 40; // of the numbers of the scale
const PAD = 4;

export function MultiplesView({ report, data, fits, metric, selected, pick, choose, palette, say }: Props) {
  const [place, size] = useSize();
  const [tip, setTip] = useState<TipState | undefined>(undefined);
  const layout = useMemo(() => layOut(report.sections, size.width, NARROWEST), [report, size.width]);
  const isGrid = layout.lineTitles.length > 0;
  const left = SCALE + (isGrid ? MARGIN : 0);
  const top = isGrid ? TITLE : 0;
  const width = Math.max(60, (size.width - left) / layout.columns);
  const height = Math.max(LOWEST, (size.height - top) / layout.lines);
  const title = isGrid ? 0 : TITLE;
  const { scale } = data;
  const high = scale.high + (data.errors.includes(Infinity) ? 1.05 : 0.3);
  const low = scale.low - 1.3;
  // As many powers of ten as there is room for.
  const every = Math.max(1, Math.ceil((scale.high - scale.low) / Math.max(1, Math.floor((height - title) / 22))));
  const ticks = Array.from({ length: Math.floor((scale.high - scale.low) / every) + 1 }, (_, i) => scale.high - i * every);
  const lanes = [...(data.errors.includes(Infinity) ? [laneOf(Infinity, scale)] : []), ...ticks, ...(data.errors.includes(0) ? [laneOf(0, scale)] : [])];
  const at = (item: Multiple): [number, number] => [left + item.column * width, top + item.line * height];
  const xOf = (item: Multiple, i: number): number => at(item)[0] + PAD + ((i + 0.5) / Math.max(1, report.sections[item.section]!.rows.length)) * (width - 2 * PAD);
  const yOf = (item: Multiple, lane: number): number => at(item)[1] + title + 3 + ((high - lane) / (high - low)) * (height - title - 8);
  const itemAt = ({ x, y }: Pointer): Multiple | undefined => layout.items.find((item) => item.column === Math.floor((x - left) / width) && item.line === Math.floor((y - top) / height));
  // The row nearest to the pointer; rows of a section stand in `data` as they stand in the report.
  const nearest = (item: Multiple, { x, y }: Pointer): number | undefined => {
    let best: number | undefined;
    let least = Infinity;
    report.sections[item.section]!.rows.forEach((row, i) => {
      const dx = xOf(item, i) - x;
      const dy = (yOf(item, data.lanes[row]!) - y) / 2;
      if (dx * dx + dy * dy < least) {
        least = dx * dx + dy * dy;
        best = row;
      }
    });
    return best;
  };
  const isTitle = (item: Multiple, { y }: Pointer): boolean => !isGrid && y < at(item)[1] + TITLE;
  const draw = (c: CanvasRenderingContext2D): void => {
    c.font = "10.5px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillStyle = palette.faint;
    c.textAlign = "center";
    layout.columnTitles.forEach((text, i) => c.fillText(width > 60 ? text : initials(text), left + (i + 0.5) * width, TITLE / 2));
    layout.lineTitles.forEach((text, i) => c.fillText(initials(text), MARGIN / 2, top + (i + 0.5) * height));
    for (const item of layout.items) drawOne(c, item);
    c.fillStyle = palette.faint;
    c.textAlign = "right";
    const first = layout.items.filter((item) => item.column === 0);
    for (const item of first) for (const lane of lanes) c.fillText(laneName(lane, scale, metric, say), left - 3, yOf(item, lane));
  };
  const drawOne = (c: CanvasRenderingContext2D, item: Multiple): void => {
    const section = report.sections[item.section]!;
    const [x, y] = at(item);
    const worst = section.rows.reduce((most, row) => Math.max(most, report.levels[row]!), 0);
    c.save();
    c.beginPath();
    c.rect(x + 1, y + 1, width - 2, height - 2);
    c.clip();
    c.fillStyle = palette.band;
    c.fillRect(x + 1, y + title, width - 2, height - title - 2);
    if (!isGrid) {
      c.fillStyle = palette.text;
      c.textAlign = "left";
      c.fillText(c.measureText(section.name).width < width - 8 ? section.name || "–" : initials(section.name), x + 3, y + TITLE / 2 + 1);
    }
    c.fillStyle = palette.line;
    for (const lane of lanes) c.fillRect(x + 1, Math.round(yOf(item, lane)), width - 2, 1);
    c.strokeStyle = palette.fail;
    c.globalAlpha = 0.6;
    c.setLineDash([4, 3]);
    c.lineWidth = 1;
    c.beginPath();
    section.rows.forEach((row, i) => {
      const bound = data.bounds[row];
      const from = i > 0 ? data.bounds[section.rows[i - 1]!] : undefined;
      if (bound === undefined || bound <= 0) return;
      const v = yOf(item, laneOf(bound, scale));
      if (bound !== from) c.moveTo(xOf(item, i - 0.5), v);
      c.lineTo(xOf(item, i + 0.5), v);
    });
    c.stroke();
    c.setLineDash([]);
    const dot = section.rows.length > (width - 2 * PAD) * 1.5 ? 1 : 1.6;
    for (const failing of [false, true])
      section.rows.forEach((row, i) => {
        const level = report.levels[row]!;
        if (level >= FAIL !== failing) return;
        c.globalAlpha = fits(row) ? (failing ? 1 : 0.75) : 0.12;
        c.fillStyle = levelColour(palette, level);
        // What failed is larger as well.
        const half = failing ? dot + 0.8 : dot;
        c.fillRect(xOf(item, i) - half, yOf(item, data.lanes[row]!) - half, 2 * half, 2 * half);
      });
    c.globalAlpha = 1;
    c.restore();
    c.lineWidth = worst >= FAIL ? 1.5 : 1;
    c.strokeStyle = worst >= FAIL ? levelColour(palette, worst) : palette.line;
    c.strokeRect(x + 1, y + title + 0.5, width - 3, height - title - 3);
    const chosen = selected === undefined || report.sectionOf[selected] !== item.section ? -1 : section.rows.indexOf(selected);
    if (chosen >= 0) {
      c.strokeStyle = palette.text;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(xOf(item, chosen), yOf(item, data.lanes[selected!]!), 5, 0, 7);
      c.stroke();
    }
  };
  const hover = (where: Pointer | undefined): void => {
    const item = where && itemAt(where);
    const row = item && nearest(item, where);
    if (!where || row === undefined) return setTip(undefined);
    const error = data.errors[row];
    setTip({
      x: where.x,
      y: where.y,
      text: (
        <>
          <b>{report.name(row)}</b>
          <div>{report.sections[item!.section]!.name}</div>
          <div>
            {errorTitle(metric)} {error === undefined ? say("not_compared") : shortNumber(error)} · {say(report.level(row))} {report.ports[row]}
          </div>
        </>
      ),
    });
  };
  return (
    <div class="multiples" ref={place}>
      {size.width > 0 && (
        <Canvas
          width={size.width}
          height={top + height * layout.lines}
          label={say("multiples")}
          draw={draw}
          on={[data, palette, selected, fits, layout, say]}
          onHover={hover}
          onPick={(where) => {
            const item = itemAt(where);
            if (!item) return;
            if (isTitle(item, where)) return choose(report.sections[item.section]!.name);
            const row = nearest(item, where);
            if (row !== undefined) pick(row);
          }}
          onTwice={(where) => {
            const item = itemAt(where);
            if (item) choose(report.sections[item.section]!.name);
          }}
        />
      )}
      <Tip tip={tip} width={size.width} />
    </div>
  );
}
