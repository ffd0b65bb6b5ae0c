import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';

const hex = (bytes: number): z.ZodString => z.string().regex(new RegExp(`^[0-9a-f]{${String(bytes * 2)}}$`));
const nanosSchema = z.string().regex(/^[1-9]\d{18}$/);
const attributeSchema = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
});
const spanSchema = z.strictObject({
  traceId: hex(16),
  spanId: hex(8),
  parentSpanId: hex(8).optional(),
  name: z.string().min(1),
  kind: z.literal(1),
  startTimeUnixNano: nanosSchema,
  endTimeUnixNano: nanosSchema,
  attributes: z.array(attributeSchema),
  status: z.strictObject({ code: z.union([z.literal(0), z.literal(2)]) }),
});
/** ExportTraceServiceRequest of opentelemetry-proto 1, in its JSON form, as far as parley uses it. */
const requestSchema = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(attributeSchema) }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(spanSchema),
        }),
      ),
    }),
  ),
});

export type ReceivedSpan = z.infer<typeof spanSchema>;

/** A double of an OpenTelemetry collector: takes what is valid OTLP and answers 400 to anything else. */
export class Collector {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly faults: string[] = [];
  /** The bodies as they came. */
  text = '';
  /** Statuses of the next answers, in place of 200. */
  readonly answers: number[] = [];
  url = '';
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.headers.push(request.headers);
        const text = Buffer.concat(chunks).toString();
        const status = this.answers.shift() ?? this.#take(request.url ?? '', request.headers, text);
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async open(): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(0, '127.0.0.1');
    await once(collector.#server, 'listening');
    collector.url = `http://127.0.0.1:${String((collector.#server.address() as AddressInfo).port)}`;
    return collector;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(path: string, headers: IncomingHttpHeaders, text: string): number {
    this.text += text;
    if (path !== '/v1/traces' || headers['content-type'] !== 'application/json') return 404;
    const parsed = requestSchema.safeParse(JSON.parse(text));
    if (!parsed.success) {
      this.faults.push(parsed.error.message);
      return 400;
    }
    for (const { scopeSpans } of parsed.data.resourceSpans) {
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
    return 200;
  }
}
