// The hierarchy, with what is worst below each of its lines.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ownPart } from "../data/names.ts";
import { errorTitle, type Report } from "../data/report.ts";
import { heatScale } from "../data/grid.ts";
import { heat, shortNumber } from "../data/scale.ts";
import { buildTree, pathTo, visible, type Branch } from "../data/tree.ts";
import { LEVEL_SIGNS } from "./canvas.tsx";
import { heatColour, type Palette } from "./colour.ts";
import { Scroller } from "./scroller.tsx";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  metric: string;
  fits: ((row: number) => boolean) | undefined; // the filter; undefined: all fit
  selected: number | undefined;
  pick: (row: number) => void;
  palette: Palette;
  say: Say;
}

const LEVEL_NAMES = ["pass", "ignored", "fail", "error"];

export function TreeView({ report, metric, fits, selected, pick, palette, say }: Props) {
  const root = useMemo(() => buildTree(report, metric), [report, metric]);
  const scale = useMemo(() => heatScale(report, metric, allErrors(root)), [report, metric, root]);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(root.children.length < 4 ? root.children.map((child) => child.key) : []));
  useEffect(() => {
    if (selected === undefined) return;
    const above = pathTo(root, selected).slice(0, -1);
    setOpen((old) => (above.every((key) => old.has(key)) ? old : new Set([...old, ...above])));
  }, [selected, root]);
  const lines = useMemo(() => {
    const all = visible(root, open);
    return fits ? all.filter((branch) => anyFits(branch, fits)) : all;
  }, [root, open, fits]);
  const focus = selected === undefined ? -1 : lines.findIndex((branch) => branch.row === selected);
  const turn = (branch: Branch): void => {
    const next = new Set(open);
    if (!next.delete(branch.key)) next.add(branch.key);
    setOpen(next);
  };
  return (
    <div class="tree-view">
      <div class="tools">
        <span class="quiet">
          {say("error_of")}: {errorTitle(metric)}
        </span>
        <span class="gap" />
        <button onClick={() => setOpen(new Set(failing(root)))}>{say("expand_fails")}</button>
        <button onClick={() => setOpen(new Set())}>{say("collapse")}</button>
      </div>
      <Scroller
        label={say("tree")}
        count={lines.length}
        height={24}
        {...(focus >= 0 ? { focus } : {})}
        line={(i) => {
          const branch = lines[i]!;
          const isOpen = open.has(branch.key);
          const share = branch.error < 0 ? undefined : heat(branch.error, scale);
          return (
            <div
              class={`branch ${LEVEL_NAMES[branch.worst]}${branch.row >= 0 && branch.row === selected ? " selected" : ""}`}
              role="treeitem"
              aria-level={branch.depth + 1}
              {...(branch.children.length ? { "aria-expanded": isOpen } : {})}
              onClick={() => {
                if (branch.row >= 0) pick(branch.row);
                else turn(branch);
              }}
            >
              <span class="twist" style={{ marginLeft: `${branch.depth * 16}px` }}>
                {branch.children.length ? (isOpen ? "▾" : "▸") : ""}
              </span>
              <span class={`sign ${LEVEL_NAMES[branch.worst]}`}>{LEVEL_SIGNS[branch.worst]}</span>
              <span class={branch.row >= 0 ? "label tensor" : branch.operator >= 0 ? "label operator" : "label"}>{labelOf(branch, report)}</span>
              {branch.alone && branch.row < 0 && <span class="alone">{say(branch.alone === "mine" ? "only_mine" : "only_golden")}</span>}
              {branch.failed > 0 && branch.row < 0 && (
                <span class="failed-count">
                  {branch.failed}/{branch.rows}
                </span>
              )}
              <span class="gap" />
              <span class="error-bar">{share !== undefined && <i style={{ width: `${Math.round(share * 100)}%`, background: heatColour(palette, share) }} />}</span>
              <span class="error-text">{branch.error < 0 ? "–" : shortNumber(branch.error)}</span>
            </div>
          );
        }}
      />
    </div>
  );
}

function labelOf(branch: Branch, report: Report): string {
  return branch.row < 0 ? branch.label : ownPart(branch.label, report.operator(branch.row).name);
}

function* allErrors(branch: Branch): Generator<number> {
  if (branch.error >= 0) yield branch.error;
  for (const child of branch.children) yield* allErrors(child);
}

function anyFits(branch: Branch, fits: (row: number) => boolean): boolean {
  return branch.row >= 0 ? fits(branch.row) : branch.children.some((child) => anyFits(child, fits));
}

function failing(branch: Branch): string[] {
  return branch.children.flatMap((child) => (child.failed > 0 && child.children.length > 0 ? [child.key, ...failing(child)] : []));
}
