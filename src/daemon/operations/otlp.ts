import { randomBytes } from 'node:crypto';
import { packageVersion } from '../../package-files.js';

export type AttributeValue = string | number | boolean;

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
export function otlpRequest(spans: readonly TraceSpan[], resource: Readonly<Record<string, string>>): unknown {
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
