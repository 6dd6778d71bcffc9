// Bundles web/src into the folder that `vecchess dash` serves (or the one named on the command line).
// File names carry a hash of what is in them, so that browsers may keep them for ever.
import { readFileSync, readdirSync, writeFileSync, mkdirSync, rmSync, renameSync, existsSync } from "node:fs";
import { dirname, join, basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const given = process.argv.slice(2).find((word) => !word.startsWith("--"));
const target = given ? resolve(given) : join(web, "../src/vecchess/dash/static");

/** The packages whose files are in the bundle, told by the paths esbuild read. */
function bundledPackages(metafile) {
  const found = Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(found.filter(Boolean))].sort();
}

function licences(metafile) {
  const parts = bundledPackages(metafile).map((name) => {
    const folder = join(web, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((each) => each.startsWith("LICENSE"));
    const text = file ? readFileSync(join(folder, file), "utf8").trim() : about.license;
    return `${name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  const head = "The pages of vecchess are under GPL-3.0-or-later. They contain these packages:\n\n";
  return head + parts.join(`\n${"-".repeat(80)}\n\n`);
}

/** What was built, put where it belongs in one step, so that a server never meets half of it. */
function publish(result, folder) {
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true });
  for (const file of result.outputFiles) writeFileSync(join(fresh, basename(file.path)), file.contents);
  const named = (ending) => basename(result.outputFiles.find((file) => /main-\w+\.(css|js)$/.test(file.path) && file.path.endsWith(ending)).path);
  const page = readFileSync(join(web, "src/index.html"), "utf8");
  writeFileSync(join(fresh, "index.html"), page.replace("main.css", named(".css")).replace("main.js", named(".js")));
  writeFileSync(join(fresh, "icon.svg"), readFileSync(join(web, "src/icon.svg")));
  writeFileSync(join(fresh, "LICENSES.txt"), licences(result.metafile));
  rmSync(`${folder}.old`, { recursive: true, force: true });
  if (existsSync(folder)) renameSync(folder, `${folder}.old`);
  renameSync(fresh, folder);
  rmSync(`${folder}.old`, { recursive: true, force: true });
}

const settings = {
  entryPoints: ["src/main.tsx", "src/engine/worker.ts", "src/engine/offline.ts"].map((file) => join(web, file)),
  absWorkingDir: web,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "dataurl" },
  entryNames: "[name]-[hash]",
  outdir: target,
  write: false,
  metafile: true,
  legalComments: "none",
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  const plugin = { name: "publish", setup: (build) => build.onEnd((result) => result.errors.length || publish(result, target)) };
  await (await esbuild.context({ ...settings, minify: false, plugins: [plugin] })).watch();
} else {
  publish(await esbuild.build(settings), target);
}
