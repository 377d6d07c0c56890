// What is taken out of the page: a table as csv, and the command that compares only these tensors.
import type { Report } from "./report.ts";
import type { Cell } from "./table.ts";

// As the csv report has it: a text that a spreadsheet would take for a formula has a ' in front.
export function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const isFormula = /^[=+\-@%＝＋－＠％]/.test(cell) && !/^[-+]?(\d+\.?\d*([eE][-+]?\d+)?|inf|nan)$/.test(cell);
  const text = isFormula ? `'${cell}` : cell;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(report: Report, rows: number[]): string {
  const columns = report.table.columns.filter((column) => !column.title.startsWith("."));
  const lines = [columns.map((column) => csvCell(column.title)).join(",")];
  for (const row of rows) lines.push(columns.map((column) => csvCell(column.cells[row] ?? null)).join(","));
  return `${lines.join("\n")}\n`;
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

// A name as a shell pattern that fits nothing but it; a comma would end it, so it is any character.
export function pattern(name: string): string {
  return name.replace(/[*?[\]]/g, "[$&]").replace(/\[\]\]/g, "?").replaceAll(",", "?").replace(/\\x[0-9a-f]{2}/g, "*");
}

// What one argument of a command may have on every system, and some room.
const MOST_BYTES = 100_000;

// Flags of the report stay in its command, but for those that choose tensors, outputs, or how a page is served.
const CHOOSING = /^(--only|--sections|--report|--output|-o|--port)$/;

function baseCommand(report: Report): string[] {
  const { command, mine, golden } = report.data.run;
  const words = shellWords(command);
  // Other tools' commands have no such flags.
  if (words[1] !== "compare" && words[1] !== "view") return ["assay", "compare", mine, golden];
  const kept: string[] = [];
  for (let i = 0; i < words.length; ++i) {
    const word = words[i]!;
    if (CHOOSING.test(word)) ++i;
    else if (!/^--(only|sections|report|output|port)=/.test(word) && word !== "--no-browser") kept.push(word);
  }
  kept[1] = "compare";
  return kept;
}

// One line for sections of which the same tensors are wanted. Empty: no command line has room for so many names.
export function commandFor(report: Report, rows: number[]): string {
  const wanted = new Map<number, Set<string>>();
  for (const row of rows) {
    const section = report.sectionOf[row]!;
    let names = wanted.get(section);
    if (!names) wanted.set(section, (names = new Set()));
    for (const name of namesOf(report, row)) names.add(name);
  }
  const groups = new Map<string, { sections: number[]; names: Set<string> }>();
  for (const [section, names] of wanted) {
    const key = [...names].sort().join("\n");
    const known = groups.get(key);
    if (known) known.sections.push(section);
    else groups.set(key, { sections: [section], names });
  }
  const lines = [...groups.values()].map(({ sections, names }) => {
    const words = baseCommand(report).map(shellWord);
    if (sections.length < report.sections.length) words.push("--sections", shellWord(sections.map((each) => pattern(report.sections[each]!.name)).join(",")));
    const patterns = patternsFor(report, sections, names);
    if (patterns) words.push("--only", shellWord(patterns.join(",")));
    return words.join(" ");
  });
  return lines.some((line) => line.length > MOST_BYTES) ? "" : lines.join("\n");
}

// Both sides have to be read, whatever each of them calls it.
function namesOf(report: Report, row: number): string[] {
  return ["mine", "golden"].map((title) => report.table.text(title, row)).filter((name) => name !== "");
}

// Undefined: all tensors of these sections.
function patternsFor(report: Report, sections: number[], names: ReadonlySet<string>): string[] | undefined {
  // What the page does not hold might begin like what it holds.
  if (report.count < report.data.page.rows) return [...names].sort().map(pattern);
  const others = new Set<string>();
  for (const section of sections)
    for (const row of report.sections[section]!.rows) for (const name of namesOf(report, row)) if (!names.has(name)) others.add(name);
  return others.size === 0 ? undefined : coverOf([...names], [...others]);
}

// Shell patterns that fit all `names` and none of the `others`: beginnings, or ends, that they have for themselves.
export function coverOf(names: string[], others: string[]): string[] {
  const turned = (text: string): string => [...text].reverse().join("");
  const heads = ownBeginnings(names, others).map(({ text, isWhole }) => pattern(text) + (isWhole ? "" : "*"));
  const tails = ownBeginnings(names.map(turned), others.map(turned)).map(({ text, isWhole }) => (isWhole ? "" : "*") + pattern(turned(text)));
  return tails.length < heads.length ? tails : heads;
}

// Of names in order: those that stand together and begin as no other does are told by that beginning.
function ownBeginnings(names: string[], others: string[]): { text: string; isWhole: boolean }[] {
  const all = [...names.map((text) => ({ text, is: true })), ...others.map((text) => ({ text, is: false }))].sort((a, b) => (a.text < b.text ? -1 : 1));
  const out: { text: string; isWhole: boolean }[] = [];
  for (let i = 0; i < all.length; ++i) {
    if (!all[i]!.is) continue;
    let end = i;
    while (end + 1 < all.length && all[end + 1]!.is) ++end;
    if (end === i) out.push({ text: all[i]!.text, isWhole: true });
    else {
      // Longer than what the names around them share with them.
      const before = i > 0 ? common(all[i - 1]!.text, all[i]!.text) : 0;
      const after = end + 1 < all.length ? common(all[end]!.text, all[end + 1]!.text) : 0;
      runs(all.slice(i, end + 1).map((each) => each.text), Math.max(before, after), out);
    }
    i = end;
  }
  return out;
}

function runs(names: string[], shared: number, out: { text: string; isWhole: boolean }[]): void {
  for (let i = 0; i < names.length; ) {
    const head = names[i]!.slice(0, shared + 1);
    let end = i + 1;
    if (head.length > shared) while (end < names.length && names[end]!.startsWith(head)) ++end;
    const last = names[end - 1]!;
    // As much of the beginning as they have in common, up to a whole word.
    const length = common(names[i]!, last);
    const word = names[i]!.slice(0, length).replace(/[^./_-]*$/, "");
    out.push(end - i === 1 ? { text: last, isWhole: true } : { text: word.length > shared ? word : names[i]!.slice(0, length), isWhole: false });
    i = end;
  }
}

function common(a: string, b: string): number {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) ++i;
  return i;
}

// A command line as a shell takes it apart: quotes and backslashes, nothing else.
export function shellWords(command: string): string[] {
  const words: string[] = [];
  let word = "";
  let has = false;
  for (let i = 0; i < command.length; ++i) {
    const c = command[i]!;
    if (c === "'") {
      const end = command.indexOf("'", i + 1);
      word += command.slice(i + 1, end < 0 ? undefined : end);
      has = true;
      if (end < 0) break;
      i = end;
    } else if (c === "\\" && i + 1 < command.length) {
      word += command[++i]!;
      has = true;
    } else if (c === " ") {
      if (has) words.push(word);
      word = "";
      has = false;
    } else {
      word += c;
      has = true;
    }
  }
  if (has) words.push(word);
  return words;
}
