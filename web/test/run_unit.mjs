// Unit tests of the page's logic: bundles test/*.test.ts and hands them to Node's own runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "assay_page_"));
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: names.map((name) => join(here, name)), outdir: out, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" }, jsx: "automatic", jsxImportSource: "preact" });
const done = spawnSync(process.execPath, ["--test", ...names.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(done.status ?? 1);
