import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { play, recording } from './support.js';

const patient = { endpointing: { ...DEFAULT_CONVERSATION.endpointing, responseDelayMs: 700 } };
const slow = { llm: functionLlm(() => 'That is fine.', { firstMs: 250 }), tts: toneTts({ firstMs: 150 }) };

describe('a session that speculates', () => {
  it('answers after the endpointing delay alone', async () => {
    const run = (enabled: boolean) =>
      play(recording(7000, [2000, 3000]), {
        lines: ['can you help me please'],
        conversation: { ...patient, speculation: { ...DEFAULT_CONVERSATION.speculation, enabled } },
        ...slow,
      });
    const [without, with_] = [await run(false), await run(true)];
    const [before, after] = [without.report.turns[0], with_.report.turns[0]];
    expect(after?.speculative).toBe(true);
    expect((after?.responseMs ?? Infinity) - (after?.endOfTurnMs ?? 0)).toBeLessThanOrEqual(20);
    expect(after).toMatchObject({ llmFirstMs: 0, firstSentenceMs: 0, ttsFirstMs: 0 });
    expect((before?.responseMs ?? 0) - (after?.responseMs ?? 0)).toBeGreaterThanOrEqual(380);
    expect(with_.report.messages).toEqual(without.report.messages);
    expect(with_.report.speculation).toEqual({
      started: 1,
      confirmed: 1,
      dropped: 0,
      wastedPromptChars: 0,
      wastedModelChars: 0,
      wastedVoiceChars: 0,
    });
  });

  it('plays nothing of an answer that is contradicted, and counts what it has cost', async () => {
    const { report, pending } = await play(recording(9000, [2000, 3000], [3500, 4700]), {
      lines: ['can you help me please', 'with my phone please'],
      conversation: patient,
      llm: functionLlm(({ messages }) =>
        messages.some(({ content }) => content.includes('phone')) ? 'With your phone, yes.' : 'With what?',
      ),
    });
    expect(report.messages.map(({ content }) => content)).toEqual([
      'Hello there.',
      'can you help me please with my phone please',
      'With your phone, yes.',
    ]);
    expect(report.speculation).toMatchObject({ dropped: 1, wastedModelChars: 10, wastedVoiceChars: 10 });
    expect(report.speculation.wastedPromptChars).toBeGreaterThan(20);
    expect(report.turns).toHaveLength(1);
    expect(report.turns[0]?.said).toBe('With your phone, yes.');
    expect(pending).toBe(0);
  });

  it('synthesises again what could not be prepared', async () => {
    let calls = 0;
    const { report } = await play(recording(7000, [2000, 3000]), {
      lines: ['can you help me please'],
      conversation: patient,
      tts: toneTts({ fails: (text) => text === 'That is fine.' && calls++ === 0 }),
    });
    expect(report.messages.at(-1)?.content).toBe('That is fine.');
    expect(report.faults).toEqual({ 'tts.failed': 1 });
  });

  it('counts a model that fails twice for one turn once, and the attempt before the turn was over apart', async () => {
    const { report } = await play(recording(12_000, [2000, 3000]), {
      lines: ['can you help me please'],
      conversation: patient,
      llm: functionLlm(() => ({ fault: 'overloaded' })),
    });
    expect(report.faults).toEqual({ 'speculation.failed': 1, 'llm.failed': 1 });
  });

  it('tells an observer which turn a message is, the same as the metrics of its answer', async () => {
    const { events } = await play(recording(12_000, [2000, 3000], [7000, 8000]), { lines: ['one thing', 'and two'] });
    const turns = events.flatMap((event) => (event.type === 'user' ? [[event.turn, event.text]] : []));
    const answered = events.flatMap((event) =>
      event.type === 'answered' ? [[event.metrics.turn, event.metrics.heard]] : [],
    );
    expect(turns).toHaveLength(2);
    expect(answered).toEqual(turns);
  });
});
