import type { EngineLoad, EnginePart, SendReply } from './engine-protocol.js';
import { Listener } from '../listener.js';
import { NoiseGate } from '../noise-gate.js';
import type { SherpaPackage } from '../sherpa-package.js';
import { Speaker } from '../speaker.js';
import { Transcriber } from '../transcriber.js';

/** Loads the model. Throws, or exits the process, if sherpa-onnx cannot read it. */
export function enginePart(
  sherpa: SherpaPackage,
  { engine, config, threads }: EngineLoad,
  reply: SendReply,
): EnginePart {
  switch (engine) {
    case 'listen':
      return new Listener(new sherpa.OnlineRecognizer(withThreads(config, 'modelConfig', threads)), reply);
    case 'transcribe': {
      const whole = withThreads(config, 'modelConfig', threads);
      return new Transcriber(new sherpa.OfflineRecognizer(whole), whole, reply);
    }
    case 'speak':
      return new Speaker(new sherpa.OfflineTts(withThreads(config, 'model', threads)), reply);
    case 'denoise':
      return new NoiseGate(() => new sherpa.OnlineSpeechDenoiser(withThreads(config, 'model', threads)), reply);
  }
}

function withThreads(
  config: Readonly<Record<string, unknown>>,
  member: 'model' | 'modelConfig',
  numThreads: number,
): Record<string, unknown> {
  return { ...config, [member]: { ...(config[member] as object), numThreads, provider: 'cpu', debug: false } };
}
