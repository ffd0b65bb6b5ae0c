/**
 * A plug-in for `parley serve --plugin`: the recogniser and the voice of two plug-ins of LiveKit Agents. Agents name them
 * as `livekit-deepgram` in `speech_to_text.provider` and `livekit-elevenlabs` in `voice.provider`.
 */
import process from 'node:process';
import { STT } from '@livekit/agents-plugin-deepgram';
import { TTS } from '@livekit/agents-plugin-elevenlabs';
import { LiveKitStt, LiveKitTts } from '@parley-voice/livekit-plugins';

const {
  DEEPGRAM_API_KEY: ears = '',
  DEEPGRAM_LIVE_URL: earsAt,
  ELEVEN_API_KEY: voice = '',
  ELEVEN_URL: voiceAt,
} = process.env;

const secrets = [ears, voice].filter((key) => key !== '');

export default {
  name: 'livekit',
  stt: {
    'livekit-deepgram': () =>
      new LiveKitStt({
        stt: ({ language, hints }) => {
          const options = { apiKey: ears, language, keyterm: [...hints.keywords.keys()] };
          return new STT(earsAt === undefined ? options : { ...options, baseUrl: earsAt });
        },
        secrets,
      }),
  },
  tts: {
    'livekit-elevenlabs': () =>
      new LiveKitTts({
        tts: ({ voiceId }) => {
          const options = voiceId === null ? { apiKey: voice } : { apiKey: voice, voiceId };
          return new TTS(voiceAt === undefined ? options : { ...options, baseURL: voiceAt });
        },
        secrets,
      }),
  },
};
