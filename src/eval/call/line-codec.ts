import { G722Decoder, G722Encoder } from '../../audio/codecs/g722.js';
import { loadOpus } from '../../audio/codecs/opus.js';
import { type FrameCodec, g711Codec } from '../../telephony/carriers/simulated/path.js';
import type { LineConditions } from '../suite/suite-schema.js';

const WIDEBAND_RATE_HZ = 16_000;

/** One codec for each direction of a line, and their release. */
export interface LineCodecs {
  toAgent: FrameCodec;
  toCaller: FrameCodec;
  close(): void;
}

/** @param name default G.711 with the μ-law */
export async function lineCodecs(name: LineConditions['codec'] = 'mulaw'): Promise<LineCodecs> {
  if (name === 'opus') return opusCodecs();
  const make = (): FrameCodec => (name === 'g722' ? g722() : name === 'pcm' ? pcm() : g711Codec(name));
  return { toAgent: make(), toCaller: make(), close: () => undefined };
}

function g722(): FrameCodec {
  const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
  return {
    sampleRateHz: WIDEBAND_RATE_HZ,
    encode: (frame) => encoder.encode(frame),
    decode: (packet, out) => void decoder.decode(packet, out),
  };
}

/** 16 bits a sample, without loss. */
function pcm(): FrameCodec {
  return {
    sampleRateHz: WIDEBAND_RATE_HZ,
    encode: (frame) => new Uint8Array(frame.slice().buffer),
    decode: (packet, out) => out.set(new Int16Array(packet.buffer, packet.byteOffset, packet.byteLength / 2)),
  };
}

async function opusCodecs(): Promise<LineCodecs> {
  const opus = await loadOpus();
  const open: { close(): void }[] = [];
  const make = (): FrameCodec => {
    const encoder = opus.encoder({ sampleRateHz: WIDEBAND_RATE_HZ, dtx: false });
    const decoder = opus.decoder(WIDEBAND_RATE_HZ);
    open.push(encoder, decoder);
    return {
      sampleRateHz: WIDEBAND_RATE_HZ,
      encode: (frame) => encoder.encode(frame).slice(),
      decode: (packet, out) => out.set(decoder.decode(packet)),
    };
  };
  const codecs = { toAgent: make(), toCaller: make() };
  return {
    ...codecs,
    close: () => {
      for (const one of open) one.close();
    },
  };
}
