import { randomConfig } from './random-config.js';
import { randomLine, randomModel, randomTools, randomVoice } from './random-providers.js';
import { randomUser } from './random-user.js';
import { Random } from '../../base/random.js';
import type { Act, Script } from './script.js';
import type { ConversationEvent } from '../../conversation/events.js';

/** Generators of a script's acts. */
const SOURCES: readonly ((random: Random) => Act[])[] = [
  randomUser,
  randomModel,
  randomTools,
  randomVoice,
  randomLine,
  randomStrays,
];

/** Generates the script of one conversation. The same seed gives the same script. */
export function generate(seed: number): Script {
  const random = new Random(seed);
  const config = randomConfig(random);
  const voice = { msPerChar: random.pick([20, 60, 90]), latencyMs: random.pick([0, 80, 350]) };
  return { config, voice, acts: SOURCES.flatMap((source) => source(random)) };
}

/** Events that fit nothing, or that come twice, too late or out of order; and what others have the agent do. */
export function randomStrays(random: Random): Act[] {
  const acts: Act[] = [];
  const count = random.chance(0.7) ? 0 : random.int(1, 6);
  for (let index = 0; index < count; index++) {
    acts.push({ on: 'stage', does: 'send', with: [randomStray(random), { at: random.int(0, 40_000) }] });
  }
  return acts;
}

function randomStray(random: Random): ConversationEvent {
  const id = random.chance(0.9) ? random.int(0, 12) : random.pick([-1, 0.5, 1e15]);
  const atMs = random.pick([-1000, random.int(0, 40_000), 1e12]);
  const text = random.pick(['', 'yes', 'Nobody asked for this. Really.', '…']);
  return random.weighted<ConversationEvent>([
    [1, { type: 'line.opened' }],
    [2, { type: 'speech.started', startMs: atMs }],
    [2, { type: 'speech.stopped', endMs: atMs }],
    [2, { type: 'transcript', segment: id, text, isFinal: random.chance(0.5), understood: random.chance(0.7) }],
    [1, { type: 'digits', digits: random.pick(['', 'x', '***************************************9']) }],
    [2, { type: 'tool.result', callId: random.pick(['call-1', 'same', 'nobody']), ok: true, content: text }],
    [2, { type: 'turn.judged', probability: random.pick([0, 0.5, 1, -3]) }],
    [2, { type: 'beep', endMs: atMs }],
    [0.3, { type: 'fax', sign: random.pick(['answer', 'modem', 'calling']) }],
    [1, { type: 'sit', end: random.pick(['failed', 'busy']) }],
    [
      1,
      { type: 'transfer.result', callId: random.pick(['call-1', 'nobody']), ok: random.chance(0.5), reason: 'stray' },
    ],
    [1, { type: 'utterance.finished', utteranceId: id + 1000 }],
    [1, { type: 'utterance.failed', utteranceId: id + 1000, reason: 'stray' }],
    [1, { type: random.pick(['utterance.starved', 'utterance.fed']), utteranceId: id }],
    [2, { type: 'llm.text', requestId: id, text }],
    [1, { type: 'llm.text', requestId: id, text, flush: true, pauseMs: random.pick([0, 700, -5, 1e12]) }],
    [2, { type: 'llm.done', requestId: id }],
    [1, { type: 'language', language: random.pick(['fr', 'ja', 'en-US', '']) }],
    [0.3, { type: 'command.hangUp' }],
    [0.3, { type: 'command.transfer', target: '+4930123456' }],
    [3, { type: 'command.say', text }],
    [0.3, { type: 'ears.failed', reason: 'stray' }],
    [0.3, { type: 'command.end' }],
    [1, { type: 'time' }],
  ]);
}
