import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { lineOver } from '../../src/session/line-over.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import type { TalkServerMessage } from '../../src/transports/talk-protocol.js';
import { play, type Played, type PlayOptions, recording } from './support.js';
import { StrictClient } from './strict-client.js';

const STORY = 'One two three four five six seven eight nine ten eleven twelve. Then there is more of it to tell.';
const CHAR_MS = 50;

interface Talk extends Played {
  client: StrictClient;
}

/** A conversation over a line with a lead, with a strict client at its end. */
async function talk(user: Int16Array, options: PlayOptions & { leadMs?: number; jitterMs?: number }): Promise<Talk> {
  const { leadMs = 200, jitterMs = 100, ...rest } = options;
  let client: StrictClient | undefined;
  const played = await play(user, {
    ...rest,
    wrap: (file, clock) => {
      const strict = new StrictClient(clock, jitterMs);
      client = strict;
      return lineOver(file, {
        leadMs,
        play: (frame) => {
          file.play(frame);
          strict.audio(frame);
        },
        send: (message) => {
          file.send(message);
          strict.take(message);
        },
      });
    },
  });
  if (client === undefined) throw new Error('there was no client');
  return { ...played, client };
}

const methods = ({ client }: Talk): string[] => client.messages.map(({ message }) => message.method);

function momentOf({ client }: Talk, method: TalkServerMessage['method'], nth = 0): number {
  const found = client.messages.filter(({ message }) => message.method === method)[nth];
  if (found === undefined)
    throw new Error(`there was no ${method}: ${client.messages.map((one) => one.message.method).join(' ')}`);
  return found.atMs;
}

const interrupted = (options: PlayOptions & { leadMs?: number; jitterMs?: number } = {}): Promise<Talk> =>
  talk(recording(11_000, [1500, 2000], [4000, 5000]), {
    lines: ['please tell me a story', 'stop that right now please'],
    llm: functionLlm(({ messages }) => (messages.length > 3 ? 'Very well.' : STORY)),
    ...options,
  });

describe('a strict client', () => {
  it('hears the answer after a real interruption: one unpause follows each pause, behind the clear', async () => {
    const call = await interrupted();
    const control = methods(call).filter((method) => ['pause', 'unpause', 'clear'].includes(method));
    expect(control).toEqual(['pause', 'clear', 'unpause']);
    const clearMs = momentOf(call, 'clear');
    expect(call.client.isAudible(momentOf(call, 'pause') + 10, clearMs)).toBe(false);
    expect(call.client.soundMs(clearMs, clearMs + 4000)).toBeCloseTo('Very well.'.length * CHAR_MS, -2);
  });

  it('goes on after a false alarm where it stopped, to the last word', async () => {
    const call = await talk(recording(14_000, [1500, 2000], [4000, 4400]), {
      lines: ['please tell me a story', 'mhm'],
      llm: functionLlm(() => STORY),
    });
    expect(methods(call).filter((method) => ['pause', 'unpause', 'clear'].includes(method))).toEqual([
      'pause',
      'unpause',
    ]);
    const begunMs = momentOf(call, 'onresponsetext', 2);
    // Both sentences, but for the pause between them.
    expect(call.client.soundMs(begunMs, begunMs + 9000) / CHAR_MS).toBeCloseTo(STORY.length - 1, -1);
    expect(call.report.messages.at(-1)?.content).toBe(STORY);
  });

  it('is never without audio in an answer though each frame may be 100 ms late, and is without a lead', async () => {
    const calm = recording(12_000, [1500, 2000]);
    const options = { lines: ['please tell me a story'], llm: functionLlm(() => STORY) };
    const [led, just] = [await talk(calm, options), await talk(calm, { ...options, leadMs: 0 })];
    expect(led.client.dryMs).toBe(0);
    expect(just.client.dryMs).toBeGreaterThan(100);
    // The frame that is due, and the lead.
    expect(led.client.mostQueuedMs).toBeLessThanOrEqual(220 + 100);
  });

  it('does not wait longer for the first sound, nor does anything else happen at another time', async () => {
    const times = ({ log }: Talk): unknown =>
      log
        .filter(({ kind }) => kind === 'event')
        .map((entry) => [Math.round(entry.t / 20), entry.kind === 'event' && entry.event]);
    const [led, just] = [await interrupted({ jitterMs: 0 }), await interrupted({ jitterMs: 0, leadMs: 0 })];
    expect(led.report.turns.map(({ responseMs }) => responseMs)).toEqual(
      just.report.turns.map(({ responseMs }) => responseMs),
    );
    expect(times(led)).toEqual(times(just));
    expect(led.report.messages).toEqual(just.report.messages);
  });

  it('has what was heard in the history, not what was sent', async () => {
    const call = await interrupted({ jitterMs: 0 });
    const begunMs = momentOf(call, 'onresponsetext', 2);
    const heardMs = call.client.soundMs(begunMs - 20, momentOf(call, 'clear'));
    const kept = call.report.messages[2]?.content ?? '';
    expect(STORY.startsWith(kept)).toBe(true);
    // A word that was cut in its middle may be left out or kept whole.
    expect(Math.abs(kept.length * CHAR_MS - heardMs)).toBeLessThan(7 * CHAR_MS);
  });

  it('learns of an answer before its audio, and of all words of a turn before the answer to them', async () => {
    const call = await talk(recording(9000, [1500, 2000]), {
      lines: ['please tell me a story'],
      llm: functionLlm(() => STORY, { firstMs: 700 }),
      conversation: { speculation: { ...DEFAULT_CONVERSATION.speculation, enabled: false } },
    });
    const { messages } = call.client;
    const final = messages.findIndex(({ message }) => message.method === 'ontranscript' && message.payload.is_final);
    const prepared = messages.findIndex(({ message }, at) => at > final && message.method === 'start_answering');
    const spoken = messages.findIndex(({ message }, at) => at > final && message.method === 'onresponsetext');
    expect([final > 0, prepared > final, spoken > prepared]).toEqual([true, true, true]);
    expect((messages[spoken]?.atMs ?? 0) - (messages[prepared]?.atMs ?? 0)).toBeGreaterThan(700);
    expect(messages.slice(spoken).filter(({ message }) => message.method === 'ontranscript')).toEqual([]);
  });
});
