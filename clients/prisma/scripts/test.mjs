// Packs the client and this package, installs both next to Prisma in the folder test, and runs the tests there. "prisma generate"
// needs no engine, but the CLI downloads one unless the environment names a program. Arguments go to Node.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";

const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, SNOWRAFT_PROGRAM: resolve("../../bin/snowraft"), ...process.env };
const run = (command, args, cwd, stdout = "inherit") =>
  execFileSync(command, args, { cwd, env, encoding: "utf8", shell: process.platform === "win32", stdio: ["ignore", stdout, "inherit"] });

const pack = (folder) => {
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--json"], folder, "pipe"));
  return resolve(folder, filename);
};

const packed = [pack("../typescript"), pack(".")];
const quiet = ["--no-audit", "--no-fund", "--silent", "--ignore-scripts", "--prefer-offline"];
for (const made of ["generated", "out", "test.db"]) {
  rmSync(join("test", made), { recursive: true, force: true });
}
run("npm", ["ci", ...quiet], "test");
run("npm", ["install", "--no-save", ...quiet, ...packed], "test");
run("npx", ["prisma", "generate", "--schema", "schema.prisma"], "test");
run("npx", ["tsc"], "test");
env.SNOWRAFT_PACKED = JSON.stringify(packed);
const tests = [join("out", "prisma.test.js"), join("out", "readme.test.js")];
run(process.execPath, ["--enable-source-maps", "--test-timeout=300000", "--test", ...process.argv.slice(2), ...tests], "test");
