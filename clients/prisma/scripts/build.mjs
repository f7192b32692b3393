// Builds dist/esm and dist/cjs, each with its types.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
for (const config of ["tsconfig.json", "tsconfig.cjs.json"]) {
  execFileSync("tsc", ["-p", config], { stdio: "inherit", shell: process.platform === "win32" });
}
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
copyFileSync("../../LICENSE", "LICENSE");
