import { ParleyError } from '../errors.js';

/** Audio that is no Int16Array would be heard as silence or noise: the error that says how to convert it. */
export function notInt16(argument: string, samples: unknown): ParleyError {
  const kind = Object.prototype.toString.call(samples).slice('[object '.length, -1);
  const remedy =
    samples instanceof Float32Array
      ? 'multiply by 32767 and round: Int16Array.from(floats, (x) => Math.round(Math.max(-1, Math.min(1, x)) * 32767))'
      : ArrayBuffer.isView(samples)
        ? 'bytes of 16-bit PCM become one by new Int16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2)'
        : 'mono samples of 16 bits';
  return new ParleyError('ARGUMENT_INVALID', { argument, reason: `an Int16Array is expected, not ${kind}: ${remedy}` });
}
