import { X509Certificate, createHash } from "node:crypto";
import { isIP } from "node:net";
import * as tls from "node:tls";
import { SnowraftError, invalid } from "./errors.js";
import { base32, checkPin, pinOfToken } from "./token.js";

/** Trust is how a client secures its connections. */
export type Trust =
  /** Plain TCP. With a token, to this host only. */
  | { readonly kind: "clear"; readonly token: string }
  /** TLS. The server must have an authority with one of the pins; names and dates do not count. */
  | { readonly kind: "pinned"; readonly token: string; readonly pins: readonly string[] }
  /** TLS with certificates that are valid now and for the host; ca is undefined for the CAs of the system. */
  | { readonly kind: "verified"; readonly token: string; readonly ca: string | undefined };

/** Credentials are the options of a client about trust. */
export interface Credentials {
  /** API token of each call. If it ends with a pin, the client needs nothing else. */
  token?: string | undefined;
  /** Pin of the cluster's CA: the SHA-256 of its public key in base32. */
  pin?: string | undefined;
  /** CAs in PEM. For the CA of a Snowraft cluster, names and dates do not count. */
  ca?: string | undefined;
  /** Use TLS with the CAs of the system, if there is neither a pin nor a CA. */
  tls?: boolean | undefined;
}

const mostPins = 4; // their text must fit into one server name
const authoritySerial = "736E6F77"; // "snow"
const ALPNProtocols = ["http/1.1"]; // ports for gRPC refuse it
/** Object identifiers in DER: the extension of extended key usages, which Deno does not show, and the usage by servers. */
const extendedKeyUsage = Buffer.from("0603551d25", "hex");
const serverAuth = Buffer.from("06082b06010505070301", "hex");

/** trustOf checks credentials and returns what they mean. */
export function trustOf(c: Credentials): Trust {
  const token = c.token ?? "";
  const pins = new Set<string>();
  const certificates = certificatesOf(c.ca);
  if (certificates.some((certificate) => !isAuthority(certificate))) {
    return { kind: "verified", token, ca: c.ca };
  }
  for (const certificate of certificates) {
    pins.add(pinOf(certificate));
  }
  if (c.pin !== undefined) {
    checkPin(c.pin);
    pins.add(c.pin);
  }
  const own = token === "" ? "" : pinOfToken(token);
  if (own !== "") {
    pins.add(own);
  }
  if (pins.size > 0) {
    return { kind: "pinned", token, pins: [...pins].sort().slice(0, mostPins) };
  }
  return c.tls === true ? { kind: "verified", token, ca: undefined } : { kind: "clear", token };
}

function certificatesOf(pem: string | undefined): X509Certificate[] {
  if (pem === undefined) {
    return [];
  }
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    throw invalid("CA: no certificate in PEM found");
  }
  return blocks.map((block) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw invalid(`CA: ${(error as Error).message}`);
    }
  });
}

/** isAuthority reports whether a certificate is the CA of a cluster secret: all of these have one form. */
function isAuthority(certificate: X509Certificate): boolean {
  return certificate.ca && certificate.serialNumber === authoritySerial &&
    /^O=Snowraft$/m.test(certificate.subject) && /^CN=Snowraft cluster /m.test(certificate.subject);
}

/** pinOf returns the pin of a certificate's public key. */
export function pinOf(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: "spki", format: "der" });
  return base32(createHash("sha256").update(key).digest());
}

/** tlsOptions returns the options of a connection to host. */
export function tlsOptions(trust: Exclude<Trust, { kind: "clear" }>, host: string): tls.ConnectionOptions {
  if (trust.kind === "pinned") {
    return {
      ALPNProtocols,
      servername: trust.pins.join("."), // makes the member choose that authority
      minVersion: "TLSv1.3",
      rejectUnauthorized: false, // verifyPins verifies
    };
  }
  return {
    ALPNProtocols,
    minVersion: "TLSv1.2",
    rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
    ...(isIP(host) === 0 ? { servername: host } : {}), // an address has no server name
    ...(trust.ca === undefined ? {} : { ca: trust.ca }),
  };
}

/** verifyPins throws unless an authority with one of the pins issued the server's certificate. */
export function verifyPins(socket: tls.TLSSocket, pins: readonly string[]): void {
  const chain: X509Certificate[] = [];
  let at: tls.DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  for (; at?.raw !== undefined; at = at.issuerCertificate) {
    const certificate = new X509Certificate(at.raw);
    if (chain.some((known) => known.fingerprint256 === certificate.fingerprint256)) {
      break; // an authority is its own issuer
    }
    chain.push(certificate);
  }
  verifyChain(chain, pins);
}

/**
 * verifyChain throws unless an authority with one of the pins issued the first certificate of a chain. It looks at no clock and
 * no name.
 */
export function verifyChain(chain: readonly X509Certificate[], pins: readonly string[]): void {
  const [leaf, ...others] = chain;
  if (leaf === undefined) {
    throw mismatch("the server has no certificate");
  }
  const ca = others.find((certificate) => pins.includes(pinOf(certificate)));
  if (ca === undefined) {
    const issuer = /^CN=Snowraft cluster ([0-9a-f]{16})$/m.exec(leaf.issuer)?.[1];
    throw mismatch(issuer === undefined
      ? "certificate not issued by a cluster secret"
      : `certificate issued by another cluster secret (${issuer})`);
  }
  if (!ca.ca || !leaf.checkIssued(ca) || !leaf.verify(ca.publicKey)) {
    throw mismatch("the cluster's CA did not issue the certificate");
  }
  if (leaf.raw.includes(extendedKeyUsage) && !leaf.raw.includes(serverAuth)) {
    throw mismatch("the certificate is not for servers");
  }
}

function mismatch(why: string): SnowraftError {
  return new SnowraftError(`${why}; check the pin at the end of the token`, { reason: "PIN_MISMATCH" });
}
