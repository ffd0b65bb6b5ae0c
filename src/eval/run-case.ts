import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { decodeRecording } from '../audio/files/decode.js';
import { encodeWav } from '../audio/files/wav.js';
import { joinedSamples } from '../audio/frame.js';
import { Random } from '../base/random.js';
import { RealClock } from '../base/real-clock.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { VirtualClock } from '../base/virtual-clock.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { silentTts } from '../providers/tts/silent.js';
import type { LogEntry } from '../session/record/event-log.js';
import type { EvalAgent } from './agent.js';
import type { EvalModels } from './ask-model.js';
import type { CallLines } from './call/call-lines.js';
import type { CallerLine } from './call/caller-line.js';
import { type HeldCall, holdCall } from './call/hold-call.js';
import { isRealTime, type PreparedLine, prepareLine } from './call/prepared-line.js';
import { silentStt, silentVad, TextLine } from './call/text-line.js';
import { callerOf } from './caller/caller-of.js';
import type { CallerAudio, SimulatedCaller } from './caller/caller.js';
import type { CallerVoices } from './call/caller-voices.js';
import { checkExpectation, type CheckedCall, type Deciders } from './expectations/check.js';
import { type EvalPrices, ModelMeter } from './model-meter.js';
import type { EvalLine, EvalMetrics, CaseRun, ExpectationResult } from './result.js';
import type { EvalCase, EvalMode } from './suite/suite-schema.js';
import { MockTools } from './tools/mock-tools.js';

/** A Monday, at noon. */
const START_UNIX_MS = Date.UTC(2026, 5, 15, 12);
const MAX_DURATION_S = 300;
/** A silence of this length before the end is named as the reason. */
const SILENT_MS = 15_000;

/** What all runs of a suite share. */
export interface RunContext {
  agent: EvalAgent;
  /** Paths of a suite are relative to it. */
  folder: string;
  /** Options of the engine that holds the calls; its clock is replaced. */
  engine: EngineOptions;
  /** Speaks for callers. */
  voices: CallerVoices;
  /** Play personas, in real time. */
  models: EvalModels;
  /** @param checked null = the call could not be held */
  deciders: (checked: CheckedCall, models: EvalModels, signal: AbortSignal) => Deciders;
  /** The model of personas that name none; null = the embedded rules. */
  personaModel: string | null;
  /** Null = costs are not known. */
  prices: EvalPrices | null;
  /** Where recordings and event logs go, and of which runs; null = nothing is kept. */
  keep: { folder: string; which: 'failed' | 'all' } | null;
  signal: AbortSignal;
}

/**
 * Runs a case once, with its defaults in place.
 * @throws the signal's reason when it is aborted; all else is the run's `error`
 */
export async function runCase(one: EvalCase, mode: EvalMode, run: number, context: RunContext): Promise<CaseRun> {
  const seed = (one.seed ?? 1) + run;
  try {
    return await new CaseRunner(one, mode, run, seed, context).run();
  } catch (error) {
    context.signal.throwIfAborted();
    return failedRun({ run, seed, mode, error: reasonOf(error) });
  }
}

function failedRun({ error, ...rest }: Pick<CaseRun, 'run' | 'seed' | 'mode'> & { error: string }): CaseRun {
  const metrics: EvalMetrics = {
    durationMs: 0,
    callerTurns: 0,
    talkRatio: 0,
    responseMs: [],
    cutOffs: 0,
    longestSilenceMs: 0,
    promptTokens: 0,
    completionTokens: 0,
    costUsd: null,
    persona: null,
    judges: null,
  };
  const none = { expectations: [], lines: [], report: null, recording: null, trace: null };
  return { ...rest, passed: false, error, ...none, metrics };
}

class CaseRunner {
  readonly #case: EvalCase;
  readonly #mode: EvalMode;
  readonly #run: number;
  readonly #seed: number;
  readonly #context: RunContext;
  readonly #log: LogEntry[] = [];
  readonly #persona: ModelMeter;
  readonly #judges: ModelMeter;
  readonly #sounds = new Map<string, CallerAudio>();
  #lines: CallLines | null = null;
  #caller: SimulatedCaller | null = null;
  #line: CallerLine | null = null;

  constructor(one: EvalCase, mode: EvalMode, run: number, seed: number, context: RunContext) {
    this.#case = one;
    this.#mode = mode;
    this.#run = run;
    this.#seed = seed;
    this.#context = context;
    this.#persona = new ModelMeter(context.models);
    this.#judges = new ModelMeter(context.models);
  }

  async run(): Promise<CaseRun> {
    await this.#loadSounds();
    const { agent, engine: options } = this.#context;
    const isReal =
      agent.config.custom_llm_websocket != null || (this.#mode === 'voice' && isRealTime(this.#case.line ?? {}));
    const clock = isReal ? new RealClock() : new VirtualClock(new RealClock());
    const attempt = await this.#hold(new Engine({ ...options, clock })).catch((error: unknown) => {
      // Speech of a vendor runs in real time only.
      if (error instanceof ParleyError && error.code === 'PROVIDER_REMOTE_IN_VIRTUAL_TIME' && !isReal) return null;
      throw error;
    });
    const held = attempt ?? (await this.#hold(new Engine({ ...options, clock: new RealClock() })));
    return this.#result(held);
  }

  async #hold(engine: Engine): Promise<{ call: HeldCall; unexpected: readonly string[] }> {
    const { direction, metadata, phones, max_duration_s: maxSeconds = MAX_DURATION_S, start } = this.#case;
    const { agent, voices, signal, personaModel } = this.#context;
    const isText = this.#mode === 'text';
    const mocks = new MockTools(this.#case.tools ?? {}, engine.clock, (name) => this.#lines?.mocked(name));
    const random = new Random(this.#seed);
    // Loading would count as response time. What cannot be loaded fails the call that needs it.
    if (!isText && !(engine.clock instanceof VirtualClock)) await engine.warmUp().catch(() => []);
    const prepared = isText ? null : await this.#prepareLine(engine, random);
    try {
      const call = await holdCall({
        engine,
        mode: this.#mode,
        request: {
          agent: agent.config,
          script: agent.script,
          extensions: agent.extensions,
          agents: agent.agents,
          tools: agent.tools,
          agentId: agent.agentId,
          id: `eval-${String(this.#seed)}`,
          metadata,
          phones,
          direction,
          startUnixMs: start === undefined ? START_UNIX_MS : Date.parse(start),
          interceptTool: mocks.intercept,
          log: (entry) => void this.#log.push(entry),
          tts: isText ? silentTts : undefined,
          stt: isText ? silentStt : undefined,
          vad: isText ? silentVad : undefined,
        },
        caller: (nowMs) => {
          this.#caller = callerOf(this.#case, {
            mode: this.#mode,
            random,
            nowMs,
            audioOf: (path) => this.#soundOf(path),
            language: agent.config.language ?? 'en',
            personaModel,
            models: this.#persona,
          });
          return this.#caller;
        },
        openLine: (events) => (this.#line = prepared === null ? new TextLine(events) : prepared.open(events)),
        speak: isText ? null : (move) => voices.speak(move, this.#case.voice ?? {}, this.#language),
        transferOutcome: (target) => {
          const { transfers = {} } = this.#case;
          return (Object.hasOwn(transfers, target) ? transfers[target] : transfers['*']) ?? 'ok';
        },
        maxDurationMs: maxSeconds * 1000,
        onLines: (lines) => (this.#lines = lines),
        signal,
      });
      return { call, unexpected: mocks.unexpected };
    } finally {
      await prepared?.close();
      await engine.close();
    }
  }

  get #language(): string {
    const { caller } = this.#case;
    const persona = caller !== undefined && 'persona' in caller ? caller.persona.language : undefined;
    return persona ?? this.#context.agent.config.language ?? 'en';
  }

  #prepareLine(engine: Engine, random: Random): Promise<PreparedLine> {
    const { line: conditions = {} } = this.#case;
    const file = conditions.noise?.file;
    const noise = file === undefined ? null : this.#soundOf(file);
    return prepareLine(engine, { random, conditions, noise, records: this.#context.keep !== null });
  }

  async #result({ call, unexpected }: { call: HeldCall; unexpected: readonly string[] }): Promise<CaseRun> {
    const { report, lines } = call;
    const { prices, agent } = this.#context;
    const costUsd = prices?.call(report, agent) ?? null;
    const metrics = { ...lines.metrics(report, costUsd), persona: this.#persona.usage(prices) };
    const checked: CheckedCall = {
      lines: lines.lines,
      metrics,
      report,
      facts: this.#facts(),
      language: this.#languageAtEnd(),
    };
    const expectations = await this.#check(checked, call, unexpected);
    const passed = call.error === null && expectations.every(({ outcome }) => outcome === 'pass');
    const result: CaseRun = {
      run: this.#run,
      seed: this.#seed,
      mode: this.#mode,
      passed,
      error: call.error,
      expectations,
      lines: lines.lines,
      metrics: { ...metrics, judges: this.#judges.usage(prices) },
      report,
      ...(await this.#keep(passed)),
    };
    const playedBy = this.#caller?.playedBy;
    if (playedBy !== undefined) result.playedBy = playedBy;
    return result;
  }

  async #check(checked: CheckedCall, call: HeldCall, unexpected: readonly string[]): Promise<ExpectationResult[]> {
    const { signal } = this.#context;
    const deciders = this.#context.deciders(checked, this.#judges, signal);
    const results: ExpectationResult[] = [];
    for (const [index, expectation] of this.#case.expect.entries()) {
      results.push(await checkExpectation(expectation, index, checked, deciders));
    }
    const more = (kind: string, expected: string, reason: string): void => {
      const at = kind === 'mocks' ? checked.lines.findIndex((one) => one.type === 'tool' && !one.ok) : -1;
      results.push({ index: -1, kind, expected, outcome: 'fail', reason, line: at === -1 ? null : at });
    };
    if (call.failure !== null) more('caller', 'the caller can do all of its steps', call.failure);
    for (const text of unexpected) more('mocks', 'every call of a mocked tool matches a mock', text);
    const expectsLimit = this.#case.expect.some((one) => 'ends' in one && one.ends.by === 'limit');
    if (call.reachedLimit && !expectsLimit) more('max_duration_s', 'the call ends in time', limitReason(checked.lines));
    return results;
  }

  #facts(): CheckedCall['facts'] {
    const { caller } = this.#case;
    const facts = caller !== undefined && 'persona' in caller ? (caller.persona.facts ?? {}) : {};
    const changesMind =
      caller !== undefined && 'persona' in caller && caller.persona.manner?.includes('changes_mind') === true;
    return Object.fromEntries(
      Object.entries(facts).map(([name, fact]) => {
        if (typeof fact !== 'object') return [name, fact];
        return [name, changesMind ? (fact.changes_to ?? fact.value) : fact.value];
      }),
    );
  }

  #languageAtEnd(): string {
    const last = this.#log.findLast((entry) => entry.kind === 'event' && entry.event.type === 'language');
    if (last?.kind === 'event' && last.event.type === 'language') return last.event.language;
    return this.#context.agent.config.language ?? 'en';
  }

  async #loadSounds(): Promise<void> {
    const { caller, line } = this.#case;
    const paths = [
      line?.noise?.file,
      ...(caller !== undefined && 'recording' in caller ? [caller.recording] : []),
      ...(caller !== undefined && 'script' in caller
        ? caller.script.map((step) => ('play' in step ? step.play : undefined))
        : []),
    ];
    if (this.#mode === 'text') return;
    for (const path of paths) {
      if (path === undefined || this.#sounds.has(path)) continue;
      const bytes = await readFile(resolve(this.#context.folder, path)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new Error(`there is no audio ${path}`);
        throw error;
      });
      const { samples, sampleRateHz } = await decodeRecording(bytes);
      this.#sounds.set(path, { samples, sampleRateHz });
    }
  }

  #soundOf(path: string): CallerAudio {
    // In text mode only the words of a recording count.
    return this.#sounds.get(path) ?? { samples: new Int16Array(0), sampleRateHz: 16_000 };
  }

  async #keep(passed: boolean): Promise<{ recording: string | null; trace: string | null }> {
    const { keep } = this.#context;
    if (keep === null || (passed && keep.which === 'failed')) return { recording: null, trace: null };
    await mkdir(keep.folder, { recursive: true });
    const slug = this.#case.name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, 80);
    // Names of cases may differ only in what the slug leaves out, and a second agent has the same cases and seeds.
    const whole = createHash('sha256').update(JSON.stringify([this.#context.agent.name, this.#case.name]));
    const base = join(keep.folder, `${slug}-${whole.digest('hex').slice(0, 8)}-${this.#mode}-${String(this.#seed)}`);
    const trace = `${base}.jsonl`;
    await writeFile(trace, this.#log.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const recorded = this.#line?.recording ?? null;
    if (recorded === null) return { recording: null, trace };
    const recording = `${base}.wav`;
    const { caller, agent, sampleRateHz } = recorded;
    await writeFile(recording, encodeWav([joinedSamples(caller), joinedSamples(agent)], sampleRateHz));
    return { recording, trace };
  }
}

/** Why a call that did not end went on. */
function limitReason(lines: readonly EvalLine[]): string {
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const endMs = lines.at(-1)?.startMs ?? 0;
  const lastMs = Math.max(
    0,
    ...lines.map((line) => (line.type === 'end' ? 0 : 'endMs' in line ? line.endMs : line.startMs)),
  );
  const said =
    endMs - lastMs > SILENT_MS ? `nobody said anything after ${seconds(lastMs)}` : 'both sides were still talking';
  return `it had to be ended after ${seconds(endMs)}: ${said}`;
}
