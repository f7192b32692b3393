// Calls a generator until the process is killed, and prints a line for its clock and each call: drive.mjs ADDRESSES.
import { writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";

import { Client } from "../../clients/typescript/dist/esm/index.js";

const PACE_MS = 2;

writeSync(1, `@${Date.now()}\n`);
const generator = new Client({ addresses: process.argv[2].split(",") }).generator();
for (;;) {
	const began = performance.now();
	let line;
	try {
		line = "=" + generator.next();
	} catch (error) {
		line = "!" + String(error.message).replaceAll("\n", " ");
	}
	writeSync(1, line + "\n");
	await setTimeout(Math.max(0, PACE_MS - (performance.now() - began)));
}
