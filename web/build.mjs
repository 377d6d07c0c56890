// Builds dist/page.js and dist/page.css. With --check it writes nothing, and fails where they are not what it would write.
import { build } from "esbuild";
import { readFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const MOST_BYTES = 250 * 1024;

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome109", "firefox115", "safari16.4"],
  charset: "ascii",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
  write: false,
});

let total = 0;
let failed = false;
await mkdir(join(here, "dist"), { recursive: true });
for (const file of outputFiles) {
  total += file.contents.length;
  if (!process.argv.includes("--check")) {
    await writeFile(file.path, file.contents);
    continue;
  }
  const kept = await readFile(file.path).catch(() => undefined);
  if (kept && Buffer.compare(kept, file.contents) === 0) continue;
  console.error(`${file.path}: not what the sources give; run 'make web'`);
  failed = true;
}
if (total > MOST_BYTES) {
  console.error(`the page has ${total} bytes, more than ${MOST_BYTES}`);
  failed = true;
}
console.log(`the page has ${total} bytes`);
process.exit(failed ? 1 : 0);
