// Prisma 7 with SQLite, against a real cluster.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PrismaLibSql } from "@prisma/adapter-libsql";
import { Client, SnowraftError, type Generator } from "snowraft";
import { snowraft } from "snowraft-prisma";
import { start, type Cluster } from "./cluster.ts";
import { PrismaClient } from "./generated/client.ts";

const tables = [
  `CREATE TABLE "User" ("id" BIGINT NOT NULL PRIMARY KEY DEFAULT 0, "name" TEXT NOT NULL UNIQUE)`,
  `CREATE TABLE "Post" ("id" BIGINT NOT NULL PRIMARY KEY DEFAULT 0, "title" TEXT NOT NULL, "authorId" BIGINT NOT NULL REFERENCES "User" ("id"))`,
  `CREATE TABLE "Tag" ("key" TEXT NOT NULL PRIMARY KEY DEFAULT '', "name" TEXT NOT NULL UNIQUE, "postId" BIGINT NOT NULL REFERENCES "Post" ("id"))`,
];

const base = new PrismaClient({
  adapter: new PrismaLibSql({ url: "file:test.db", intMode: "bigint" }),
  log: [{ emit: "event", level: "query" }],
});
const queries: string[] = [];
base.$on("query", (event) => void queries.push(event.query));

let cluster: Cluster;
let client: Client;
let generator: Generator;

const extended = (generator: Generator) => base.$extends(snowraft(generator, { fields: { User: "id", Post: ["id"], Tag: "key" } }));
let prisma: ReturnType<typeof extended>;

before(async () => {
  cluster = await start();
  client = new Client({ addresses: cluster.address, timeoutMs: 60_000 });
  generator = client.generator();
  prisma = extended(generator); // the first operation waits for the first window
  for (const table of tables) {
    await base.$executeRawUnsafe(table);
  }
});

after(async () => {
  await base.$disconnect();
  await client.close();
  cluster.signal("SIGTERM");
});

beforeEach(async () => {
  await prisma.tag.deleteMany();
  await prisma.post.deleteMany();
  await prisma.user.deleteMany();
  queries.length = 0;
});

/** recent reports whether an ID is of the last hours, so that it is no small number of a database. */
const recent = (id: bigint | string): boolean => Math.abs(Number(BigInt(id) >> 22n) + 1_735_689_600_000 - Date.now()) < 3_600_000;

test("create needs one statement", async () => {
  const data = { name: "Ada" };
  const user = await prisma.user.create({ data });
  assert.ok(recent(user.id));
  assert.deepEqual(data, { name: "Ada" });
  assert.equal(queries.length, 1);
  assert.match(queries[0]!, /^INSERT/);
});

test("bulk creates have distinct IDs", async () => {
  const rows = Array.from({ length: 5000 }, (_, i) => ({ name: `user ${i}` }));
  await prisma.user.createMany({ data: rows.slice(0, 3000) });
  const users = await prisma.user.createManyAndReturn({ data: rows.slice(3000) });
  const ids = (await prisma.user.findMany()).map((user) => user.id);
  assert.equal(new Set(ids).size, 5000);
  assert.ok(ids.every(recent) && users.every((user) => ids.includes(user.id)));
});

test("given IDs are kept", async () => {
  assert.equal((await prisma.user.create({ data: { id: 7n, name: "old" } })).id, 7n);
});

test("upsert", async () => {
  const upsert = () => prisma.user.upsert({
    where: { name: "Ada" },
    create: { name: "Ada", posts: { create: { title: "first" } } },
    update: { posts: { create: { title: "second" } } },
    include: { posts: true },
  });
  const created = await upsert(), updated = await upsert();
  assert.equal(created.id, updated.id);
  assert.deepEqual(updated.posts.map((post) => post.title).sort(), ["first", "second"]);
  assert.ok([created, ...updated.posts].every((row) => recent(row.id)));
});

test("nested writes", async () => {
  const user = await prisma.user.create({
    data: {
      name: "Ada",
      posts: {
        create: [{ title: "a", tags: { create: { name: "x" } } }, { title: "b", tags: { createMany: { data: [{ name: "y" }, { name: "z" }] } } }],
        connectOrCreate: { where: { id: 1n }, create: { title: "c" } },
      },
    },
    include: { posts: true },
  });
  const where = { id: user.posts[0]!.id };
  await prisma.user.update({
    where: { id: user.id },
    data: {
      posts: {
        createMany: { data: [{ title: "d" }, { title: "e" }] },
        update: { where, data: { title: "A", tags: { create: { name: "u" } } } },
        upsert: [{ where: { id: 2n }, create: { title: "f" }, update: { title: "none" } }],
      },
    },
  });
  await prisma.tag.update({ where: { name: "x" }, data: { post: { update: { author: { create: { name: "Bob" } } } } } });
  await prisma.tag.update({ where: { name: "x" }, data: { post: { update: { where: {}, data: { author: { create: { name: "Cyd" } } } } } } });
  const posts = await prisma.post.findMany({ include: { tags: true }, orderBy: { title: "asc" } });
  assert.deepEqual(posts.map((post) => post.title), ["A", "b", "c", "d", "e", "f"]);
  const tags = posts.flatMap((post) => post.tags);
  assert.deepEqual(tags.map((tag) => tag.name).sort(), ["u", "x", "y", "z"]);
  const users = await prisma.user.findMany({ orderBy: { name: "asc" } });
  assert.deepEqual(users.map((user) => user.name), ["Ada", "Bob", "Cyd"]);
  const ids = [...users.map((user) => user.id), ...posts.map((post) => post.id), ...tags.map((tag) => BigInt(tag.key))];
  assert.equal(new Set(ids).size, 13);
  assert.ok(ids.every(recent));
});

test("transactions", async () => {
  await prisma.$transaction([prisma.user.create({ data: { name: "a" } }), prisma.user.create({ data: { name: "b" } })]);
  await assert.rejects(prisma.$transaction([prisma.user.create({ data: { name: "c" } }), prisma.user.create({ data: { name: "a" } })]));
  await prisma.$transaction(async (tx) => {
    const { id } = await tx.user.create({ data: { name: "d" } });
    await tx.post.create({ data: { title: "of d", authorId: id } });
  });
  assert.deepEqual((await prisma.user.findMany({ orderBy: { name: "asc" } })).map((user) => user.name), ["a", "b", "d"]);
});

test("creates continue while all members are stopped", async () => {
  const left = () => Number(generator.status().workers[0]?.untilTick ?? 0) + 1_735_689_600_000 - Date.now();
  for (let tries = 0; left() < 10_000 && tries < 6000; tries++) {
    await sleep(10);
  }
  cluster.signal("SIGSTOP");
  try {
    await prisma.user.createMany({ data: Array.from({ length: 100 }, (_, i) => ({ name: `user ${i}` })) });
  } finally {
    cluster.signal("SIGCONT");
  }
  assert.equal(await prisma.user.count(), 100);
});

test("error without a cluster", async () => {
  const lost = new Client({ addresses: "127.0.0.1:1", timeoutMs: 200 });
  await assert.rejects(extended(lost.generator()).user.create({ data: { name: "never" } }), (error) => {
    assert.ok(SnowraftError.is(error));
    assert.match(error.message, /127\.0\.0\.1:1.*refused/i);
    return true;
  });
  await lost.close();
});

test("without options, BigInt fields with the name id get IDs", async () => {
  const usual = base.$extends(snowraft(generator));
  const post = await usual.post.create({ data: { title: "a", author: { create: { name: "Ada" } }, tags: { create: { name: "x" } } }, include: { author: true, tags: true } });
  assert.ok(recent(post.id) && recent(post.author.id));
  assert.equal(post.tags[0]?.key, "");
});

test("CommonJS", () => {
  const { snowraft: required } = createRequire(import.meta.url)("snowraft-prisma") as { snowraft: typeof snowraft };
  base.$extends(required(generator));
});

test("wrong fields", () => {
  assert.throws(() => base.$extends(snowraft(generator, { fields: { User: "key" } })), /field User\.key: expected a field of type BigInt or String/);
  assert.throws(() => base.$extends(snowraft(generator, { fields: { user: "id" } })), /field user\.id/);
});
