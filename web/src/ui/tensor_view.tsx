// The selected tensor: what is wrong with it, in words, numbers and pictures.
import { useEffect, useState } from "preact/hooks";
import { drawn, type Detail, type Window } from "../data/detail.ts";
import type { DetailSource, MapDims } from "../data/load.ts";
import type { Report } from "../data/report.ts";
import type { Cell } from "../data/table.ts";
import { heat, logScale, shortNumber } from "../data/scale.ts";
import { pattern, shellWord } from "../data/export.ts";
import { useSize } from "./canvas.tsx";
import { heatColour, type Palette } from "./colour.ts";
import { BlockMapPicture, DifferencePicture, FitTable, HistogramPicture, ProfilePicture, ScatterPicture } from "./pictures.tsx";
import { Command } from "./verdict.tsx";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  details: DetailSource;
  row: number;
  palette: Palette;
  say: Say;
}

type Coming = { kind: "none" } | { kind: "reading"; share: number } | { kind: "fault"; message: string } | { kind: "here"; detail: Detail };

// What is no longer looked at is no longer read.
function useDetail(details: DetailSource, id: number, map: MapDims | undefined): Coming {
  const [found, setFound] = useState<{ id: number; coming: Coming } | undefined>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    const tell = (coming: Coming): void => {
      // What is there stays until other dimensions of it are.
      if (!stop.signal.aborted) setFound((old) => (coming.kind === "reading" && old?.id === id && old.coming.kind === "here" ? old : { id, coming }));
    };
    // Whoever walks through a list does not want every tensor of it.
    const wait = setTimeout(
      () => {
        const coming = details.get(id, (share) => tell({ kind: "reading", share }), stop.signal, map);
        if (!coming) tell({ kind: "none" });
        else coming.then((detail) => tell({ kind: "here", detail }), (fault: unknown) => tell({ kind: "fault", message: fault instanceof Error ? fault.message : String(fault) }));
      },
      details.count === undefined ? 150 : 0,
    );
    return () => {
      clearTimeout(wait);
      stop.abort();
    };
  }, [details, id, map]);
  return found?.id === id ? found.coming : { kind: "reading", share: 0 };
}

export function TensorView({ report, details, row, palette, say }: Props) {
  const [place, size] = useSize();
  const { table } = report;
  const isWhole = table.cell("status", row) === "compared" && String(table.cell("compared_by", row)).includes("elements");
  const id = report.id(row);
  const [chosen, setChosen] = useState<{ id: number; map: MapDims } | undefined>(undefined);
  const coming = useDetail(details, id, chosen?.id === id ? chosen.map : undefined);
  const detail = coming.kind === "here" ? coming.detail : undefined;
  const width = Math.max(200, size.width);
  const near = table.cell(".near", row);
  return (
    <div class="tensor" ref={place}>
      <p class={`reason ${report.level(row)}`}>{withoutEnd(table.text("reason", row), detail?.diagnosis)}</p>
      {detail?.diagnosis && (
        <p class="diagnosis">
          {detail.diagnoses.length > 0 ? detail.diagnoses.map((each) => <span title={each.kind}>{each.text}</span>) : <span>{detail.diagnosis}</span>}
        </p>
      )}
      {table.text("note", row) && table.text("note", row) !== table.text("reason", row) && <p class="note">{table.text("note", row)}</p>}
      <Sides report={report} row={row} say={say} />
      <Numbers report={report} row={row} />
      {detail && (
        <p class="quiet small">
          {say("equal_elements", { equal: detail.equal, count: detail.count })}
          {detail.nonfinite_apart > 0 && ` · NaN/∞: ${detail.nonfinite_apart}`}
        </p>
      )}
      {coming.kind === "reading" && (details.count !== undefined || isWhole) && (
        <p class="quiet small">
          {say("detail_loading")} {coming.share > 0 && `${Math.round(coming.share * 100)} %`}
        </p>
      )}
      {coming.kind === "fault" && isWhole && <p class="fault">{coming.message}</p>}
      {detail?.worst && detail.worst.window.mine.length > 0 ? <WindowTable window={detail.worst.window} at={detail.worst.at} width={width} palette={palette} say={say} /> : typeof near === "string" ? <NearTable text={near} worst={table.text("worst_index", row)} palette={palette} say={say} /> : null}
      {detail && (
        <>
          <BlockMapPicture detail={detail} width={width} palette={palette} say={say} {...(details.count === undefined ? { choose: (map: MapDims) => setChosen({ id, map }) } : {})} />
          {details.count !== undefined && report.hasTwoDumps && detail.shape.filter((size) => size > 1).length > 2 && <InspectCommand report={report} row={row} before={say("map_command")} flags={["--map", otherMap(detail)]} after="" say={say} />}
          {detail.profiles.map((profile) => (
            <ProfilePicture key={profile.dim} profile={profile} width={width} palette={palette} say={say} />
          ))}
          <HistogramPicture detail={detail} width={width} palette={palette} say={say} />
          <DifferencePicture detail={detail} width={width} palette={palette} say={say} />
          <ScatterPicture detail={detail} width={width} palette={palette} say={say} />
          <FitTable detail={detail} say={say} />
        </>
      )}
      {coming.kind === "none" && isWhole && report.hasTwoDumps && <NoDetail report={report} row={row} say={say} />}
    </div>
  );
}

// The diagnosis stands below by itself.
function withoutEnd(reason: string, diagnosis: string | undefined): string {
  return diagnosis && reason.endsWith(`; ${diagnosis}`) ? reason.slice(0, -diagnosis.length - 2) : reason;
}

function NoDetail({ report, row, say }: { report: Report; row: number; say: Say }) {
  const [before, after] = say("no_detail", { command: "\u0000" }).split("\u0000");
  return <InspectCommand report={report} row={row} before={before ?? ""} flags={[]} after={after ?? ""} say={say} />;
}

function InspectCommand({ report, row, before, flags, after, say }: { report: Report; row: number; before: string; flags: string[]; after: string; say: Say }) {
  const { run } = report.data;
  const only = [...new Set(["mine", "golden"].map((title) => report.table.text(title, row)).filter((name) => name))].map(pattern).join(",");
  return (
    <p class="quiet small">
      {before} <Command text={["assay", "inspect", run.mine, run.golden, "--detail", "--only", only, ...flags].map(shellWord).join(" ")} say={say} /> {after}
    </p>
  );
}

// The first two of the dimensions longer than 1.
function otherMap(detail: Detail): string {
  return detail.shape.flatMap((size, dim) => (size > 1 ? [dim] : [])).slice(0, 2).join(",");
}

function Sides({ report, row, say }: { report: Report; row: number; say: Say }) {
  const { table } = report;
  const side = (which: "mine" | "golden") => (
    <tr>
      <th>
        <span class={`swatch ${which}`} /> {say(which)}
      </th>
      <td>
        <span class="name">{table.text(which, row) || "–"}</span>
        <div class="quiet">
          {table.text(`${which}_dtype`, row)} {table.text(`${which}_shape`, row)}
        </div>
      </td>
    </tr>
  );
  const more = [
    ["", report.isOfNumbers ? `${table.text("dtype", row)} ${table.text("shape", row)}` : ""],
    [say("paired"), table.text("why", row)],
    [say("evidence"), table.text("compared_by", row) || table.text("seen_by", row)],
    [say("called_at"), table.text(".called_at", row)],
  ].filter(([, text]) => text);
  return (
    <>
      <table class="sides">
        <tbody>
          {report.isOfNumbers ? null : side("mine")}
          {report.isOfNumbers ? null : side("golden")}
        </tbody>
      </table>
      <p class="quiet small">
        {more.map(([key, text], i) => (
          <span>
            {i > 0 && " · "}
            {key && `${key}: `}
            {text}
          </span>
        ))}
      </p>
    </>
  );
}

const LISTED_ELSEWHERE = new Set(["worst_index", "worst_mine", "worst_golden"]);

// What both sides state of themselves stands in lines of its own, mine over golden.
function Numbers({ report, row }: { report: Report; row: number }) {
  const { table } = report;
  const reason = table.text("reason", row);
  const known = table.columns.filter((column) => column.kind === "number" && !column.title.startsWith(".") && !LISTED_ELSEWHERE.has(column.title) && column.cells[row] !== null && column.cells[row] !== undefined);
  const ofSides = known.map((column) => /^mine_(.+)$/.exec(column.title)?.[1]).filter((stem): stem is string => stem !== undefined && known.some((column) => column.title === `golden_${stem}`));
  const shown = known.filter((column) => !ofSides.some((stem) => column.title === `mine_${stem}` || column.title === `golden_${stem}`));
  // Counts of what is not finite are worth a column where there are some.
  const stems = ofSides.filter((stem) => !/^(nan|inf)$/.test(stem) || table.number(`mine_${stem}`, row) !== 0 || table.number(`golden_${stem}`, row) !== 0);
  const isBroken = (title: string): boolean => reason.split("; ").some((part) => part.startsWith(`${title} `));
  return (
    <>
      {shown.length > 0 && (
        <dl class="numbers">
          {shown
            .sort((a, b) => Number(isBroken(b.title)) - Number(isBroken(a.title)))
            .map((column) => (
              <div class={isBroken(column.title) ? "broken" : ""} title={`${column.title} ${column.cells[row]}`}>
                <dt>{column.title}</dt>
                <dd>{numberText(table.number(column.title, row), column.cells[row] ?? null)}</dd>
              </div>
            ))}
        </dl>
      )}
      {stems.length > 0 && (
        <div class="values-box">
          <table class="statistics">
            <thead>
              <tr>
                <th />
                {stems.map((stem) => (
                  <th>{stem}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {(["mine", "golden"] as const).map((side) => (
                <tr>
                  <th>
                    <span class={`swatch ${side}`} />
                  </th>
                  {stems.map((stem) => (
                    <td title={table.text(`${side}_${stem}`, row)}>{numberText(table.number(`${side}_${stem}`, row), table.cell(`${side}_${stem}`, row))}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function numberText(number: number | undefined, cell: Cell): string {
  return number === undefined ? String(cell ?? "") : shortNumber(number, 4);
}

// The values around the worst element, mine over golden, coloured by how far they are apart.
const WIDEST_VALUE = 70; // "-0.0012345", and what is around it

function WindowTable({ window, at, width, palette, say }: { window: Window; at: number[]; width: number; palette: Palette; say: Say }) {
  const mine = window.mine.map(drawn);
  const golden = window.golden.map(drawn);
  // As many of the columns as there is room for, the worst in the middle.
  const shown = Math.max(1, Math.min(window.columns, Math.floor((width - 34) / WIDEST_VALUE)));
  const worstColumn = window.column_dim < 0 ? 0 : at[window.column_dim]! - window.first_column;
  const skipped = Math.max(0, Math.min(window.columns - shown, worstColumn - Math.floor(shown / 2)));
  const columns = Array.from({ length: shown }, (_, i) => skipped + i);
  const apart = mine.map((value, i) => Math.abs(value - golden[i]!));
  const scale = logScale(apart);
  const isWorst = (row: number, column: number): boolean => (window.row_dim < 0 || window.first_row + row === at[window.row_dim]) && (window.column_dim < 0 || window.first_column + column === at[window.column_dim]);
  return (
    <figure class="picture">
      <figcaption>
        {say("worst_element")} [{at.join(", ")}] <span class="swatch mine" /> {say("mine")} <span class="swatch golden" /> {say("golden")}
      </figcaption>
      <div class="values-box">
        <table class="values">
          <thead>
            <tr>
              <th />
              {columns.map((column) => (
                <th>{window.first_column + column}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: window.rows }, (_, row) => (
              <tr>
                <th>{window.row_dim < 0 ? "" : window.first_row + row}</th>
                {columns.map((column) => {
                  const i = row * window.columns + column;
                  return <ValueCell mine={mine[i]!} golden={golden[i]!} share={heat(apart[i]!, scale)} isWorst={isWorst(row, column)} palette={palette} />;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function ValueCell({ mine, golden, share, isWorst, palette }: { mine: number; golden: number; share: number; isWorst: boolean; palette: Palette }) {
  return (
    <td class={isWorst ? "worst" : ""} title={`${mine}\n${golden}\n${mine - golden}`} style={{ borderBottomColor: heatColour(palette, share) }}>
      <div class="of-mine">{shortNumber(mine, 5)}</div>
      <div class="of-golden">{shortNumber(golden, 5)}</div>
    </td>
  );
}

function NearTable({ text, worst, palette, say }: { text: string; worst: string; palette: Palette; say: Say }) {
  const [first, mine, golden] = JSON.parse(text) as [number, (number | "nan" | "inf" | "-inf")[], (number | "nan" | "inf" | "-inf")[]];
  const coordinates = worst ? (JSON.parse(worst) as number | number[]) : [];
  const at = Array.isArray(coordinates) ? coordinates : [coordinates];
  const apart = mine.map((value, i) => Math.abs(drawn(value) - drawn(golden[i])));
  const scale = logScale(apart);
  const largest = apart.indexOf(Math.max(...apart.map((value) => (Number.isNaN(value) ? Infinity : value))));
  const offset = at.length > 0 && largest >= 0 ? at[at.length - 1]! - largest : first;
  return (
    <figure class="picture">
      <figcaption>
        {say("worst_element")} {worst} <span class="swatch mine" /> {say("mine")} <span class="swatch golden" /> {say("golden")}
      </figcaption>
      <div class="values-box">
        <table class="values">
          <thead>
            <tr>
              {mine.map((_, i) => (
                <th>{offset + i}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              {mine.map((value, i) => (
                <ValueCell mine={drawn(value)} golden={drawn(golden[i])} share={heat(apart[i]!, scale)} isWorst={i === largest} palette={palette} />
              ))}
            </tr>
          </tbody>
        </table>
      </div>
    </figure>
  );
}
