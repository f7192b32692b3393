import { createHash, generateKeyPairSync, sign, X509Certificate, type KeyObject } from "node:crypto";
import { base32 } from "../src/token.js";

/** der returns the DER of a value with a tag. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(6, Buffer.from(hex, "hex"));
const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
const yes = der(1, Buffer.from([255]));

function nameOf(parts: readonly [oid: string, value: string][]): Buffer {
  return sequence(...parts.map(([id, value]) => der(0x31, sequence(oid(id), der(0x0c, Buffer.from(value))))));
}

/** Issued is a certificate with its key. */
export interface Issued {
  readonly pem: string;
  readonly key: string;
  readonly name: Buffer;
  readonly secret: KeyObject;
  readonly certificate: X509Certificate;
}

function issue(name: Buffer, serial: Buffer, extensions: Buffer[], by: { name: Buffer; secret: KeyObject } | undefined): Issued {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const time = (text: string): Buffer => der(0x17, Buffer.from(text));
  const body = sequence(
    der(0xa0, der(2, Buffer.from([2]))), der(2, serial), ecdsaWithSha256, by?.name ?? name,
    sequence(time("200101000000Z"), time("210101000000Z")), // ended: dates must not count
    name, publicKey.export({ type: "spki", format: "der" }), der(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, by?.secret ?? privateKey);
  const raw = sequence(body, ecdsaWithSha256, der(3, Buffer.from([0]), signature));
  const pem = `-----BEGIN CERTIFICATE-----\n${raw.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  return { pem, key, name, secret: privateKey, certificate: new X509Certificate(pem) };
}

/** authority returns the CA of a cluster with a fingerprint, and its pin. */
export function authority(fingerprint: string): Issued & { pin: string } {
  const name = nameOf([["55040a", "Snowraft"], ["550403", `Snowraft cluster ${fingerprint}`]]);
  const isCa = sequence(oid("551d13"), yes, der(4, sequence(yes)));
  const ca = issue(name, Buffer.from("snow"), [isCa], undefined);
  const pin = base32(createHash("sha256").update(ca.certificate.publicKey.export({ type: "spki", format: "der" })).digest());
  return { ...ca, pin };
}

/** leaf returns the certificate of a member, issued by a CA. */
export function leaf(by: Issued): Issued {
  const forServers = sequence(oid("551d25"), der(4, sequence(oid("2b06010505070301"))));
  return issue(nameOf([["55040a", "Snowraft"]]), Buffer.from([7]), [forServers], by);
}
