// The pictures of one tensor: block map, profiles, histograms, scatter.
import { useState } from "preact/hooks";
import { drawn, entries, entryText, type BlockMap, type Detail, type Drawn, type Profile } from "../data/detail.ts";
import { heat, laneOf, logScale, shortNumber } from "../data/scale.ts";
import type { MapDims } from "../data/load.ts";
import { Canvas, Tip, type TipState } from "./canvas.tsx";
import { heatColour, type Palette } from "./colour.ts";
import { Ramp } from "./heat_view.tsx";
import type { Say } from "./text.ts";

interface Props {
  detail: Detail;
  width: number;
  palette: Palette;
  say: Say;
}

const FONT = "10.5px system-ui, sans-serif";

export function BlockMapPicture({ detail, width, palette, say, choose }: Props & { choose?: (map: MapDims) => void }) {
  const [mean, setMean] = useState(false);
  const [tip, setTip] = useState<TipState | undefined>(undefined);
  const map: BlockMap = detail.map;
  const rows = entries(map.rows);
  const columns = entries(map.columns);
  const values = (mean ? map.mean_abs : map.max_abs).map(drawn);
  const scale = logScale(values);
  const left = 44;
  const top = 16;
  const cell = Math.min(24, (width - left - 4) / columns);
  const cellHeight = Math.max(Math.min(cell, 220 / rows), rows > 1 ? 3 : 18);
  const height = top + cellHeight * rows + 4;
  const draw = (c: CanvasRenderingContext2D): void => {
    c.font = FONT;
    c.fillStyle = palette.faint;
    c.textBaseline = "middle";
    c.textAlign = "right";
    const every = Math.ceil(14 / cellHeight);
    for (let i = 0; i < rows; i += every) c.fillText(String(i * map.rows.step), left - 5, top + (i + 0.5) * cellHeight);
    c.textAlign = "center";
    const across = Math.ceil(34 / cell);
    for (let i = 0; i < columns; i += across) c.fillText(String(i * map.columns.step), left + (i + 0.5) * cell, 8);
    values.forEach((value, i) => {
      const x = left + (i % columns) * cell;
      const y = top + Math.floor(i / columns) * cellHeight;
      c.fillStyle = Number.isNaN(value) ? palette.band : heatColour(palette, heat(value, scale));
      c.fillRect(x, y, cell + 0.4, cellHeight + 0.4);
      if (map.nonfinite?.[i]) {
        c.fillStyle = palette.error;
        const size = Math.max(2, Math.min(cell, cellHeight) / 2);
        c.fillRect(x + (cell - size) / 2, y + (cellHeight - size) / 2, size, size);
      }
    });
  };
  const dimText = (dim: number): string => (dim < 0 ? "" : `dim ${dim}`);
  return (
    <figure class="picture">
      <figcaption>
        {say("block_map")}{" "}
        <span class="switch">
          <button aria-pressed={!mean} onClick={() => setMean(false)}>
            {say("largest")}
          </button>
          <button aria-pressed={mean} onClick={() => setMean(true)}>
            {say("mean")}
          </button>
        </span>
        <Ramp palette={palette} low={`1e${scale.low}`} high={`1e${scale.high}`} />
        {choose && detail.shape.length > 2 && <DimensionChoice detail={detail} choose={choose} say={say} />}
      </figcaption>
      <div class="plot">
        <Canvas
          width={width}
          height={height}
          label={say("block_map")}
          draw={draw}
          on={[detail, mean, palette]}
          onHover={(at) => {
            const x = at ? Math.floor((at.x - left) / cell) : -1;
            const y = at ? Math.floor((at.y - top) / cellHeight) : -1;
            if (!at || x < 0 || x >= columns || y < 0 || y >= rows) return setTip(undefined);
            const i = y * columns + x;
            const where = [map.rows.dim >= 0 && `${dimText(map.rows.dim)}: ${entryText(map.rows, y)}`, map.columns.dim >= 0 && `${dimText(map.columns.dim)}: ${entryText(map.columns, x)}`].filter(Boolean).join(", ");
            return setTip({
              ...at,
              text: (
                <>
                  <b>{where}</b>
                  <div>
                    {say("largest")} {shortNumber(drawn(map.max_abs[i]))} · {say("mean")} {shortNumber(drawn(map.mean_abs[i]))}
                  </div>
                  {!!map.nonfinite?.[i] && <div>NaN/∞: {map.nonfinite[i]}</div>}
                </>
              ),
            });
          }}
        />
        <Tip tip={tip} width={width} />
      </div>
      <p class="axis-note">
        {dimText(map.rows.dim) && `↓ ${dimText(map.rows.dim)} (${map.rows.size})`} {dimText(map.columns.dim) && `→ ${dimText(map.columns.dim)} (${map.columns.size})`}
      </p>
    </figure>
  );
}

// Which two dimensions are drawn; the others are reduced.
function DimensionChoice({ detail, choose, say }: { detail: Detail; choose: (map: MapDims) => void; say: Say }) {
  const { rows, columns } = detail.map;
  const select = (label: string, value: number, set: (dim: number) => void) => (
    <label class="choice">
      {label}
      <select value={String(value)} onChange={(event) => set(Number(event.currentTarget.value))}>
        {detail.shape.map((size, dim) => (
          <option value={String(dim)}>
            dim {dim} ({size})
          </option>
        ))}
      </select>
    </label>
  );
  // Choosing what the other one shows exchanges them.
  return (
    <>
      {select(say("map_rows"), rows.dim, (dim) => choose([dim, dim === columns.dim ? rows.dim : columns.dim]))}
      {select(say("map_columns"), columns.dim, (dim) => choose([dim === rows.dim ? columns.dim : rows.dim, dim]))}
    </>
  );
}

export function ProfilePicture({ profile, width, palette, say }: { profile: Profile; width: number; palette: Palette; say: Say }) {
  const [tip, setTip] = useState<TipState | undefined>(undefined);
  const values = profile.rel_l2.map(drawn);
  const scale = logScale(values);
  const left = 44;
  const height = 74;
  const bottom = height - 14;
  const count = values.length;
  const step = (width - left - 6) / count;
  const hasTop = values.some((value) => !Number.isFinite(value));
  const low = scale.low - 0.9;
  const high = scale.high + (hasTop ? 0.9 : 0.1);
  const yOf = (value: number): number => bottom - ((laneOf(value, scale) - low) / (high - low)) * (bottom - 6);
  return (
    <figure class="picture">
      <figcaption>
        {say("profile", { dim: profile.dim, size: profile.size })} <span class="quiet">rel_l2</span>
      </figcaption>
      <div class="plot">
        <Canvas
          width={width}
          height={height}
          label={say("profile", { dim: profile.dim, size: profile.size })}
          on={[profile, palette]}
          draw={(c) => {
            c.font = FONT;
            c.textBaseline = "middle";
            c.textAlign = "right";
            const span = scale.high - scale.low;
            for (let k = scale.low; k <= scale.high; k += Math.max(1, Math.ceil(span / 3))) {
              const y = yOf(10 ** k);
              c.fillStyle = palette.faint;
              c.fillText(k === 0 ? "1" : `1e${k}`, left - 5, y);
              c.fillStyle = palette.line;
              c.fillRect(left, y, width - left, 1);
            }
            values.forEach((value, i) => {
              const y = yOf(value);
              c.fillStyle = profile.nonfinite?.[i] ? palette.error : heatColour(palette, 0.3 + 0.7 * heat(value, scale));
              c.fillRect(left + i * step, y, Math.max(1, step - (step > 4 ? 1 : 0)), bottom - y);
            });
            c.fillStyle = palette.faint;
            c.textAlign = "center";
            const every = Math.ceil(40 / step);
            for (let i = 0; i < count; i += every) c.fillText(String(i * profile.step), left + (i + 0.5) * step, height - 6);
          }}
          onHover={(at) => {
            const i = at ? Math.floor((at.x - left) / step) : -1;
            if (!at || i < 0 || i >= count) return setTip(undefined);
            return setTip({
              ...at,
              text: (
                <>
                  <b>
                    dim {profile.dim}: {entryText(profile, i)}
                  </b>
                  <div>
                    rel_l2 {shortNumber(values[i])} · {say("largest")} {shortNumber(drawn(profile.max_abs[i]))}
                  </div>
                </>
              ),
            });
          }}
        />
        <Tip tip={tip} width={width} />
      </div>
    </figure>
  );
}

// Both sides over one axis: golden filled, mine as a line.
export function HistogramPicture({ detail, width, palette, say }: Props) {
  const { mine, golden } = detail.histogram;
  const edges = detail.axis.edges.map(drawn);
  const height = 96;
  const bottom = height - 16;
  const left = 6;
  const most = Math.max(1, ...mine, ...golden);
  // Few count as well: the root shows them.
  const yOf = (count: number): number => bottom - Math.sqrt(count / most) * (bottom - 6);
  const step = (width - left * 2) / Math.max(1, mine.length);
  return (
    <figure class="picture">
      <figcaption>
        {say("histogram")} <span class="swatch golden" /> {say("golden")} <span class="swatch mine" /> {say("mine")}
        {detail.axis.scale === "log" && <span class="quiet"> log</span>}
      </figcaption>
      <Canvas
        width={width}
        height={height}
        label={say("histogram")}
        on={[detail, palette]}
        draw={(c) => {
          c.fillStyle = palette.golden;
          c.globalAlpha = 0.35;
          golden.forEach((count, i) => c.fillRect(left + i * step, yOf(count), step + 0.3, bottom - yOf(count)));
          c.globalAlpha = 1;
          c.strokeStyle = palette.mine;
          c.lineWidth = 1.5;
          c.beginPath();
          mine.forEach((count, i) => {
            const x = left + i * step;
            if (i === 0) c.moveTo(x, bottom);
            c.lineTo(x, yOf(count));
            c.lineTo(x + step, yOf(count));
          });
          c.lineTo(left + mine.length * step, bottom);
          c.stroke();
          axisLabels(c, edges, left, width - left, height - 6, palette);
        }}
      />
    </figure>
  );
}

// Narrow enough for the margin of a picture.
function axisNumber(value: number): string {
  return Math.abs(value) >= 1e4 ? value.toExponential(1).replace("e+", "e") : shortNumber(value);
}

function axisLabels(c: CanvasRenderingContext2D, edges: number[], left: number, right: number, y: number, palette: Palette, shares = [0, 0.25, 0.5, 0.75, 1]): void {
  c.font = FONT;
  c.textBaseline = "middle";
  c.fillStyle = palette.faint;
  const last = edges.length - 1;
  for (const share of shares) {
    c.textAlign = share === 0 ? "left" : share === 1 ? "right" : "center";
    c.fillText(axisNumber(edges[Math.round(share * last)]!), left + share * (right - left), y);
  }
}

export function DifferencePicture({ detail, width, palette, say }: Props) {
  const { zero, counts } = detail.difference;
  const edges = detail.difference.edges.map(drawn);
  const all = [zero, ...counts];
  const most = Math.max(1, ...all);
  const height = 86;
  const bottom = height - 16;
  const step = (width - 12) / Math.max(8, all.length + 1);
  return (
    <figure class="picture">
      <figcaption>
        {say("histogram_difference")} <span class="quiet">|d|</span>
      </figcaption>
      <Canvas
        width={width}
        height={height}
        label={say("histogram_difference")}
        on={[detail, palette]}
        draw={(c) => {
          all.forEach((count, i) => {
            if (count <= 0) return;
            const y = bottom - Math.max(2, Math.sqrt(count / most) * (bottom - 6));
            c.fillStyle = i === 0 ? palette.pass : heatColour(palette, 0.3 + (0.7 * i) / all.length);
            c.fillRect(6 + (i === 0 ? 0 : i + 0.6) * step, y, Math.max(1, step - 1), bottom - y);
          });
          c.font = FONT;
          c.fillStyle = palette.faint;
          c.textBaseline = "middle";
          c.textAlign = "left";
          c.fillText("0", 6, height - 6);
          c.textAlign = "center";
          const every = Math.max(1, Math.ceil(52 / step));
          // The first has room beside the 0 where there are few.
          for (let i = 1.6 * step > 40 ? 0 : every; i < edges.length - 1; i += every) c.fillText(edges[i]!.toExponential(0).replace("e+", "e"), 6 + (i + 1.6) * step, height - 6);
        }}
      />
    </figure>
  );
}

export function ScatterPicture({ detail, width, palette, say }: Props) {
  const { bins, at, counts } = detail.scatter;
  const size = Math.min(width - 48, 210);
  const left = 44;
  const height = size + 20;
  const cell = size / Math.max(1, bins);
  const most = Math.log1p(Math.max(1, ...counts));
  const edges = detail.axis.edges.map(drawn);
  return (
    <figure class="picture">
      <figcaption>{say("scatter")}</figcaption>
      <Canvas
        width={width}
        height={height}
        label={say("scatter")}
        on={[detail, palette, size]}
        draw={(c) => {
          c.strokeStyle = palette.line;
          c.strokeRect(left + 0.5, 0.5, size - 1, size - 1);
          c.beginPath();
          c.moveTo(left, size);
          c.lineTo(left + size, 0);
          c.stroke();
          at.forEach((each, i) => {
            const golden = Math.floor(each / bins);
            const mine = each % bins;
            c.fillStyle = heatColour(palette, 0.25 + (0.75 * Math.log1p(counts[i]!)) / most);
            c.fillRect(left + golden * cell, size - (mine + 1) * cell, Math.max(1.5, cell), Math.max(1.5, cell));
          });
          axisLabels(c, edges, left, left + size, height - 8, palette, [0, 0.5, 1]);
          c.textAlign = "right";
          c.fillText(axisNumber(edges[edges.length - 1]!), left - 4, 8);
          c.fillText(axisNumber(edges[0]!), left - 4, size - 6);
          c.save();
          c.translate(left - 8, size / 2);
          c.rotate(-Math.PI / 2);
          c.textAlign = "center";
          c.fillText(say("mine"), 0, 0);
          c.restore();
        }}
      />
      <p class="axis-note">→ {say("golden")}</p>
    </figure>
  );
}

export function FitTable({ detail, say }: { detail: Detail; say: Say }) {
  const number = (value: Drawn): string => shortNumber(drawn(value), 5);
  const plus = (value: Drawn): string => (drawn(value) < 0 ? `− ${shortNumber(-drawn(value), 5)}` : `+ ${number(value)}`);
  const lines: [string, Drawn][] = [
    [say("fit_none"), detail.fit.none.rel_l2],
    [say("fit_scale", { scale: number(detail.fit.scale.scale) }), detail.fit.scale.rel_l2],
    [say("fit_offset", { offset: plus(detail.fit.offset.offset) }), detail.fit.offset.rel_l2],
    [say("fit_both", { scale: number(detail.fit.both.scale), offset: plus(detail.fit.both.offset) }), detail.fit.both.rel_l2],
  ];
  const asItIs = drawn(detail.fit.none.rel_l2);
  return (
    <figure class="picture">
      <figcaption>{say("fits")}</figcaption>
      <table class="fits">
        <tbody>
          {lines.map(([label, left], i) => (
            <tr class={i > 0 && drawn(left) < asItIs / 2 ? "better" : ""}>
              <td>{label}</td>
              <td class="number">{shortNumber(drawn(left), 4)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
