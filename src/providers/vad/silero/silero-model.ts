/**
 * The weights of Silero VAD v6 (16 kHz), as `scripts/extract-silero.mjs` packs them and all three kernels read them.
 *
 * The network: a window of 512 samples, preceded by the last 64 of the window before and followed by 64 mirrored ones,
 * gives 4 spectra of 129 magnitudes (256-point, hop 128); four convolutions of width 3 with ReLU (129→128, 128→64 with
 * stride 2, 64→64 with stride 2, 64→128) leave one vector of 128; an LSTM of 128 units remembers; ReLU, a weighted sum
 * and a sigmoid give the probability of speech.
 *
 * Every layer is stored as one dense matrix over its inputs laid end to end (tap by tap, channel by channel). Taps that
 * only ever meet padding are left out: conv 2 sees two of its three, conv 3 only the middle one. The LSTM's two
 * matrices are one over [encoded, hidden], its two biases summed, its gates in the order input, forget, cell, output.
 *
 * File: 32 bytes of header (`SILEROV6`; then little-endian uint32 format version, number of floats, CRC-32 of the
 * floats; zeros), then little-endian float32 in the order of `SILERO_LAYOUT`.
 */
import { readFileSync } from 'node:fs';
import { endianness } from 'node:os';
import { crc32 } from 'node:zlib';
import { ParleyError } from '../../../base/errors.js';
import { packageFile } from '../../../package-files.js';

/** Samples at 16 kHz in one window. */
export const SILERO_WINDOW = 512;
/** Samples of the window before that the network sees again. */
export const SILERO_CONTEXT = 64;
/** Units of the LSTM. */
export const SILERO_UNITS = 128;
/** Magnitudes in one spectrum. */
export const SILERO_BINS = 129;
/** Floats of one stream's memory: the context, then the LSTM's hidden and cell vectors. */
export const SILERO_STATE = SILERO_CONTEXT + 2 * SILERO_UNITS;

/**
 * Outputs that lie side by side in a packed matrix. For outputs in blocks of 16: for each input, its 16 weights. A
 * kernel reads a matrix from front to back and keeps a block's sums in registers.
 */
export const SILERO_BLOCK = 16;

/** One dense layer; offsets count floats from the start of the weights. */
export interface SileroLayer {
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: number;
  readonly bias: number;
}

/** Where each tensor lies, in floats. */
export const SILERO_LAYOUT = layOut();

const MAGIC = 'SILEROV6';
const FORMAT_VERSION = 1;
const HEADER_BYTES = 32;

/**
 * The weights from the package's data file.
 * @throws ParleyError `PROVIDER_FAILED` when the file is absent, cut short or damaged.
 */
export function readSileroWeights(file: URL = packageFile('data/silero-vad-v6-16k.bin')): Float32Array {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new ParleyError(
      'PROVIDER_FAILED',
      { provider: 'silero', reason: 'its weights cannot be read' },
      { cause: error },
    );
  }
  return unpackSileroWeights(bytes);
}

/** The file's bytes for `weights`, which are in the order of `SILERO_LAYOUT`. */
export function packSileroWeights(weights: Float32Array): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + weights.length * 4);
  bytes.set(littleEndian(new Uint8Array(weights.slice().buffer)), HEADER_BYTES);
  bytes.write(MAGIC, 'latin1');
  bytes.writeUInt32LE(FORMAT_VERSION, 8);
  bytes.writeUInt32LE(weights.length, 12);
  bytes.writeUInt32LE(crc32(bytes.subarray(HEADER_BYTES)), 16);
  return bytes;
}

/** @throws ParleyError `PROVIDER_FAILED` when `bytes` are not such a file, whole and undamaged. */
export function unpackSileroWeights(bytes: Uint8Array): Float32Array {
  const refuse = (reason: string): never => {
    throw new ParleyError('PROVIDER_FAILED', { provider: 'silero', reason: `its weights ${reason}` });
  };
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < HEADER_BYTES || file.toString('latin1', 0, 8) !== MAGIC) refuse('are in no known format');
  if (file.readUInt32LE(8) !== FORMAT_VERSION) refuse(`have format version ${file.readUInt32LE(8)}`);
  const body = file.subarray(HEADER_BYTES);
  if (file.readUInt32LE(12) !== SILERO_LAYOUT.floats || body.length !== SILERO_LAYOUT.floats * 4) {
    refuse(`are ${body.length} bytes long, not ${SILERO_LAYOUT.floats * 4}`);
  }
  if (file.readUInt32LE(16) !== crc32(body)) refuse('are damaged: the checksum differs');
  return new Float32Array(littleEndian(new Uint8Array(body)).buffer);
}

/** Turns 4-byte numbers between this machine's order and the file's, in place. */
function littleEndian(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (endianness() === 'BE') Buffer.from(bytes.buffer).swap32();
  return bytes;
}

function layOut() {
  let floats = 0;
  const take = (count: number): number => {
    const offset = floats;
    floats += count;
    return offset;
  };
  const layer = (inputs: number, outputs: number): SileroLayer => ({
    inputs,
    outputs,
    weights: take(inputs * outputs),
    bias: take(outputs),
  });
  return {
    /** The analysis window of the spectra. */
    window: take(256),
    convolutions: [
      layer(3 * SILERO_BINS, 128),
      layer(3 * 128, 64),
      layer(2 * 64, 64),
      layer(64, SILERO_UNITS),
    ] as const,
    lstm: layer(2 * SILERO_UNITS, 4 * SILERO_UNITS),
    outputWeights: take(SILERO_UNITS),
    outputBias: take(1),
    /** Length of it all. */
    floats,
  };
}
