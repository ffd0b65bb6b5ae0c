import type { Random } from '../../base/random.js';
import { InvalidConfigError } from '../../schema/issues.js';
import type { EvalModels } from '../ask-model.js';
import type { EvalCase, EvalMode } from '../suite/suite-schema.js';
import {
  type SimulatedCaller,
  type CallerAudio,
  type CallerMove,
  type BargeIn,
  CallerError,
  type CallerView,
} from './caller.js';
import { ModelCaller } from './model-caller.js';
import { callerPhrases, PERSONA_LANGUAGES } from './phrases.js';
import { RulePersona } from './rule-persona.js';
import { textTest, type TextTest } from '../pattern.js';
import type { CallerStep } from '../suite/caller-schema.js';

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

const REACTION_MS = 700;
const PATIENCE_MS = 12_000;
/** How long the caller stays after their last step, once the agent is silent. */
const LINGER_MS = 4_000;
const WAIT_FOR_S = 30;
const BARGE_IN_AFTER_MS = 1_000;

export interface ScriptCallerOptions {
  steps: readonly CallerStep[];
  /** Time of the call, in ms. */
  nowMs: () => number;
  /** The audio of a `play` step. */
  audioOf: (path: string) => CallerAudio;
}

/** A caller who does one step after another. */
export class ScriptCaller implements SimulatedCaller {
  readonly patienceMs = PATIENCE_MS;
  readonly #options: ScriptCallerOptions;
  readonly #tests = new Map<string, TextTest>();
  #at = 0;
  /** When the current `wait_for` gives up. */
  #untilMs: number | null = null;

  constructor(options: ScriptCallerOptions) {
    this.#options = options;
    for (const step of options.steps) if ('wait_for' in step) this.#tests.set(step.wait_for, textTest(step.wait_for));
  }

  get reactionMs(): number {
    return this.#step === null ? LINGER_MS : REACTION_MS;
  }

  get #step(): CallerStep | null {
    return this.#options.steps[this.#at] ?? null;
  }

  next(view: CallerView): readonly CallerMove[] {
    const step = this.#step;
    if (step === null) return [{ hangUp: true }];
    if ('interrupt' in step) return view.agentIsSilent ? this.#done([{ say: step.interrupt }]) : [];
    if ('wait_for' in step) return this.#waitFor(step, view);
    if ('listen' in step) return this.#done([]);
    if ('say' in step) return this.#done([{ say: step.say }]);
    if ('press' in step) return this.#done([{ press: step.press }]);
    if ('beep' in step) return this.#done([{ beep: true }], view);
    if ('wait_ms' in step) return this.#done([{ waitMs: step.wait_ms }], view);
    if ('play' in step) return this.#done([{ play: this.#options.audioOf(step.play), text: step.text ?? step.play }]);
    return this.#done([{ hangUp: true }]);
  }

  bargeIn(): BargeIn | null {
    const step = this.#step;
    if (step === null || !('interrupt' in step)) return null;
    this.#at++;
    return { say: step.interrupt, afterMs: step.after_ms ?? BARGE_IN_AFTER_MS };
  }

  /** @param view where the steps that follow belong to the same turn */
  #done(moves: readonly CallerMove[], view?: CallerView): readonly CallerMove[] {
    this.#at++;
    const following = this.#step;
    // What comes after a silence or keys is not an answer to the agent.
    if (following !== null && 'hang_up' in following) return [...moves, ...this.#done([{ hangUp: true }])];
    if (view !== undefined && following !== null && !('wait_for' in following) && !('interrupt' in following)) {
      return [...moves, ...this.next(view)];
    }
    return moves;
  }

  #waitFor({ wait_for: wanted, within_s: seconds }: Extract<CallerStep, { wait_for: string }>, view: CallerView) {
    const { nowMs } = this.#options;
    this.#untilMs ??= nowMs() + (seconds ?? WAIT_FOR_S) * 1000;
    if (this.#tests.get(wanted)?.(view.agentSaid) === true) {
      this.#untilMs = null;
      this.#at++;
      return this.next(view);
    }
    if (nowMs() < this.#untilMs) return [];
    throw new CallerError('failed', `the agent did not say ${JSON.stringify(wanted)}, which the caller waited for`);
  }
}
