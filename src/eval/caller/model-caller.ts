import * as z from 'zod';
import { reasonOf } from '../../base/errors.js';
import type { Random } from '../../base/random.js';
import { askModel, type EvalModels } from '../ask-model.js';
import type { ModelIdentity } from '../result.js';
import { textTest, type TextTest } from '../pattern.js';
import type { Manner, Persona } from '../suite/caller-schema.js';
import { type BargeIn, type SimulatedCaller, CallerError, type CallerMove, type CallerView } from './caller.js';
import { PERSONA_PROMPT, personaMessages, type PersonaPromptOptions } from './persona-prompt.js';

export interface ModelCallerOptions extends PersonaPromptOptions {
  persona: Persona;
  /** A model id of the engine. */
  model: string;
  models: EvalModels;
  /** Chance of the run: the seed of the model's sampling, and when the caller interrupts. */
  random: Random;
  /** For each turn, waits for rate limits included. Default 30 s. */
  deadlineMs?: number;
}

const DEADLINE_MS = 30_000;
const TEMPERATURE = 0.7;
const MAX_TURNS = 30;
/** Reaction and patience, in ms. */
const REACTION_MS = 700;
const PATIENCE_MS = 10_000;
const IMPATIENT = { reactionMs: 350, patienceMs: 5_000 };
/** Silence where a hesitant caller leaves a pause, in ms. */
const PAUSE_MS = 900;
/** When an interruption begins after the agent's first word, in ms. */
const BARGE_IN_MS = { least: 600, most: 1_600 };

const text = z.string().trim().min(1).max(1_000);

const moveSchema = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('say'), text, mumbled: z.boolean().optional() }),
  z.strictObject({ action: z.literal('press'), keys: z.string().regex(/^[0-9*#A-Dw]{1,40}$/) }),
  z.strictObject({ action: z.literal('wait'), seconds: z.number().min(0.1).max(120).optional() }),
  z.strictObject({ action: z.literal('hang_up') }),
]);

/** The answer of a model that plays a caller. */
export const actSchema = z.strictObject({
  moves: z
    .array(moveSchema)
    .min(1)
    .max(6)
    .refine((moves) => !moves.slice(0, -1).some(({ action }) => action === 'hang_up'), 'Nothing follows hang_up'),
  interrupt: text.optional(),
});

/**
 * A persona that a language model plays. Keys, answers and the stopping rule that the persona lists are followed to the
 * letter; the model decides everything else.
 */
export class ModelCaller implements SimulatedCaller {
  readonly reactionMs: number;
  readonly patienceMs: number;
  readonly playedBy: ModelIdentity;
  readonly #options: ModelCallerOptions;
  readonly #seed: number;
  readonly #keys: readonly (readonly [test: TextTest, keys: string])[];
  readonly #answers: readonly (readonly [test: TextTest, answer: string])[];
  readonly #isDone: TextTest | null;
  #hasOpened = false;
  #done = false;
  #interruption: string | null = null;

  constructor(options: ModelCallerOptions) {
    const { persona, random } = options;
    this.#options = options;
    this.playedBy = { model: options.model, prompt: PERSONA_PROMPT, temperature: TEMPERATURE };
    this.#seed = random.int(1, 2 ** 31 - 1);
    const isImpatient = this.#has('impatient');
    this.reactionMs = isImpatient ? IMPATIENT.reactionMs : REACTION_MS;
    this.patienceMs = isImpatient ? IMPATIENT.patienceMs : PATIENCE_MS;
    this.#keys = Object.entries(persona.keys ?? {}).map(([pattern, keys]) => [textTest(pattern), keys]);
    this.#answers = Object.entries(persona.answers ?? {}).map(([pattern, answer]) => [textTest(pattern), answer]);
    const whenSaid = persona.stop?.when_said;
    this.#isDone = whenSaid === undefined ? null : textTest(whenSaid);
  }

  async next(view: CallerView, signal: AbortSignal): Promise<readonly CallerMove[]> {
    const { persona } = this.#options;
    if (persona.silent === true) return [];
    if (this.#isDone?.(view.agentSaid) === true) this.#done = true;
    if (this.#done && persona.stop?.hang_up === true) return [{ hangUp: true }];
    if (view.turn >= (persona.stop?.max_turns ?? MAX_TURNS)) return [{ hangUp: true }];
    return this.#fixed(view) ?? (await this.#ask(view, signal));
  }

  bargeIn(): BargeIn | null {
    const say = this.#interruption;
    if (say === null) return null;
    this.#interruption = null;
    return { say, afterMs: this.#options.random.int(BARGE_IN_MS.least, BARGE_IN_MS.most) };
  }

  /** What the persona prescribes for this turn; null = nothing. */
  #fixed({ agentSaid, agentIsSilent }: CallerView): readonly CallerMove[] | null {
    const keys = this.#keys.find(([test]) => test(agentSaid));
    if (keys !== undefined) return [{ press: keys[1] }];
    const answer = this.#answers.find(([test]) => test(agentSaid));
    if (answer !== undefined) return [this.#say(answer[1])];
    const { persona, isCalled } = this.#options;
    // Who is called says hello first.
    if (this.#hasOpened || persona.opening === undefined || (isCalled && agentIsSilent)) return null;
    this.#hasOpened = true;
    return [this.#say(persona.opening)];
  }

  async #ask(view: CallerView, signal: AbortSignal): Promise<readonly CallerMove[]> {
    const { model, models, deadlineMs } = this.#options;
    try {
      const { moves, interrupt } = await askModel(models, {
        model,
        messages: personaMessages(this.#options, view, this.#done),
        tool: { name: 'act', description: 'Does something in the call.', schema: actSchema },
        temperature: TEMPERATURE,
        seed: this.#seed,
        deadlineMs: deadlineMs ?? DEADLINE_MS,
        signal,
      });
      this.#interruption = this.#has('talks_over') ? (interrupt ?? null) : null;
      return moves.flatMap((move) => this.#moveOf(move));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw new CallerError('error', `the persona cannot be played: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** No move = the caller listens on. */
  #moveOf(move: z.output<typeof moveSchema>): CallerMove[] {
    switch (move.action) {
      case 'say':
        return [this.#say(move.text, move.mumbled === true)];
      case 'press':
        return [{ press: move.keys }];
      case 'wait':
        return move.seconds === undefined ? [] : [{ waitMs: move.seconds * 1000 }];
      case 'hang_up':
        return [{ hangUp: true }];
    }
  }

  #has(manner: Manner): boolean {
    return this.#options.persona.manner?.includes(manner) === true;
  }

  #say(words: string, mumbled = false): CallerMove {
    const move: Extract<CallerMove, { say: string }> = { say: words };
    if (words.includes('…')) move.pauseMs = PAUSE_MS;
    if (mumbled && this.#has('mumbles_numbers')) move.mumbled = true;
    return move;
  }
}
