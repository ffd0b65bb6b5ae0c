import type { Cancel, Clock } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import { randomBytes } from 'node:crypto';
import { packageVersion } from '../../package-files.js';

export interface ExporterOptions {
  /** Full URL, with `/v1/traces`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Resource attributes of all spans, including `service.name`. */
  resource: Readonly<Record<string, string>>;
  clock: Clock;
  /** Called once when exports start to fail, and once with null when they work again. */
  onChange: (fault: string | null) => void;
}

/** How long spans wait for others in the same batch. */
const GATHER_MS = 2000;
const BATCH = 512;
/** Maximum of waiting spans. Beyond it, the oldest are dropped. */
const MAX_WAITING = 4096;
const TIMEOUT_MS = 10_000;
const RETRY_MS = 5000;

/** Sends spans to a collector (OTLP over HTTP, as JSON), in the background and in batches. */
export class Exporter {
  readonly #options: ExporterOptions;
  readonly #waiting: TraceSpan[] = [];
  readonly #abort = new AbortController();
  #cancel: Cancel | null = null;
  #sending: Promise<void> | null = null;
  #failing = false;
  #isClosed = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  add(spans: readonly TraceSpan[]): void {
    if (this.#isClosed) return;
    this.#waiting.push(...spans);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.splice(0, this.#waiting.length - MAX_WAITING);
    this.#plan(GATHER_MS);
  }

  /** Sends the remaining spans once, and drops them if that fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    const { clock } = this.#options;
    const cancel = clock.schedule(clock.nowMs() + TIMEOUT_MS / 4, () => this.#abort.abort());
    await this.#sending;
    if (!this.#failing && this.#waiting.length > 0) await this.#send();
    cancel();
    this.#waiting.length = 0;
  }

  #plan(ms: number): void {
    const { clock } = this.#options;
    if (this.#cancel !== null || this.#sending !== null || this.#isClosed) return;
    this.#cancel = clock.schedule(clock.nowMs() + ms, () => {
      this.#cancel = null;
      this.#sending = this.#send().finally(() => {
        this.#sending = null;
        if (this.#waiting.length > 0) this.#plan(this.#failing ? RETRY_MS : 0);
      });
    });
  }

  async #send(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH);
    const fault = await this.#post(batch);
    if (fault?.again === true) this.#waiting.unshift(...batch);
    const isFailing = fault !== null;
    if (isFailing !== this.#failing) this.#options.onChange(fault?.reason ?? null);
    this.#failing = isFailing;
  }

  /** Null = success. `again`: the status is retryable according to OTLP. */
  async #post(spans: readonly TraceSpan[]): Promise<{ reason: string; again: boolean } | null> {
    const { url, headers } = this.#options;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(otlpRequest(spans, this.#options.resource)),
        signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.arrayBuffer();
      if (response.ok) return null;
      return { reason: `status ${String(response.status)}`, again: [429, 502, 503, 504].includes(response.status) };
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { reason: reasonOf(cause), again: true };
    }
  }
}

type AttributeValue = string | number | boolean;

/** A span of OpenTelemetry. */
export interface TraceSpan {
  /** 16 random bytes, as hexadecimal; the same for all spans of a session. */
  traceId: string;
  /** 8 random bytes, as hexadecimal. */
  spanId: string;
  /** Null = the root span. */
  parentId: string | null;
  name: string;
  startUnixMs: number;
  endUnixMs: number;
  attributes: Readonly<Record<string, AttributeValue | null>>;
  /** Default true. */
  ok?: boolean;
}

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}

/** Spans of which neither side called the other: SPAN_KIND_INTERNAL. */
const INTERNAL = 1;
/** STATUS_CODE_UNSET, STATUS_CODE_ERROR. */
const UNSET = 0;
const FAILED = 2;

/**
 * The body of a POST to `/v1/traces`: ExportTraceServiceRequest as JSON. 64-bit integers are decimal strings, ids
 * hexadecimal ones (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
 */
function otlpRequest(spans: readonly TraceSpan[], resource: Readonly<Record<string, string>>): unknown {
  const version = packageVersion();
  return {
    resourceSpans: [
      {
        resource: { attributes: attributes({ 'service.version': version, ...resource }) },
        scopeSpans: [{ scope: { name: 'parley', version }, spans: spans.map(spanJson) }],
      },
    ],
  };
}

function spanJson(span: TraceSpan): unknown {
  const { traceId, spanId, parentId, name, startUnixMs, endUnixMs, ok = true } = span;
  return {
    traceId,
    spanId,
    name,
    kind: INTERNAL,
    parentSpanId: parentId ?? undefined, // JSON leaves it out
    startTimeUnixNano: nanos(startUnixMs),
    endTimeUnixNano: nanos(Math.max(startUnixMs, endUnixMs)),
    attributes: attributes(span.attributes),
    status: { code: ok ? UNSET : FAILED },
  };
}

/** Nanoseconds exceed the exact range of a double, so the fraction of a millisecond is appended as text. */
function nanos(unixMs: number): string {
  const whole = Math.floor(unixMs);
  return `${String(whole)}${String(Math.floor((unixMs - whole) * 1e6)).padStart(6, '0')}`;
}

function attributes(values: TraceSpan['attributes']): unknown[] {
  return Object.entries(values).flatMap(([key, value]) => (value === null ? [] : [{ key, value: anyValue(value) }]));
}

function anyValue(value: AttributeValue): unknown {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
