import type { Random } from '../../base/random.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { EvalModels } from '../ask-model.js';
import type { EvalCase, EvalMode } from '../suite/suite-schema.js';
import type { SimulatedCaller, CallerAudio, CallerMove } from './caller.js';
import { ModelCaller } from './model-caller.js';
import { callerPhrases, PERSONA_LANGUAGES } from './phrases.js';
import { RulePersona } from './rule-persona.js';
import { ScriptCaller } from './script-caller.js';

/** The persona model that needs no model. */
const EMBEDDED_PERSONA = 'embedded';

interface CallerOfOptions {
  mode: EvalMode;
  random: Random;
  nowMs: () => number;
  audioOf: (path: string) => CallerAudio;
  /** The agent's. */
  language: string;
  /** Null = the embedded rules. */
  personaModel: string | null;
  models: EvalModels;
}

/** @throws InvalidConfigError for a caller that cannot be played in this mode or language */
export function callerOf(one: EvalCase, options: CallerOfOptions): SimulatedCaller {
  const { caller } = one;
  const { random, nowMs, audioOf, mode } = options;
  if (caller === undefined) throw fault(['caller'], 'Field required');
  if ('script' in caller) return new ScriptCaller({ steps: caller.script, nowMs, audioOf });
  if ('recording' in caller) {
    if (mode === 'voice') return new RecordingCaller(audioOf(caller.recording), (caller.text ?? []).join(' '));
    if (caller.text === undefined) throw fault(['caller', 'text'], 'A recording needs its `text` for text mode');
    return new ScriptCaller({ steps: caller.text.map((say) => ({ say })), nowMs, audioOf });
  }
  const { persona } = caller;
  const language = persona.language ?? options.language;
  const isCalled = one.direction === 'outbound';
  const model = persona.model ?? options.personaModel ?? EMBEDDED_PERSONA;
  if (model !== EMBEDDED_PERSONA) {
    return new ModelCaller({ persona, model, models: options.models, language, isCalled, random });
  }
  const phrases = callerPhrases(language);
  if (phrases === null) {
    const known = PERSONA_LANGUAGES.join(', ');
    throw fault(['caller', 'persona', 'language'], `Embedded personas speak ${known}; ${language} needs a \`model\``);
  }
  return new RulePersona({ persona, phrases, random, isCalled });
}

function fault(loc: readonly string[], msg: string): InvalidConfigError {
  return new InvalidConfigError([{ loc, msg, type: 'value_error' }]);
}

/** How long the line stays open after the recording, in ms. */
const AFTER_MS = 6_000;

/** The caller's side of a whole recorded call, played from the start of the call whatever the agent does. */
class RecordingCaller implements SimulatedCaller {
  readonly reactionMs = 0;
  readonly patienceMs = 0;
  readonly speaksAtOnce = true;
  readonly #audio: CallerAudio;
  readonly #text: string;

  /** @param text what is said in it; empty = not known */
  constructor(audio: CallerAudio, text: string) {
    this.#audio = audio;
    this.#text = text;
  }

  next(): readonly CallerMove[] {
    return [{ play: this.#audio, text: this.#text }, { waitMs: AFTER_MS }, { hangUp: true }];
  }
}
