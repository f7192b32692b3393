/** The greatest size of a status line with headers, and of trailers. */
const mostHead = 16 << 10;
/** The greatest size of the line with the size of a chunk. */
const mostLine = 256;
/** The greatest body of an answer: a million IDs of a layout with narrow sequences. */
const mostBody = 64 << 20;
/** The greatest number of interim answers before an answer. */
const mostInterim = 4;

const http2Settings = 4; // type of a frame
const tlsAlert = 21; // type of a record
const switchingProtocols = 101;

/** The message of a port with TLS to which the client spoke without. */
export const expectsTls = "the port expects TLS; give a token with a pin, or a CA";
/** The message of a port with gRPC. */
export const speaksGrpc = "the port speaks gRPC; use the port for HTTP, 7701 by default";

/** ProtocolError is an answer that breaks HTTP/1.1 or exceeds a bound. */
export class ProtocolError extends Error {
  constructor(
    message: string,
    /** Whether the first bytes of the connection are of another protocol, so that the server did not understand the request. */
    readonly foreign = false,
  ) {
    super(message);
  }
}

/** Answer is the answer to a request. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** requestOf returns the text of a request. It throws if an argument has a character that could end a line. */
export function requestOf(
  verb: string, host: string, path: string, headers: Readonly<Record<string, string>>, body: string | undefined,
): string {
  let head = `${verb} ${checked(path, word)} HTTP/1.1\r\nHost: ${checked(host, word)}\r\n`;
  for (const name in headers) {
    head += `${name}: ${checked(headers[name] as string, line)}\r\n`;
  }
  return body === undefined
    ? `${head}\r\n`
    : `${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const word = /^[\x21-\x7e]+$/;
const line = /^[\x20-\x7e]*$/;

function checked(text: string, form: RegExp): string {
  if (!form.test(text)) {
    throw new ProtocolError("the path, a header or the address of a request has a character outside of printable ASCII");
  }
  return text;
}

const nothing = Buffer.alloc(0);
/** The greatest sizes of what a stage reads, without its end; after a chunk, nothing but an end of line. */
const mostOf = { head: mostHead, size: mostLine, gap: 1, trailers: mostHead };

/** AnswerReader reads one answer after another from the bytes of a connection. Its memory grows only with bytes that arrived. */
export class AnswerReader {
  /** Whether the connection may carry another request after the last answer. */
  reusable = true;
  /** Whether the server has answered in HTTP on this connection, with an interim answer at least. */
  speaksHttp = false;
  #stage: keyof typeof mostOf | "body" = "head";
  #kept = nothing; // the begin of a head or line
  #interim = 0;
  #trailers = 0; // size in bytes
  #status = 0;
  #type = "";
  #chunked = false;
  #left = 0; // bytes of the body, or of its chunk; Infinity until the end of the connection
  #body = nothing;
  #size = 0;

  /** Whether a byte of an answer arrived that is not complete. */
  get began(): boolean {
    return this.#stage !== "head" || this.#kept.length > 0 || this.#interim > 0;
  }

  /** Takes bytes, which it copies, and returns the answer once it is complete. It throws a ProtocolError, and is then of no more use. */
  feed(bytes: Buffer): Answer | undefined {
    const data = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    this.#kept = nothing;
    for (let at = 0; ;) {
      if (this.#stage === "body") {
        const n = Math.min(this.#left, data.length - at);
        this.#append(data, at, n);
        at += n;
        this.#left -= n;
        if (this.#left > 0) {
          return undefined;
        }
        if (!this.#chunked) {
          return this.#answer(data.length - at);
        }
        this.#stage = "gap";
      }
      const mark = this.#stage === "head" ? "\r\n\r\n" : "\r\n";
      const most = mostOf[this.#stage];
      const end = data.indexOf(mark, at, "latin1");
      if (this.#stage === "head") {
        checkProtocol(data.subarray(at), this.speaksHttp);
      }
      if ((end < 0 ? data.length : end) - at > most) {
        throw new ProtocolError("the answer has too long headers or a malformed chunk");
      }
      if (end < 0) {
        this.#kept = Buffer.from(data.subarray(at));
        return undefined;
      }
      const text = data.toString("latin1", at, end);
      at = end + mark.length;
      if (this.#line(text)) {
        return this.#answer(data.length - at);
      }
    }
  }

  /** Takes the end of the connection, and returns the answer if it lasts until there. */
  end(): Answer | undefined {
    return this.#stage === "body" && this.#left === Infinity ? this.#answer(0) : undefined;
  }

  /** Takes a head or a line, and reports whether the answer is complete. */
  #line(text: string): boolean {
    switch (this.#stage) {
      case "head":
        this.#head(text);
        return false;
      case "size":
        this.#chunk(text);
        return false;
      case "gap":
        if (text !== "") {
          throw new ProtocolError("the answer has a malformed chunk");
        }
        this.#stage = "size";
        return false;
      default:
        this.#trailers += text.length + 2;
        if (this.#trailers > mostHead) {
          throw new ProtocolError(`the answer has trailers of more than ${mostHead} bytes`);
        }
        return text === "";
    }
  }

  #head(text: string): void {
    const [first, ...lines] = text.split("\r\n") as [string, ...string[]];
    const version = /^HTTP\/1\.([01]) ([1-9][0-9][0-9])(?: |$)/.exec(first);
    if (version === null) {
      throw new ProtocolError("the answer is not one of HTTP/1.1");
    }
    this.speaksHttp = true;
    this.#status = Number(version[2]);
    if (this.#status === switchingProtocols) {
      throw new ProtocolError("the server switches the protocol; check the address");
    }
    if (this.#status < 200) {
      if (++this.#interim > mostInterim) {
        throw new ProtocolError("the server sends interim answers without end");
      }
      return;
    }
    const { type, length, chunked, close } = headersOf(lines);
    const empty = this.#status === 204 || this.#status === 304;
    this.#type = type;
    this.#chunked = chunked && !empty;
    this.#left = empty || chunked ? 0 : length ?? Infinity;
    this.#checkSize(this.#left === Infinity ? 0 : this.#left);
    this.#stage = this.#chunked ? "size" : "body";
    this.reusable = version[1] === "1" && !close && this.#left < Infinity;
  }

  #chunk(text: string): void {
    const size = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(text)?.[1];
    if (size === undefined) {
      throw new ProtocolError("the answer has a malformed chunk");
    }
    this.#left = parseInt(size, 16);
    this.#checkSize(this.#left);
    this.#stage = this.#left === 0 ? "trailers" : "body";
  }

  #checkSize(more: number): void {
    if (this.#size + more > mostBody) {
      throw new ProtocolError(`the answer has more than ${mostBody} bytes`);
    }
  }

  #append(data: Buffer, at: number, n: number): void {
    this.#checkSize(n);
    if (this.#size + n > this.#body.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#size + n, Math.min(2 * this.#body.length, mostBody)));
      this.#body.copy(grown, 0, 0, this.#size);
      this.#body = grown;
    }
    data.copy(this.#body, this.#size, at, at + n);
    this.#size += n;
  }

  /** Returns the complete answer, after which rest bytes arrived, and begins with the next one. */
  #answer(rest: number): Answer {
    const answer = { status: this.#status, type: this.#type, body: this.#body.toString("utf8", 0, this.#size) };
    this.reusable &&= rest === 0;
    this.#stage = "head";
    this.#body = nothing;
    this.#size = this.#interim = this.#trailers = 0;
    return answer;
  }
}

interface Headers {
  type: string;
  length: number | undefined;
  chunked: boolean;
  close: boolean;
}

function headersOf(lines: readonly string[]): Headers {
  const headers: Headers = { type: "", length: undefined, chunked: false, close: false };
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(line.slice(0, Math.max(0, colon))) || /[\0\r\n]/.test(line)) {
      throw new ProtocolError("the answer has a malformed header");
    }
    const value = line.slice(colon + 1).trim();
    switch (line.slice(0, colon).toLowerCase()) {
      case "content-length":
        if (headers.length !== undefined || !/^[0-9]{1,15}$/.test(value)) {
          throw new ProtocolError("the answer has a malformed Content-Length, or two");
        }
        headers.length = Number(value);
        break;
      case "transfer-encoding":
        if (headers.chunked || value.toLowerCase() !== "chunked") {
          throw new ProtocolError("the answer has an unknown Transfer-Encoding, or two");
        }
        headers.chunked = true;
        break;
      case "connection":
        headers.close ||= /\bclose\b/i.test(value);
        break;
      case "content-type":
        headers.type = value;
        break;
      default:
    }
  }
  if (headers.chunked && headers.length !== undefined) {
    throw new ProtocolError("the answer has both Content-Length and Transfer-Encoding");
  }
  return headers;
}

/** checkProtocol throws if the first bytes of an answer cannot be those of HTTP/1. */
function checkProtocol(bytes: Buffer, speaksHttp: boolean): void {
  const begin = "HTTP/1.";
  if (begin.startsWith(bytes.toString("latin1", 0, begin.length))) {
    return;
  }
  if (speaksHttp) {
    throw new ProtocolError("the server sends bytes that are no answer of HTTP");
  }
  const message = bytes[3] === http2Settings && bytes[4] === 0 ? speaksGrpc
    : bytes[0] === tlsAlert && bytes[1] === 3 ? expectsTls
    : "the server does not speak HTTP; check the address";
  throw new ProtocolError(message, true);
}
