import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { CarrierStatistics } from '../../../src/telephony/carriers/carrier-statistics.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { Metrics } from '../../../src/daemon/operations/metrics.js';
import type { SessionEvent } from '../../../src/session/session-options.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';
import { House, PRIVATE_KEY } from '../house.js';

let house: House;

afterEach(async () => {
  await house.close();
});

/** The values of `/metrics` by name with labels; every line has to be one of the format. */
async function figures(headers: Record<string, string> = {}): Promise<Map<string, number>> {
  const response = await house.request('/metrics', { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const values = new Map<string, number>();
  for (const line of (await response.text()).trimEnd().split('\n')) {
    if (/^# (?:HELP [a-z_]+ \S.*|TYPE [a-z_]+ (?:counter|gauge|histogram|summary))$/.test(line)) continue;
    expect(line).toMatch(/^[a-z_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? -?\d\S*$/);
    const at = line.lastIndexOf(' ');
    values.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return values;
}

/** Status of a request that says what it likes about its host. */
function statusOf(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${house.address}/metrics`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

/** Of a daemon without calls. */
function metricsOfNothing(): Metrics {
  return new Metrics({
    calls: async () => [],
    sessions: () => 0,
    maxSessions: 1,
    outbox: async () => 0,
    database: { fault: null, waiting: 0, dropped: 0 },
    ready: () => true,
    clock: new VirtualClock(),
    media: { loads: [], deaths: 0, loops: [] },
    faults: { count: 0 },
    files: null,
    trunks: new CarrierStatistics(() => undefined),
  });
}

describe('/metrics', () => {
  it('counts a conversation, its answers by stage, and requests by route', async () => {
    house = await House.open();
    const client = house.connect();
    await client.initiate();
    await client.inbox.find(({ method }) => method === 'onready');
    const during = await figures();
    expect(during.get('parley_sessions')).toBe(1);
    expect(during.get('parley_calls{channel="talk",status="in-progress"}')).toBe(1);
    expect(during.get('parley_ready')).toBe(0);
    expect(during.get('parley_capacity_sessions')).toBe(0);
    expect(during.get('parley_load')).toBeGreaterThanOrEqual(0.01);
    expect(during.get('parley_load')).toBeLessThanOrEqual(1);
    await client.inbox.heard(10);
    await client.send({ method: 'text', data: 'Have you any bread?' });
    await client.inbox.find(({ method }) => method === 'onmetrics');
    client.socket.close();
    await house.ended;
    await house.request('/nothing/here/secret-path');
    await house.request('/call-logs/abc');
    const after = await figures();
    expect(after.get('parley_sessions')).toBe(0);
    expect(after.get('parley_sessions_ended_total{status="user-ended"}')).toBe(1);
    expect(after.get('parley_answer_seconds_count{stage="response"}')).toBe(1);
    expect(after.get('parley_answer_seconds_bucket{stage="llm_first",le="+Inf"}')).toBe(1);
    expect(after.get('parley_session_seconds_count')).toBe(1);
    expect(after.get('parley_http_requests_total{method="GET",route="/metrics",status="200"}')).toBe(1);
    expect(after.get('parley_http_requests_total{method="GET",route="none",status="404"}')).toBeGreaterThan(0);
    expect([...after.keys()].join()).not.toContain('secret-path');
    expect(after.get('parley_event_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0);
    expect(after.get('parley_event_loop_delay_seconds_count')).toBe(0); // no window is over yet
    expect(after.get('parley_sessions_limit')).toBe(100);
    expect(after.get('parley_agent_response_seconds_count{agent="baker"}')).toBe(1);
    expect(after.get('parley_provider_first_seconds_count{stage="llm",provider="scripted"}')).toBe(1);
    expect(after.get('parley_provider_first_seconds_count{stage="tts",provider="flite"}')).toBeGreaterThan(0);
    expect(after.get('parley_tts_characters_total{provider="flite"}')).toBeGreaterThan(5);
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(after.get('parley_webhook_outbox')).toBe(0);
  });

  it('counts tokens and costs by who took them, and names a hundred agents', async () => {
    const metrics = metricsOfNothing();
    const llm = {
      provider: 'openai',
      model: 'gpt-4o',
      promptTokens: 100,
      cachedTokens: 60,
      cacheWriteTokens: 0,
      completionTokens: 7,
    };
    const report = { status: 'user-ended', durationMs: 1, faults: {}, playout: {}, line: null };
    const usage = { llm: [llm], stt: [{ provider: 'deepgram', model: null, seconds: 2.5 }], tts: [] };
    metrics.session('a', { type: 'ended', report: { ...report, usage } as unknown as SessionReport });
    metrics.cost([{ type: 'voip', provider: 'twilio', credit: 0.02, minutes: 2 }]);
    for (let agent = 0; agent < 150; agent++) {
      const answered = { type: 'answered', metrics: { responseMs: 400 } } as unknown as SessionEvent;
      metrics.session(`agent ${String(agent)}`, answered);
    }
    const text = await metrics.text();
    metrics.close();
    expect(text).toContain('parley_llm_tokens_total{provider="openai",model="gpt-4o",kind="prompt"} 100\n');
    expect(text).toContain('parley_llm_tokens_total{provider="openai",model="gpt-4o",kind="cached"} 60\n');
    expect(text).not.toContain('kind="cache_write"');
    expect(text).toContain('parley_stt_seconds_total{provider="deepgram"} 2.5\n');
    expect(text).toContain('parley_cost_total{type="voip",provider="twilio"} 0.02\n');
    expect(text).toContain('parley_agent_response_seconds_count{agent="agent 99"} 1\n');
    expect(text).toContain('parley_agent_response_seconds_count{agent="other"} 50\n');
  });

  it('counts what providers took and how they failed, and names a hundred of them', async () => {
    const metrics = metricsOfNothing();
    const tell = (event: Extract<SessionEvent, { type: 'provider' }>): void => metrics.session('a', event);
    tell({ type: 'provider', stage: 'tts', provider: 'rime', firstMs: 240 });
    tell({ type: 'provider', stage: 'tts', provider: 'rime', failed: 'late' });
    tell({ type: 'provider', stage: 'llm', provider: 'openai', failed: 'error' });
    tell({ type: 'provider', stage: 'llm', provider: 'openai', failed: 'error' });
    for (let n = 0; n < 150; n++) {
      tell({ type: 'provider', stage: 'stt', provider: `own ${String(n)}`, firstMs: 100 });
    }
    const text = await metrics.text();
    metrics.close();
    expect(text).toContain('parley_provider_first_seconds_bucket{stage="tts",provider="rime",le="0.2"} 0\n');
    expect(text).toContain('parley_provider_first_seconds_bucket{stage="tts",provider="rime",le="0.3"} 1\n');
    expect(text).toContain('parley_provider_failures_total{stage="tts",provider="rime",why="late"} 1\n');
    expect(text).toContain('parley_provider_failures_total{stage="llm",provider="openai",why="error"} 2\n');
    expect(text).toContain('parley_provider_first_seconds_count{stage="stt",provider="own 97"} 1\n');
    expect(text).toContain('parley_provider_first_seconds_count{stage="stt",provider="other"} 52\n');
  });

  it('is open to this machine, but not to a page or a proxy that speaks for others', async () => {
    house = await House.open();
    await figures();
    expect(await statusOf({ host: 'evil.example' })).toBe(401);
    expect(await statusOf({ 'x-forwarded-for': '203.0.113.7' })).toBe(401);
    expect(await statusOf({ host: 'evil.example', authorization: PRIVATE_KEY })).toBe(200);
  });

  it('needs a key, or none, where the operator says so', async () => {
    house = await House.open({ metrics: 'key' });
    expect((await house.request('/metrics')).status).toBe(401);
    await figures({ authorization: PRIVATE_KEY });
    await house.close();
    house = await House.open({ metrics: 'open' });
    expect(await statusOf({ host: 'evil.example' })).toBe(200);
  });
});
