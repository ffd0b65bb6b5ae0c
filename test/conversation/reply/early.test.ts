import { describe, expect, it } from 'vitest';
import { mergeConfig } from '../../../src/agent/flow/conversation-config.js';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, timesOf } from '../listening.js';

const early = (config: StageConfig = {}, more: object = {}): Stage =>
  listening({ ...config, speculation: { early: true, ...more } });

/** Starts and ends of speculations, in order. */
function fates(stage: Stage): string[] {
  return stage.timeline.effects.flatMap(({ effect }) =>
    effect.type === 'trace' && effect.name.startsWith('speculation.')
      ? [`${effect.name.slice('speculation.'.length)}${effect.data['early'] === true ? ' early' : ''}`]
      : [],
  );
}

/** What the model was asked for, in order, answers that were dropped included. */
const asked = ({ model }: Stage) =>
  [...model.contradicted, ...model.requests]
    .toSorted((a, b) => a.requestId - b.requestId)
    .map(({ messages }) => messages.at(-1)?.content);
const SPOKEN = { from: 1000, to: 3000 };

describe('an answer that is begun while the user still speaks', () => {
  it('is asked for on interim words that are probably complete', () => {
    const stage = early();
    stage.model.says('For what time?', { afterMs: 600 });
    stage.user.says('I would like to book a table for four tomorrow please', SPOKEN);
    stage.playTo(10_000);
    const [first = 0] = timesOf(stage, 'llm.start');
    expect(first).toBeLessThan(3000);
    expect(fates(stage).at(-1)).toBe('confirmed');
    expect(stage.messages).toEqual([
      { role: 'user', content: 'I would like to book a table for four tomorrow please' },
      { role: 'assistant', content: 'For what time?' },
    ]);
  });

  it('comes sooner than one that is begun at the pause', () => {
    const heard = (isEarly: boolean): number => {
      const stage = listening({ speculation: { early: isEarly } });
      stage.model.says('For what time?', { afterMs: 600 });
      stage.user.says('I would like to book a table for four tomorrow please', SPOKEN);
      return stage.playUntilAgentSays('For what time?');
    };
    expect(heard(false) - heard(true)).toBeGreaterThan(150);
  });

  it('waits for a silence that is longer than most pauses', () => {
    const heard = (more: object): number => {
      const stage = early({}, more);
      stage.model.says('For what time?', { afterMs: 100 });
      stage.user.says('I would like to book a table for four tomorrow please', SPOKEN);
      return stage.playUntilAgentSays('For what time?');
    };
    expect(heard({}) - SPOKEN.to).toBeLessThan(500);
    expect(heard({ earlySilenceMs: 600 }) - SPOKEN.to).toBeGreaterThan(590);
    expect(heard({ earlySilenceMs: 600 }) - SPOKEN.to).toBeLessThan(750);
  });

  it('is not begun on words that go on', () => {
    const stage = early();
    stage.user.says('I would like a cab for the', SPOKEN);
    stage.playTo(3000);
    expect(asked(stage)).toEqual(['I would', 'I would like a cab']);
  });

  it('is begun again when there are other words', () => {
    const stage = early({ endpointing: { responseDelayMs: 600 } });
    stage.model.says('For what time?', { afterMs: 400 });
    stage.user.says('Can I book a table tomorrow or is that too late', { from: 1000, to: 4000 });
    stage.playTo(10_000);
    expect(asked(stage).length).toBeGreaterThan(1);
    expect(asked(stage).at(-1)).toBe('Can I book a table tomorrow or is that too late');
    expect(fates(stage).filter((fate) => fate === 'confirmed')).toHaveLength(1);
  });

  it('stays as it is when only a "please" follows', () => {
    const stage = early();
    stage.model.says('For what time?', { afterMs: 800 });
    stage.user.says('What time do you open tomorrow please', SPOKEN);
    stage.playTo(10_000);
    expect(asked(stage)).toContain('What time do you open tomorrow');
    expect(asked(stage)).not.toContain('What time do you open tomorrow please');
    expect(stage.messages[0]).toEqual({ role: 'user', content: 'What time do you open tomorrow please' });
  });

  it('is not begun while a machine or a model that hears the user is on the line', () => {
    const stage = early({ modelHears: true });
    stage.user.says('I would like to book a table for four tomorrow please', SPOKEN);
    stage.playTo(3000);
    expect(asked(stage)).toEqual([]);
  });
});

describe('the budget of a turn', () => {
  const LONG =
    'Can I book a table tomorrow and can I bring a dog again and is there parking today and do you have a menu';

  it('allows no more prompts than its tokens', () => {
    const starts = (tokensPerTurn: number): number => {
      const stage = early({ systemPrompt: 'x'.repeat(4000) }, { tokensPerTurn });
      stage.user.says(LONG, { from: 1000, to: 8000 });
      stage.playTo(8000);
      return asked(stage).length;
    };
    expect(starts(100_000)).toBeGreaterThan(2);
    expect(starts(2500)).toBe(2);
    expect(starts(500)).toBe(0);
  });

  it('allows no more than its money', () => {
    const starts = (costPerTurn: number | null): number => {
      const prices = { promptPrice: 2, completionPrice: 8, tokensPerTurn: 100_000 };
      const stage = early({ systemPrompt: 'x'.repeat(4000) }, { costPerTurn, ...prices });
      stage.user.says(LONG, { from: 1000, to: 8000 });
      stage.playTo(8000);
      return asked(stage).length;
    };
    expect(starts(0.0025)).toBe(1);
    expect(starts(null)).toBeGreaterThan(2);
  });

  it('does not take the answer that is begun at the pause', () => {
    const stage = early(
      { systemPrompt: 'x'.repeat(4000), endpointing: { responseDelayMs: 1500 } },
      { tokensPerTurn: 1 },
    );
    stage.user.says('Can I book a table tomorrow', { ...SPOKEN, finalMs: 100 });
    stage.playTo(4000);
    expect(asked(stage)).toEqual(['Can I book a table tomorrow']);
  });

  it('is spent on fewer guesses while they fail', () => {
    const stage = early({}, { tokensPerTurn: 1_000_000 });
    let from = 1000;
    const perTurn: number[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const before = asked(stage).length;
      stage.user.says(LONG, { from, to: from + 7000 });
      stage.playTo(from + 7000);
      perTurn.push(asked(stage).length - before);
      from += 14_000;
      stage.playTo(from - 1000);
    }
    expect(perTurn.at(-1)).toBeLessThan(perTurn[0] ?? 0);
  });
});

describe('logs', () => {
  it('of older versions have no such member: nothing is begun while the user speaks', () => {
    expect(mergeConfig({ speculation: { enabled: true } }).speculation.early).toBe(false);
    const stage = listening();
    stage.user.says('I would like to book a table for four tomorrow please', SPOKEN);
    stage.playTo(3000);
    expect(asked(stage)).toEqual([]);
  });
});
