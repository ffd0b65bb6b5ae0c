import type { CallHistoryItem, CallMetrics } from '../../../session/record/call-history.js';
import { duration } from '../../page/times.js';
import { shareOf } from '../calls/list-times.js';
import { valueAt } from '../draft.js';

/** A call with its response times and participants. */
export type MeasuredCall = Pick<CallHistoryItem, 'call_metrics' | 'cost_breakdown'>;

type Stage = 'utterance_latency' | 'end_of_turn' | 'llm_first' | 'tts_first';
type Part = 'stt' | 'llm' | 'tts';

/** Settings that select the provider of a stage, and where the log and the configuration name it. */
const MEASURED: Readonly<Record<string, { part: Part; stage: Stage; field: string; what: string }>> = {
  llm: { part: 'llm', stage: 'llm_first', field: 'model', what: 'first piece' },
  voice: { part: 'tts', stage: 'tts_first', field: 'provider', what: 'first sound' },
  speech_to_text: {
    part: 'stt',
    stage: 'end_of_turn',
    field: 'provider',
    what: 'end of turn, the wait for its words included,',
  },
};

/**
 * The effect of an agent's settings on its response time: measured in the agent's latest calls for a choice of
 * provider, derived from the conversation's rules for a wait. Unknown effects are left out.
 */
export class ExpectedTimes {
  readonly #calls: readonly MeasuredCall[];

  /** @param calls of this agent */
  constructor(calls: readonly MeasuredCall[]) {
    this.#calls = calls.filter(({ call_metrics: { turns } }) => turns > 0);
  }

  /** Response times, and the times of each stage; null = no answers. */
  get summary(): string | null {
    const all = this.#median('utterance_latency', this.#calls);
    if (all === null) return null;
    const stages = [
      ['until the turn is over', this.#median('end_of_turn', this.#calls)],
      ['to the model’s first piece', this.#median('llm_first', this.#calls)],
      ['to the voice’s first sound', this.#median('tts_first', this.#calls)],
    ] as const;
    const parts = stages.flatMap(([name, stage]) => (stage === null ? [] : [`${name} ${duration(stage.ms)}`]));
    return `Answers in the latest ${callsOf(all.calls)}: median ${duration(all.ms)} over ${turnsOf(all.turns)} (${parts.join(', ')}).`;
  }

  /**
   * @param path of the setting, such as `flow.response_delay`
   * @param config as edited
   */
  at(path: string, config: unknown): string | null {
    const measured = MEASURED[path];
    if (measured !== undefined) return this.#choice(measured, valueAt(config, [path, measured.field]));
    if (path === 'flow.response_delay') return this.#delay(valueAt(config, path.split('.')));
    if (path === 'flow.auto_fill_responses') return filler(valueAt(config, path.split('.')));
    return null;
  }

  #choice({ part, stage, what }: (typeof MEASURED)[string], chosen: unknown): string | null {
    const byName = new Map<string, MeasuredCall[]>();
    for (const call of this.#calls) {
      const name = nameOf(call, part);
      if (name !== null) byName.set(name, [...(byName.get(name) ?? []), call]);
    }
    const isNew = typeof chosen === 'string' && !byName.has(chosen);
    const known = [...byName].flatMap(([name, of]) => {
      const times = this.#median(stage, of);
      return times === null ? [] : [`${name} ${duration(times.ms)} (${turnsOf(times.turns)})`];
    });
    if (known.length === 0) return null;
    const head = isNew ? `Not measured with ${chosen}. ` : '';
    return `${head}Median ${what} here: ${known.join(', ')}.`;
  }

  #delay(value: unknown): string {
    const generic = typeof value === 'number' ? value : Number(valueAt(value, ['generic_delay']) ?? 0);
    const digits = Number(valueAt(value, ['number_input_delay']) ?? 0);
    const median = this.#median('end_of_turn', this.#calls);
    const now = median === null ? '' : ` Measured here: the turn is over after ${duration(median.ms)} (median).`;
    const least =
      generic > 0
        ? `No answer sooner than ${duration(generic)} after the end of speech, whatever was said.`
        : 'Adds nothing: what was said decides how long is waited.';
    const more = digits > 0 ? ` Another ${duration(digits)} while digits are given.` : '';
    return least + more + now;
  }

  #median(stage: Stage, of: readonly MeasuredCall[]): { ms: number; turns: number; calls: number } | null {
    const known = of.flatMap(({ call_metrics: metrics }) => {
      const times: CallMetrics[Stage] = metrics[stage];
      return times === null ? [] : [{ ms: times.p50, turns: metrics.turns }];
    });
    if (known.length === 0) return null;
    return { ms: shareOf(known, 0.5), turns: known.reduce((sum, call) => sum + call.turns, 0), calls: known.length };
  }
}

/** Who did a part of the call: a model's id, or a provider's name. */
function nameOf({ cost_breakdown: costs }: MeasuredCall, part: Part): string | null {
  const item = costs.find(({ type }) => type === part);
  if (item === undefined) return null;
  return item.type === 'llm' ? item.model : item.provider;
}

function filler(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  const ms = Number(valueAt(value, ['response_gap_threshold']) ?? 0);
  return `Something is heard ${duration(ms)} after the end of the turn at the latest, if not the answer.`;
}

function callsOf(count: number): string {
  return count === 1 ? 'call' : `${String(count)} calls`;
}

function turnsOf(count: number): string {
  return count === 1 ? 'one turn' : `${String(count)} turns`;
}
