// The course of the error over the order in which tensors were made.
import uPlot from "uplot";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { errorTitle, FAIL, type Report } from "../data/report.ts";
import { laneOf, shortNumber, type LogScale } from "../data/scale.ts";
import { initials, type CourseData } from "./course_data.ts";
import { Tip, useSize, type TipState } from "./canvas.tsx";
import { levelColour, type Palette } from "./colour.ts";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  data: CourseData;
  fits: (row: number) => boolean; // the filter
  metric: string;
  oneSection: boolean;
  selected: number | undefined; // row
  first: number | undefined;
  zoom: [number, number] | undefined;
  setZoom: (zoom: [number, number] | undefined) => void;
  pick: (row: number) => void;
  palette: Palette;
  say: Say;
}

export function Course(props: Props) {
  const { data, palette, zoom } = props;
  const [place, size] = useSize();
  const plot = useRef<uPlot | undefined>(undefined);
  const now = useRef(props);
  now.current = props;
  const [tip, setTip] = useState<TipState | undefined>(undefined);
  const whole: [number, number] = useMemo(() => [-0.5, Math.max(0.5, data.rows.length - 0.5)], [data]);

  useEffect(() => {
    const element = place.current;
    if (!element || size.width === 0 || size.height === 0) return undefined;
    const { scale } = data;
    const span = scale.high - scale.low;
    const step = Math.max(1, Math.ceil(span / Math.max(2, Math.floor(size.height / 26))));
    const ticks = [scale.low - 0.7];
    for (let k = scale.low; k <= scale.high; k += step) ticks.push(k);
    const hasTop = data.errors.some((error) => error === Infinity);
    if (hasTop) ticks.push(scale.high + 0.7);
    const options: uPlot.Options = {
      width: size.width,
      height: size.height,
      legend: { show: false },
      padding: [18, 8, 4, 0],
      scales: {
        x: { time: false, range: () => now.current.zoom ?? whole },
        y: { range: () => [scale.low - 1.4, scale.high + (hasTop ? 1.05 : 0.35)] },
      },
      series: [{}, { points: { show: false }, paths: () => null }],
      axes: [
        { show: false },
        {
          size: 52,
          stroke: palette.faint,
          font: "11px system-ui, sans-serif",
          grid: { stroke: palette.line, width: 1 },
          ticks: { show: false },
          splits: () => ticks,
          values: (_plot, values) => values.map((each) => laneName(each, scale, now.current.metric, now.current.say)),
        },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        drawClear: [(u) => drawBands(u, now.current)],
        draw: [(u) => drawPoints(u, now.current)],
        setSelect: [
          (u) => {
            if (u.select.width < 6) return;
            const from = Math.max(whole[0], u.posToVal(u.select.left, "x"));
            const to = Math.min(whole[1], u.posToVal(u.select.left + u.select.width, "x"));
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (to - from > 1.5) now.current.setZoom([Math.max(0, Math.round(from)), Math.round(to)]);
          },
        ],
        setCursor: [
          (u) => {
            const { left, top } = u.cursor;
            const near = left === undefined || left < 0 ? undefined : nearest(u, now.current, left, top ?? 0);
            setTip(near === undefined ? undefined : tipOf(u, now.current, near));
          },
        ],
      },
    };
    const u = new uPlot(options, [Array.from(data.rows.keys()), Array.from(data.lanes)] as uPlot.AlignedData, element);
    plot.current = u;
    let pressed = 0;
    u.over.addEventListener("mousedown", (event) => (pressed = event.clientX));
    u.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - pressed) > 3) return;
      const near = nearest(u, now.current, event.offsetX, event.offsetY);
      if (near !== undefined) now.current.pick(now.current.data.rows[near]!);
    });
    u.over.addEventListener("dblclick", () => now.current.setZoom(undefined));
    return () => {
      plot.current = undefined;
      u.destroy();
    };
  }, [data, size.width, size.height, palette, whole]);

  // Another zoom, selection or filter is drawn into the same plot.
  useEffect(() => {
    const [min, max] = zoom ?? whole;
    plot.current?.setScale("x", { min, max });
    plot.current?.redraw(false);
  }, [zoom?.[0], zoom?.[1], props.selected, props.first, props.fits, whole]);

  return (
    <div class="course-plot" ref={place}>
      <Tip tip={tip} width={size.width} />
    </div>
  );
}

// What stands at a line of the scale. No error of some metrics is no error of any element.
export function laneName(lane: number, scale: LogScale, metric: string, say: Say): string {
  if (lane < scale.low) return isOfElements(metric) ? say("exact") : "0";
  return lane > scale.high ? "NaN/∞" : lane === 0 ? "1" : `1e${lane}`;
}

function isOfElements(metric: string): boolean {
  return /^(rel_l2|rel_l1|max_abs|mean_abs|ulp_max|l1|l2|max_rel|mean_rel|equal_ratio)$/.test(metric);
}

const REACH = 14; // pixels

function nearest(u: uPlot, { data }: Props, left: number, top: number): number | undefined {
  const from = Math.max(0, Math.floor(u.posToVal(left - REACH, "x")));
  const to = Math.min(data.rows.length - 1, Math.ceil(u.posToVal(left + REACH, "x")));
  let best: number | undefined;
  let least = Infinity;
  for (let i = from; i <= to; ++i) {
    const dx = u.valToPos(i, "x") - left;
    const dy = u.valToPos(data.lanes[i]!, "y") - top;
    const distance = dx * dx + dy * dy * 0.25;
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best;
}

function tipOf(u: uPlot, { report, data, metric, say }: Props, i: number): TipState {
  const row = data.rows[i]!;
  const error = data.errors[i];
  const bound = data.bounds[i];
  const section = report.sections[report.sectionOf[row]!]!.name;
  return {
    x: u.valToPos(i, "x") + u.bbox.left / devicePixelRatio,
    y: Math.min(u.valToPos(data.lanes[i]!, "y") + u.bbox.top / devicePixelRatio, u.height - 74),
    text: (
      <>
        <b>{report.name(row)}</b>
        {section && <div>{section}</div>}
        <div>
          {errorTitle(metric)} {error === undefined ? say("not_compared") : shortNumber(error)}
          {bound !== undefined && ` · ${say("bound")} ${shortNumber(bound)}`} · {say(report.level(row))} {report.ports[row]}
        </div>
      </>
    ),
  };
}

function drawBands(u: uPlot, { data, palette, oneSection, say }: Props): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  const { min, max } = u.scales["x"]!;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left"; // the axis leaves its own
  let lastLabel = -Infinity;
  data.bands.forEach((band, i) => {
    if (band.to - 0.5 < min! || band.from - 0.5 > max!) return;
    const left = u.valToPos(band.from - 0.5, "x", true);
    const right = u.valToPos(band.to - 0.5, "x", true);
    if (i % 2 === 0) {
      ctx.fillStyle = palette.band;
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    if (!band.label) return;
    const from = Math.max(left, bbox.left) + 3 * ratio;
    const whole = oneSection ? `${say("layer")} ${band.label}` : band.label;
    const text = ctx.measureText(whole).width <= right - from ? whole : oneSection ? band.label : initials(band.label);
    const width = ctx.measureText(text).width;
    if (from < lastLabel + 6 * ratio || width > Math.max(right - from, 44 * ratio)) return;
    ctx.fillStyle = palette.faint;
    ctx.fillText(text, from, bbox.top - 3 * ratio);
    lastLabel = from + width;
  });
  ctx.restore();
}

function drawPoints(u: uPlot, { report, data, palette, fits, selected, first, say }: Props): void {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  const from = Math.max(0, Math.floor(u.scales["x"]!.min!) - 1);
  const to = Math.min(data.rows.length - 1, Math.ceil(u.scales["x"]!.max!) + 1);
  const room = bbox.width / Math.max(1, to - from) / ratio;
  const size = (room > 14 ? 4 : room > 5 ? 3.2 : room > 1 ? 2.4 : 1.7) * ratio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 4, bbox.top - 4, bbox.width + 8, bbox.height + 8);
  ctx.clip();
  // The bound: where it changes from row to row, the two are lines of their own.
  ctx.strokeStyle = palette.fail;
  ctx.globalAlpha = 0.75;
  ctx.lineWidth = 1.25 * ratio;
  ctx.setLineDash([5 * ratio, 3 * ratio]);
  ctx.beginPath();
  for (let i = from; i <= to; ) {
    const bound = data.bounds[i];
    let end = i + 1;
    while (end <= to && data.bounds[end] === bound) ++end;
    if (bound !== undefined && bound > 0) {
      const y = u.valToPos(laneOf(bound, data.scale), "y", true);
      ctx.moveTo(u.valToPos(i - 0.5, "x", true), y);
      ctx.lineTo(u.valToPos(end - 0.5, "x", true), y);
    }
    i = end;
  }
  ctx.stroke();
  ctx.setLineDash([]);
  if (first !== undefined) {
    const at = data.rows.indexOf(first);
    if (at >= 0) {
      const x = u.valToPos(at, "x", true);
      ctx.strokeStyle = palette.fail;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.font = `600 ${11 * ratio}px system-ui, sans-serif`;
      const text = say(report.isOfNumbers ? "first_failed" : "first_divergence");
      const width = ctx.measureText(text).width + 8 * ratio;
      const left = x + width > bbox.left + bbox.width ? x - width : x;
      ctx.fillStyle = palette.fail;
      ctx.fillRect(left, bbox.top, width, 15 * ratio);
      ctx.fillStyle = palette.back;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      ctx.fillText(text, left + 4 * ratio, bbox.top + 8 * ratio);
    }
  }
  // What passes lies under what fails.
  for (const failing of [false, true])
    for (let i = from; i <= to; ++i) {
      const row = data.rows[i]!;
      const level = report.levels[row]!;
      if (level >= FAIL !== failing) continue;
      const x = u.valToPos(i, "x", true);
      const y = u.valToPos(data.lanes[i]!, "y", true);
      ctx.globalAlpha = fits(row) ? (failing ? 1 : 0.85) : 0.13;
      ctx.fillStyle = ctx.strokeStyle = levelColour(palette, level);
      drawSign(ctx, x, y, failing ? size * 1.25 : size, level, data.errors[i] === undefined, report.ports[row] === "output" || report.ports[row] === "", ratio);
    }
  ctx.globalAlpha = 1;
  const at = selected === undefined ? -1 : data.rows.indexOf(selected);
  if (at >= 0) {
    ctx.strokeStyle = palette.text;
    ctx.lineWidth = 2 * ratio;
    ctx.beginPath();
    ctx.arc(u.valToPos(at, "x", true), u.valToPos(data.lanes[at]!, "y", true), size + 4 * ratio, 0, 7);
    ctx.stroke();
  }
  ctx.restore();
}

// Filled: what an operator gave. Hollow: what it was given. A cross: not compared. A triangle: an error.
function drawSign(ctx: CanvasRenderingContext2D, x: number, y: number, size: number, level: number, isAlone: boolean, isOutput: boolean, ratio: number): void {
  if (size < 2 * ratio) {
    ctx.fillRect(x - size, y - size, size * 2, size * 2);
    return;
  }
  ctx.lineWidth = 1.3 * ratio;
  ctx.beginPath();
  if (isAlone) {
    ctx.moveTo(x - size, y - size);
    ctx.lineTo(x + size, y + size);
    ctx.moveTo(x + size, y - size);
    ctx.lineTo(x - size, y + size);
    ctx.stroke();
  } else if (level === 3) {
    ctx.moveTo(x, y - size * 1.2);
    ctx.lineTo(x + size * 1.1, y + size);
    ctx.lineTo(x - size * 1.1, y + size);
    ctx.closePath();
    ctx.fill();
  } else {
    ctx.arc(x, y, size, 0, 7);
    if (isOutput) ctx.fill();
    else ctx.stroke();
  }
}
