import { expect, it } from 'vitest';
import type { ConversationEffect } from '../../../src/conversation/events.js';
import { endReason } from '../../../src/session/record/end-reason.js';
import { EventLogWriter } from '../../../src/session/record/event-log-writer.js';

const writer = (): EventLogWriter =>
  new EventLogWriter({ nowMs: () => 0 }, { tts: { name: 'rime' }, llm: { name: 'openai' } });
const trace = (name: string, data: Record<string, string>): ConversationEffect => ({ type: 'trace', name, data });

it('names the voice and the model that the conversation has given up waiting for', () => {
  const one = writer();
  one.effect(trace('speech.stalled', {}), 0);
  expect(endReason({ status: 'error', ...one }, null)).toBe(
    "The voice could not speak: rime gave no sound in time. Check the voice provider's key and quota, and the agent's voice.",
  );
  const other = writer();
  other.effect(trace('reply.failed', { reason: 'no first token in time' }), 0);
  expect(endReason({ status: 'error', ...other }, null)).toContain('openai: no first token in time.');
});

it('counts a failure once that the model has reported itself', () => {
  const one = writer();
  const position = { utteranceId: null, playedMs: 0, heardChars: 0 } as never;
  one.event({ type: 'llm.failed', requestId: 1, reason: 'openai failed: HTTP 503' }, 0, position);
  one.effect(trace('reply.failed', { reason: 'openai failed: HTTP 503' }), 0);
  expect(one.faults).toEqual({ 'llm.failed': 1 });
  expect(one.faultReasons).toEqual({ 'llm.failed': 'openai failed: HTTP 503' });
  one.effect(trace('reply.failed', { reason: 'the reply stood still' }), 0);
  expect(one.faults).toEqual({ 'llm.failed': 2 });
});
