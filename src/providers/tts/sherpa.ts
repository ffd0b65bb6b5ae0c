import { LANGUAGES } from '../../agent/language.js';
import { baseLanguage } from '../../base/language.js';
import { ParleyError } from '../../base/errors.js';
import type { EngineFacts, EngineProcess } from '../local/engine/engine-process.js';
import { LocalEngines, type LocalEnginesOptions } from '../local/engine/engines.js';
import { type LocalModels, speaks } from '../local/local-models.js';
import type { LocalModel } from '../local/model-facts.js';
import { raceAbort } from '../../base/deadlines.js';
import { Mailbox } from '../mailbox.js';
import { type EngineAudio, speak, parseVoiceSettings, type VoiceSettings } from './speech.js';
import type { TtsAudio, TtsProvider, TtsRequest, TtsVoice, TtsVoiceChoice } from './tts.js';

export interface SherpaTtsOptions extends LocalEnginesOptions {
  /** The longest wait for the next piece of audio, queueing included, in milliseconds. Default 15,000. */
  timeoutMs?: number;
}

interface Voice {
  model: LocalModel;
  /** Number of the speaker in the model. */
  speaker: number;
}

/** Never used: it speaks in real time only. */
const LATENCY = { firstMs: 0, perCharMs: 0, blockMs: 0 };

/**
 * The operator's voice models, which sherpa-onnx runs in one process each: Piper and other VITS, Kokoro, Kitten,
 * Matcha. A voice is a model's name; for a model with several speakers it may end in `:` and a speaker's number or
 * name. Word times are estimated.
 */
export class SherpaTts implements TtsProvider {
  readonly name = 'sherpa';
  readonly virtualTime = false;
  readonly #options: SherpaTtsOptions;
  readonly #models: LocalModels;
  readonly #engines: LocalEngines;
  #voices: readonly TtsVoice[] = [];
  #closed = false;

  constructor(options: SherpaTtsOptions = {}) {
    this.#options = options;
    this.#engines = new LocalEngines(this.name, options);
    this.#models = this.#engines.models;
  }

  /** Loads the voice's model, and finds what others there are. */
  async warmUp(voice?: TtsVoiceChoice): Promise<void> {
    const { model } = await this.#voice(voice?.voiceId ?? null, voice?.language ?? 'multi');
    const isOwn = voice?.voiceId == null;
    await Promise.all([this.#engines.of(model, isOwn).ready(), this.#list()]);
  }

  async speaks(language: string): Promise<boolean> {
    return (await this.#list()).some((model) => speaks(model, language));
  }

  /** @throws ParleyError TTS_SETTING_INVALID */
  checkSettings(given: TtsRequest['settings']): VoiceSettings {
    const settings = parseVoiceSettings(this.name, given);
    if (settings.pitch === 1) return settings;
    const reason = "a model's voice has one pitch only";
    throw new ParleyError('TTS_SETTING_INVALID', { provider: this.name, setting: 'pitch', reason });
  }

  /**
   * @throws ParleyError TTS_VOICE_UNKNOWN, TTS_SETTING_INVALID, TTS_LANGUAGE_UNSUPPORTED, MODEL_UNKNOWN,
   * MODEL_UNUSABLE, LOCAL_ENGINE_MISSING, PROVIDER_FAILED, PROVIDER_TIMEOUT, SESSION_CLOSED
   */
  async *synthesize(request: TtsRequest): AsyncGenerator<TtsAudio> {
    const settings = this.checkSettings(request.settings);
    request.signal.throwIfAborted();
    const voice = await this.#voice(request.voiceId, request.language);
    const engine = this.#engines.of(voice.model, request.voiceId === null);
    const facts = await raceAbort(engine.ready(), request.signal);
    const speaker = this.#speakerIn(voice, facts, request.voiceId);
    const language = voice.model.takesLanguage ? espeakCode(request.language) : null;
    const voiced = { speaker, rate: settings.rate, language };
    try {
      yield* speak(request, settings, {
        provider: this.name,
        latency: LATENCY,
        timeoutMs: this.#options.timeoutMs ?? 15_000,
        pronounce: (word) => word,
        speakClause: (text) => speakClause(engine, { text, ...voiced }, facts.sampleRateHz),
      });
    } catch (error) {
      // One that computes for ever would keep all others waiting.
      if (error instanceof ParleyError && error.code === 'PROVIDER_TIMEOUT') engine.suspect();
      throw error;
    }
  }

  /** Empty before `warmUp` or `speaks`. */
  voices(): readonly TtsVoice[] {
    return this.#voices;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#engines.close();
  }

  async #list(): Promise<readonly LocalModel[]> {
    const voices = (await this.#models.list()).models.filter(({ kind }) => kind === 'tts');
    this.#voices = voices.flatMap(voicesOf);
    return voices;
  }

  async #voice(voiceId: string | null, language: string): Promise<Voice> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    if (voiceId === null) return { model: await this.#ownVoice(language), speaker: 0 };
    const colon = voiceId.lastIndexOf(':');
    const hasSpeaker = colon > 1 && !/[/\\]/u.test(voiceId.slice(colon));
    const [name, named] = hasSpeaker ? [voiceId.slice(0, colon), voiceId.slice(colon + 1)] : [voiceId, '0'];
    const model = await this.#models.find(name, 'tts');
    const speaker = /^\d{1,4}$/u.test(named) ? Number(named) : model.speakerNames.indexOf(named);
    if (speaker < 0) throw unknown(voiceId, model.speakerNames.join(', ') || 'numbers from 0');
    return { model, speaker };
  }

  async #ownVoice(language: string): Promise<LocalModel> {
    const model = await this.#models.only('tts', language);
    if (speaks(model, language)) return model;
    throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', { language, reason: 'no installed voice model supports it' });
  }

  #speakerIn({ model, speaker }: Voice, { speakers }: EngineFacts, voiceId: string | null): number {
    const most = Math.max(1, speakers);
    if (speaker < most) return speaker;
    throw unknown(voiceId ?? model.name, `${model.name}:0 to :${String(most - 1)}`);
  }
}

function speakClause(
  engine: EngineProcess,
  speech: { text: string; speaker: number; rate: number; language: string | null },
  sampleRateHz: number,
): Mailbox<EngineAudio> {
  const mailbox = new Mailbox<EngineAudio>(() => engine.leave(id));
  const id = engine.join({
    onReply: (reply) => {
      if (reply.type === 'audio') {
        mailbox.push({ samples: reply.samples, sampleRateHz });
        return;
      }
      engine.leave(id);
      if (reply.type === 'done') mailbox.close();
      if (reply.type === 'failed') {
        mailbox.fail(new ParleyError('PROVIDER_FAILED', { provider: 'sherpa', reason: reply.reason }));
      }
    },
    onEnd: (error) => mailbox.fail(error),
  });
  engine.send({ type: 'speak', id, ...speech });
  return mailbox;
}

/** espeak-ng's name of a language; null = the model pronounces text without espeak-ng. */
function espeakCode(language: string): string | null {
  const base = baseLanguage(language);
  if (language === 'multi' || base === 'zh') return null;
  if (base === 'en') return language === 'en-GB' ? 'en-gb' : 'en-us';
  return base === 'pt' ? 'pt-br' : base;
}

function unknown(voice: string, known: string): ParleyError {
  return new ParleyError('TTS_VOICE_UNKNOWN', { provider: 'sherpa', voice: voice.slice(0, 100), known });
}

function voicesOf(model: LocalModel): TtsVoice[] {
  const language = LANGUAGES.find((code) => code === model.languages?.[0]) ?? 'multi';
  const own = { id: model.name, name: model.name, language, sampleRateHz: model.sampleRateHz };
  return [own, ...model.speakerNames.map((name) => ({ ...own, id: `${model.name}:${name}`, name }))];
}
