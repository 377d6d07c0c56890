// How soon a page can be used, and what it takes: measure.mjs CHROMIUM PAGE REPEATS. Prints JSON: the median of some runs.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";

const [program, file, repeats] = process.argv.slice(2);
const runs = [];
for (let i = 0; i < Number(repeats); ++i) {
  const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.addInitScript(() => {
    new MutationObserver((_, self) => {
      if (!document.documentElement?.dataset["ready"]) return;
      self.disconnect();
      // Drawn, and free for input.
      requestAnimationFrame(() => setTimeout(() => (window.readyAt = performance.now())));
    }).observe(document, { attributes: true, childList: true, subtree: true });
  });
  await page.goto(`file://${file}`);
  // The policy of the page forbids what waitForFunction does.
  const end = Date.now() + 60_000;
  while (!(await page.evaluate(() => window.readyAt !== undefined)) && Date.now() < end) await page.waitForTimeout(50);
  const metrics = async () => Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  const loaded = await metrics();
  const [paint, ready] = await page.evaluate(() => [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity, window.readyAt]);
  const frames = 120;
  const scrolled = await page.evaluate(async (count) => {
    const list = document.querySelector(".table-view .scroller");
    const start = performance.now();
    for (let at = 0; at < count; ++at) {
      list.scrollTop = at * 3333;
      await new Promise((go) => requestAnimationFrame(go));
    }
    return (performance.now() - start) / count;
  }, frames);
  const after = await metrics();
  const renderers = (await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo")).processInfo.filter(({ type }) => type === "renderer");
  // What the browser's own task manager calls the memory of a tab: what no other process shares, garbage and all.
  const kilobytes = renderers.map(({ id }) => Number(/^Anonymous:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))[1]));
  runs.push({
    paint_s: paint / 1000,
    ready_s: ready / 1000,
    task_s: loaded.TaskDuration,
    heap_mb: loaded.JSHeapUsedSize / 1e6,
    tab_mb: Math.max(...kilobytes) / 1000,
    frame_ms: scrolled,
    frame_task_ms: ((after.TaskDuration - loaded.TaskDuration) / frames) * 1000,
  });
  await browser.close();
}
const median = (key) => runs.map((run) => run[key]).sort((a, b) => a - b)[Math.floor(runs.length / 2)];
console.log(JSON.stringify(Object.fromEntries(Object.keys(runs[0]).map((key) => [key, median(key)]))));
