import type { CaseRun, CaseResult, SuiteResult } from '../../../src/eval/result.js';
import type { SuiteJob, SuiteRunner, SuiteRunnerOptions } from '../../../src/daemon/evals/suite-runner.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';

/** A job that a runner holds until the test settles it. */
export interface HeldJob extends SuiteRunnerOptions {
  job: SuiteJob;
  resolve: (result: SuiteResult) => void;
  reject: (error: Error) => void;
}

/** A runner whose runs the test drives. It ends a run at once when its signal aborts. */
export class TestRunner implements SuiteRunner {
  readonly held: HeldJob[] = [];
  #waiting: (() => void)[] = [];

  run(job: SuiteJob, options: SuiteRunnerOptions): Promise<SuiteResult> {
    return new Promise((resolve, reject) => {
      options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true });
      this.held.push({ ...options, job, resolve, reject });
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  /** The job of this index, once it is held. */
  async job(at: number): Promise<HeldJob> {
    while (this.held.length <= at) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const found = this.held[at];
    if (found === undefined) throw new Error('there is no such job');
    return found;
  }
}

export interface GivenRun {
  passed?: boolean;
  error?: string | null;
  responseMs?: readonly number[];
  recording?: string | null;
  trace?: string | null;
  report?: SessionReport | null;
}

export function caseRun(run: number, given: GivenRun = {}): CaseRun {
  const { passed = true, error = null, responseMs = [600], recording = null, trace = null, report = null } = given;
  return {
    run,
    seed: run + 1,
    mode: 'text',
    passed,
    error,
    expectations: [
      {
        index: 0,
        kind: 'said',
        expected: 'the agent says "bread"',
        outcome: passed ? 'pass' : 'fail',
        reason: passed ? '' : 'the agent says nothing of it',
        line: passed ? null : 1,
      },
    ],
    lines: [
      { type: 'agent', text: 'Hello.', startMs: 400, endMs: 900, interrupted: false },
      {
        type: 'caller',
        text: 'Have you any bread?',
        understood: 'Have you any bread?',
        startMs: 1200,
        endMs: 2200,
        cutOff: false,
        responseMs: 600,
      },
      {
        type: 'tool',
        name: 'stock',
        arguments: '{}',
        ok: true,
        result: '3',
        startMs: 2300,
        tookMs: 100,
        mocked: true,
        afterCall: false,
      },
      { type: 'end', status: 'user-ended', by: 'caller', startMs: 4000 },
    ],
    metrics: {
      durationMs: 4000,
      callerTurns: 1,
      talkRatio: 0.4,
      responseMs,
      cutOffs: 0,
      longestSilenceMs: 600,
      promptTokens: 12,
      completionTokens: 5,
      costUsd: null,
      persona: null,
      judges: null,
    },
    report,
    recording,
    trace,
  };
}

export function caseResult(name: string, runs: readonly CaseRun[]): CaseResult {
  const passes = runs.filter(({ passed }) => passed).length;
  const rate = passes / runs.length;
  return {
    name,
    mode: 'text',
    runs,
    passes,
    passRate: { rate, low: rate / 2, high: 1 },
    needed: 1,
    passed: passes === runs.length,
  };
}

export function suiteResult(cases: readonly CaseResult[], comparison: SuiteResult['comparison'] = null): SuiteResult {
  return {
    suite: 'Bread',
    agent: 'baker@1',
    startedAt: '2026-11-23T12:00:00.000Z',
    tookMs: 1200,
    cases,
    passed: cases.every(({ passed }) => passed),
    comparison,
  };
}

/** A report with what the call log needs. */
export function sessionReport(): SessionReport {
  const latency = { responseMs: null, endOfTurnMs: null, llmFirstMs: null, firstSentenceMs: null, ttsFirstMs: null };
  return {
    sessionId: 'from-the-runner',
    status: 'user-ended',
    durationMs: 4000,
    messages: [
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'Have you any bread?' },
    ],
    turns: [],
    latency,
    functionCalls: [],
    doNotCall: false,
    transfers: [],
    ttsChars: 6,
    speculation: { started: 0, used: 0, dropped: 0 } as unknown as SessionReport['speculation'],
    promptTokens: 12,
    completionTokens: 5,
    usage: {
      stt: [],
      llm: [
        {
          provider: 'openai',
          model: 'gpt-test',
          promptTokens: 1_000_000,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          completionTokens: 0,
        },
      ],
      tts: [],
    },
    playout: { underruns: 0, speechMs: 0, skippedFrames: 0 },
    line: null,
    recording: null,
    listeners: [],
    steps: [],
    participants: [],
    agents: [],
    faults: {},
  };
}
