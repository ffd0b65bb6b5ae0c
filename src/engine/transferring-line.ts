import { lineOver } from '../session/line-over.js';
import type { Transport } from '../transports/transport.js';
import { isRemote, type SessionLine } from './remote-line.js';

/**
 * A line with another implementation of transfers. If it closes meanwhile, it reports that only when the outcome is
 * known.
 */
export function lineTransferringBy(line: SessionLine, transfer: NonNullable<Transport['transfer']>): SessionLine {
  if (isRemote(line)) return line.transferringBy(transfer);
  let isTransferring = false;
  let close: (() => void) | null = null;
  return lineOver(line, {
    start: (sink) =>
      line.start({
        audio: (samples) => sink.audio(samples),
        digits: (keys) => sink.digits(keys),
        text: (text) => sink.text(text),
        formResult: (id, value) => sink.formResult(id, value),
        closed: (error) => {
          close = () => sink.closed(error);
          if (!isTransferring) close();
        },
      }),
    transfer: async (target, signal) => {
      isTransferring = true;
      const outcome = await transfer(target, signal);
      isTransferring = false;
      if (!outcome.ok) close?.(); // after a success the session is over
      return outcome;
    },
  });
}
