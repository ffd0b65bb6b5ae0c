import { home } from '../shared/home.js';
import type { Fault } from './fault.js';
import { EventReader, type ServerEvent } from './sse.js';

/** Shared with /docs: the private key for this tab, until it closes. */
const KEY = 'parley.key';
const TIMEOUT_MS = 15_000;
const RECONNECT_MS = 2000;
/** Streams that have no end. */
const ENDLESS: ReadonlySet<string> = new Set(['/events', '/calls/live/events']);

/** The daemon refused or did not answer; the message is for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 = no answer. */
  readonly status: number;
  readonly faults: readonly Fault[];

  constructor(message: string, status: number, faults: readonly Fault[] = [], options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.faults = faults;
  }
}

/** The daemon's endpoints, with the operator's private key. */
export class ConsoleApi {
  /** The key was refused, or is missing. */
  onLocked: () => void = () => undefined;

  get key(): string {
    return sessionStorage.getItem(KEY) ?? '';
  }

  set key(key: string) {
    if (key === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, key);
  }

  /** @param query without the names whose value is undefined */
  async get<T>(path: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    const response = await this.request('GET', search.size === 0 ? path : `${path}?${search.toString()}`);
    return (await response.json()) as T;
  }

  /** @param body a form with files is sent unchanged, anything else as JSON */
  async send<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    return (await (await this.request(method, path, body, signal)).json()) as T;
  }

  /** A text; null = not found (404). */
  async text(path: string): Promise<string | null> {
    try {
      return await (await this.request('GET', path)).text();
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  /** A successful answer. @throws ApiError */
  async request(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const isForm = body instanceof FormData;
    const headers = new Headers({ authorization: this.key });
    if (body !== undefined && !isForm) headers.set('content-type', 'application/json');
    let response: Response;
    try {
      response = await fetch(home() + path, {
        method,
        headers,
        cache: 'no-store',
        body: isForm ? body : body === undefined ? null : JSON.stringify(body),
        signal: signal ?? AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      throw new ApiError('The daemon does not answer.', 0, [], { cause: error });
    }
    if (response.ok) return response;
    if (response.status === 401) this.onLocked();
    throw refusal(response.status, await response.json().catch(() => null));
  }

  /** Streams events from now on (and missed ones, after a break), until the signal. */
  events(
    path: string,
    onEvent: (event: ServerEvent) => void,
    onBreak: (isBroken: boolean) => void,
    signal: AbortSignal,
  ): void {
    void this.#follow(path, onEvent, onBreak, signal);
  }

  async #follow(
    path: string,
    onEvent: (event: ServerEvent) => void,
    onBreak: (isBroken: boolean) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let lastId = '';
    while (!signal.aborted) {
      const reader = new EventReader();
      try {
        const headers = new Headers({ authorization: this.key });
        if (lastId !== '') headers.set('last-event-id', lastId);
        const response = await fetch(home() + path, { headers, cache: 'no-store', signal });
        if (response.status === 401 || response.status === 404) return;
        if (!response.ok || response.body === null) throw new Error(String(response.status));
        onBreak(false);
        const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let piece = await text.read(); !piece.done; piece = await text.read()) {
          for (const event of reader.push(piece.value)) onEvent(event);
          lastId = reader.lastId || lastId;
        }
        // A stream about one call ends with the call.
        if (!ENDLESS.has(path)) return;
      } catch {
        if (!signal.aborted) onBreak(true);
      }
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }
}

function refusal(status: number, body: unknown): ApiError {
  const detail: unknown = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : null;
  if (typeof detail === 'string') return new ApiError(detail, status);
  if (Array.isArray(detail)) {
    const faults = detail as Fault[];
    return new ApiError(faults.map(({ msg }) => msg).join(' '), status, faults);
  }
  return new ApiError(`The daemon answered ${String(status)}.`, status);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
