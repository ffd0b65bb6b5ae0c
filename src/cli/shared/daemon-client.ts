import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type ErrorCode, errorCatalogue, ParleyError, reasonOf } from '../../base/errors.js';
import { placeOf } from '../../schema/issues.js';
import { type CommandIo, UsageError } from './command.js';

export interface DaemonClientOptions {
  /** Address of the daemon, such as `http://127.0.0.1:8080`. */
  url: string;
  /** A private key. */
  key: string;
  signal: AbortSignal;
}

export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Flags that name a daemon. */
interface DaemonFlags {
  url?: string | undefined;
  key?: string | undefined;
}

/** A client for the daemon of a command's flags or of the environment. @throws UsageError */
export function daemonClient(flags: DaemonFlags, io: Pick<CommandIo, 'env' | 'signal'>): DaemonClient {
  return new DaemonClient({ ...daemonPlace(flags, io), signal: io.signal });
}

/** The daemon of a command's flags or of the environment. @throws UsageError */
export function daemonPlace(
  flags: DaemonFlags,
  { env }: Pick<CommandIo, 'env'>,
): Pick<DaemonClientOptions, 'url' | 'key'> {
  const url = flags.url ?? env['PARLEY_URL'] ?? DEFAULT_URL;
  const key = flags.key ?? env['PARLEY_API_KEY'] ?? '';
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`--url must be an http:// or https:// address, not ${url}`);
  if (key === '') throw new UsageError('the API key is missing: set PARLEY_API_KEY, or pass --key');
  return { url, key };
}

/** A request that the daemon has refused, with the daemon's code and words. */
export class DaemonRefusal extends ParleyError {
  /** What is wrong with the request's body, with the places in it; empty = the refusal is not about its members. */
  readonly issues: readonly RefusedMember[];

  /** @param code as the daemon sends it; one that this version does not know becomes REQUEST_INVALID */
  constructor(code: string, words: string, issues: readonly RefusedMember[]) {
    super(isErrorCode(code) ? code : 'REQUEST_INVALID', { reason: words });
    this.message = words;
    this.issues = issues;
  }
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue(), code);
}

interface RefusedMember {
  loc: readonly (string | number)[];
  msg: string;
}

/** Timeout of a reply; the largest upload takes a second. */
const ANSWER_MS = 60_000;
/** Idle timeout of a stream; daemons send comments more often. */
const SILENCE_MS = 45_000;

/** An event of a stream. */
export interface DaemonEvent {
  name: string;
  id: string | null;
  data: unknown;
}

interface RequestParts {
  deadline: AbortSignal;
  body?: unknown;
  also?: readonly number[];
  after?: string | null;
}

/** A client for a running daemon. */
export class DaemonClient {
  readonly #options: DaemonClientOptions;

  constructor(options: DaemonClientOptions) {
    this.#options = options;
  }

  /**
   * @param also statuses whose replies are results, too
   * @throws DaemonRefusal; ParleyError NET_FAILED where no daemon answers; the signal's reason
   */
  async ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    also: readonly number[] = [],
  ): Promise<unknown> {
    const deadline = AbortSignal.timeout(ANSWER_MS);
    const response = await this.#fetch(method, path, { deadline, body, also });
    return response.json();
  }

  /**
   * The events of a stream.
   * @param after the id of the last event that was read; null = from the beginning
   * @throws as `ask`
   */
  async *events(path: string, after: string | null = null): AsyncGenerator<DaemonEvent> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(new Error('the daemon stopped sending')), SILENCE_MS);
    try {
      const { body } = await this.#fetch('GET', path, { deadline: silence.signal, after });
      const found: EventSourceMessage[] = [];
      const parser = createParser({ onEvent: (event) => found.push(event) });
      const decoder = new TextDecoder();
      for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(new Error('the daemon stopped sending')), SILENCE_MS);
        parser.feed(decoder.decode(chunk, { stream: true }));
        for (const { event = '', id = null, data } of found.splice(0))
          yield { name: event, id, data: JSON.parse(data) as unknown };
      }
    } catch (error) {
      throw this.#failed(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #fetch(
    method: string,
    path: string,
    { deadline, body, also = [], after = null }: RequestParts,
  ): Promise<Response> {
    const { url, key, signal } = this.#options;
    const headers: Record<string, string> = { authorization: key };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (after !== null) headers['last-event-id'] = after;
    let response: Response;
    try {
      response = await fetch(new URL(path.slice(1), url.endsWith('/') ? url : `${url}/`), {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.any([signal, deadline]),
      });
    } catch (error) {
      throw this.#failed(error);
    }
    if (response.ok || also.includes(response.status)) return response;
    throw await refusalOf(response);
  }

  #failed(error: unknown): unknown {
    const { url, signal } = this.#options;
    if (signal.aborted) return signal.reason;
    if (error instanceof ParleyError) return error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = `no daemon answers at ${url} (set by --url or PARLEY_URL): ${reasonOf(cause)}`;
    return new ParleyError('NET_FAILED', { reason }, { cause: error });
  }
}

interface Refusal {
  code?: string;
  detail?: string | readonly RefusedMember[];
}

/** The error in the daemon's reply. */
async function refusalOf(response: Response): Promise<ParleyError> {
  const text = await response.text();
  try {
    const { detail, code = '' } = JSON.parse(text) as Refusal;
    if (typeof detail === 'string') return new DaemonRefusal(code, detail, []);
    if (detail !== undefined) {
      const words = detail.map(({ loc, msg }) => `${placeOf(loc)}: ${msg}`);
      return new DaemonRefusal(code, words.join('; '), detail);
    }
  } catch {
    // The reply is not a daemon's, but perhaps a proxy's.
  }
  return new ParleyError('NET_FAILED', { reason: `${String(response.status)} ${text.slice(0, 200)}` });
}
