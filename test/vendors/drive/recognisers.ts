import { expect } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import type { AgentConfig } from '../../../src/agent/agent.js';
import type { Vendors } from '../../../src/settings/vendor-settings.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { assemblyAiDouble } from '../stt/assemblyai.js';
import { azureDouble } from '../stt/azure.js';
import { deepgramDouble } from '../stt/deepgram.js';
import { elevenLabsDouble } from '../stt/elevenlabs.js';
import { gladiaDouble } from '../stt/gladia.js';
import { openAiRealtimeDouble } from '../stt/openai.js';
import { type DoubleProtocol, SocketDouble } from '../stt/socket-double.js';
import { sonioxDouble } from '../stt/soniox.js';
import { speechmaticsDouble } from '../stt/speechmatics.js';
import { talkscriberDouble } from '../stt/talkscriber.js';
import { WhisperDouble } from '../stt/whisper.js';
import { Drive, type Driven, type Meddling, QUESTION } from './drive.js';

export const KEY = 'drive-key/0123456789+abcdef';

const clock = new RealClock();

type Double = SocketDouble | WhisperDouble;

const PROTOCOLS: Readonly<Record<string, (key: string) => DoubleProtocol>> = {
  deepgram: deepgramDouble,
  openai: openAiRealtimeDouble,
  assemblyai: assemblyAiDouble,
  soniox: sonioxDouble,
  speechmatics: speechmaticsDouble,
  elevenlabs: elevenLabsDouble,
  gladia: gladiaDouble,
  azure: azureDouble,
  talkscriber: talkscriberDouble,
};

/** Agents' recognisers: vendors, one of them with its other kind of model. */
export const RECOGNISERS: readonly { provider: string; model?: string }[] = [
  ...Object.keys(PROTOCOLS).map((provider) => ({ provider })),
  { provider: 'deepgram', model: 'flux-general-en' },
  { provider: 'whisper' },
];

/** How vendors close a stream, one by one: a code that may pass, and one that will not. */
const CLOSES: Readonly<Record<string, readonly [passing: [number, string], refusing: [number, string]]>> = {
  deepgram: [
    [1011, 'NET-0001'],
    [1008, 'DATA-0000'],
  ],
  openai: [
    [1001, 'session_expired'],
    [1008, 'policy'],
  ],
  assemblyai: [
    [4029, 'Rate limited'],
    [4002, 'Insufficient funds'],
  ],
  soniox: [
    [1011, 'restart'],
    [1008, 'policy'],
  ],
  speechmatics: [
    [4013, 'job_error'],
    [4003, 'not_allowed'],
  ],
  elevenlabs: [
    [1011, 'internal'],
    [1008, 'policy'],
  ],
  gladia: [
    [4500, 'internal'],
    [1008, 'policy'],
  ],
  azure: [
    [1011, 'internal'],
    [1007, 'Could not parse the message'],
  ],
  talkscriber: [
    [1011, 'internal'],
    [1008, 'policy'],
  ],
};

export interface Fault {
  name: string;
  meddle: (double: Double, provider: string) => Meddling;
  /** What a caller notices where nobody stands in: nothing, a question to say it again, or the end. Default nothing. */
  alone?: 'nothing' | 'pardon' | 'end';
  /** It may do no harm at all: what was waited for was there already. */
  isHarmless?: boolean;
  /** A vendor that never says which words are final cannot be known to have stopped. */
  spares?: string;
}

const close =
  (which: 0 | 1): Fault['meddle'] =>
  (double, provider) => ({
    middle: () => {
      if (double instanceof SocketDouble) double.interject(null, CLOSES[provider]?.[which]);
    },
  });

export const FAULTS: readonly Fault[] = [
  {
    name: 'says nothing from the first word on',
    meddle: ({ faults }) => ({ before: () => (faults.stalled = true) }),
    alone: 'pardon',
  },
  {
    name: 'falls silent in the middle',
    meddle: ({ faults }) => ({ middle: () => (faults.stalled = true) }),
    alone: 'pardon',
    spares: 'talkscriber',
  },
  {
    name: 'gives no final words',
    meddle: ({ faults }) => ({ after: () => (faults.stalled = true) }),
    alone: 'pardon',
    spares: 'talkscriber',
    isHarmless: true,
  },
  {
    name: 'breaks off in the middle',
    meddle: (double) => ({
      middle: () => {
        double.drop();
        // As long as it takes to dial again.
        clock.schedule(clock.nowMs() + 300, () => (double.faults.refuse = null));
      },
    }),
  },
  {
    name: 'refuses the key',
    meddle: ({ faults }) => ({ early: () => (faults.refuse = [401, `{"error":{"message":"Bad key ${KEY}"}}`]) }),
    alone: 'end',
  },
  {
    name: 'has too much to do',
    meddle: ({ faults }) => ({
      early: () => (faults.refuse = [429, `{"error":"Slow down, ${KEY}"}`, { 'retry-after': '30' }]),
    }),
    alone: 'end',
  },
  {
    name: 'is down',
    meddle: ({ faults }) => ({ early: () => (faults.refuse = [503, `<html>not with ${KEY}</html>`]) }),
    alone: 'end',
  },
  {
    name: 'sends garbage',
    meddle: ({ faults }) => ({
      before: () => faults.garbage.push(...Array.from({ length: 12 }, () => `\u0000{"${KEY}`)),
    }),
    // It comes in place of the words.
    alone: 'pardon',
  },
  {
    name: 'sends messages in pieces, cut inside characters',
    meddle: ({ faults }) => ({ early: () => (faults.split = true) }),
    isHarmless: true,
  },
  { name: 'closes with a code that may pass', meddle: close(0) },
  { name: 'closes with a code that will not pass', meddle: close(1) },
  {
    name: 'says everything 2.5 s late, also after it was given up',
    meddle: ({ faults }) => ({ before: () => (faults.lateMs = 2500) }),
    alone: 'pardon',
  },
];

/** Calls each recogniser under a fault, all at once; who stands in is healthy. */
export async function driveRecognisers(fault: Fault, second: boolean): Promise<ReadonlyMap<string, Driven>> {
  const results = new Map<string, Driven>();
  // Whoever stands in cannot be driven in the same daemon.
  const callAll = async (standIn: string): Promise<void> => {
    const driven = RECOGNISERS.filter(({ provider }) =>
      standIn === 'soniox' ? provider !== 'soniox' : provider === 'soniox',
    );
    const doubles = new Map<string, Double>();
    for (const provider of new Set([standIn, ...driven.map((one) => one.provider)])) {
      const protocol = PROTOCOLS[provider];
      doubles.set(provider, protocol === undefined ? new WhisperDouble(KEY) : new SocketDouble(protocol(KEY)));
    }
    const vendors: Vendors = Object.fromEntries(
      await Promise.all(
        [...doubles].map(async ([name, double]) => {
          return [name, { apiKey: KEY, baseUrl: await double.listen(), region: null }] as const;
        }),
      ),
    );
    const stt = second ? [{ provider: standIn }] : [];
    const drive = await Drive.open({ vendors, failover: { stt, llm: [], tts: [] } });
    drive.tts = toneTts({ charMs: 20 });
    try {
      await Promise.all(
        driven.map(async ({ provider, model }) => {
          const double = doubles.get(provider) as Double;
          const name = model === undefined ? provider : `${provider} ${model}`;
          const config = { speech_to_text: { provider, ...(model !== undefined && { model }) } } as AgentConfig;
          results.set(name, await drive.call(name, config, fault.meddle(double, provider)));
        }),
      );
      await drive.expectNoKey(KEY);
    } finally {
      await drive.close();
      await Promise.all([...doubles.values()].map((double) => double.close()));
    }
  };
  await Promise.all(['soniox', 'deepgram'].map(callAll));
  return results;
}

const APOLOGY = /something is wrong on my side/;

/** What a caller may have noticed, and what an operator has to learn. */
export function expectEndured(name: string, driven: Driven, fault: Fault, second: boolean): void {
  const shown = `${name}: ${fault.name}: ${JSON.stringify(driven)}`;
  let notices = second && fault.spares !== name ? 'nothing' : (fault.alone ?? 'nothing');
  // Over HTTP nobody knows before the first words are asked for; the end comes when that has failed again and again.
  if (name === 'whisper' && notices === 'end' && driven.status !== 'refused') notices = 'pardon';
  expect(driven.sounded || notices === 'end', shown).toBe(true);
  // A key that is refused while the call is being made refuses the call.
  if (notices === 'end' && driven.status === 'refused') {
    expect(driven.errorMessage, shown).toMatch(new RegExp(`${name}.*HTTP \\d{3}`));
    return;
  }
  if (notices === 'end') {
    expect([driven.status, driven.said.some((text) => APOLOGY.test(text))], shown).toEqual(['error', true]);
    expect(driven.errorMessage, shown).toMatch(
      /^Speech recognition was lost: .*HTTP \d{3}.*Check the recogniser's key/,
    );
    expect(driven.errorMessage, shown).toContain(name.split(' ')[0] ?? name);
    return;
  }
  expect([driven.status === 'error', driven.errorMessage], shown).toEqual([false, null]);
  const understood = [driven.heard, driven.said.at(-1)?.toLowerCase()];
  if (notices === 'nothing') expect(understood, shown).toEqual([QUESTION, `you said: ${QUESTION}.`]);
  else expect(driven.said.length, shown).toBeGreaterThan(0);
  // Where a vendor is known to be ill from another call, it is not even asked.
  const isTold = fault.isHarmless !== true && fault.spares !== name;
  if (second && isTold && !name.includes(' ') && !name.startsWith('whisper')) {
    expect(driven.faults.join(' '), shown).toMatch(/stt\.fallback: \S+ (->|is asked again)/);
  }
}
