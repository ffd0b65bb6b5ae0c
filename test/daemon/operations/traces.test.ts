import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Exporter, type TraceSpan } from '../../../src/daemon/operations/trace-exporter.js';
import { House } from '../house.js';
import { Collector, type ReceivedSpan } from './collector.js';

/** Longer than anything takes on a machine that others use. */
const PATIENT = { timeout: 15_000 };

let collector: Collector;

beforeEach(async () => {
  collector = await Collector.open();
});

afterEach(async () => {
  expect(collector.faults).toEqual([]);
  await collector.close();
});

const SPAN: TraceSpan = {
  traceId: 'ab'.repeat(16),
  spanId: 'cd'.repeat(8),
  parentId: null,
  name: 'session',
  startUnixMs: 1_795_284_634_200.7625,
  endUnixMs: 1_795_284_635_000,
  attributes: { a: 1, b: null, c: 0.5 },
};

function exporter(clock = new VirtualClock(), faults: (string | null)[] = []): Exporter {
  const url = `${collector.url}/v1/traces`;
  return new Exporter({
    url,
    resource: { 'service.name': 'parley' },
    headers: { 'x-team': 'voice' },
    clock,
    onChange: (fault) => faults.push(fault),
  });
}

describe('a conversation with an endpoint for traces', () => {
  it('becomes a trace of its turns and their stages, without a word of it', async () => {
    const house = await House.open({ otlpEndpoint: `${collector.url}/`, otlpHeaders: 'x-team=voice%20agents,broken' });
    const client = house.connect();
    await client.initiate();
    await client.inbox.heard(10);
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find(({ method }) => method === 'onmetrics');
    client.socket.close();
    await house.ended;
    await house.close();
    expect(house.faults).toEqual([]);
    const named = (name: string): ReceivedSpan[] => collector.spans.filter((span) => span.name === name);
    const [session] = named('session');
    const [turn] = named('turn');
    expect(session?.parentSpanId).toBeUndefined();
    expect(turn?.parentSpanId).toBe(session?.spanId);
    expect(named('llm')[0]?.parentSpanId).toBe(turn?.spanId);
    expect(named('tts')[0]?.parentSpanId).toBe(turn?.spanId);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
    for (const { startTimeUnixNano: from, endTimeUnixNano: to } of collector.spans) {
      expect(BigInt(from)).toBeLessThanOrEqual(BigInt(to));
    }
    expect(session?.attributes).toContainEqual({ key: 'parley.status', value: { stringValue: 'user-ended' } });
    expect(collector.headers[0]).toMatchObject({ 'x-team': 'voice agents' });
    expect(collector.text).not.toContain('bread');
    expect(collector.text).not.toContain('Hello');
  });
});

describe('Exporter', () => {
  it('sends spans together, with their times to the nanosecond', async () => {
    const clock = new VirtualClock();
    const sender = exporter(clock);
    sender.add([SPAN]);
    sender.add([{ ...SPAN, spanId: 'ef'.repeat(8), parentId: SPAN.spanId, name: 'turn', ok: false }]);
    await sender.close();
    expect(collector.headers).toHaveLength(1);
    expect(collector.spans).toMatchObject([
      { startTimeUnixNano: '1795284634200762451', attributes: [{ key: 'a' }, { key: 'c' }], status: { code: 0 } },
      { parentSpanId: SPAN.spanId, status: { code: 2 } },
    ]);
    sender.add([SPAN]);
    await sender.close();
    expect(collector.spans).toHaveLength(2);
  });

  it('tries again where the collector may come back, and says once that it is away', async () => {
    collector.answers.push(503, 429);
    const faults: (string | null)[] = [];
    const clock = new VirtualClock();
    const sender = exporter(clock, faults);
    sender.add([SPAN]);
    await clock.advanceTo(2000);
    await expect.poll(() => collector.headers.length, PATIENT).toBe(1);
    await expect.poll(() => faults, PATIENT).toEqual(['status 503']);
    await expect
      .poll(async () => (await clock.advanceTo(clock.nowMs() + 5000), collector.spans.length), PATIENT)
      .toBe(1);
    await expect.poll(() => faults, PATIENT).toEqual(['status 503', null]);
    await sender.close();
  });

  it('gives up what a collector refuses, and what waits when it is closed', async () => {
    collector.answers.push(400);
    const faults: (string | null)[] = [];
    const sender = exporter(new RealClock() as never, faults);
    sender.add([SPAN]);
    await sender.close();
    expect(collector.spans).toHaveLength(0);
    expect(faults).toEqual(['status 400']);
  });
});
