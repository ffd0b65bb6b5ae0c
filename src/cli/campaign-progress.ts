import { styleText } from 'node:util';

/** As `GET /campaigns/{id}/progress` sends it. */
export interface CampaignState {
  status: 'idle' | 'started' | 'paused' | 'finished' | 'failed';
  reason: string | null;
  total: number;
  not_started: number;
  started: number;
  finished: number;
  failed: number;
  rejected: number;
  calls: number;
  next_call_at: number | null;
  /** Daemons before this release do not tell it. */
  next_call_reason?: string | null;
}

const WIDTH = 30;
const RESET = '\r\x1b[K';

/** How far a campaign is, in a line. */
export function stateLine(state: CampaignState, nowMs: number): string {
  const { status, reason, total, finished, failed, calls, next_call_at: next, next_call_reason: why } = state;
  const parts = [
    `${String(finished + failed)} of ${String(total)} done (${String(finished)} finished, ${String(failed)} failed)`,
  ];
  if (calls > 0) parts.push(calls === 1 ? '1 call' : `${String(calls)} calls`);
  // Within a minute it is the pace.
  if (status === 'started' && next !== null && next * 1000 > nowMs + 60_000) {
    const at = new Date(next * 1000).toISOString().slice(0, 16).replace('T', ' ');
    parts.push(`next call ${at} UTC${why == null ? '' : `: ${why}`}`);
  }
  return `${status}${reason === null ? '' : `: ${reason}`}: ${parts.join(', ')}`;
}

/** A bar that follows a campaign on a terminal, lines elsewhere. */
export class CampaignBar {
  readonly #stream: NodeJS.WritableStream & { isTTY?: boolean };
  #last = '';

  constructor(stream: NodeJS.WritableStream & { isTTY?: boolean }) {
    this.#stream = stream;
  }

  show(state: CampaignState, nowMs: number): void {
    const line = stateLine(state, nowMs);
    if (line === this.#last) return;
    this.#last = line;
    if (this.#stream.isTTY !== true) {
      this.#stream.write(`${line}\n`);
      return;
    }
    const done = state.finished + state.failed;
    const cells = (count: number): number => (state.total === 0 ? 0 : Math.round((WIDTH * count) / state.total));
    const [good, all] = [cells(state.finished), cells(done)];
    const bar =
      styleText('green', '█'.repeat(good)) + styleText('red', '█'.repeat(all - good)) + '░'.repeat(WIDTH - all);
    this.#stream.write(`${RESET}${bar} ${line}`);
  }

  /** Ends the line of the bar. */
  end(): void {
    if (this.#stream.isTTY === true && this.#last !== '') this.#stream.write('\n');
  }
}
