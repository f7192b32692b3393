// The steps of the page, in an empty folder. SNOWRAFT_PACKED has the paths of the two packed files.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { start } from "./cluster.ts";

const page = readFileSync("../README.md", "utf8").split("## First rows")[1]!.split("\n## ")[0]!;
const packed = JSON.parse(process.env["SNOWRAFT_PACKED"]!) as string[];

/** The table that "prisma db push" creates. That command downloads a program, and the test does not. */
const push = "npx prisma db push";
const table = `
  import { createClient } from "@libsql/client";
  import config from "./prisma.config.ts";
  await createClient({ url: config.datasource.url }).execute('CREATE TABLE "User" ("id" BIGINT NOT NULL PRIMARY KEY DEFAULT 0, "name" TEXT NOT NULL)');
`;

/** exact returns a step with the packed files, and with the versions that the lock file has of other packages. */
function exact(step: string): string {
  for (const path of packed) {
    step = step.replace(`PATH/${basename(path)}`, path);
  }
  return step.replace(/(\S+)@(\d+)(?=\s|$)/g, (_, name: string, major: string) => {
    const { version } = createRequire(import.meta.url)(`../node_modules/${name}/package.json`) as { version: string };
    assert.equal(version.split(".")[0], major, name);
    return `${name}@${version}`;
  });
}

test("the steps of the page store a row with an ID", async () => {
  const cluster = await start();
  const folder = mkdtempSync(join(tmpdir(), "snowraft-readme-"));
  try {
    const files = [...page.matchAll(/^`([\w.]+)`\n\n```\w+\n(.*?)^```$/gms)];
    assert.deepEqual(files.map(([, name]) => name), ["schema.prisma", "prisma.config.ts", "first.ts"]);
    for (const [, name, text] of files) {
      writeFileSync(join(folder, name!), text!.replace("127.0.0.1:7701", cluster.address));
    }
    writeFileSync(join(folder, "table.ts"), table);
    const steps = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block!.trim().split("\n"));
    assert.ok(steps.includes(push));
    const env = { ...process.env, npm_config_ignore_scripts: "true", npm_config_prefer_offline: "true" };
    let output = "";
    for (const step of steps) {
      output = execFileSync("sh", ["-c", step === push ? "npx tsx table.ts" : exact(step)], { cwd: folder, env, encoding: "utf8" });
    }
    assert.match(output, /^\{ id: \d{15,19}n, name: 'Ada' \}\n$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    cluster.signal("SIGTERM");
  }
});
