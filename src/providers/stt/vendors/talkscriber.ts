import { randomUUID } from 'node:crypto';
import { baseLanguage } from '../../../base/language.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect } from '../shared/dialect.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';

const BASE_URL = 'https://api.talkscriber.com:9090';

/** Silence that ends an utterance for Talkscriber, in seconds. */
const TURN_S = 0.3;
/** Words that stand still for so long are taken as final: it does not always say so. */
const QUIET_MS = 700;

/**
 * Talkscriber, as far as its protocol is published, which is by its own clients (github.com/Talkscriber/ts-client-nodejs,
 * ts-client): no words to favour, no models, no times of words, no way to ask for the final words.
 */
export function talkscriberStt(options: VendorSttOptions): SocketSttProvider {
  return new SocketSttProvider(
    {
      name: 'talkscriber',
      abilities: { multilingual: true },
      dialect: (stream) => talkscriberDialect(stream, options.baseUrl ?? BASE_URL, options.apiKey ?? ''),
    },
    options,
  );
}

function talkscriberDialect(options: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  const { language, multilingual = false } = options;
  const isMulti = language === 'multi' || multilingual;
  const start = {
    uid: randomUUID(),
    multilingual: isMulti,
    language: isMulti ? null : baseLanguage(language),
    task: 'transcribe',
    auth: apiKey,
    enable_turn_detection: true,
    turn_detection_timeout: TURN_S,
  };
  return {
    address: { url: socketUrl(baseUrl, '/', new URLSearchParams()) },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 100,
    waitsForReady: true,
    quietMs: QUIET_MS,
    greeting: () => [JSON.stringify(start)],
    audio: floats,
    finalize: () => [],
    read: (text, tell) => {
      const message = parseObject(text);
      if (message === null) return false;
      const { message: said, status, error } = message;
      if (said === 'UNAUTHORIZED') tell.failed(refused('talkscriber', 'it rejects the API key; check the key'));
      else if (error !== undefined)
        tell.failed(failed('talkscriber', textOf(error) ?? 'it sent an error without a message'));
      else if (status === 'ERROR')
        tell.failed(failed('talkscriber', textOf(said) ?? 'it sent an error without a message'));
      else if (status === 'WAIT') tell.failed(failed('talkscriber', 'its servers are busy; try again later'));
      else if (said === 'DISCONNECT') tell.failed(failed('talkscriber', 'it closed the connection'));
      else if (said === 'SERVER_READY') tell.ready();
      else if (Array.isArray(message['segments'])) {
        for (const [index, segment] of objectsOf(message['segments']).entries()) {
          const transcript = textOf(segment['text']);
          const startS = numberOf(segment['start']);
          if (transcript === null) continue;
          const isFinal = segment['EOS'] === true;
          // They come again and again, with all that follow.
          tell.piece(startS === null ? index : Math.round(startS * 1000), { text: transcript, isFinal });
          const endS = numberOf(segment['end']);
          if (isFinal && endS !== null) tell.finalized(endS * 1000);
        }
      } else return message['language'] !== undefined || message['session_id'] !== undefined;
      return true;
    },
  };
}

/** Samples as 32-bit floats from -1 to 1, little-endian. */
function floats(pcm: Buffer): Buffer {
  const out = Buffer.alloc(pcm.length * 2);
  for (let at = 0; at < pcm.length / 2; at++) out.writeFloatLE(pcm.readInt16LE(at * 2) / 32_768, at * 4);
  return out;
}
