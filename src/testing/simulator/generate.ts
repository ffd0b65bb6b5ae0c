import { randomConfig } from './random-config.js';
import { randomLine, randomModel, randomTools, randomVoice } from './random-providers.js';
import { randomStrays } from './random-strays.js';
import { randomUser } from './random-user.js';
import { Random } from '../../base/random.js';
import type { Act, Script } from './script.js';

/** What a script is put together from; whatever else can happen in a conversation is one more. */
const SOURCES: readonly ((random: Random) => Act[])[] = [
  randomUser,
  randomModel,
  randomTools,
  randomVoice,
  randomLine,
  randomStrays,
];

/** The script of one conversation: the same seed gives the same script. */
export function generate(seed: number): Script {
  const random = new Random(seed);
  const config = randomConfig(random);
  const voice = { msPerChar: random.pick([20, 60, 90]), latencyMs: random.pick([0, 80, 350]) };
  return { config, voice, acts: SOURCES.flatMap((source) => source(random)) };
}
