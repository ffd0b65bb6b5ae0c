/** One figure of the table in the terminal. */
export interface Headline {
  figure: string;
  /** How the row begins that has it, and how its column is headed. */
  row: string;
  column: string;
}

/** A benchmark of the whole set. */
export interface Part {
  /** Of the part; results and blocks in the documentation have it. */
  name: string;
  title: string;
  /** What `node bench/run.mjs` is given. `peers/…` is a program with packages of its own, left out where they are not. */
  args: readonly string[];
  /** The same for `--quick`; null = left out. */
  quick: readonly string[] | null;
  /** What is real in it, and what stands in for something. */
  real: string;
  headlines: readonly Headline[];
  /** Writes its runs as `name`.json for waterfalls and distributions. */
  hasRuns?: boolean;
}

const AFTER = 'after the decision';

/** In the order in which they are run: what needs the machine for itself while it is still cool comes first. */
export const PARTS: readonly Part[] = [
  {
    name: 'startup',
    title: 'Start',
    args: ['startup', '--rounds=3'],
    quick: ['startup', '--rounds=1'],
    real: 'Fresh processes of the built command and library.',
    headlines: [
      { figure: 'parley serve until /healthz answers, ms', row: 'parley serve to /healthz', column: 'ms' },
      { figure: 'import of the library, ms', row: 'import of the library', column: 'ms' },
    ],
  },
  {
    name: 'latency-real',
    title: 'Response time over each transport',
    hasRuns: true,
    args: ['latency', '--real', '--set=instant,published', '--only=clean/,booking/slt,booking/rms/track', '--lanes=4'],
    quick: ['latency', '--real', '--set=instant', '--only=clean/table', '--lanes=3'],
    real: 'Recorded users at their own pace, real transports on loopback, Silero; recogniser, model and voice are doubles.',
    headlines: ['file', 'socket', 'rtp', 'webrtc'].flatMap((line) => [
      {
        figure: `${line}: response with doubles that take no time, ms p50`,
        row: `instant, ${line}`,
        column: 'response p50',
      },
      { figure: '… of that after the decision', row: `instant, ${line}`, column: AFTER },
    ]),
  },
  {
    name: 'latency-embedded',
    title: 'Response time of the embedded default',
    hasRuns: true,
    args: ['latency', '--real', '--set=embedded', '--only=booking/slt', '--transport=file,webrtc'],
    quick: null,
    real: 'A recorded booking; Silero, the embedded recogniser, the scripted model and flite, no doubles.',
    headlines: [
      { figure: 'embedded engines, response, ms p50', row: 'embedded, file', column: 'response p50' },
      { figure: '… over WebRTC', row: 'embedded, webrtc', column: 'response p50' },
    ],
  },
  {
    name: 'latency-virtual',
    title: 'What each mechanism is worth',
    hasRuns: true,
    args: ['latency', '--rounds=3'],
    quick: ['latency', '--rounds=1', '--set=published', '--no-ablations'],
    real: 'Recorded users in virtual time, Silero; recogniser, model and voice are doubles with published latencies.',
    headlines: [
      { figure: 'published latencies, response, ms p50', row: 'published', column: 'response p50' },
      { figure: '… p95', row: 'published', column: 'p95' },
      { figure: '… turns cut off', row: 'published', column: 'cut off' },
    ],
  },
  {
    name: 'interruption',
    title: 'Somebody speaks while the agent does',
    args: ['interruption'],
    quick: null,
    real: 'Recorded interruptions, acknowledgements and noise in virtual time; the model and the voice are doubles.',
    headlines: [
      {
        figure: 'interruption to silence, ms p50',
        row: 'interruptions, words known',
        column: 'stopped after, ms p50',
      },
    ],
  },
  {
    name: 'capacity',
    title: 'What a session costs',
    args: ['capacity', '--ways=memory,rtp', '--conducts=idle,talking', '--sessions=20'],
    quick: null,
    real: 'Sessions in a process of their own, callers in another; Silero; recogniser, model and voice are doubles.',
    headlines: [{ figure: 'an idle session over RTP, CPU ms/s', row: 'rtp', column: 'CPU ms/s a session' }],
  },
  {
    name: 'audio',
    title: 'Audio kernels beside their alternatives',
    args: ['audio'],
    quick: ['audio', '--rounds=5'],
    real: 'The kernels as calls use them, in turns within one process.',
    headlines: [],
  },
  {
    name: 'kernels',
    title: 'Kernels, Opus and Silero beside packages of others',
    args: ['peers/kernels', '--rounds=9'],
    quick: null,
    real: 'Ours and packages from npm, in turns within one process.',
    headlines: [],
  },
  {
    name: 'vad',
    title: 'Voice activity detectors',
    args: ['vad'],
    quick: ['vad', '--rounds=5'],
    real: 'The detectors as calls use them, in turns within one process.',
    headlines: [{ figure: 'Silero, CPU ms per s of audio', row: 'silero', column: 'CPU ms per s of audio' }],
  },
  {
    name: 'opus',
    title: 'Opus by complexity',
    args: ['opus', '--rounds=3'],
    quick: null,
    real: 'Recorded speech, encoded as calls over WebRTC are.',
    headlines: [],
  },
  {
    name: 'micro',
    title: 'Hot functions',
    args: ['micro'],
    quick: ['micro'],
    real: 'Each function alone, as a multiple of a reference loop beside it.',
    headlines: [],
  },
  {
    name: 'peers',
    title: 'Beside LiveKit Agents',
    args: ['peers/livekit-agents'],
    quick: null,
    real: 'Both engines with the same doubles, recordings, frames and ticker, in turns.',
    headlines: [
      { figure: 'decision to first audio, ms: parley', row: 'decision to first audio', column: 'parley' },
      { figure: '… LiveKit Agents', row: 'decision to first audio', column: 'LiveKit Agents' },
    ],
  },
];
