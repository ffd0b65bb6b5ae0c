/** An input or output of an ONNX model. A size may be a name: that of the batch, for example. */
export interface TensorFacts {
  name: string;
  shape: readonly (number | string)[];
}

/** A state that a step takes and gives. */
export interface StateTensor {
  input: string;
  output: string;
  /** Of one stream. */
  dims: readonly number[];
  /** Which size counts the streams; null = the model takes one stream at a time. */
  batchAxis: number | null;
}

/** How a turn model is fed. */
export type TurnSignature =
  | { kind: 'window'; input: string; output: string }
  | {
      kind: 'stream';
      audio: string;
      stepSamples: number;
      states: readonly StateTensor[];
      probability: string;
      /** Whether several streams may share a run. */
      batches: boolean;
      leadMs: number;
    };

export type StreamSignature = Extract<TurnSignature, { kind: 'stream' }>;

/** Metadata keys of a model file that describe a stream where its names do not. */
const KEYS = {
  audio: 'parley.audio',
  probability: 'parley.probability',
  /** `input>output`, with commas between. */
  state: 'parley.state',
  stepSamples: 'parley.step_samples',
  leadMs: 'parley.lead_ms',
};
const AUDIO = ['audio', 'samples', 'input'];
const PROBABILITY = ['probs', 'probability', 'p_eot', 'prob', 'output'];
/** 80 ms, for a model that takes pieces of any length. */
const STEP_SAMPLES = 1280;
const LEAD_MS = 500;

/**
 * How a model wants its audio, by the names and sizes of its inputs and outputs. One input: a window (Smart Turn's
 * contract). Several: audio and states, as in turn-1-mini's `step` graphs, whose states are called `state_x` and
 * `new_state_x`.
 *
 * @throws Error that names what does not fit
 */
export function signatureOf(
  inputs: readonly TensorFacts[],
  outputs: readonly string[],
  metadata: ReadonlyMap<string, string>,
): TurnSignature {
  const names = inputs.map(({ name }) => name);
  const [first] = inputs;
  if (first === undefined) throw new Error('it has no input');
  if (inputs.length === 1) return { kind: 'window', input: first.name, output: outputs[0] ?? '' };
  const audio = metadata.get(KEYS.audio) ?? AUDIO.find((name) => names.includes(name));
  const sound = inputs.find(({ name }) => name === audio);
  if (sound === undefined) throw new Error(`its inputs are ${names.join(', ')}; none of them is the audio`);
  const pairs = statePairs(
    names.filter((name) => name !== sound.name),
    outputs,
    metadata.get(KEYS.state),
  );
  const others = outputs.filter((name) => !pairs.some((pair) => pair.output === name));
  const probability =
    metadata.get(KEYS.probability) ??
    PROBABILITY.find((name) => others.includes(name)) ??
    (others.length === 1 ? others[0] : undefined);
  if (probability === undefined || !outputs.includes(probability))
    throw new Error(`its outputs are ${outputs.join(', ')}; none of them is the probability`);
  const batch = sound.shape[0];
  const batchName = typeof batch === 'string' && sound.shape.length > 1 ? batch : null;
  const states = pairs.map((pair) => {
    return stateTensor(pair, inputs.find(({ name }) => name === pair.input)?.shape ?? [], batchName);
  });
  return {
    kind: 'stream',
    audio: sound.name,
    stepSamples: stepOf(sound, metadata),
    states,
    probability,
    batches: batchName !== null && states.every(({ batchAxis }) => batchAxis !== null),
    leadMs: positive(metadata.get(KEYS.leadMs)) ?? LEAD_MS,
  };
}

function statePairs(
  inputs: readonly string[],
  outputs: readonly string[],
  described: string | undefined,
): { input: string; output: string }[] {
  const given = new Map(
    described?.split(',').map((pair) => pair.split('>').map((name) => name.trim()) as [string, string]),
  );
  return inputs.map((input) => {
    const candidates = [given.get(input), `new_${input}`, `next_${input}`, `${input}_out`, `${input}_new`, `${input}N`];
    const output = candidates.find((name) => name !== undefined && outputs.includes(name));
    if (output === undefined) throw new Error(`its input ${input} is neither the audio nor a state that it gives back`);
    return { input, output };
  });
}

function stateTensor(
  pair: { input: string; output: string },
  shape: readonly (number | string)[],
  batch: string | null,
): StateTensor {
  const axis = batch === null ? -1 : shape.indexOf(batch);
  const dims = shape.map((size, at) => {
    if (typeof size === 'number' && size > 0) return size;
    if (at === axis || at === 0) return 1;
    throw new Error(`its state ${pair.input} has no fixed size (${shape.join(' × ')})`);
  });
  return { ...pair, dims, batchAxis: axis === -1 ? null : axis };
}

function stepOf({ shape }: TensorFacts, metadata: ReadonlyMap<string, string>): number {
  const size = shape.at(-1);
  if (typeof size === 'number' && size > 1) return size;
  return positive(metadata.get(KEYS.stepSamples)) ?? STEP_SAMPLES;
}

function positive(text: string | undefined): number | null {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : null;
}
