// A heat map: what is worst at each place. Whatever stands on one side only is hatched, one way or the other.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { errorTitle, FAIL, type Report } from "../data/report.ts";
import { heatScale, type Grid, type GridCell } from "../data/grid.ts";
import { heat, shortNumber } from "../data/scale.ts";
import { Canvas, Tip, useSize, type Pointer, type TipState } from "./canvas.tsx";
import { heatColour, levelColour, type Palette } from "./colour.ts";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  grid: Grid;
  metric: string;
  selected: number | undefined;
  pick: (row: number) => void;
  palette: Palette;
  say: Say;
}

const TOP = 4; // the label of a line may be higher than its cells

export function HeatView({ report, grid, metric, selected, pick, palette, say }: Props) {
  const [place, size] = useSize();
  const [tip, setTip] = useState<TipState | undefined>(undefined);
  const scale = useMemo(() => heatScale(report, metric, [...grid.cells.values()].map((cell) => cell.error)), [report, metric, grid]);
  const { lines, columns } = grid;
  const labelWidth = Math.min(240, 24 + 6.2 * Math.max(...lines.map((line) => lineLabel(grid, line, say).length), 4));
  const isTilted = grid.kind !== "calls";
  const longest = Math.max(...columns.map((column) => shortLabel(column).length), 1);
  const titleHeight = isTilted ? Math.min(120, 16 + longest * 4.6) : 22;
  const tiltRoom = isTilted ? Math.min(90, longest * 4.6) : 0;
  const cellWidth = Math.max(5, Math.min(72, (size.width - labelWidth - 16 - tiltRoom) / columns.length));
  const cellHeight = Math.max(7, Math.min(30, (size.height - titleHeight - 34) / lines.length));
  const width = Math.max(size.width - 14, labelWidth + cellWidth * columns.length + tiltRoom);
  const height = TOP + cellHeight * lines.length + 6; // of the cells: their titles stay in sight
  const cellAt = ({ x, y }: Pointer): [GridCell, number, number] | undefined => {
    const column = Math.floor((x - labelWidth) / cellWidth);
    const line = Math.floor((y - TOP) / cellHeight);
    if (column < 0 || column >= columns.length || line < 0 || line >= lines.length) return undefined;
    const cell = grid.cells.get(line * columns.length + column);
    return cell && [cell, line, column];
  };
  const drawTitles = (c: CanvasRenderingContext2D): void => {
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillStyle = palette.faint;
    c.textAlign = "left";
    const everyColumn = Math.ceil((isTilted ? 13 : 18) / cellWidth);
    columns.forEach((column, i) => {
      if (i % everyColumn !== 0) return;
      c.save();
      c.translate(labelWidth + (i + 0.5) * cellWidth, titleHeight - 5);
      if (isTilted) c.rotate(-Math.PI / 4);
      else c.translate(-4, -4);
      c.fillText(fit(c, shortLabel(column), 140), 0, 0);
      c.restore();
    });
  };
  const draw = (c: CanvasRenderingContext2D): void => {
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.textAlign = "right";
    c.fillStyle = palette.faint;
    const everyLine = Math.ceil(12 / cellHeight);
    lines.forEach((line, i) => {
      const y = TOP + (i + 0.5) * cellHeight;
      if (i % everyLine === 0) c.fillText(fit(c, lineLabel(grid, line, say), labelWidth - 10), labelWidth - 6, y);
    });
    for (const [key, cell] of grid.cells) {
      const x = labelWidth + (key % columns.length) * cellWidth;
      const y = TOP + Math.floor(key / columns.length) * cellHeight;
      drawCell(c, x, y, cellWidth, cellHeight, cell, cell.error === undefined ? undefined : heat(cell.error, scale), palette);
      if (cell.row === selected || (selected !== undefined && sameCell(report, cell, selected))) {
        c.strokeStyle = palette.text;
        c.lineWidth = 2;
        c.strokeRect(x + 0.5, y + 0.5, cellWidth - 1, cellHeight - 1);
      }
    }
  };
  // What is selected comes into sight.
  const scroll = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = scroll.current;
    if (!element || selected === undefined || size.width === 0) return;
    const found = [...grid.cells].find(([, cell]) => cell.row === selected) ?? [...grid.cells].find(([, cell]) => sameCell(report, cell, selected));
    if (!found) return;
    const y = TOP + Math.floor(found[0] / columns.length) * cellHeight;
    const x = labelWidth + (found[0] % columns.length) * cellWidth;
    if (y < element.scrollTop || y + cellHeight > element.scrollTop + element.clientHeight - titleHeight) element.scrollTop = Math.max(0, y - (element.clientHeight - titleHeight) / 2);
    if (x < element.scrollLeft + labelWidth || x + cellWidth > element.scrollLeft + element.clientWidth) element.scrollLeft = Math.max(0, x - element.clientWidth / 2);
  }, [grid, selected, size.width, size.height]);
  return (
    <div class="heat-view" ref={place}>
      <div class="legend">
        <span>{errorTitle(metric)}</span>
        <Ramp palette={palette} low={`1e${scale.low}`} high={`1e${scale.high}`} />
        <span>
          <i class="key only-mine" /> {say("only_mine")}
        </span>
        <span>
          <i class="key only-golden" /> {say("only_golden")}
        </span>
        <span>
          <i class="key framed" /> {say("failed")}
        </span>
        {grid.kind === "calls" && <span class="quiet">{say("no_layers")}</span>}
      </div>
      <div class="heat-scroll" ref={scroll}>
        {size.width > 0 && <Canvas class="heat-titles" width={width} height={titleHeight} label={columns.join(", ")} draw={drawTitles} on={[grid, palette, size.width]} />}
        {size.width > 0 && (
          <Canvas
            class="heat-cells"
            width={width}
            height={height}
            label={say("heat")}
            draw={draw}
            on={[grid, palette, selected, say]}
            onHover={(at) => {
              const found = at && cellAt(at);
              setTip(found && at ? { x: at.x, y: at.y + titleHeight, text: cellText(report, found[0], metric, say) } : undefined);
            }}
            onPick={(at) => {
              const found = cellAt(at);
              if (found && found[0].row >= 0) pick(found[0].row);
            }}
          />
        )}
        <Tip tip={tip} width={size.width} />
      </div>
    </div>
  );
}

function sameCell(report: Report, cell: GridCell, selected: number): boolean {
  return report.operatorOf[cell.row] === report.operatorOf[selected];
}

function lineLabel(grid: Grid, line: string, say: Say): string {
  return grid.kind === "layers" && /^\d/.test(line) ? `${say("layer")} ${line}` : line;
}

// Of a long name its end tells the most.
export function shortLabel(text: string): string {
  return text.length > 26 ? `…${text.slice(-25)}` : text;
}

function fit(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (c.measureText(text).width <= width) return text;
  let from = 1;
  while (from < text.length && c.measureText(`…${text.slice(from)}`).width > width) ++from;
  return `…${text.slice(from)}`;
}

export function drawCell(c: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, cell: GridCell, share: number | undefined, palette: Palette): void {
  const gap = width > 9 && height > 9 ? 1 : 0;
  c.fillStyle = share === undefined ? palette.band : heatColour(palette, share);
  c.fillRect(x + gap, y + gap, width - 2 * gap, height - 2 * gap);
  if (cell.alone) {
    c.save();
    c.beginPath();
    c.rect(x + gap, y + gap, width - 2 * gap, height - 2 * gap);
    c.clip();
    c.strokeStyle = palette.faint;
    c.lineWidth = 1;
    c.beginPath();
    for (let at = -height; at < width + height; at += 5) {
      const rises = cell.alone === "mine";
      c.moveTo(x + at, rises ? y + height : y);
      c.lineTo(x + at + height, rises ? y : y + height);
    }
    c.stroke();
    c.restore();
  }
  if (share !== undefined && cell.error !== undefined && width >= 40 && height >= 18) {
    c.font = "10.5px system-ui, sans-serif";
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = inkOn(share, palette);
    c.fillText(shortNumber(cell.error, 2), x + width / 2, y + height / 2 + 0.5);
  }
  if (cell.level >= FAIL) {
    c.strokeStyle = levelColour(palette, cell.level);
    c.lineWidth = width > 14 && height > 12 ? 2 : 1;
    c.strokeRect(x + 1, y + 1, width - 2, height - 2);
  }
}

// The ramp grows darker in a light page and brighter in a dark one.
function inkOn(share: number, palette: Palette): string {
  return palette.theme === "light" ? (share > 0.55 ? "#fff" : "#1c2430") : share > 0.62 ? "#12171e" : "#e6eaf0";
}

function cellText(report: Report, cell: GridCell, metric: string, say: Say) {
  const row = cell.row;
  const section = report.sections[report.sectionOf[row]!]!.name;
  return (
    <>
      <b>{report.name(row)}</b>
      {section && <div>{section}</div>}
      <div>
        {errorTitle(metric)} {cell.error === undefined ? say("not_compared") : shortNumber(cell.error)} · {say(report.level(row))}
      </div>
      {cell.alone && <div>{say(cell.alone === "mine" ? "only_mine" : "only_golden")}</div>}
    </>
  );
}

export function Ramp({ palette, low, high }: { palette: Palette; low: string; high: string }) {
  return (
    <span class="ramp">
      {low}
      <Canvas
        width={120}
        height={10}
        label={`${low} … ${high}`}
        on={[palette]}
        draw={(c) => {
          for (let i = 0; i < 120; ++i) {
            c.fillStyle = heatColour(palette, i / 119);
            c.fillRect(i, 0, 1, 10);
          }
        }}
      />
      {high}
    </span>
  );
}
