// Where the courses of several ranks, steps and tokens stand beside each other.
import type { Section } from "./report.ts";

export interface Multiple {
  section: number; // of Report.sections
  line: number;
  column: number;
}

export interface Multiples {
  lines: number;
  columns: number;
  items: Multiple[];
  lineTitles: string[]; // "step 1"; empty where lines are no more than a break
  columnTitles: string[]; // "rank 3"
}

const WIDEST = 12; // ranks across
const WORDS = ["rank", "step", "token", "graph"] as const;

// Ranks across and steps (or tokens) down, where sections are told by two such numbers and hardly a place stays
// empty; else one after another.
export function layOut(sections: readonly Section[], width: number, narrowest: number): Multiples {
  const order = sections.map((section, i) => ({ place: section.place, i })).sort((a, b) => WORDS.reduceRight((less, word) => less || a.place[word] - b.place[word], 0) || a.i - b.i);
  const varied = WORDS.filter((word) => new Set(sections.map((section) => section.place[word])).size > 1);
  const [across, down] = varied;
  if (varied.length === 2 && across && down) {
    const columns = numbers(sections, across);
    const lines = numbers(sections, down);
    const taken = new Set(sections.map((section) => `${section.place[across]} ${section.place[down]}`));
    if (taken.size === sections.length && sections.length * 2 > columns.length * lines.length && columns.length <= WIDEST)
      return {
        lines: lines.length,
        columns: columns.length,
        items: order.map(({ place, i }) => ({ section: i, line: lines.indexOf(place[down]), column: columns.indexOf(place[across]) })),
        lineTitles: lines.map((number) => title(down, number)),
        columnTitles: columns.map((number) => title(across, number)),
      };
  }
  const columns = Math.max(1, Math.min(sections.length, WIDEST, Math.floor(width / narrowest)));
  const lines = Math.ceil(sections.length / columns);
  // Lines of about equal length.
  const each = Math.ceil(sections.length / Math.max(1, lines));
  return { lines, columns: each, items: order.map(({ i }, at) => ({ section: i, line: Math.floor(at / each), column: at % each })), lineTitles: [], columnTitles: [] };
}

function numbers(sections: readonly Section[], word: (typeof WORDS)[number]): number[] {
  return [...new Set(sections.map((section) => section.place[word]))].sort((a, b) => a - b);
}

function title(word: string, number: number): string {
  return number < 0 ? "–" : `${word} ${number}`;
}
