// The page over a server: it grows while dumps are compared, and asks for rows that it does not hold.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { PAGE_ROWS, type RunData, type Server, type Wanted } from "../data/load.ts";
import { Report } from "../data/report.ts";
import { Table } from "../data/table.ts";
import { App } from "./app.tsx";
import { sayIn } from "./text.ts";

export function reportOf(data: RunData, rows: unknown[][]): Report {
  const table = new Table([{ title: ".id", kind: "number" }, ...data.page.columns]);
  for (const values of rows) table.add(values);
  return new Report(data, table);
}

interface Shown {
  report: Report;
  isRunning: boolean;
}

interface Found {
  report: Report;
  from: number;
  total: number;
}

function isEmpty(wanted: Wanted): boolean {
  return !wanted.text && wanted.levels.length === 0 && wanted.section === undefined && !wanted.dtype && !wanted.port && !wanted.sort;
}

export function Live({ server }: { server: Server }) {
  const [shown, setShown] = useState<Shown | undefined>(undefined);
  const [found, setFound] = useState<Found | undefined>(undefined);
  const [ask, setAsk] = useState<{ wanted: Wanted; from: number } | undefined>(undefined);
  const [fault, setFault] = useState("");
  const asked = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    let goesOn = true;
    let known = -1;
    const follow = async (): Promise<void> => {
      while (goesOn) {
        const start = performance.now();
        const { done, rows, data } = await server.run();
        if (data && (rows !== known || done)) {
          const all = await server.rows(undefined);
          known = rows;
          document.title = done ? data.summary.verdict.slice(0, 100) : `${rows} …`;
          setShown({ report: reportOf(data, all.rows), isRunning: !done });
          document.documentElement.dataset["ready"] = done ? "yes" : "growing";
        }
        if (done) return;
        // A page that takes long to draw is drawn less often.
        await new Promise((go) => setTimeout(go, Math.max(700, 4 * (performance.now() - start))));
      }
    };
    follow().catch((error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
    return () => {
      goesOn = false;
    };
  }, [server]);

  const base = shown?.report;
  const isWhole = base !== undefined && base.count >= base.data.page.rows;
  const want = useCallback((wanted: Wanted) => setAsk(isEmpty(wanted) ? undefined : { wanted, from: 0 }), []);
  useEffect(() => {
    asked.current?.abort();
    if (!base || isWhole || !ask) return setFound(undefined);
    const stop = new AbortController();
    asked.current = stop;
    const wait = setTimeout(
      () =>
        server.rows(ask.wanted, ask.from, stop.signal).then(
          ({ total, rows }) => {
            // The worst of all come first; a page has its rows in the order of the report.
            rows.sort((a, b) => (a[0] as number) - (b[0] as number));
            if (!stop.signal.aborted) setFound({ report: reportOf(base.data, rows), from: ask.from, total });
          },
          () => undefined, // half a condition, or one that was changed meanwhile
        ),
      ask.from > 0 ? 0 : 250,
    );
    return () => clearTimeout(wait);
  }, [server, base, isWhole, ask]);
  if (fault) return <p class="fault">{fault}</p>;
  if (!shown) return <p class="reading">{sayIn(navigator.language.startsWith("zh") ? "zh" : "en")("reading")}</p>;
  const page = found && found.report.count > 0 ? found : undefined;
  const paging = page && {
    from: page.from,
    count: page.report.count,
    total: page.total,
    turn: (pages: number) => setAsk((old) => old && { ...old, from: Math.max(0, page.from + pages * PAGE_ROWS) }),
  };
  return <App report={page?.report ?? shown.report} details={server} isRunning={shown.isRunning} want={want} {...(paging ? { paging } : {})} />;
}
