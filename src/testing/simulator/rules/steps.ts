import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { FlowStep, StepsConfig } from '../../../agent/flow/steps.js';
import { checkData } from '../../../conversation/steps/data.js';
import { ALWAYS, STEP_FUNCTIONS } from '../../../conversation/steps/steps.js';
import type { StepPassed } from '../../../conversation/steps/machine.js';
import { check, type Rule, type Step } from './rule.js';

/**
 * The conversation keeps to its flow: steps follow each other as the flow allows, only valid values are known, the model
 * gets the tools of its step only, and nothing is recorded while a card is asked for.
 */
export class KeepsToSteps implements Rule {
  readonly #config: StepsConfig | null;
  readonly #steps: ReadonlyMap<string, FlowStep>;
  readonly #global: ReadonlySet<string>;
  #seen = 0;

  constructor({ steps }: Pick<ConversationConfig, 'steps'>) {
    this.#config = steps;
    const globals = steps?.flow.global ?? [];
    this.#steps = new Map([...(steps?.flow.steps ?? []), ...globals].map((step) => [step.id, step]));
    this.#global = new Set(globals.map(({ id }) => id));
  }

  onStep({ effects, state }: Step): void {
    const { steps } = state;
    // Another agent has other steps.
    if (this.#config === null || steps === null || state.handovers.length > 0) return;
    for (const effect of effects) {
      if (effect.type !== 'llm.start') continue;
      const step = this.#steps.get(effect.step?.step ?? '');
      const allowed = [...(step?.tools ?? this.#config.flow.tools ?? []), ...STEP_FUNCTIONS, ...ALWAYS];
      const isOwn = (name: string): boolean => allowed.includes(name);
      check(
        effect.tools.every(({ name }) => isOwn(name)),
        'the model gets the tools of its step',
      );
      check((effect.only ?? ['all']).every(isOwn), 'the model may call the tools of its step');
    }
    for (let at = this.#seen; at < steps.passed.length; at++) this.#expectWay(steps.passed, at);
    this.#seen = steps.passed.length;
    check(steps.passed.at(-1)?.step === steps.step, 'the present step is the last one');
    for (const [name, value] of Object.entries(steps.data)) {
      const data = [...this.#steps.values()].flatMap(({ collect }) => collect ?? []).find((one) => one.name === name);
      check(data !== undefined && checkData({ name, type: data.type }, value, null).ok, 'only valid values are known');
    }
    check(!steps.paused || state.recordingPaused || state.line === 'closed', 'no card number is recorded');
  }

  #expectWay(passed: readonly StepPassed[], at: number): void {
    const [before, now] = [passed[at - 1], passed[at]];
    const step = this.#steps.get(now?.step ?? '');
    check(step !== undefined, 'only steps of the flow are entered');
    if (before === undefined || now === undefined) return;
    const { collect, transitions, end } = this.#steps.get(before.step) ?? {};
    const isBack = end?.action === 'return' || end?.action === 'repeat';
    const follows =
      (transitions ?? []).some(({ to }) => to === now.step) ||
      (collect ?? []).some(({ failed }) => failed === now.step) ||
      this.#global.has(now.step) ||
      isBack;
    check(follows, 'a step follows as the flow allows', () => `${before.step}, ${now.step}`);
    check(before.to === now.step && (before.toMs ?? -1) >= before.fromMs, 'a step that was left has its end');
  }
}
