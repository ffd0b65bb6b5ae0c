import type { Random } from '../../base/random.js';
import type { Act } from './script.js';

const WORDS = [
  'yes',
  'no',
  'mm-hm',
  'okay, I see',
  'stop',
  'wait',
  'bye',
  'thank you, goodbye',
  'um',
  'a table for',
  'four people, please.',
  'five five one',
  'What time do you open?',
  'I would like to book a table for tomorrow evening at eight.',
  'No, that is not what I said, listen to me for a moment, please.',
  'ja genau',
  'はい',
  'hello',
  'how can I help you', // as the agent says itself
  'let me think',
  '',
  '…',
] as const;

const GREETING = [
  'The mobile phone you are calling is switched off.',
  'You have reached the desk.',
  'We cannot take your call right now.',
  'Please leave a message after the tone.',
  'Who is calling, please?',
] as const;

/** The acts of a user, with random errors of detection and recognition. */
export function randomUser(random: Random): Act[] {
  const acts: Act[] = [];
  // Some users are fast, some slow.
  const paceMs = random.pick([600, 2500, 6000]);
  const trouble = random.pick([0, 0.15, 0.6]);
  let atMs = random.int(0, 5000);
  let segment = 0;
  if (random.chance(0.1)) {
    // A machine answers, perhaps followed by a person.
    const sentences = GREETING.slice(random.int(0, 4), random.int(1, 5));
    const beep = random.chance(0.7) ? { beepAfterMs: random.pick([0, 500, 4000]) } : {};
    acts.push({
      on: 'user',
      does: 'greets',
      with: [sentences, { from: atMs, pauseMs: random.pick([200, 1500]), ...beep }],
    });
    segment = sentences.length;
    atMs += 60 * sentences.join('').length;
  }
  const says = (): void => {
    const words = random.pick(WORDS);
    const from = atMs;
    const to = from + Math.max(120, words.split(' ').length * random.int(150, 400));
    const heard = { from, to, segment: segment++, ...(random.chance(trouble) && troubleHearing(random)) };
    acts.push({ on: 'user', does: 'says', with: [words, heard] });
    if (random.chance(trouble * 0.4)) {
      // The recogniser revises its words, perhaps long after the final transcript.
      const revised = { ...heard, vad: false, final: random.chance(0.7), finalMs: random.int(0, 3000), interim: false };
      acts.push({ on: 'user', does: 'says', with: [random.pick(WORDS), revised] });
    }
    atMs = to;
  };
  const makesNoise = (): void => {
    const to = atMs + random.pick([80, 400, 1500, 6000]);
    acts.push({ on: 'user', does: 'noise', with: [{ from: atMs, to }] });
    atMs = to;
  };
  const count = random.int(0, 14);
  for (let index = 0; index < count; index++) {
    atMs += random.chance(0.3) ? random.int(0, 500) : random.int(0, paceMs);
    random.weighted<() => void>([
      [14, says],
      [3, makesNoise],
      [0.3, () => acts.push({ on: 'user', does: 'noiseWithoutEnd', with: [{ from: atMs }] })],
      [
        1.5,
        () => acts.push({ on: 'user', does: 'presses', with: [random.pick(['1', '55', '7#', '#']), { at: atMs }] }),
      ],
      [0.3, () => acts.push({ on: 'user', does: 'beeps', with: [{ at: atMs }] })],
      [1.5, () => acts.push({ on: 'user', does: 'types', with: [random.pick(WORDS), { at: atMs }] })],
    ])();
  }
  if (random.chance(0.8)) {
    const at = random.chance(0.15) ? random.int(0, atMs + 1000) : atMs + random.int(0, 15_000);
    acts.push({ on: 'user', does: 'hangsUp', with: [{ at, error: random.chance(0.1) ? 'the line broke' : null }] });
  }
  return acts;
}

function troubleHearing(random: Random): { vad?: boolean; final?: boolean; finalMs?: number; understood?: boolean } {
  return random.weighted([
    [3, { finalMs: random.pick([0, 40, 1500, 4000]) }],
    [2, { final: false }],
    [2, { understood: false }],
    [1, { vad: false }],
    [1, { interim: false, finalMs: random.pick([250, 2500]) }],
  ]);
}
