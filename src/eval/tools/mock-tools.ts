import { delay, type Clock } from '../../base/clock.js';
import type { InterceptedCall, ToolInterceptor, ToolResult } from '../../tools/tool.js';
import { argumentsMatch } from '../expectations/matchers.js';
import type { MockReply, ToolMock } from '../suite/suite-schema.js';

const DELAY_MS = 100;

/** Mocks of a case's tools, for one call. */
export class MockTools {
  /** What no mock was for, in words. Each fails the case. */
  readonly unexpected: string[] = [];
  readonly #mocks: Readonly<Record<string, ToolMock>>;
  readonly #clock: Clock;
  readonly #onMocked: (name: string) => void;
  readonly #counts = new Map<string, number>();

  /** @param onMocked called before a mock answers a call */
  constructor(mocks: Readonly<Record<string, ToolMock>>, clock: Clock, onMocked: (name: string) => void) {
    this.#mocks = mocks;
    this.#clock = clock;
    this.#onMocked = onMocked;
  }

  readonly intercept: ToolInterceptor = async (call, run) => {
    const mock = this.#mockOf(call.name);
    if (mock === null || 'real' in mock) return run();
    this.#onMocked(call.name);
    const reply = this.#replyTo(call, mock);
    if (reply === null) {
      const text = `${call.name}(${JSON.stringify(call.arguments)}) matches no mock`;
      this.unexpected.push(text);
      return { ok: false, content: `${text}.` };
    }
    await delay(this.#clock, reply.delay_ms ?? DELAY_MS, call.signal);
    return resultOf(reply);
  };

  #mockOf(name: string): ToolMock | null {
    const mocks = this.#mocks;
    if (Object.hasOwn(mocks, name)) return mocks[name] ?? null;
    return Object.hasOwn(mocks, '*') ? (mocks['*'] ?? null) : null;
  }

  #replyTo(call: InterceptedCall, mock: Exclude<ToolMock, { real: true }>): MockReply | null {
    const fits = ({ when }: MockReply): boolean => when === undefined || argumentsMatch(when, call.arguments);
    if (!('sequence' in mock)) return fits(mock) ? mock : null;
    const conditional = mock.sequence.filter(({ when }) => when !== undefined).find(fits);
    if (conditional !== undefined) return conditional;
    const rest = mock.sequence.filter(({ when }) => when === undefined);
    const count = this.#counts.get(call.name) ?? 0;
    this.#counts.set(call.name, count + 1);
    return rest[Math.min(count, rest.length - 1)] ?? null;
  }
}

function resultOf({ result, error }: MockReply): ToolResult {
  if (error !== undefined) return { ok: false, content: error };
  if (result === undefined) return { ok: true, content: 'Done.' };
  return { ok: true, content: typeof result === 'string' ? result : JSON.stringify(result) };
}
