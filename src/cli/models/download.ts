import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { ParleyError, reasonOf } from '../../base/errors.js';

export interface DownloadOptions {
  /** Name in errors. */
  name: string;
  /** Destination. A partial download lies next to it and is resumed. */
  path: string;
  /** Root of a mirror that replaces the hosts; null = none. */
  mirror: string | null;
  onProgress: (bytes: number, totalBytes: number | null) => void;
  signal: AbortSignal;
  /** Idle timeout of a connection, in milliseconds. Default 30,000. */
  stallMs?: number | undefined;
}

export interface Downloaded {
  bytes: number;
  sha256: string;
  /** The publisher's SHA-256, if the reply contains one; null = it does not. */
  publishedSha256: string | null;
}

/** Maximum number of reconnects. */
const TRIES = 4;
const MAX_REDIRECTS = 5;
const MAX_TEXT_BYTES = 4_000_000;

/**
 * Downloads a file, and resumes an earlier attempt. Uses the proxies of the environment (`HTTPS_PROXY`).
 * @throws ParleyError MODEL_NOT_HAD, FILE_NOT_WRITABLE; the signal's reason
 */
export async function download(url: string, options: DownloadOptions): Promise<Downloaded> {
  const { name, path, signal } = options;
  const agent = agentFor(options);
  try {
    for (let tries = 1; ; tries++) {
      const had = await sizeOf(`${path}.part`);
      let received = 0;
      const onProgress: DownloadOptions['onProgress'] = (bytes, totalBytes) => {
        received = bytes;
        options.onProgress(bytes, totalBytes);
      };
      try {
        return await once(url, { ...options, onProgress }, agent);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ParleyError) throw error;
        if (isOfFiles(error)) {
          const reason = reasonOf(error);
          throw new ParleyError('FILE_NOT_WRITABLE', { path: `${path}.part`, reason }, { cause: error });
        }
        const has = await sizeOf(`${path}.part`);
        // Progress resets the retries, even if unwritten data was lost.
        if (tries < TRIES && received > had) continue;
        const kept = has === 0 ? '' : `; the next pull resumes after ${megabytes(has)}`;
        const reason = `${hostOf(url, options.mirror)} ${wordsFor(error)}${kept}`;
        throw new ParleyError('MODEL_NOT_HAD', { model: name, reason }, { cause: error });
      }
    }
  } finally {
    await agent.close();
  }
}

/**
 * Downloads a small text, such as a list of checksums; null = not found.
 * @throws ParleyError MODEL_NOT_HAD; the signal's reason
 */
export async function fetchText(
  url: string,
  options: Pick<DownloadOptions, 'name' | 'mirror' | 'signal' | 'stallMs'>,
): Promise<string | null> {
  const agent = agentFor(options);
  try {
    const { reply } = await follow(mirrored(url, options.mirror), {}, agent, options.signal);
    if (reply.status === 404) {
      await reply.body?.cancel();
      return null;
    }
    if (!reply.ok) throw new Error(`answers with status ${String(reply.status)}`);
    let text = '';
    for await (const chunk of reply.body ?? []) {
      text += Buffer.from(chunk as Uint8Array).toString('utf8');
      if (text.length > MAX_TEXT_BYTES) throw new Error('sends a list of checksums that is too long');
    }
    return text;
  } catch (error) {
    options.signal.throwIfAborted();
    const reason = `${hostOf(url, options.mirror)} ${wordsFor(error)}`;
    throw new ParleyError('MODEL_NOT_HAD', { model: options.name, reason }, { cause: error });
  } finally {
    await agent.close();
  }
}

async function once(url: string, options: DownloadOptions, agent: EnvHttpProxyAgent): Promise<Downloaded> {
  const { name, path, mirror, onProgress, signal } = options;
  const part = `${path}.part`;
  const had = await sizeOf(part);
  const validator = had === 0 ? null : await readFile(`${part}.etag`, 'utf8').catch(() => null);
  // Without a validator from the server the partial file may belong to another version.
  const from = validator === null ? 0 : had;
  const headers = from > 0 ? { range: `bytes=${String(from)}-`, 'if-range': validator ?? '' } : {};
  const { reply, publishedSha256 } = await follow(mirrored(url, mirror), headers, agent, signal);
  const resumes = reply.status === 206 && reply.headers.get('content-range')?.startsWith(`bytes ${String(from)}-`);
  if (reply.status === 416) {
    await reply.body?.cancel();
    await rm(part, { force: true });
    return once(url, options, agent);
  }
  if (reply.status === 404 || reply.status === 410) {
    await reply.body?.cancel();
    throw new ParleyError('MODEL_NOT_HAD', { model: name, reason: `${mirrored(url, mirror)} no longer exists` });
  }
  if ((!resumes && reply.status !== 200) || reply.body === null) {
    await reply.body?.cancel();
    throw new Error(`answers with status ${String(reply.status)}`);
  }
  if (/^text\/html\b/iu.test(reply.headers.get('content-type') ?? '')) {
    await reply.body.cancel();
    throw new Error('answers with a web page instead of the file; the network may require a login');
  }
  const start = resumes ? from : 0;
  const etag = reply.headers.get('etag');
  if (!resumes) {
    await rm(`${part}.etag`, { force: true });
    if (etag !== null && !etag.startsWith('W/')) await writeFile(`${part}.etag`, etag);
  }
  const length = reply.headers.get('content-length');
  const totalBytes = length === null ? null : start + Number(length);
  let bytes = start;
  onProgress(bytes, totalBytes);
  const body = Readable.fromWeb(reply.body);
  body.on('data', (chunk: Uint8Array) => onProgress((bytes += chunk.length), totalBytes));
  await pipeline(body, createWriteStream(part, { flags: start > 0 ? 'a' : 'w' }), { signal });
  if (totalBytes !== null && bytes !== totalBytes) throw new Error('ended the transfer early');
  const sha256 = await sha256Of(part);
  await rename(part, path);
  await rm(`${part}.etag`, { force: true });
  return { bytes, sha256, publishedSha256 };
}

/** Follows redirects; some publishers send the checksum along the way (Hugging Face: `X-Linked-ETag`). */
async function follow(
  url: string,
  headers: Record<string, string>,
  dispatcher: EnvHttpProxyAgent,
  signal: AbortSignal,
): Promise<{ reply: Response; publishedSha256: string | null }> {
  let publishedSha256: string | null = null;
  let at = url;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const reply = await fetch(at, { headers, redirect: 'manual', dispatcher, signal });
    const linked = /^"?([0-9a-f]{64})"?$/iu.exec(reply.headers.get('x-linked-etag') ?? '')?.[1];
    publishedSha256 ??= linked?.toLowerCase() ?? null;
    const location = reply.headers.get('location');
    if (reply.status < 300 || reply.status >= 400 || location === null) return { reply, publishedSha256 };
    await reply.body?.cancel();
    at = new URL(location, at).href;
  }
  throw new Error(`redirects more than ${String(MAX_REDIRECTS)} times`);
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

/** `MIRROR/HOST/PATH` replaces `https://HOST/PATH`. */
export function mirrored(url: string, mirror: string | null): string {
  if (mirror === null) return url;
  const { host, pathname } = new URL(url);
  return `${mirror.replace(/\/+$/u, '')}/${host}${pathname}`;
}

function agentFor({ stallMs = 30_000 }: Pick<DownloadOptions, 'stallMs'>): EnvHttpProxyAgent {
  return new EnvHttpProxyAgent({ headersTimeout: stallMs, bodyTimeout: stallMs, connect: { timeout: 10_000 } });
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

/** The host's name in errors. */
function hostOf(url: string, mirror: string | null): string {
  const { host, protocol } = new URL(mirrored(url, mirror));
  const variable = `${protocol.slice(0, -1)}_proxy`;
  const proxy = [variable, variable.toUpperCase()].find((name) => (process.env[name] ?? '') !== '');
  return proxy === undefined ? host : `${host} (or the proxy that ${proxy} names)`;
}

/** A network error as text. */
function wordsFor(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = codeOf(cause);
  if (/^(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH)$/u.test(code)) {
    return `cannot be reached (${code}); check the network, or set a proxy (HTTPS_PROXY) or a mirror (--mirror)`;
  }
  if (/TIMEOUT|ETIMEDOUT/u.test(code)) return `does not answer (${code})`;
  if (code === 'ECONNREFUSED') return `refuses the connection (${code})`;
  if (/^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET)$/u.test(code)) return `closed the connection (${code})`;
  return reasonOf(cause);
}

function isOfFiles(error: unknown): boolean {
  return /^(?:ENOSPC|EACCES|EROFS|EDQUOT|EIO|ENOENT)$/u.test(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return typeof code === 'string' ? code : '';
}
