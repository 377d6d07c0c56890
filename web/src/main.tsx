import { render } from "preact";
import { addRows, Details, Server, textOf, type RunData } from "./data/load.ts";
import { Report } from "./data/report.ts";
import { Table } from "./data/table.ts";
import { App } from "./ui/app.tsx";
import { Live } from "./ui/live.tsx";
import { sayIn } from "./ui/text.ts";
import "uplot/dist/uPlot.min.css";
import "./page.css";

// The verdict can be read meanwhile: it stands in the page without a script.
async function start(): Promise<void> {
  const data = JSON.parse(textOf("run")) as RunData;
  const place = document.getElementById("app")!;
  const still = document.getElementById("still");
  if (data.page.live) {
    still?.remove();
    render(<Live server={new Server(location.pathname)} />, place);
    return;
  }
  const say = sayIn(navigator.language.startsWith("zh") ? "zh" : "en");
  const note = document.createElement("p");
  note.className = "reading";
  note.textContent = say("reading");
  place.append(note);
  const table = new Table([{ title: ".id", kind: "number" }, ...data.page.columns]);
  const packed = textOf("rows");
  document.getElementById("rows")?.remove();
  await addRows(table, packed, (rows) => {
    note.textContent = `${say("reading")} ${Math.round((100 * rows) / Math.max(1, data.page.held))} %`;
  });
  const details = new Details(textOf("details"));
  place.textContent = "";
  still?.remove();
  render(<App report={new Report(data, table)} details={details} />, place);
  document.documentElement.dataset["ready"] = "yes";
}

start().catch((fault: unknown) => {
  const note = document.createElement("p");
  note.className = "fault";
  note.textContent = `This page could not be drawn: ${fault instanceof Error ? fault.message : String(fault)}`;
  document.getElementById("app")?.prepend(note);
});
