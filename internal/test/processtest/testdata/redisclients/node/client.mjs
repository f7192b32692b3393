// Uses a Redis library of npm as an application does; see ../main.go for the arguments.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const require = createRequire(process.env.MODULES + '/');

// note shows an error that the program survives.
const note = (error) => console.error(new Date().toISOString(), String(error));

// ioredis, iovalkey and node-redis take the same names of options for TLS.
const redisOf = {
  ioredis: (name) => (s) => {
    const { Redis } = require(name);
    const c = new Redis({ host: s.host, port: s.port, family: s.family, password: s.password, tls: s.tls });
    c.on('error', note);
    return {
      incr: (key) => c.incr(key),
      incrBy: (key, n) => c.incrby(key, n),
      get: (key) => c.get(key),
      pipeline: async (key) => (await c.multi().incr(key).incr(key).incr(key).exec()).map(([error, n]) => error ?? n),
      call: (...args) => c.call(...args),
    };
  },
  callbacks: (name) => (s) => {
    const promise = (f) => new Promise((done, failed) => f((error, answer) => (error ? failed(error) : done(answer))));
    return rotating(s.addresses, ([host, port]) => {
      const c = require(name).createClient({ host, port, password: s.password, tls: s.tls, retry_strategy: ({ error }) => error });
      c.on('error', note);
      return {
        incr: (key) => promise((f) => c.incr(key, f)),
        incrBy: (key, n) => promise((f) => c.incrby(key, n, f)),
        get: (key) => promise((f) => c.get(key, f)),
        pipeline: (key) => promise((f) => c.multi().incr(key).incr(key).incr(key).exec(f)),
        call: (name, ...args) => promise((f) => c.send_command(name, args, f)),
        close: () => c.end(true),
      };
    });
  },
  node: (name, options) => async (s) => {
    const c = require(name).createClient({ ...options, password: s.password, socket: { host: s.host, port: s.port, ...(s.tls && { tls: true, ...s.tls }) } });
    c.on('error', note);
    await c.connect();
    return {
      incr: (key) => c.incr(key),
      incrBy: (key, n) => c.incrBy(key, n),
      get: (key) => c.get(key),
      pipeline: (key) => c.multi().incr(key).incr(key).incr(key).exec(),
      call: (...args) => c.sendCommand(args),
    };
  },
  glide: (name) => (s) => {
    const { GlideClient, Batch } = require(name);
    return rotating(s.addresses, async ([host, port]) => {
      const c = await GlideClient.createClient({
        requestTimeout: 10_000, // 250 ms are little for a busy machine
        addresses: [{ host, port }],
        ...(s.tls && { useTLS: true, advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: s.tls.ca } }, credentials: { password: s.password } }),
      });
      return {
        incr: (key) => c.incr(key),
        incrBy: (key, n) => c.incrBy(key, n),
        get: (key) => c.get(key),
        pipeline: (key) => c.exec(new Batch(true).incr(key).incr(key).incr(key), true),
        call: (...args) => c.customCommand(args),
        close: () => c.close(),
      };
    });
  },
};

// rotating opens a client of a library that uses one address, and after an error a client of the next address.
async function rotating(addresses, open) {
  let at = 0;
  let c = await open(addresses[at]);
  return {
    ...c,
    incr: async (key) => {
      try {
        return await c.incr(key);
      } catch (error) {
        c.close();
        at = (at + 1) % addresses.length;
        c = await open(addresses[at]);
        throw error;
      }
    },
  };
}

const libraries = {
  ioredis: redisOf.ioredis('ioredis'),
  ioredis5: redisOf.ioredis('ioredis5'),
  iovalkey: redisOf.ioredis('iovalkey'),
  redis3: redisOf.callbacks('redis3'),
  redis4: redisOf.node('redis4'),
  // Version 5 writes a queued command to a connection that has just ended. The command then gets the answer to another command of
  // the next connection, which waits for its own answer without an end.
  redis5: redisOf.node('redis5', { disableOfflineQueue: true }),
  redis6: redisOf.node('redis6'),
  '@valkey/valkey-glide': redisOf.glide('@valkey/valkey-glide'),
};

// name has the addresses of all members, as a name in a DNS would.
const name = 'members.test';

const [library, mode, ...args] = process.argv.slice(2);
const addresses = (mode === 'several' ? args : args.slice(0, 1)).map((a) => [a.split(':')[0], Number(a.split(':')[1])]);
const settings = { host: addresses[0][0], port: addresses[0][1], addresses };
if (mode === 'secured') {
  settings.password = args[1];
  settings.tls = { ca: readFileSync(process.env.CA) };
}
if (mode === 'several') {
  settings.host = name;
  settings.family = 0; // else ioredis and iovalkey use the first address only
  const dns = require('dns');
  const lookup = dns.lookup;
  dns.lookup = (host, options, done) => {
    if (host !== name) return lookup(host, options, done);
    const all = addresses.map(([address]) => ({ address, family: 4 }));
    process.nextTick(() => (options.all ? done(null, all) : done(null, all[0].address, 4)));
  };
  const lookupLater = dns.promises.lookup;
  dns.promises.lookup = (host, options) => lookupLater(host === name ? addresses[0][0] : host, options);
}

const key = library.replaceAll('/', '-');
const client = await libraries[library](settings);
if (mode === 'several') {
  const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  do {
    for (let i = 0; i < 4; i++) {
      for (;;) {
        try {
          await client.incr(`${key}/${i}`);
          break;
        } catch (error) {
          note(error);
          await new Promise((f) => setTimeout(f, 20));
        }
      }
    }
    console.log('took numbers');
  } while (!(await input.next()).done);
} else {
  console.log(
    JSON.stringify({
      incr: await client.incr(key),
      incrby: await client.incrBy(key, 9),
      get: await client.get(key),
      pipeline: await client.pipeline(key),
      ids: await client.call('SNOWRAFT.ID', 'COUNT', '3'),
      next: await client.call('SNOWRAFT.NEXT', 'bills'),
      late: await client.call('SNOWRAFT.NEXT', 'receipts', 'PERIOD', process.env.LAST_YEAR),
    }),
  );
}
process.exit(0);
