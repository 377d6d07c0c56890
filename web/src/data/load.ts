// What the file of the page holds, or the server has.
import { Table, type ColumnHead } from "./table.ts";
import type { Detail } from "./detail.ts";

export interface Place {
  section?: string | null;
  name?: string | null;
  mine?: string | null;
  golden?: string | null;
  called_at?: string | null;
  [member: string]: unknown;
}

export interface RunData {
  page: {
    version: number;
    rows: number; // of the report
    failed: number;
    held: number; // of these in the page
    held_failed: number;
    columns: ColumnHead[];
    live?: boolean; // a server has the rest
  };
  run: {
    assay: string;
    generated: string;
    command: string;
    mine: string;
    golden: string;
    layouts: { mine: string; golden: string };
    matcher: string;
    rules: string;
    order?: string;
    columns: string[];
  };
  summary: {
    answer: string;
    verdict: string;
    first_divergence: Place | null;
    first_origin: (Place & { not_compared?: string[]; other_arguments?: string[] }) | null;
    first_other_token?: Place;
    [count: string]: unknown;
  };
}

const BASE64_AT_ONCE = 1 << 16; // letters, four of which are three bytes

function unpacked(text: string): ReadableStream<string> {
  const base64 = text.trim();
  const unpack = new DecompressionStream("deflate");
  const writer = unpack.writable.getWriter();
  const feed = async (): Promise<void> => {
    for (let at = 0; at < base64.length; at += BASE64_AT_ONCE) {
      const binary = atob(base64.slice(at, at + BASE64_AT_ONCE));
      const bytes = new Uint8Array(binary.length);
      for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
      await writer.ready;
      await writer.write(bytes);
    }
    await writer.close();
  };
  feed().catch((fault: unknown) => writer.abort(fault).catch(() => undefined)); // whoever reads is told
  return unpack.readable.pipeThrough(new TextDecoderStream());
}

export async function inflate(base64: string): Promise<string> {
  const reader = unpacked(base64).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  return text;
}

// Little enough to be young garbage: what lives longer stays for seconds, hundreds of megabytes of it.
const TEXT_AT_ONCE = 1 << 16;
const TEXT_BETWEEN = 1 << 20; // … the moments that the browser has to draw

// Adds rows as they are unpacked, so that their text is never there as a whole, and lets the browser draw in between.
export async function addRows(table: Table, base64: string, progress: (rows: number) => void): Promise<void> {
  const reader = unpacked(base64).getReader();
  let parts: string[] = [];
  let size = 0;
  let since = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (value) {
      parts.push(value);
      size += value.length;
    }
    if (size < TEXT_AT_ONCE && !done) continue;
    const text = parts.join("");
    const end = done ? text.length : text.lastIndexOf("\n") + 1;
    const lines = text.slice(0, end).trimEnd().replaceAll("\n", ",");
    if (lines) for (const values of JSON.parse(`[${lines}]`) as unknown[][]) table.add(values);
    if (done) return;
    parts = [text.slice(end)];
    size = text.length - end;
    since += end;
    if (since < TEXT_BETWEEN) continue;
    since = 0;
    progress(table.count);
    await new Promise((go) => setTimeout(go));
  }
}

export function textOf(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

// Where details of rows come from; undefined: there is none of this row.
export interface DetailSource {
  count: number | undefined; // undefined: of any row
  get(id: number, progress: (share: number) => void, signal: AbortSignal, map?: MapDims): Promise<Detail> | undefined;
}

export type MapDims = readonly [rows: number, columns: number]; // of the block map

// Details of some rows, each packed by itself: only those that are looked at are unpacked.
export class Details implements DetailSource {
  private readonly packed = new Map<number, string>();
  private readonly known = new Map<number, Promise<Detail>>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const blank = line.indexOf(" ");
      if (blank > 0) this.packed.set(Number(line.slice(0, blank)), line.slice(blank + 1));
    }
  }

  get count(): number {
    return this.packed.size;
  }

  get(id: number): Promise<Detail> | undefined {
    const known = this.known.get(id);
    if (known) return known;
    const packed = this.packed.get(id);
    if (packed === undefined) return undefined;
    const detail = inflate(packed).then((text) => JSON.parse(text) as Detail);
    this.known.set(id, detail);
    return detail;
  }
}

export interface Wanted {
  text: string;
  levels: string[];
  section: string | undefined;
  dtype: string;
  port: string;
  sort: string; // empty: as in the report
  down: boolean;
}

// Of rows that fit and that a server sends a page at a time.
export interface Paging {
  from: number;
  count: number; // of this page
  total: number;
  turn(pages: number): void;
}

export const PAGE_ROWS = 10_000;

// What `assay view` answers: docs/page.md, "The REST interface".
export class Server implements DetailSource {
  readonly count = undefined;
  private readonly known = new Map<string, Detail>();

  constructor(private readonly base: string) {}

  async run(): Promise<{ done: boolean; rows: number; data: RunData | null }> {
    return (await this.ask("api/run", {})) as { done: boolean; rows: number; data: RunData | null };
  }

  async rows(wanted: Wanted | undefined, from = 0, signal?: AbortSignal): Promise<{ total: number; rows: unknown[][] }> {
    const query: Record<string, string> = wanted ? { text: wanted.text, verdict: wanted.levels.join(","), dtype: wanted.dtype, port: wanted.port, from: String(from), count: String(PAGE_ROWS) } : { choice: "page" };
    if (wanted?.sort) Object.assign(query, { sort: wanted.sort, down: wanted.down ? "1" : "0" });
    if (wanted?.section !== undefined) query["section"] = wanted.section;
    return (await this.ask("api/rows", query, signal)) as { total: number; rows: unknown[][] };
  }

  get(id: number, progress: (share: number) => void, signal: AbortSignal, map?: MapDims): Promise<Detail> {
    const query = `id=${id}${map ? `&rows=${map[0]}&columns=${map[1]}` : ""}`;
    const known = this.known.get(query);
    return known ? Promise.resolve(known) : this.read(query, progress, signal);
  }

  private async ask(path: string, query: Record<string, string>, signal?: AbortSignal): Promise<unknown> {
    const answer = await fetch(`${this.base}${path}?${new URLSearchParams(query).toString()}`, signal ? { signal } : {});
    const found = (await answer.json()) as { error?: string };
    if (!answer.ok) throw new Error(found.error ?? answer.statusText);
    return found;
  }

  private async read(query: string, progress: (share: number) => void, signal: AbortSignal): Promise<Detail> {
    const answer = await fetch(`${this.base}api/detail?${query}`, { signal });
    if (!answer.ok || !answer.body) throw new Error(((await answer.json()) as { error?: string }).error ?? answer.statusText);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      text += value ?? "";
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
        const line = JSON.parse(text.slice(0, end)) as { progress?: number; error?: string; detail?: Detail };
        text = text.slice(end + 1);
        if (line.progress !== undefined) progress(line.progress);
        if (line.error !== undefined) throw new Error(line.error);
        if (line.detail) {
          this.known.set(query, line.detail);
          return line.detail;
        }
      }
      if (done) throw new Error("the server went away");
    }
  }
}
