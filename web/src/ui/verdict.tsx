// The answer, first of all.
import { useState } from "preact/hooks";
import type { Paging } from "../data/load.ts";
import type { Report } from "../data/report.ts";
import { copyText } from "./copy.ts";
import type { Say } from "./text.ts";

interface Props {
  report: Report;
  pick: (row: number) => void;
  isRunning: boolean;
  isLive: boolean;
  paging?: Paging;
  say: Say;
}

// The sentence itself stands as all reports have it.
const ANSWERS: Record<string, "answer_pass" | "answer_fail" | "answer_error"> = { pass: "answer_pass", fail: "answer_fail", error: "answer_error" };

const MOST_NAMES = 3; // of operators before the origin
const COUNTS = ["passed", "failed", "errors", "unmatched", "ignored", "left_out"] as const;

export function Verdict({ report, pick, isRunning, isLive, paging, say }: Props) {
  const { summary, page } = report.data;
  const [word, rest] = isRunning ? ["…", say("running", { rows: page.rows, failed: page.failed })] : split(summary.verdict);
  const divergence = report.firstDivergence;
  const origin = report.firstOrigin;
  return (
    <header class={`answer ${isRunning ? "not-compared" : summary.answer.replace(" ", "-")}`}>
      <div class="badge">{word}</div>
      <div class="answer-text">
        <h1>{isRunning ? rest : say(ANSWERS[summary.answer] ?? "answer", { rest })}</h1>
        <p class="links">
          {summary.first_divergence && (
            <Link title={say(report.isOfNumbers ? "first_failed" : report.isOrderKnown || Number(summary["failed"]) < 2 ? "first_divergence" : "first_by_name")} text={placeText(summary.first_divergence)} row={divergence} pick={pick} strong />
          )}
          {summary.first_origin && <Link title={say("first_origin")} text={placeText(summary.first_origin)} row={origin} pick={pick} />}
          {(summary.first_origin?.not_compared?.length ?? 0) > 0 && (
            <span class="place">
              {say("nothing_compared_of")}: <span class="name">{summary.first_origin!.not_compared!.slice(0, MOST_NAMES).join(", ")}</span>
              {summary.first_origin!.not_compared!.length > MOST_NAMES && ` … ${summary.first_origin!.not_compared!.length}`}
            </span>
          )}
          {typeof summary["first_error"] === "string" && <Link title={say("first_error")} text={summary["first_error"]} row={report.firstError} pick={pick} />}
          {!summary.first_divergence && typeof summary["first_unmatched"] === "string" && (
            <span>
              {say("first_unmatched")}: <b class="name">{summary["first_unmatched"]}</b>
            </span>
          )}
          <span class="counts">
            {COUNTS.map((key) => {
              const count = summary[key];
              return typeof count === "number" && count > 0 ? (
                <span class={`count ${key}`}>
                  <b>{count.toLocaleString("en").replaceAll(",", " ")}</b> {say(key)}
                </span>
              ) : null;
            })}
          </span>
        </p>
        {paging && paging.total > paging.count && (
          <p class="held paging">
            {say("held_fit", { from: paging.from + 1, to: paging.from + paging.count, rows: paging.total })}{" "}
            <button disabled={paging.from === 0} aria-label={say("page_before")} title={say("page_before")} onClick={() => paging.turn(-1)}>
              ‹
            </button>
            <button disabled={paging.from + paging.count >= paging.total} aria-label={say("page_next")} title={say("page_next")} onClick={() => paging.turn(1)}>
              ›
            </button>
          </p>
        )}
        {!paging && report.count < page.rows && isLive && <p class="held">{say("held_live", { held: report.count, rows: page.rows })}</p>}
        {page.held < page.rows && !isLive && (
          <p class="held">
            {say("held", { held: page.held, rows: page.rows, failed: page.held_failed, all_failed: page.failed })} <Command text={`assay view ${report.data.run.mine} ${report.data.run.golden}`} say={say} />
          </p>
        )}
      </div>
      <Compared report={report} say={say} />
    </header>
  );
}

function split(sentence: string): [string, string] {
  const match = /^((?:[A-Z]+ ?)+)(?=[ :])/.exec(sentence);
  return match ? [match[1]!.trim(), sentence.slice(match[1]!.length).replace(/^[: ]+/, "")] : ["", sentence];
}

function placeText(place: { section?: string | null; mine?: string | null; golden?: string | null; tensor?: string | null; name?: string | null }): string {
  const name = place.mine || place.golden || place.tensor || place.name || "";
  return place.section ? `${place.section}: ${name}` : name;
}

function Link({ title, text, row, pick, strong }: { title: string; text: string; row: number | undefined; pick: (row: number) => void; strong?: boolean }) {
  return (
    <span class={strong ? "place strong" : "place"}>
      {title}:{" "}
      {row === undefined ? (
        <b class="name">{text}</b>
      ) : (
        <button class="link name" onClick={() => pick(row)}>
          {text}
        </button>
      )}
    </span>
  );
}

export function Command({ text, say }: { text: string; say: Say }) {
  const [done, setDone] = useState(false);
  return (
    <span class="command">
      <code title={text}>{text}</code>
      <button
        onClick={() => {
          copyText(text);
          setDone(true);
          setTimeout(() => setDone(false), 1500);
        }}
      >
        {done ? say("copied") : say("copy")}
      </button>
    </span>
  );
}

function Compared({ report, say }: { report: Report; say: Say }) {
  const { run } = report.data;
  const facts: [string, string][] = [
    [say("mine"), run.mine],
    [say("golden"), run.golden],
    [say("layouts"), run.layouts.mine === run.layouts.golden ? run.layouts.mine : `${run.layouts.mine} · ${run.layouts.golden}`],
    [say("matcher"), run.matcher],
    [say("rules"), run.rules],
    [say("version"), `assay ${run.assay}`],
    [say("generated"), run.generated],
  ];
  return (
    <details class="compared">
      <summary>{say("compared")}</summary>
      <div class="compared-box">
        <dl>
          {facts.map(([key, value]) =>
            value ? (
              <>
                <dt>{key}</dt>
                <dd class="name">{value}</dd>
              </>
            ) : null,
          )}
        </dl>
        <Command text={run.command} say={say} />
      </div>
    </details>
  );
}
