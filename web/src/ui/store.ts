// What is looked at, and how: it stands in the address, so that a copied link shows the same.
import type { Level, Port } from "../data/report.ts";
import type { Language } from "./text.ts";

export type Tab = "table" | "heat" | "tree" | "places";
export type Theme = "light" | "dark";

export interface View {
  row: number; // id of the selected row; 0: none
  text: string;
  levels: Level[];
  section: string | undefined;
  dtype: string;
  port: Port;
  tab: Tab;
  metric: string; // empty: the best there is
  sort: string;
  down: boolean;
  zoom: [number, number] | undefined; // of the course: positions
  strip: boolean; // the course of several sections in one line
  columns: string[]; // empty: the usual ones
  language: Language;
  theme: Theme;
}

const TABS: Tab[] = ["table", "heat", "tree", "places"];
const LEVEL_WORDS: Level[] = ["pass", "ignored", "fail", "error"];
const PORTS: Port[] = ["input", "output", "parameter", "gradient", "value"];

export function emptyView(): View {
  return { row: 0, text: "", levels: [], section: undefined, dtype: "", port: "", tab: "table", metric: "", sort: "", down: true, zoom: undefined, strip: false, columns: [], language: "en", theme: "light" };
}

export function toHash(view: View): string {
  const out = new URLSearchParams();
  if (view.row) out.set("row", String(view.row));
  if (view.text) out.set("q", view.text);
  if (view.levels.length) out.set("v", view.levels.join(","));
  if (view.section !== undefined) out.set("s", view.section);
  if (view.dtype) out.set("d", view.dtype);
  if (view.port) out.set("p", view.port);
  if (view.tab !== "table") out.set("tab", view.tab);
  if (view.metric) out.set("m", view.metric);
  if (view.sort) out.set("sort", `${view.sort}:${view.down ? "down" : "up"}`);
  if (view.zoom) out.set("z", view.zoom.map((each) => Math.round(each)).join("-"));
  if (view.strip) out.set("line", "1");
  if (view.columns.length) out.set("c", view.columns.join(","));
  if (view.language !== "en") out.set("l", view.language);
  return out.toString();
}

// Whatever stands there: what is no sense is left as it was.
export function fromHash(hash: string, view: View): View {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const next: View = { ...view, row: 0, text: "", levels: [], section: undefined, dtype: "", port: "", tab: "table", metric: "", sort: "", down: true, zoom: undefined, strip: false, columns: [] };
  const row = Number(given.get("row") ?? 0);
  if (Number.isInteger(row) && row > 0) next.row = row;
  next.text = given.get("q") ?? "";
  next.levels = (given.get("v") ?? "").split(",").filter((word): word is Level => LEVEL_WORDS.includes(word as Level));
  next.section = given.get("s") ?? undefined;
  next.dtype = given.get("d") ?? "";
  const port = given.get("p") as Port | null;
  if (port && PORTS.includes(port)) next.port = port;
  const tab = given.get("tab") as Tab | null;
  if (tab && TABS.includes(tab)) next.tab = tab;
  next.metric = given.get("m") ?? "";
  const sort = /^(.+):(down|up)$/.exec(given.get("sort") ?? "");
  if (sort) {
    next.sort = sort[1]!;
    next.down = sort[2] === "down";
  }
  const zoom = /^(\d+)-(\d+)$/.exec(given.get("z") ?? "");
  if (zoom && Number(zoom[1]) < Number(zoom[2])) next.zoom = [Number(zoom[1]), Number(zoom[2])];
  next.strip = given.get("line") === "1";
  next.columns = (given.get("c") ?? "").split(",").filter((word) => word);
  if (given.get("l") === "zh") next.language = "zh";
  else if (given.has("l")) next.language = "en";
  return next;
}
