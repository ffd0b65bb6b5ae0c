import { home } from '../../shared/home.js';

/** What the daemon sends: see docs/live-calls.md. */
const RATE_HZ = 16_000;
/** Sound that waits before it plays, so that a late frame leaves no gap. */
const LEAD_S = 0.1;
/** More than this in front of the loudspeaker is dropped: who listens should not fall behind. */
const MOST_S = 0.3;

/** Plays both sides of a running call. */
export class CallListener {
  readonly #context: AudioContext;
  readonly #socket: WebSocket;
  #nextS = 0;

  /**
   * Call it from a click, because browsers play nothing before.
   * @param name of the listener; '' = that of the key
   * @param onEnd once; with the reason if the daemon refused or has gone, else null
   */
  constructor(sessionId: string, { key, name }: { key: string; name: string }, onEnd: (reason: string | null) => void) {
    const url = new URL(`${home()}/calls/${encodeURIComponent(sessionId)}/audio`);
    url.protocol = url.protocol.replace('http', 'ws');
    const named: Record<string, string> = name === '' ? {} : { name };
    url.search = new URLSearchParams({ sample_rate: String(RATE_HZ), ...named }).toString();
    this.#context = new AudioContext({ sampleRate: RATE_HZ });
    this.#socket = new WebSocket(url, ['parley', `parley-key.${base64Url(key)}`]);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (data instanceof ArrayBuffer) this.#play(new Int16Array(data));
    });
    let isOpen = false;
    this.#socket.addEventListener('open', () => (isOpen = true));
    this.#socket.addEventListener('close', ({ code, reason }) => {
      this.close();
      const refused = 'The daemon lets nobody listen to this call.';
      onEnd(code === 1000 ? null : isOpen ? reason || 'The connection was lost.' : refused);
    });
  }

  /** May be called twice. */
  close(): void {
    this.#socket.close(1000);
    if (this.#context.state !== 'closed') void this.#context.close();
  }

  #play(samples: Int16Array): void {
    const { currentTime, destination } = this.#context;
    if (this.#context.state === 'closed' || this.#nextS - currentTime > MOST_S) return;
    const buffer = this.#context.createBuffer(1, samples.length, RATE_HZ);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 32_768),
      0,
    );
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(destination);
    if (this.#nextS < currentTime) this.#nextS = currentTime + LEAD_S;
    source.start(this.#nextS);
    this.#nextS += buffer.duration;
  }
}

function base64Url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
