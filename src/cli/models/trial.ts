import { performance } from 'node:perf_hooks';
import { HEARING_RATE_HZ, msToSamples } from '../../audio/frame.js';
import { RealClock } from '../../base/real-clock.js';
import { ParleyError } from '../../base/errors.js';
import { Deadlines } from '../../providers/deadlines.js';
import { type EngineFacts, EngineProcess } from '../../providers/local/engine/engine-process.js';
import type { EngineName, EngineRequest } from '../../providers/local/engine/engine-protocol.js';
import type { LocalModel } from '../../providers/local/model-facts.js';
import { OnnxTurnModel, TURN_RUNTIMES, turnRuntime } from '../../providers/turn/onnx.js';
import { raceAbort } from '../../base/deadlines.js';
import { Random } from '../../base/random.js';

/** Timeout for a model's first result: Whisper's larger models take some seconds for any audio. */
const WORK_TIMEOUT_MS = 60_000;
const HEARD_S = 1;
const TEXTS: Readonly<Record<string, string>> = {
  zh: '一二三。',
  ja: 'いちにさん。',
  ko: '하나 둘 셋.',
  ru: 'Один, два, три.',
};
const PROVIDER = 'sherpa';

/** The result of a model's test, as text. */
export interface ModelTrial {
  /** False: the package that runs such models is not installed. */
  isTried: boolean;
  line: string;
}

/**
 * Loads a model and runs it once: some models load but cannot compute.
 * @throws ParleyError MODEL_UNUSABLE, TURN_MODEL_UNUSABLE, PROVIDER_TIMEOUT; the signal's reason
 */
export async function tryModel(model: LocalModel, signal: AbortSignal): Promise<ModelTrial> {
  const { name, family, engine, config } = model;
  if (engine === null) return tryTurnModel(model, signal);
  const load = { engine, config, threads: 1, idleMs: null };
  const process = new EngineProcess({ provider: PROVIDER, model: name, load });
  const deadlines = new Deadlines(new RealClock(), PROVIDER, signal);
  try {
    const facts = await raceAbort(process.ready(), signal);
    deadlines.within(WORK_TIMEOUT_MS);
    const beganMs = performance.now();
    const samples = await work(process, engine, model, deadlines.signal);
    const tookS = (performance.now() - beganMs) / 1000;
    return { isTried: true, line: `${name}: ${family}, works: ${inWords(engine, facts, samples, tookS)}` };
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    // The model may be fine; this machine lacks the package that runs it.
    if (error.code === 'LOCAL_ENGINE_MISSING') {
      return { isTried: false, line: `${name}: ${family}, not tested: ${error.message}` };
    }
    if (error.code !== 'PROVIDER_FAILED') throw error;
    const reason = `it loads, but its first run fails: ${String(error.details['reason'])}`;
    throw new ParleyError('MODEL_UNUSABLE', { model: name, reason }, { cause: error });
  } finally {
    deadlines.end();
    await process.close();
  }
}

/** @returns samples of generated audio */
function work(process: EngineProcess, engine: EngineName, model: LocalModel, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    let samples = 0;
    const done = (settle: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      process.leave(id);
      settle();
    };
    const onAbort = (): void => done(() => reject(signal.reason as Error));
    const id = process.join({
      onReply: (reply) => {
        if (reply.type === 'audio') samples += reply.samples.length;
        if (reply.type === 'failed') {
          done(() => reject(new ParleyError('PROVIDER_FAILED', { provider: PROVIDER, reason: reply.reason })));
        }
        const isLast = reply.type === 'heard' ? reply.mark !== null : reply.type !== 'failed';
        if (isLast && (reply.type !== 'audio' || engine === 'denoise')) done(() => resolve(samples));
      },
      onEnd: (error) => done(() => reject(error)),
    });
    signal.addEventListener('abort', onAbort, { once: true });
    for (const request of requests(engine, model, id)) process.send(request);
  });
}

function requests(
  engine: EngineName,
  { tailMs, languages }: LocalModel,
  id: number,
): Exclude<EngineRequest, { type: 'load' }>[] {
  const samples = quietNoise(HEARD_S * HEARING_RATE_HZ);
  switch (engine) {
    case 'transcribe':
      return [{ type: 'transcribe', id, samples, language: null, hotwords: null }];
    case 'listen': {
      const padSamples = msToSamples(tailMs, HEARING_RATE_HZ);
      return [
        { type: 'open', id },
        { type: 'audio', id, samples },
        { type: 'finish', id, mark: 1, padSamples },
      ];
    }
    case 'speak':
      return [
        {
          type: 'speak',
          id,
          text: TEXTS[languages?.[0] ?? ''] ?? 'One, two, three.',
          speaker: 0,
          rate: 1,
          language: null,
        },
      ];
    case 'denoise':
      return [
        { type: 'open', id },
        { type: 'audio', id, samples },
      ];
  }
}

function inWords(engine: EngineName, { sampleRateHz, speakers }: EngineFacts, samples: number, tookS: number): string {
  const took = `${tookS.toFixed(2)} s`;
  if (engine !== 'speak') return `1 s of audio takes ${took}`;
  const voices =
    speakers > 1 ? `${String(sampleRateHz)} Hz, ${String(speakers)} speakers` : `${String(sampleRateHz)} Hz`;
  if (samples === 0) return `${voices}; the test sentence produced no audio`;
  return `${voices}; ${(samples / sampleRateHz).toFixed(1)} s of speech take ${took}`;
}

async function tryTurnModel({ name, family, config }: LocalModel, signal: AbortSignal): Promise<ModelTrial> {
  if (turnRuntime() === null) {
    const line = `${name}: ${family}, not tested: neither ${TURN_RUNTIMES.join(' nor ')} is installed`;
    return { isTried: false, line };
  }
  const turn = new OnnxTurnModel({ path: String(config['model']) });
  try {
    await raceAbort(turn.warmUp(), signal);
    const beganMs = performance.now();
    const samples = quietNoise(turn.windowS * HEARING_RATE_HZ);
    await turn.judge({ samples, language: 'en-US', clock: new RealClock(), signal });
    const took = `${((performance.now() - beganMs) / 1000).toFixed(2)} s`;
    const line = `${name}: ${family}, works: ${String(turn.windowS)} s of audio take ${took}`;
    return { isTried: true, line };
  } finally {
    await turn.close();
  }
}

/** Line noise at -60 dB. */
function quietNoise(count: number): Int16Array {
  const random = new Random(1);
  return Int16Array.from({ length: count }, () => random.int(-32, 32));
}
