/** What an AudioWorklet sees beside the usual globals; TypeScript's DOM library leaves it out (Web Audio API, 1.32). */

declare const sampleRate: number;

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  abstract process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;
