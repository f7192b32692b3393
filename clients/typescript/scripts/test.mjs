// Compiles sources and tests, and runs the tests. Arguments are names of test files without their ending.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";

rmSync("build", { recursive: true, force: true });
execFileSync("tsc", ["-p", "tsconfig.test.json"], { stdio: "inherit", shell: process.platform === "win32" });
const names = process.argv.slice(2);
const files = readdirSync("build/test")
  .filter((name) => name.endsWith(".test.js") && (names.length === 0 || names.includes(name.slice(0, -".test.js".length))))
  .map((name) => `build/test/${name}`);
process.exit(spawnSync(process.execPath, ["--enable-source-maps", "--test-timeout=300000", "--test", ...files], { stdio: "inherit" }).status ?? 1);
