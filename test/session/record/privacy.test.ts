import type { Participant } from '../../../src/session/session-options.js';
import { describe, expect, it } from 'vitest';
import { blank, withTexts } from '../../../src/session/record/privacy.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { play, type PlayOptions, recording } from '../support.js';

const SECRETS = /Marigold|secret|booked|4711|Hello there|desk prompt/;
const USER = recording(9000, [3000, 4000]);

const talk = (options: PlayOptions) =>
  play(USER, {
    lines: ['my name is Marigold'],
    llm: functionLlm(({ messages }) =>
      messages.at(-1)?.role === 'user'
        ? { calls: [{ name: 'note', arguments: '{"name":"Marigold"}' }] }
        : 'The secret is booked.',
    ),
    toolbox: {
      specs: [{ name: 'note', description: 'Notes a secret.', parameters: {} }],
      run: () => Promise.resolve({ ok: false, content: 'booked for Marigold' }),
    },
    conversation: { systemPrompt: 'the desk prompt', doNotCall: true },
    before: (session, clock) => void clock.schedule(7000, () => void session.say('secret 4711')),
    ...options,
  });

describe('opt_out_data_collection', () => {
  it('leaves times and kinds in the log and no text, while those who listen hear everything', async () => {
    const { log, report, events } = await talk({ optOut: true });
    expect(JSON.stringify(log)).not.toMatch(SECRETS);
    expect(log[0]).toMatchObject({ kind: 'start', sessionId: 's1' });
    const kinds = log.flatMap((entry) => (entry.kind === 'event' ? [entry.event.type] : []));
    expect(kinds).toEqual(expect.arrayContaining(['transcript', 'llm.text', 'tool.result', 'utterance.finished']));
    expect(log.every(({ t }) => typeof t === 'number')).toBe(true);
    expect(report.messages).toEqual([]);
    expect(JSON.stringify(report)).not.toMatch(SECRETS);
    expect(report.functionCalls).toMatchObject([{ name: 'note', arguments: '{}', result: '', ok: false }]);
    expect(report.turns.length).toBeGreaterThan(0);
    const live = events.filter(({ type }) => type !== 'ended');
    expect(JSON.stringify(live)).toContain('Marigold');
  });

  it('is not there by default: log and report have the text', async () => {
    const { log, report } = await talk({});
    expect(JSON.stringify(log)).toContain('Marigold');
    expect(report.messages.length).toBeGreaterThan(0);
  });

  it('does not make the session keep silent about a participant that fails', async () => {
    const { report } = await talk({
      participant: failingParticipant(),
    });
    expect(report.faults['watch.failed']).toBe(1);
    expect(report.status).toBe('user-ended');
  });
});

describe('values under names of the agent', () => {
  const DATA = { name: 'Marigold', id: 'secret', status: 4711, model: true, other: 'secret' };
  const entry = {
    type: 'llm.start',
    step: { step: 'details', known: DATA },
    prepare: { id: 'billing', variables: DATA },
    targets: [{ id: 'billing', variables: ['name', 'id'] }],
  };

  it('are all left out of what is stored without texts', () => {
    expect(blank(entry)).toEqual({
      type: 'llm.start',
      step: { step: '', known: {} },
      prepare: { id: 'billing', variables: {} },
      targets: [{ id: 'billing', variables: ['', ''] }],
    });
  });

  it('are all redacted, unlike the names of the engine', () => {
    const redacted = { name: '#', id: '#', status: 4711, model: true, other: '#' };
    expect(withTexts(entry, () => '#')).toEqual({
      type: 'llm.start',
      step: { step: '#', known: redacted },
      prepare: { id: 'billing', variables: redacted },
      targets: [{ id: 'billing', variables: ['#', '#'] }],
    });
  });
});

/** Fails whatever it gets. */
function failingParticipant(): Participant {
  const fail = (): never => {
    throw new Error('watched too long');
  };
  return { start: fail, heard: fail, answered: fail, speaks: fail, spoke: fail, dropped: fail };
}

describe('a wish not to be called again', () => {
  it('stands in the report', async () => {
    const { report } = await play(USER, { lines: ['take me off your list'], conversation: { doNotCall: true } });
    expect(report).toMatchObject({ doNotCall: true, status: 'agent-ended' });
  });
});
