// Packs the package, installs it in an empty folder, and uses it there as ESM, as CommonJS and from TypeScript. Then it installs the
// package for the driver of the conformance suite.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const run = (command, args, cwd) => execFileSync(command, args, { cwd, encoding: "utf8", shell: process.platform === "win32", stdio: ["ignore", "pipe", "inherit"] });

const [{ filename }] = JSON.parse(run("npm", ["pack", "--json"], "."));
const folder = mkdtempSync(join(tmpdir(), "snowraft-package-"));
try {
  writeFileSync(join(folder, "package.json"), '{ "name": "empty", "private": true }\n');
  run("npm", ["install", "--no-audit", "--no-fund", resolve(filename)], folder);

  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const installed = run("npm", ["ls", "--all", "--parseable"], folder).trim().split("\n").length - 1;
  if (installed !== 1) {
    throw new Error(`${installed} packages are installed: expected snowraft alone`);
  }

  const use = `
    const id = preset("default").decode(253082239758246070n);
    if (id.worker !== 2n || version !== "${version}" || !SnowraftError.is(new SnowraftError("x", { reason: "CLOSED" }))) throw new Error("wrong");
    const client = new Client({ addresses: ["127.0.0.1:1"], timeoutMs: 50 });
    client.nextId().then(() => { throw new Error("wrong"); }, (error) => { if (!SnowraftError.is(error)) throw error; }).finally(() => client.close());
  `;
  writeFileSync(join(folder, "use.mjs"), `import { Client, SnowraftError, preset, version } from "snowraft";${use}`);
  writeFileSync(join(folder, "use.cjs"), `const { Client, SnowraftError, preset, version } = require("snowraft");${use}`);
  run(process.execPath, ["use.mjs"], folder);
  run(process.execPath, ["use.cjs"], folder);

  const typed = `
    import { Client, type Generator } from "snowraft";
    const client = new Client({ addresses: ["localhost"], token: process.env["TOKEN"] });
    const generator: Generator = client.generator({ layout: "default" });
    export const id: bigint = generator.next();
    // @ts-expect-error: an ID is no number
    export const wrong: number = generator.next();
  `;
  writeFileSync(join(folder, "types.mts"), typed);
  writeFileSync(join(folder, "types.cts"), typed);
  const tsc = resolve("node_modules/.bin/tsc");
  const flags = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "--types", "node", "--typeRoots", resolve("node_modules/@types")];
  run(tsc, [...flags, "types.mts", "types.cts"], folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
run("npm", ["install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", resolve(filename)], "driver");
console.log(`${filename}: works as ESM and CommonJS, with types, and needs no other package`);
