import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { EventBuffer, LiveEvents } from '../../../src/daemon/live/live-events.js';
import type { EventStream } from '../../../src/daemon/http/event-stream.js';
import { watch } from '../../../src/daemon/live/event-routes.js';
import type { StoredCall } from '../../../src/store/calls.js';

const call = (
  sessionId: string,
  status: string,
  config: AgentConfig = {},
  endedUs: number | null = null,
): StoredCall => ({
  sessionId,
  callId: null,
  channel: 'talk',
  direction: 'inbound',
  agentId: 'baker',
  agentVersion: 1,
  campaignId: null,
  fromPhone: null,
  toPhone: null,
  status,
  tsUs: 1,
  endedUs,
  recording: null,
  item: { agent_config: config, duration: 3, error_message: null } as StoredCall['item'],
});

describe('the buffer of events', () => {
  it('keeps the newest that fit, and knows what is after an id', () => {
    const buffer = new EventBuffer(100, 10);
    expect([buffer.oldestId, buffer.newestId, buffer.after(0, 'all')]).toEqual([100, 99, null]);
    for (const session of ['a', 'b', 'a', 'b', 'a']) buffer.add(session, 'status', '1234');
    expect([buffer.oldestId, buffer.newestId]).toEqual([103, 104]);
    expect(buffer.after(0, 'all')?.id).toBe(103);
    expect(buffer.after(103, { sessionId: 'b' })).toBeNull();
    expect(buffer.after(100, { sessionId: 'a' })?.id).toBe(104);
    buffer.add('c', 'status', 'more than fits into it');
    expect([buffer.oldestId, buffer.after(0, 'all')?.sessionId]).toEqual([105, 'c']);
  });
});

describe('events of calls', () => {
  const told = (config: AgentConfig): unknown[] => {
    const events = new LiveEvents(() => 1000);
    events.call(call('s', 'in-progress', config));
    events.session('s', { type: 'transcript', text: 'my numb', isFinal: false, turn: 1, segment: 4 });
    events.session('s', { type: 'transcript', text: 'my number', isFinal: true, turn: 1, segment: 4 });
    events.session('s', { type: 'user', text: 'my number is 5', turn: 1 });
    const tool = { id: 't', name: 'look_up', arguments: '{"n":5}' };
    events.session('s', { type: 'tool', call: tool, ok: true, result: 'Ann', tookMs: 7 });
    events.session('s', { type: 'agent', text: 'Thank you, Ann.' });
    events.call(call('s', 'user-ended', config));
    events.call(call('s', 'user-ended', config, 2));
    const all: unknown[] = [];
    for (
      let next = events.after(0, { sessionId: 's' });
      next !== null;
      next = events.after(next.id, { sessionId: 's' })
    ) {
      all.push([next.name, JSON.parse(next.data)]);
    }
    return all;
  };

  it('tell what is said and done, and how a call stands', () => {
    expect(told({})).toMatchObject([
      ['status', { session_id: 's', time: 1, call_status: 'in-progress', ended: false, duration: null }],
      ['transcript', { role: 'user', text: 'my numb', is_final: false, turn: 1, segment: 4 }],
      ['transcript', { role: 'user', text: 'my number is 5', is_final: true, turn: 1 }],
      ['tool', { name: 'look_up', ok: true, took_ms: 7, arguments: '{"n":5}', result: 'Ann' }],
      ['transcript', { role: 'agent', text: 'Thank you, Ann.', is_final: true }],
      ['status', { call_status: 'user-ended', ended: true, duration: 3 }],
    ]);
  });

  it('tell no texts of an agent that opts out of data collection', () => {
    const all = JSON.stringify(told({ privacy_settings: { opt_out_data_collection: true } }));
    expect(all).not.toMatch(/number|Ann|5"/);
    expect(all).toContain('"text":null');
  });

  it('wake up whoever waits, and let them go at the end', async () => {
    const events = new LiveEvents(() => 1000);
    const waiting = events.next(new AbortController().signal);
    events.call(call('s', 'registered'));
    await waiting;
    const gone = new AbortController();
    const leaving = events.next(gone.signal);
    gone.abort();
    await leaving;
    const last = events.next(new AbortController().signal);
    events.close();
    await last;
    await events.next(new AbortController().signal);
  });
});

describe('somebody who watches', () => {
  it('is let go where events are gone that they have not got', async () => {
    const events = new LiveEvents(() => 1000, 500);
    const sent: string[] = [];
    let isEnded = false;
    const stream = {
      left: new AbortController().signal,
      begin: () => undefined,
      send: (_data: string, { event = '' }) => {
        sent.push(event);
        // It takes long to read this one: meanwhile more happens than is kept.
        for (let more = 0; more < 10; more++) events.call(call('s', 'ringing'));
        return Promise.resolve();
      },
      end: () => (isEnded = true),
    };
    const watching = watch({
      events,
      calls: { get: async () => null },
      watched: { sessionId: 's' },
      lastId: null,
      stream: stream as unknown as EventStream,
    });
    events.call(call('s', 'registered'));
    await watching;
    expect([sent, isEnded]).toEqual([['status'], true]);
  });
});
