import { afterEach } from 'vitest';
import { levelOf } from '../../../src/audio/dsp/level.js';
import { isRtcp, parseRtp, type RtpPacket } from '../../../src/transports/rtp/packet.js';
import type { MediaAddress } from '../../../src/transports/rtp/wire.js';
import { Ear, type VirtualPair, virtualPair } from './pair.js';

let pair: VirtualPair | null = null;

afterEach(async () => {
  await pair?.dispose();
  pair = null;
});

/** Two ends of a call in virtual time, and what each hears; closed behind the test. */
export async function opened(
  ...options: Parameters<typeof virtualPair>
): Promise<VirtualPair & { near: Ear; far: Ear }> {
  pair = await virtualPair(...options);
  const [near, far] = [new Ear(), new Ear()];
  pair.caller.line.start(near);
  pair.callee.line.start(far);
  return { ...pair, near, far };
}

/** Speaks a tone for so long, a frame a tick. */
export async function speak({ caller, clock }: VirtualPair, ms: number, hz = 440): Promise<void> {
  const { outputRateHz } = caller.line;
  const length = outputRateHz / 50;
  for (let n = 0; n < ms / 20; n++) {
    caller.line.play(
      Int16Array.from({ length }, (_, i) =>
        Math.round(8_000 * Math.sin((2 * Math.PI * hz * (n * length + i)) / outputRateHz)),
      ),
    );
    await clock.advanceBy(20);
  }
}

/** What an end has sent. */
export const sentDatagrams = ({ network }: VirtualPair, address: string): Uint8Array[] =>
  network.sent.filter(({ from }) => from.startsWith(`${address}:`)).map(({ datagram }) => datagram);

/** Packets of sound or keys that an end has sent. */
export const sentBy = (ends: VirtualPair, address: string): RtpPacket[] =>
  sentDatagrams(ends, address).flatMap((datagram) => {
    const packet = isRtcp(datagram) ? null : parseRtp(datagram);
    return packet === null ? [] : [packet];
  });

/** From where to where an end sends its sound. */
export function way({ network }: VirtualPair, address: string): [MediaAddress, MediaAddress] {
  const sent = network.sent.find(({ from }) => from.startsWith(`${address}:`));
  const [from, to] = [sent?.from, sent?.to].map((text = '') => {
    const [host = '', port = ''] = text.split(':');
    return { address: host, port: Number(port) };
  });
  if (from === undefined || to === undefined) throw new Error('nothing was sent');
  return [from, to];
}

export const db = (samples: readonly number[]): number => levelOf(Int16Array.from(samples)).rmsDbfs;
