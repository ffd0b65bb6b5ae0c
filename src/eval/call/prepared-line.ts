import type { Engine } from '../../engine/engine.js';
import { impairedSocket } from '../../transports/loopback/impaired-socket.js';
import { loopbackOpener } from '../../transports/loopback/open-line.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import type { LineConditions } from '../suite/suite-schema.js';
import type { CallerEndOptions } from './caller-end.js';
import type { CallerLine, CallerLineEvents } from './caller-line.js';
import { lineCodecs, VoiceLine } from './voice-line.js';
import { TransportLine } from './transport-line.js';

/** A line for speech, ready for one call. */
export interface PreparedLine {
  /** Call it once. */
  open(events: CallerLineEvents): CallerLine;
  /** May be called twice. */
  close(): Promise<void>;
}

const RTP_CODECS: Readonly<Record<Exclude<NonNullable<LineConditions['codec']>, 'pcm'>, CodecName>> = {
  mulaw: 'PCMU',
  alaw: 'PCMA',
  g722: 'G722',
  opus: 'opus',
};

/** Whether a line's time is real. */
export function isRealTime({ transport = 'simulated' }: LineConditions): boolean {
  return transport !== 'simulated';
}

/**
 * Prepares a line: loads its codecs, or connects its transport.
 * @throws ParleyError LINE_LOST if a transport does not connect; the system's error if no socket can be opened
 */
export async function prepareLine(
  { clock, ticker }: Pick<Engine, 'clock' | 'ticker'>,
  options: CallerEndOptions,
): Promise<PreparedLine> {
  const { conditions, random } = options;
  const { transport = 'simulated', codec = 'mulaw' } = conditions;
  if (transport === 'simulated') {
    const codecs = await lineCodecs(codec);
    return {
      open: (events) => new VoiceLine({ ...options, ticker, codecs }, events),
      close: () => Promise.resolve(codecs.close()),
    };
  }
  const { loss = 0, delay_ms: delayMs = 0, jitter_ms: jitterMs = 0 } = conditions;
  const openLine = await loopbackOpener(transport);
  const line = await openLine({
    clock,
    ticker,
    codec: RTP_CODECS[codec === 'pcm' ? 'mulaw' : codec],
    userSocket: (socket) => impairedSocket(socket, { loss, delayMs, jitterMs }, clock, random),
  });
  return {
    open: (events) => new TransportLine({ ...options, clock, line }, events),
    close: () => line.hangUp(),
  };
}
