import type { SttProvider } from '../../../../src/providers/stt/stt.js';
import { assemblyAiStt } from '../../../../src/providers/stt/vendors/assemblyai.js';
import { azureStt } from '../../../../src/providers/stt/vendors/azure.js';
import { deepgramStt } from '../../../../src/providers/stt/vendors/deepgram.js';
import { elevenLabsStt } from '../../../../src/providers/stt/vendors/elevenlabs.js';
import { gladiaStt } from '../../../../src/providers/stt/vendors/gladia.js';
import { openAiStt } from '../../../../src/providers/stt/vendors/openai.js';
import { sonioxStt } from '../../../../src/providers/stt/vendors/soniox.js';
import { speechmaticsStt } from '../../../../src/providers/stt/vendors/speechmatics.js';
import { talkscriberStt } from '../../../../src/providers/stt/vendors/talkscriber.js';
import { WhisperStt } from '../../../../src/providers/stt/vendors/whisper.js';
import { assemblyAiDouble } from '../../../vendors/stt/assemblyai.js';
import { azureDouble } from '../../../vendors/stt/azure.js';
import { deepgramDouble } from '../../../vendors/stt/deepgram.js';
import { elevenLabsDouble } from '../../../vendors/stt/elevenlabs.js';
import { gladiaDouble } from '../../../vendors/stt/gladia.js';
import { openAiRealtimeDouble } from '../../../vendors/stt/openai.js';
import { type Asked, type DoubleProtocol, type Faults, SocketDouble } from '../../../vendors/stt/socket-double.js';
import { sonioxDouble } from '../../../vendors/stt/soniox.js';
import { speechmaticsDouble } from '../../../vendors/stt/speechmatics.js';
import { talkscriberDouble } from '../../../vendors/stt/talkscriber.js';
import { WhisperDouble } from '../../../vendors/stt/whisper.js';

export const KEY = 'key-1234567890/secret+key';

/** What the suite needs of a vendor's double. */
export interface Double {
  readonly faults: Faults;
  readonly violations: readonly string[];
  readonly asked: readonly Asked[];
  listen(): Promise<string>;
  drop(): void;
  until(isThere: () => boolean, what: string): Promise<void>;
  close(): Promise<void>;
}

export interface SttCase {
  name: string;
  double: () => Double;
  make: (options: { baseUrl: string; apiKey: string; finalTimeoutMs: number }) => SttProvider;
  /** The code that the vendor is asked with for `en-US`, null where it is asked for none. */
  language: string | null;
  /** It tells when each word was spoken. */
  givesTimes: boolean;
  /** Default yes. */
  takesKeywords?: boolean;
  /** Words that come when their turn is over stay out of the next one. Default yes. */
  tellsTurnsApart?: boolean;
  /** A stream is a connection. */
  isSocket: boolean;
}

const socket = (
  name: string,
  protocol: (key: string) => DoubleProtocol,
  rest: Omit<SttCase, 'name' | 'double' | 'isSocket'>,
): SttCase => ({
  name,
  isSocket: true,
  double: () => new SocketDouble(protocol(KEY)),
  ...rest,
});

export const CASES: readonly SttCase[] = [
  socket('deepgram', deepgramDouble, { make: deepgramStt, language: 'en-US', givesTimes: true }),
  socket('deepgram flux', deepgramDouble, {
    make: (options) => deepgramStt({ ...options, model: 'flux-general-en' }),
    language: null,
    givesTimes: true,
  }),
  socket('openai', openAiRealtimeDouble, { make: openAiStt, language: 'en', givesTimes: false }),
  socket('assemblyai', assemblyAiDouble, { make: assemblyAiStt, language: null, givesTimes: true }),
  socket('assemblyai universal-3', assemblyAiDouble, {
    make: (options) => assemblyAiStt({ ...options, model: 'universal-3-5-pro' }),
    language: null,
    givesTimes: true,
  }),
  socket('soniox', sonioxDouble, { make: sonioxStt, language: 'en', givesTimes: true }),
  socket('speechmatics', speechmaticsDouble, { make: speechmaticsStt, language: 'en', givesTimes: true }),
  socket('elevenlabs', elevenLabsDouble, { make: elevenLabsStt, language: 'en', givesTimes: true }),
  socket('gladia', gladiaDouble, { make: gladiaStt, language: 'en', givesTimes: true }),
  socket('azure', azureDouble, { make: azureStt, language: 'en-US', givesTimes: true }),
  socket('talkscriber', talkscriberDouble, {
    make: talkscriberStt,
    language: 'en',
    givesTimes: false,
    takesKeywords: false,
    tellsTurnsApart: false,
  }),
  {
    name: 'whisper',
    double: () => new WhisperDouble(KEY),
    make: ({ finalTimeoutMs, ...options }) => new WhisperStt({ ...options, timeoutMs: finalTimeoutMs, interimMs: 20 }),
    language: 'en',
    givesTimes: true,
    isSocket: false,
  },
];
