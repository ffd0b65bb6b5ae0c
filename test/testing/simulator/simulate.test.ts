import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION, mergeConfig } from '../../../src/agent/flow/conversation-config.js';
import { generate } from '../../../src/testing/simulator/generate.js';
import { seedOf } from '../../../src/base/random.js';
import { stageFor, toSource, type Script } from '../../../src/testing/simulator/script.js';
import { simulate } from '../../../src/testing/simulator/simulate.js';
import { Stage } from '../../../src/stage/stage.js';

const SEED = 20_261_121;
/** Settings that are sections, or off. */
const OPTIONAL = new Set([
  '.switchLanguage',
  '.voicemail',
  '.transfer',
  '.transfer.attended',
  '.inactivity',
  '.pauseRecording',
  '.handover',
  '.steps',
]);
const ENDS = [
  'agent-ended',
  'api-ended',
  'busy',
  'error',
  'failed',
  'no-answer',
  'timeout',
  'user-ended',
  'voicemail-hangup',
  'voicemail-message',
];
/** Methods of a stage's parts by which the stage drives them. */
const NOT_ACTS = new Set([
  ...['user', 'model', 'tools', 'voice', 'line'].map((part) => `${part}.constructor`),
  ...['start', 'confirm', 'cancel', 'isLive'].map((method) => `model.${method}`),
  'tools.start',
  'line.transfer',
  'line.cancelTransfer',
  'line.press',
  'line.switchLanguage',
  ...[
    'busy',
    'held',
    'nextTickMs',
    'position',
    'prepare',
    'speak',
    'more',
    'cancel',
    'pause',
    'hold',
    'resume',
    'drop',
    'play',
  ].map((method) => `voice.${method}`),
]);
/** Virtual time is fast, a busy machine is not. */
const LONG_MS = 300_000;

describe('conversations that chance has written', () => {
  it.each([0, 1, 2, 3])(
    'every rule holds in 20,000 of them, part %i',
    (part) => {
      const failures: string[] = [];
      for (let index = part * 5000; index < (part + 1) * 5000; index++) {
        const { failure } = simulate(generate(seedOf(SEED, index)));
        if (failure !== null && failures.length < 5)
          failures.push(`npm run simulate -- --seed ${SEED} --from ${index}: ${failure.message}`);
      }
      expect(failures).toEqual([]);
    },
    LONG_MS,
  );

  it('the same seed writes and plays the same conversation', () => {
    for (let index = 0; index < 50; index++) {
      const seed = seedOf(SEED, index);
      expect(generate(seed)).toEqual(generate(seed));
      const [one, other] = [stageFor(generate(seed)), stageFor(generate(seed))];
      expect(one.playToEnd()).toBe(other.playToEnd());
      expect(one.timeline.toString()).toBe(other.timeline.toString());
    }
    expect(generate(seedOf(SEED, 0))).not.toEqual(generate(seedOf(SEED, 1)));
    expect(generate(seedOf(SEED, 0))).not.toEqual(generate(seedOf(SEED + 1, 0)));
  });

  it('a script is plain data, and its source plays the same', () => {
    for (let index = 0; index < 50; index++) {
      const script = generate(seedOf(SEED, index));
      const again = JSON.parse(JSON.stringify(script)) as Script;
      const played = stageFor(again);
      played.playToEnd();
      // eslint-disable-next-line typescript/no-implied-eval -- the source is the simulator's own
      const run = new Function('Stage', `${toSource(script)}return stage;`) as (part: typeof Stage) => Stage;
      const fromSource = run(Stage);
      expect(fromSource.timeline.toString()).toBe(played.timeline.toString());
    }
  });

  it('every setting is varied', () => {
    const seen = new Map<string, Set<string>>();
    const note = (value: unknown, path: string): void => {
      const isSection = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (isSection) for (const [name, member] of Object.entries(value)) note(member, `${path}.${name}`);
      if (!isSection || OPTIONAL.has(path)) seen.set(path, (seen.get(path) ?? new Set()).add(JSON.stringify(value)));
    };
    note(DEFAULT_CONVERSATION, '');
    for (let index = 0; index < 400; index++) note(mergeConfig(generate(seedOf(SEED, index)).config), '');
    const fixed = [...seen].filter(([, values]) => values.size < 2).map(([path]) => path);
    expect(fixed).toEqual([]);
  });

  it('everything that users and providers do comes up', () => {
    const acts = new Set<string>();
    const effects = new Set<string>();
    const ends = new Set<string>();
    for (let index = 0; index < 1500; index++) {
      const script = generate(seedOf(SEED, index));
      for (const { on, does } of script.acts) acts.add(`${on}.${does}`);
      const stage = stageFor(script);
      ends.add(stage.playToEnd());
      for (const { effect } of stage.timeline.effects) {
        effects.add(effect.type === 'speak' ? `speak ${effect.kind}` : effect.type);
      }
    }
    expect([...ends].toSorted()).toEqual(ENDS);
    for (const kind of [
      'opening',
      'reply',
      'filler',
      'tool',
      'prompt',
      'announcement',
      'fallback',
      'goodbye',
      'transfer',
      'voicemail',
    ]) {
      expect(effects).toContain(`speak ${kind}`);
    }
    const { user, model, tools, voice, line } = new Stage();
    const methods = Object.entries({ user, model, tools, voice, line }).flatMap(([name, part]) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(part)).map((method) => `${name}.${method}`),
    );
    const never = methods.filter((method) => !acts.has(method) && !NOT_ACTS.has(method));
    expect(never).toEqual([]);
  });
});
