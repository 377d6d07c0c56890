// The page in a real browser: end_to_end.mjs CHROMIUM FOLDER ADDRESS. The folder holds NAME.html, made by tests/tools/check_page.py,
// and gets screenshots; at the address `assay view` serves what folder.html shows. The last line is "N passed, N failed".
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

const [program, folder, served] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
let passed = 0;
let failed = 0;

function check(name, condition, more = "") {
  if (condition) ++passed;
  else {
    ++failed;
    console.log(`FAIL ${name} ${more}`);
  }
}

const address = (name, hash = "") => `file://${join(folder, `${name}.html`)}${hash ? `#${hash}` : ""}`;

// Opens a page and watches what it must not do: complain, ask for anything, open anything.
async function open(name, { hash = "", dark = false, script = true, ready = true } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, colorScheme: dark ? "dark" : "light", locale: "en-US", javaScriptEnabled: script, acceptDownloads: true });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${join(folder, `${name}.html`)}`) && !request.url().startsWith("blob:")) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(address(name, hash));
  if (script && ready) await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  return { page, complaints, close: () => context.close() };
}

async function attempt(name, of) {
  try {
    await of();
  } catch (error) {
    check(name, false, String(error.message ?? error).split("\n")[0]);
  }
}

const settle = (page) => page.evaluate(() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))));
const text = (page, selector) => page.locator(selector).first().innerText();

// Every view on a report of each layout.
for (const name of ["folder", "msprobe", "statistics", "atb_torch", "torchair", "fusion", "ranks", "hostile", "mix", "checkpoint"])
  await attempt(name, async () => {
    const { page, complaints, close } = await open(name);
    check(`${name}: verdict`, (await text(page, ".badge")).length > 0);
    check(`${name}: course`, (await page.locator(".course-plot canvas, .multiples canvas").count()) === 1);
    check(`${name}: rows`, (await page.locator(".table-view .line").count()) > 1);
    for (const tab of await page.locator("[role=tab]").all()) {
      await tab.click();
      await settle(page);
      check(`${name}: ${await tab.innerText()}`, (await page.locator(".view").first().innerText()).length > 0);
    }
    check(`${name}: a tensor is selected`, (await page.locator(".inspector .title .name").innerText()).length > 0);
    await page.keyboard.press("l");
    await settle(page);
    await page.keyboard.press("t");
    await settle(page);
    check(`${name}: nothing to complain of`, complaints.length === 0, complaints.join("; "));
    await close();
  });

await attempt("without a script", async () => {
  const { page, complaints, close } = await open("folder", { script: false });
  const all = await page.locator("body").innerText();
  check("still: verdict", /FAIL: \d+ of \d+ tensors/.test(all));
  check("still: first divergence", all.includes("First divergence: 048_layers.2.mlp.activation.pt"));
  check("still: what failed", (await page.locator("#still tbody tr").count()) === 23);
  check("still: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("names are text", async () => {
  const { page, complaints, close } = await open("hostile");
  const shown = await page.evaluate(() => document.body.innerText);
  check("hostile: shown as they are", shown.includes("<img src=x onerror=alert(1)>") && shown.includes("</script><script>alert(2)</script>"));
  check("hostile: no element of theirs", (await page.locator("img, #app script, iframe, a[href^='javascript']").count()) === 0);
  await page.keyboard.press("3");
  await settle(page);
  check("hostile: nothing ran", complaints.length === 0 && (await page.evaluate(() => window.hacked)) === undefined, complaints.join("; "));
  const still = await open("hostile", { script: false });
  check("hostile: nor without a script", (await still.page.locator("#still img, #still script").count()) === 0 && (await still.page.locator("#still").innerText()).includes("<img src=x"));
  await still.close();
  await close();
});

await attempt("keys, links and filters", async () => {
  const { page, complaints, close } = await open("folder");
  const title = () => text(page, ".inspector .title .name");
  check("first divergence is selected", (await title()) === "048_layers.2.mlp.activation.pt", await title());
  await page.keyboard.press("n");
  await settle(page);
  check("n: the next that failed", (await title()) === "049_layers.2.mlp.product.pt", await title());
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await settle(page);
  check("k: one up", (await title()) === "047_layers.2.mlp.up.pt", await title());
  await page.keyboard.press("f");
  await settle(page);
  check("f: the first divergence", (await title()) === "048_layers.2.mlp.activation.pt");
  await page.keyboard.press("/");
  await page.keyboard.type("rel_l2 > 0.1");
  await settle(page);
  check("a condition filters", (await text(page, ".table-view .tools .quiet")).startsWith("3 of 71"), await text(page, ".table-view .tools .quiet"));
  check("… and stands in the address", page.url().includes("q=rel_l2"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("*attention*");
  await settle(page);
  check("a pattern filters", /^3\d of 71/.test(await text(page, ".table-view .tools .quiet")), await text(page, ".table-view .tools .quiet"));
  await page.keyboard.press("Control+A");
  await page.keyboard.type("rel_l2 >");
  await settle(page);
  check("a mistake is told", (await page.locator(".controls .fault").count()) === 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await settle(page);
  await page.locator(".chip.fail").first().click();
  await settle(page);
  check("verdicts filter", (await text(page, ".table-view .tools .quiet")).startsWith("23 of 71"));
  await page.locator("[role=columnheader]", { hasText: "rel_l2" }).click();
  await settle(page);
  check("sorted: the worst on top", (await page.locator(".scroller-lines .line .cell.text").first().innerText()).startsWith("050_"));
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: "Save csv" }).click()]);
  const csv = await (await import("node:fs/promises")).readFile(await download.path(), "utf8");
  check("csv of what is shown", csv.split("\n").length === 25 && csv.startsWith("section,name,mine"));
  await page.keyboard.press("?");
  await settle(page);
  check("help", (await page.locator("dialog[open]").count()) === 1);
  await page.keyboard.press("Escape");
  await page.locator(".chooser summary").click();
  await page.locator(".chooser-box label", { hasText: "golden_dtype" }).locator("input").check();
  await settle(page);
  check("a column more", (await page.locator("[role=columnheader]", { hasText: "golden_dtype" }).count()) === 1);
  check("keys: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
  const linked = await open("folder", { hash: "row=60&tab=tree&v=fail&l=zh" });
  check("a link: the row", (await text(linked.page, ".inspector .title .name")).startsWith("059_"), await text(linked.page, ".inspector .title .name"));
  check("a link: the view", (await linked.page.locator(".tree-view .branch.selected").count()) === 1);
  check("a link: the language", (await linked.page.locator("html").getAttribute("lang")) === "zh");
  await linked.close();
  const wild = await open("folder", { hash: "row=99999&tab=no&z=5-2&m=none&sort=none:up" });
  check("a link of nonsense does no harm", wild.complaints.length === 0, wild.complaints.join("; "));
  await wild.close();
});

await attempt("the course is worked with the mouse", async () => {
  const { page, complaints, close } = await open("folder");
  const box = await page.locator(".course-plot .u-over").boundingBox();
  const at = (share, height = 0.5) => [box.x + box.width * share, box.y + box.height * height];
  await page.mouse.move(...at(0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.5), { steps: 5 });
  await page.mouse.up();
  await settle(page);
  check("dragging zooms", /z=1\d-3\d/.test(page.url()), page.url());
  await page.mouse.dblclick(...at(0.5));
  // A busy machine may take longer than any fixed time.
  // The policy of the page forbids what waitForFunction does where it has to wait.
  for (let i = 0; i < 100 && page.url().includes("z="); ++i) await page.waitForTimeout(50);
  await settle(page);
  check("a double click shows all", !page.url().includes("z="), page.url());
  await page.mouse.move(...at(0.1, 0.6));
  await settle(page);
  check("hovering tells", (await page.locator(".course-plot .tip").count()) === 1);
  await page.mouse.click(...at(0.1, 0.6));
  await settle(page);
  check("a click selects", /row=[5-9](&|$)/.test(page.url()), page.url());
  await page.locator(".tabs button", { hasText: "Heat" }).click();
  await settle(page);
  const heat = await page.locator(".heat-cells").boundingBox();
  await page.mouse.click(heat.x + heat.width * 0.5, heat.y + heat.height - 60);
  await settle(page);
  check("a cell of the heat map selects", !/row=[5-9](&|$)/.test(page.url()), page.url());
  check("mouse: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("several sections side by side", async () => {
  const { page, complaints, close } = await open("ranks");
  const chosen = () => text(page, ".inspector .small");
  const box = await page.locator(".multiples canvas").boundingBox();
  // Ranks across, steps down: the last of both.
  const last = [box.x + box.width - 40, box.y + box.height - 20];
  await page.mouse.click(...last);
  await settle(page);
  check("multiples: a click selects", (await chosen()).startsWith("rank 3 step 2"), await chosen());
  await page.mouse.move(box.x + 100, box.y + 30);
  await settle(page);
  check("multiples: hovering tells", (await page.locator(".multiples .tip").innerText()).includes("rank 0 step 0"));
  await page.locator(".course button", { hasText: "in one line" }).click();
  await settle(page);
  check("multiples: in one line", (await page.locator(".course-plot canvas").count()) === 1 && page.url().includes("line=1"), page.url());
  await page.locator(".course button", { hasText: "side by side" }).click();
  await page.mouse.dblclick(...last);
  await settle(page);
  check("multiples: one alone", (await text(page, ".table-view .tools .quiet")).startsWith("72 of 864"), page.url());
  check("multiples: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("the command compares what is shown", async () => {
  for (const [name, hash] of [["ranks", "v=fail&s=rank+3+step+1"], ["folder", "q=layers.3"], ["atb_torch", "s=token+1"], ["checkpoint", "q=*q_proj*"]]) {
    const { page, close } = await open(name, { hash });
    await page.evaluate(() => {
      document.execCommand = () => (window.copied = document.activeElement.value ?? String(window.getSelection()));
      if (navigator.clipboard) navigator.clipboard.writeText = async (words) => void (window.copied = words);
    });
    await page.locator("button", { hasText: "Copy command" }).click();
    await settle(page);
    const rows = Number((await text(page, ".table-view .tools .quiet")).split(" ")[0]);
    await writeFile(join(folder, `${name}.command`), `${rows}\n${await page.evaluate(() => window.copied)}`);
    check(`${name}: a command`, (await page.evaluate(() => window.copied ?? "")).startsWith("assay compare"));
    await close();
  }
});

await attempt("a checkpoint", async () => {
  const { page, close } = await open("checkpoint");
  check("checkpoint: one tensor is one operator", (await page.locator(".inspector .ports .chip").count()) === 0);
  check("checkpoint: its layer", (await text(page, ".inspector .small")).includes("layer 77"), await text(page, ".inspector .small"));
  check("checkpoint: what is wrong", (await text(page, ".diagnosis")) === "mine = 2 x golden", await text(page, ".diagnosis"));
  await page.keyboard.press("2");
  await settle(page);
  const all = await page.locator(".heat-scroll").evaluate((element) => [element.scrollTop, element.clientHeight, element.scrollHeight]);
  check("checkpoint: the heat map shows what is selected", all[0] > 0, all.join());
  const titles = await page.locator(".heat-titles").boundingBox();
  const place = await page.locator(".heat-scroll").boundingBox();
  check("checkpoint: titles stay in sight", Math.abs(titles.y - place.y) < 6, `${titles.y} ${place.y}`);
  await close();
});

await attempt("calls stand in their modules", async () => {
  const { page, close } = await open("mix", { hash: "tab=tree" });
  check("mix: a function below its module", (await page.locator(".tree-view .branch", { hasText: "Functional.linear" }).first().getAttribute("aria-level")) > 1);
  await page.keyboard.press("2");
  await settle(page);
  check("mix: layers", (await page.locator(".legend", { hasText: "no layers" }).count()) === 0);
  await close();
});

await attempt("trouble, and an order that nothing tells", async () => {
  const { page, complaints, close } = await open("broken");
  check("broken: badge", (await text(page, ".badge")) === "ERROR", await text(page, ".badge"));
  const links = await text(page, ".links");
  check("broken: the first error", links.includes("First error: b.npy: "), links);
  check("broken: by name", links.includes("order unknown; first by name"), links);
  await page.locator(".links .link", { hasText: "b.npy" }).click();
  await settle(page);
  check("broken: the error is selected", (await page.locator(".inspector .title .name").innerText()) === "b.npy");
  check("broken: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("one dump by itself", async () => {
  const { page, complaints, close } = await open("errcheck");
  check("errcheck: badge", (await text(page, ".badge")) === "FAIL", await text(page, ".badge"));
  check("errcheck: the first infinity is selected", (await text(page, ".inspector .title .name")).endsWith("before/intensor1.bin"));
  check("errcheck: why", (await text(page, ".reason")).startsWith("1 Inf of 4 elements"));
  check("errcheck: rows have names", (await text(page, ".table-view .line:not(.head) .name-cell")).includes("intensor0"));
  for (const key of ["2", "3", "1", "n", "j"]) await page.keyboard.press(key);
  await settle(page);
  check("errcheck: no command that compares", (await page.locator("button", { hasText: "Copy command" }).count()) === 0);
  check("errcheck: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("nothing to see", async () => {
  for (const [name, badge] of [["not_compared", "NOT COMPARED"], ["one", "FAIL"], ["same", "PASS"]]) {
    const { page, complaints, close } = await open(name);
    check(`${name}: badge`, (await text(page, ".badge")) === badge, await text(page, ".badge"));
    for (const key of ["1", "2", "3", "n", "j", "z", "f", "x"]) await page.keyboard.press(key);
    await settle(page);
    check(`${name}: nothing to complain of`, complaints.length === 0, complaints.join("; "));
    await close();
  }
});

await attempt("ranks and steps", async () => {
  const { page, close } = await open("ranks", { hash: "tab=places" });
  check("only rank 3 from step 1 on", (await text(page, ".inspector .small")).startsWith("rank 3 step 1"));
  check("places x sections", (await page.locator(".heat-cells").count()) === 1);
  await page.locator(".choice", { hasText: "Section" }).locator("select").selectOption("rank 2 step 2");
  await page.locator(".tabs button", { hasText: "Table" }).click();
  await settle(page);
  check("one section", (await text(page, ".table-view .tools .quiet")).startsWith("72 of 864"));
  await close();
});

await attempt("details", async () => {
  const { page, complaints, close } = await open("folder");
  await page.waitForSelector(".picture canvas", { timeout: 10_000 });
  check("pictures of a tensor that failed", (await page.locator(".picture").count()) >= 6);
  check("details: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

await attempt("served", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: "en-US" });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(served) && !request.url().startsWith("blob:")) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(served);
  await page.waitForSelector('html[data-ready="yes"]', { timeout: 60_000 });
  check("served: verdict", (await text(page, ".badge")) === "FAIL");
  check("served: rows", (await text(page, ".table-view .tools .quiet")).startsWith("71 of 71"));
  await page.waitForSelector(".picture canvas", { timeout: 60_000 });
  check("served: the tensor that failed", (await page.locator(".picture").count()) >= 6);
  await page.locator(".table-view .line", { hasText: "047_layers.2.mlp.up" }).click();
  await page.waitForSelector(".inspector .title.pass", { timeout: 10_000 });
  await page.waitForSelector(".picture canvas", { timeout: 60_000 });
  check("served: a tensor that passed, read when asked for", (await page.locator(".picture").count()) >= 6);
  check("served: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await context.close();
});

await attempt("50,000 rows", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  // The processor's time, since the machine may be busy.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const metrics = async () => Object.fromEntries((await session.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  await page.goto(address("large"));
  await page.waitForSelector("html[data-ready]", { timeout: 60_000 });
  await settle(page);
  const loaded = await metrics();
  check("usable within 2 s", loaded.TaskDuration < 2, `${loaded.TaskDuration} s`);
  check("within 300 MB", loaded.JSHeapUsedSize < 300e6, `${loaded.JSHeapUsedSize / 1e6} MB`);
  const frames = 60;
  await page.evaluate(async (count) => {
    const list = document.querySelector(".table-view .scroller");
    for (let i = 0; i < count; ++i) {
      list.scrollTop = i * 3333;
      await new Promise((go) => requestAnimationFrame(go));
    }
  }, frames);
  const scrolled = await metrics();
  const each = ((scrolled.TaskDuration - loaded.TaskDuration) / frames) * 1000;
  check("a frame of scrolling takes less than 16 ms", each < 16, `${each} ms`);
  check("the last row can be reached", await page.evaluate(async () => {
    const list = document.querySelector(".table-view .scroller");
    list.scrollTop = list.scrollHeight;
    const last = () => list.querySelector(`[aria-rowindex="${list.getAttribute("aria-rowcount")}"]`);
    for (let waited = 0; waited < 5000 && last() === null; waited += 50) await new Promise((go) => setTimeout(go, 50));
    return last() !== null;
  }));
  for (const tab of ["Heat", "Tree"]) {
    const before = (await metrics()).TaskDuration;
    await page.locator(".tabs button", { hasText: tab }).click();
    await settle(page);
    const took = (await metrics()).TaskDuration - before;
    check(`${tab} of 50,000 rows`, took < 1, `${took} s`);
  }
  console.log(`50,000 rows: ${loaded.TaskDuration.toFixed(2)} s of the processor until usable, ${(loaded.JSHeapUsedSize / 1e6).toFixed(0)} MB, ${each.toFixed(1)} ms a frame`);
  await context.close();
});

await attempt("a verdict keeps its colour in lines that are used again", async () => {
  const { page, close } = await open("folder");
  const wrong = [];
  for (let i = 0; i < 12; ++i) {
    await page.locator(".table-view .scroller").evaluate((list, top) => void (list.scrollTop = top), (i * 337) % 1400);
    await settle(page);
    wrong.push(...(await page.evaluate(() => [...document.querySelectorAll(".line.fail")].filter((line) => getComputedStyle(line.querySelector(".sign")).color !== getComputedStyle(line.querySelector(".verdict")).color).map((line) => line.innerText))));
  }
  check("signs of lines that are used again", wrong.length === 0, `${wrong.length}: ${wrong[0]}`);
  await close();
});

await attempt("printing", async () => {
  const { page, complaints, close } = await open("folder");
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await settle(page);
  check("print: what failed, all of it", (await page.locator(".printed tbody tr").count()) === 23 && (await page.locator(".printed").isVisible()));
  check("print: no controls", !(await page.locator(".controls").isVisible()) && (await page.locator(".badge").isVisible()));
  check("print: nothing to complain of", complaints.length === 0, complaints.join("; "));
  await close();
});

for (const [name, options] of [["light", {}], ["dark", { dark: true, hash: "tab=heat" }]])
  await attempt(`screenshot ${name}`, async () => {
    const { page, close } = await open("folder", options);
    await settle(page);
    await page.waitForTimeout(300);
    const path = join(folder, `page_${name}.png`);
    await page.screenshot({ path });
    check(`screenshot ${name}`, existsSync(path));
    await close();
  });

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
