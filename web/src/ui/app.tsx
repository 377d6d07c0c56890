// The page: the answer above, the course below it, then the views; at the right the selected tensor.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { filterRows, sortRows } from "../data/filter.ts";
import { modelGrid, sectionGrid } from "../data/grid.ts";
import type { DetailSource, Paging, Wanted } from "../data/load.ts";
import { ownPart } from "../data/names.ts";
import { Flow } from "../data/neighbours.ts";
import { errorTitle, LEVELS, type Level, type Port, type Report } from "../data/report.ts";
import { LEVEL_SIGNS, useSize } from "./canvas.tsx";
import { paletteOf } from "./colour.ts";
import { Course } from "./course.tsx";
import { courseData } from "./course_data.ts";
import { HeatView } from "./heat_view.tsx";
import { Help } from "./help.tsx";
import { MultiplesView } from "./multiples_view.tsx";
import { NeighboursView } from "./neighbours_view.tsx";
import { printedTable } from "./print.ts";
import { emptyView, fromHash, toHash, type Tab, type Theme, type View } from "./store.ts";
import { TableView } from "./table_view.tsx";
import { TensorView } from "./tensor_view.tsx";
import { sayIn } from "./text.ts";
import { TreeView } from "./tree_view.tsx";
import { Verdict } from "./verdict.tsx";

interface Props {
  report: Report;
  details: DetailSource;
  isRunning?: boolean; // the comparison goes on
  paging?: Paging; // where a filter has more rows than are here
  want?: (wanted: Wanted) => void; // told which rows are looked for, where a server has more than are here
}

function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a page from the disk may have no storage
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // then it is not kept
  }
}

function startView(): View {
  const view = emptyView();
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  view.theme = (kept("assay-theme") as Theme | null) === "dark" || (kept("assay-theme") === null && dark) ? "dark" : "light";
  view.language = kept("assay-language") === "zh" || (kept("assay-language") === null && navigator.language.startsWith("zh")) ? "zh" : "en";
  return fromHash(location.hash, view);
}

const TAB_KEYS: Tab[] = ["table", "heat", "tree", "places"];

export function App({ report, details, isRunning, want, paging }: Props) {
  const [view, setView] = useState(startView);
  const [help, setHelp] = useState(false);
  const [marked, setMarked] = useState<ReadonlySet<number>>(new Set());
  const search = useRef<HTMLInputElement>(null);
  const say = useMemo(() => sayIn(view.language), [view.language]);
  const palette = paletteOf(view.theme);
  const set = useCallback((patch: Partial<View>) => setView((old) => ({ ...old, ...patch })), []);
  const metric = report.metrics.includes(view.metric) ? view.metric : (report.metrics[0] ?? "max_abs");
  const first = useMemo(() => report.firstDivergence, [report]);
  const selected = view.row ? report.rowOf(view.row) : undefined;

  // What is wrong stands there at once.
  useEffect(() => {
    if (view.row && selected !== undefined) return;
    if (isRunning && !report.levels.some((level) => level >= 2)) return;
    const start = first ?? report.worstRow(metric);
    if (start !== undefined) set({ row: report.id(start) });
  }, [report]);

  useEffect(() => {
    document.documentElement.dataset["theme"] = view.theme;
    document.documentElement.lang = view.language;
  }, [view.theme, view.language]);

  useEffect(() => {
    const hash = toHash(view);
    if (hash !== location.hash.slice(1)) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
  }, [view]);
  useEffect(() => {
    const follow = (): void => setView((old) => fromHash(location.hash, old));
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);

  const filtered = useMemo(
    () => filterRows(report, view),
    [report, view.text, view.levels.join(), view.section, view.dtype, view.port],
  );
  useEffect(() => {
    want?.({ text: view.text.trim(), levels: view.levels, section: view.section, dtype: view.dtype, port: view.port, sort: view.sort, down: view.down });
  }, [want, view.text, view.levels.join(), view.section, view.dtype, view.port, view.sort, view.down]);
  const rows = useMemo(() => (view.sort ? sortRows(report, filtered.rows, view.sort, view.down) : filtered.rows), [report, filtered, view.sort, view.down]);
  const fitting = useMemo(() => {
    const mask = new Uint8Array(report.count);
    for (const row of filtered.rows) mask[row] = 1;
    return mask;
  }, [report, filtered]);
  const isFiltered = filtered.rows.length < report.count;
  const fits = useCallback((row: number) => fitting[row] === 1, [fitting]);

  const section = view.section === undefined ? undefined : report.sections.find((each) => each.name === view.section);
  const oneSection = section !== undefined || report.sections.length <= 1;
  // A stretch that is zoomed into is one of the whole.
  const isSideBySide = !oneSection && !view.strip && !view.zoom;
  const courseRows = useMemo(() => section?.rows ?? Array.from({ length: report.count }, (_, i) => i), [report, section]);
  const course = useMemo(() => courseData(report, courseRows, metric, oneSection), [report, courseRows, metric, oneSection]);
  const flow = useMemo(() => new Flow(report), [report]);
  const layers = useMemo(() => modelGrid(report, metric, view.section, say("outside")), [report, metric, view.section, say]);
  const places = useMemo(() => (report.sections.length > 1 ? sectionGrid(report, metric) : undefined), [report, metric]);

  const pick = useCallback((row: number) => set({ row: report.id(row) }), [report]);
  const mark = useCallback(
    (row: number) =>
      setMarked((old) => {
        const next = new Set(old);
        if (!next.delete(row)) next.add(row);
        return next;
      }),
    [],
  );
  const setTheme = (theme: Theme): void => {
    keep("assay-theme", theme);
    set({ theme });
  };
  const setLanguage = (): void => {
    const language = view.language === "en" ? "zh" : "en";
    keep("assay-language", language);
    set({ language });
  };

  const step = (by: number, only?: (row: number) => boolean): void => {
    if (rows.length === 0) return;
    let at = selected === undefined ? -1 : rows.indexOf(selected);
    if (at < 0) at = by > 0 ? -1 : rows.length;
    for (at += by; at >= 0 && at < rows.length; at += by)
      if (!only || only(rows[at]!)) {
        pick(rows[at]!);
        return;
      }
  };
  const zoomToLayer = (): void => {
    if (view.zoom || selected === undefined) return set({ zoom: undefined });
    const at = courseRows.indexOf(selected);
    const band = course.bands.find((each) => each.from <= at && at < each.to);
    return set({ zoom: band && band.to - band.from > 1 ? [band.from, band.to - 1] : [Math.max(0, at - 20), Math.min(courseRows.length - 1, at + 20)] });
  };
  const onKey = useRef<(event: KeyboardEvent) => void>(() => undefined);
  onKey.current = (event) => {
    const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.target instanceof HTMLTextAreaElement;
    if (event.key === "Escape") {
      if (help) setHelp(false);
      else if (inField) (event.target as HTMLElement).blur();
      else if (view.text) set({ text: "" });
      return;
    }
    if (inField || event.ctrlKey || event.metaKey || event.altKey || help) return;
    const acts: Record<string, () => void> = {
      "/": () => search.current?.focus(),
      "?": () => setHelp(true),
      j: () => step(1),
      k: () => step(-1),
      ArrowDown: () => step(1),
      ArrowUp: () => step(-1),
      n: () => step(1, (row) => report.failed(row)),
      N: () => step(-1, (row) => report.failed(row)),
      p: () => step(-1, (row) => report.failed(row)),
      f: () => first !== undefined && pick(first),
      x: () => selected !== undefined && mark(selected),
      z: zoomToLayer,
      t: () => setTheme(view.theme === "light" ? "dark" : "light"),
      l: setLanguage,
    };
    const tab = TAB_KEYS[Number(event.key) - 1];
    if (tab) acts[event.key] = () => set({ tab });
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onKey.current(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);

  const printed = useRef<() => HTMLElement>(undefined!);
  printed.current = () => printedTable(report, rows, say);
  useEffect(() => {
    let made: HTMLElement | undefined;
    const before = (): void => {
      made?.remove();
      made = document.querySelector(".left")?.appendChild(printed.current());
    };
    const after = (): void => made?.remove();
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);

  const counts = useMemo(() => {
    const out = [0, 0, 0, 0];
    for (const level of report.levels) out[level]! += 1;
    return out;
  }, [report]);
  const dtypes = useMemo(() => [...new Set(["mine_dtype", "golden_dtype"].flatMap((title) => report.table.find(title)?.cells ?? []))].filter((cell): cell is string => typeof cell === "string" && cell !== "").sort(), [report]);
  const ports = useMemo(() => [...new Set(report.ports)].filter((port): port is Exclude<Port, ""> => port !== ""), [report]);
  const turnLevel = (level: Level): void => set({ levels: view.levels.includes(level) ? view.levels.filter((each) => each !== level) : [...view.levels, level] });

  return (
    <div class="page">
      <Verdict report={report} pick={pick} isRunning={isRunning ?? false} isLive={want !== undefined} {...(paging ? { paging } : {})} say={say} />
      <nav class="controls">
        <input
          ref={search}
          type="search"
          value={view.text}
          placeholder={say("search")}
          aria-label={say("search")}
          aria-invalid={filtered.fault !== undefined}
          onInput={(event) => set({ text: event.currentTarget.value })}
          spellcheck={false}
        />
        {filtered.fault && <span class="fault">{filtered.fault}</span>}
        <span class="chips" role="group">
          {LEVELS.map((level, i) =>
            counts[i]! > 0 ? (
              <button class={`chip ${level}`} aria-pressed={view.levels.includes(level)} onClick={() => turnLevel(level)}>
                {LEVEL_SIGNS[i]} {say(level)} {counts[i]}
              </button>
            ) : null,
          )}
        </span>
        {report.sections.length > 1 && (
          <Choice label={say("section")} value={view.section ?? "\u0000"} all={say("all")} options={report.sections.map((each) => each.name)} set={(value) => set({ section: value === "\u0000" ? undefined : value, zoom: undefined })} />
        )}
        {dtypes.length > 1 && <Choice label={say("dtype")} value={view.dtype || "\u0000"} all={say("any")} options={dtypes} set={(value) => set({ dtype: value === "\u0000" ? "" : value })} />}
        {ports.length > 1 && <Choice label={say("port")} value={view.port || "\u0000"} all={say("any")} options={ports} set={(value) => set({ port: (value === "\u0000" ? "" : value) as Port })} />}
        {report.metrics.length > 1 && <Choice label={say("metric")} value={metric} options={report.metrics} set={(value) => set({ metric: value })} />}
        <span class="gap" />
        <button onClick={setLanguage}>{say("language")}</button>
        <button aria-label={say("theme")} title={say("theme")} onClick={() => setTheme(view.theme === "light" ? "dark" : "light")}>
          {view.theme === "light" ? "☾" : "☀"}
        </button>
        <button aria-label={say("help")} title={say("help")} onClick={() => setHelp(true)}>
          ?
        </button>
      </nav>
      <main class="body">
        <div class="left">
          <section class="course" aria-label={say("course")}>
            <h2>
              {say("course")} <span class="quiet">
                {errorTitle(metric)}
                {!report.isOrderKnown && ` · ${say("by_name")}`}
              </span>
              <span class="gap" />
              <span class="quiet small hint">{say(isSideBySide ? "multiples_hint" : "course_hint")}</span>
              {view.zoom && <button onClick={() => set({ zoom: undefined })}>{say("zoom_out")}</button>}
              {!oneSection && <button onClick={() => set({ strip: isSideBySide, zoom: undefined })}>{say(isSideBySide ? "in_one_line" : "side_by_side")}</button>}
              {section && <button onClick={() => set({ section: undefined, zoom: undefined })}>{say("side_by_side")}</button>}
            </h2>
            {isSideBySide ? (
              <MultiplesView report={report} data={course} fits={fits} metric={metric} selected={selected} pick={pick} choose={(name) => set({ section: name, zoom: undefined })} palette={palette} say={say} />
            ) : (
            <Course report={report} data={course} fits={fits} metric={metric} oneSection={oneSection} selected={selected} first={first} zoom={view.zoom} setZoom={(zoom) => set({ zoom })} pick={pick} palette={palette} say={say} />
            )}
          </section>
          <div class="tabs" role="tablist">
            {TAB_KEYS.filter((tab) => tab !== "places" || places).map((tab) => (
              <button role="tab" aria-selected={view.tab === tab} onClick={() => set({ tab })}>
                {say(tab)}
              </button>
            ))}
          </div>
          <section class="view">
            {view.tab === "heat" ? (
              <HeatView report={report} grid={layers} metric={metric} selected={selected} pick={pick} palette={palette} say={say} />
            ) : view.tab === "tree" ? (
              <TreeView report={report} metric={metric} fits={isFiltered ? fits : undefined} selected={selected} pick={pick} palette={palette} say={say} />
            ) : view.tab === "places" && places ? (
              <HeatView report={report} grid={places} metric={metric} selected={selected} pick={pick} palette={palette} say={say} />
            ) : (
              <TableView report={report} rows={rows} view={view} set={set} selected={selected} pick={pick} marked={marked} mark={mark} metric={metric} palette={palette} say={say} />
            )}
          </section>
        </div>
        <aside class="right" aria-label={say("tensor")}>
          {selected === undefined ? (
            <p class="nothing">{say("nothing_selected")}</p>
          ) : (
            <Inspector key={view.language} report={report} details={details} flow={flow} row={selected} metric={metric} pick={pick} palette={palette} say={say} />
          )}
        </aside>
      </main>
      {help && <Help close={() => setHelp(false)} say={say} />}
    </div>
  );
}

function Choice({ label, value, all, options, set }: { label: string; value: string; all?: string; options: string[]; set: (value: string) => void }) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {all !== undefined && <option value={"\u0000"}>{all}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option || "–"}
          </option>
        ))}
      </select>
    </label>
  );
}

function Inspector({ report, details, flow, row, metric, pick, palette, say }: { report: Report; details: DetailSource; flow: Flow; row: number; metric: string; pick: (row: number) => void; palette: ReturnType<typeof paletteOf>; say: ReturnType<typeof sayIn> }) {
  const [place, size] = useSize();
  const operator = report.operator(row);
  const section = report.sections[operator.section]!.name;
  return (
    <div class="inspector" ref={place}>
      <h2 class={`title ${report.level(row)}`}>
        <span class={`sign ${report.level(row)}`}>{LEVEL_SIGNS[report.levels[row]!]}</span>
        <span class="name">{report.name(row)}</span>
      </h2>
      <p class="quiet small">
        {[section, operator.layer >= 0 ? `${say("layer")} ${operator.layer}` : "", operator.type, report.ports[row], say(report.level(row))].filter((each) => each).join(" · ")}
      </p>
      {operator.rows.length > 1 && (
        <p class="ports">
          {operator.rows.map((each) => (
            <button class={`chip ${report.level(each)}`} aria-pressed={each === row} title={report.name(each)} onClick={() => pick(each)}>
              {LEVEL_SIGNS[report.levels[each]!]} {portLabel(report, each)}
            </button>
          ))}
        </p>
      )}
      <TensorView report={report} details={details} row={row} palette={palette} say={say} />
      <h3>{say("neighbours")}</h3>
      {size.width > 0 && <NeighboursView report={report} flow={flow} operator={report.operatorOf[row]!} metric={metric} pick={pick} palette={palette} say={say} width={size.width} />}
    </div>
  );
}

function portLabel(report: Report, row: number): string {
  // What was fused into this operator says whose it was.
  const name = report.name(row);
  const operator = report.operator(row).name;
  const isOfAnother = report.aloneOf(row) !== "" && !name.startsWith(operator);
  const own = ownPart(name, operator);
  const text = isOfAnother ? name : own !== name ? own : report.ports[row] || name;
  return text.length > 22 ? `…${text.slice(-21)}` : text;
}
